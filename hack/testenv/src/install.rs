//! Finds the installed servers, and builds missing ones.
//!
//! `hack/testenv/install.sh` does the work; it determines where the servers are and how to build them.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use parking_lot::Mutex;

use crate::Error;

/// A server, or a set of them, that can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// etcd, kube-apiserver, kube-controller-manager and kubectl.
    Kubernetes,
    /// The same programs, for tests that inject faults and therefore cannot use an external cluster.
    ControlPlane,
    /// Neutron on sqlite.
    Neutron,
    /// Keystone on sqlite.
    Keystone,
}

impl Server {
    fn word(self) -> &'static str {
        match self {
            Self::Kubernetes | Self::ControlPlane => "kubernetes",
            Self::Neutron => "neutron",
            Self::Keystone => "keystone",
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubernetes | Self::ControlPlane => "Kubernetes",
            Self::Neutron => "Neutron",
            Self::Keystone => "Keystone",
        })
    }
}

/// Returns the folder of this crate, which also contains the scripts.
pub(crate) fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder of a server, and builds the server first if it is not installed.
///
/// Building Kubernetes takes minutes; progress goes to standard error. If two builds are started, the second waits
/// for the first and uses its result. This blocks the calling thread.
pub fn ensure_installed(server: Server) -> Result<PathBuf, Error> {
    /// The folders that were found before. They do not change while the tests run.
    static FOUND: Mutex<Vec<(Server, PathBuf)>> = Mutex::new(Vec::new());

    let mut found = FOUND.lock();
    if let Some((_, folder)) = found.iter().find(|(other, _)| *other == server) {
        return Ok(folder.clone());
    }
    let folder = match folder_in(&run(server, &["--print"])?) {
        Some(folder) => folder,
        None => build(server)?,
    };
    found.push((server, folder.clone()));
    Ok(folder)
}

/// Like [`ensure_installed`], for async callers.
pub(crate) async fn installed(server: Server) -> Result<PathBuf, Error> {
    tokio::task::spawn_blocking(move || ensure_installed(server))
        .await
        .map_err(|error| Error::Install { server, output: error.to_string() })?
}

fn build(server: Server) -> Result<PathBuf, Error> {
    let output = run(server, &[])?;
    let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match (output.status.code(), folder_in(&output)) {
        (Some(0), Some(folder)) => Ok(folder),
        (Some(4), _) => Err(Error::NotInstalled { server, reason: said() }),
        _ => Err(Error::Install { server, output: said() }),
    }
}

fn run(server: Server, options: &[&str]) -> Result<Output, Error> {
    let script = home().join("install.sh");
    // Standard error is shown immediately, and kept for the error message.
    let mut child = Command::new(&script)
        .args(options)
        .arg(server.word())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::io(format!("running {}", script.display())))?;
    let progress = child.stderr.take();
    let progress = std::thread::spawn(move || progress.map(show).unwrap_or_default());
    let mut output = child.wait_with_output().map_err(Error::io(format!("running {}", script.display())))?;
    output.stderr = progress.join().unwrap_or_default();
    Ok(output)
}

/// Copies lines to standard error, without capture by the test harness, and returns the last of them.
fn show(from: impl std::io::Read) -> Vec<u8> {
    use std::io::{BufRead, BufReader, Write};
    const KEPT: usize = 40;
    let mut last = std::collections::VecDeque::new();
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        let _ = writeln!(std::io::stderr(), "{line}");
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(line);
    }
    last.make_contiguous().join("\n").into_bytes()
}

/// The script prints "NAME FOLDER".
fn folder_in(output: &Output) -> Option<PathBuf> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let (_, folder) = stdout.lines().next()?.split_once(' ')?;
    Some(PathBuf::from(folder))
}
