//! The folder for the files of an environment.
//!
//! It is removed with the environment, even if the process is killed. It is kept if the test that owns it panics, so
//! that the logs can be read, and if `GENCLIENT_TESTENV_KEEP` is set.

use std::{
    fs::Permissions,
    io::Write,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::Error;

/// A temporary folder and the process that removes it. This process does not, because it could be killed meanwhile.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    sweeper: Child,
    keep: bool,
}

impl Folder {
    /// Creates a new folder in the system's temporary folder.
    pub(crate) fn create(kind: &str) -> Result<Self, Error> {
        let doing = "creating the data folder";
        let folder = tempfile::Builder::new()
            .prefix(&format!("genclient-{kind}-"))
            // It contains private keys.
            .permissions(Permissions::from_mode(0o700))
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
        Ok(Self { path: folder.keep(), sweeper, keep })
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder, so that the logs can be read.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let stdin = self.sweeper.stdin.take();
        if self.keep || std::thread::panicking() {
            // If the sweeper is already gone, it does not remove the folder either.
            let _ = stdin.map(|mut stdin| stdin.write_all(b"keep\n"));
            // Not a macro, whose output the test harness would capture.
            let _ = writeln!(std::io::stderr(), "testenv: the logs are in {}", self.path.display());
        } else {
            drop(stdin);
        }
        let _ = self.sweeper.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_gone_when_its_drop_returns() {
        let folder = Folder::create("test").unwrap();
        let path = folder.path().to_owned();
        std::fs::create_dir(path.join("inner")).unwrap();
        std::fs::write(path.join("inner/file"), "content").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn the_folder_stays_when_it_is_to_be_kept_and_when_its_owner_panics() {
        let mut kept = Folder::create("test").unwrap();
        kept.keep();
        let kept_path = kept.path().to_owned();
        drop(kept);
        let panicked = std::thread::spawn(|| {
            let folder = Folder::create("test").unwrap();
            std::panic::panic_any(folder.path().to_owned());
        });
        let panicked_path = panicked.join().unwrap_err().downcast::<PathBuf>().unwrap();
        for path in [kept_path, *panicked_path] {
            assert!(path.is_dir());
            std::fs::remove_dir_all(path).unwrap();
        }
    }

    #[test]
    fn nobody_else_may_look_into_the_folder() {
        let folder = Folder::create("test").unwrap();
        let mode = std::fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
