//! The folder that holds everything one environment writes.
//!
//! It disappears with the environment, also when the process is killed, with two exceptions: it stays when the
//! test that owns it panics, so that the logs can be read, and when `GENCLIENT_TESTENV_KEEP` is set.

use std::{
    io::Write,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::Error;

/// A temporary folder and the process that removes it if this one cannot.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: TempDir,
    sweeper: Child,
    keep: bool,
}

impl Folder {
    /// Creates a new folder in the system's temporary folder.
    pub(crate) fn create(kind: &str) -> Result<Self, Error> {
        let doing = "creating the data folder";
        let folder = tempfile::Builder::new()
            .prefix(&format!("genclient-{kind}-"))
            .tempdir()
            .map_err(Error::io(doing))?;
        let keep = std::env::var_os("GENCLIENT_TESTENV_KEEP").is_some_and(|value| !value.is_empty());
        let sweeper = Command::new("/bin/sh")
            .args(["-c", if keep { "" } else { include_str!("sweep.sh") }, "sweep"])
            .arg(folder.path())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(Error::io(doing))?;
        Ok(Self { folder, sweeper, keep })
    }

    /// Where the folder is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves the folder where it is for somebody to read the logs.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(mut stdin) = self.sweeper.stdin.take() {
            // A sweeper that is gone already cannot remove anything, which is all that is wanted.
            let _ = stdin.write_all(b"leave it\n");
        }
        let _ = self.sweeper.wait();
        if self.keep || std::thread::panicking() {
            self.folder.disable_cleanup(true);
            // Written without a macro, so that the test harness does not hold it back.
            let _ = writeln!(std::io::stderr(), "testenv: the logs are in {}", self.path().display());
        }
    }
}
