//! One process uses a file at a time.
//!
//! The lock is on a file of its own beside the data file, because the data file is replaced from time to time. It stays
//! when the server ends: to remove it would let two processes hold locks on two files of the same name.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::DataError;

/// How long to wait for a lock: a process that was killed may not be gone yet, and one that is being started by the last
/// user of the file holds its lock for a moment.
const PATIENCE: Duration = Duration::from_millis(500);

/// A lock that is held until it is dropped, or the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a data file, or returns who has it.
    pub(super) fn take(path: &Path) -> Result<Self, DataError> {
        let failed = |error| DataError::io(path, "lock the", error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(beside(path, ".lock"))
            .map_err(failed)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PATIENCE / 50),
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    let process = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                    return Err(DataError::InUse { path: path.to_owned(), process });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        // For the message of those who find it locked; it need not succeed.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}

/// Returns the path of a file beside another one.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(suffix);
    path.with_file_name(name)
}
