//! One run at a time.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

use super::Error;

/// The right to write what a configuration names, or to read it while nobody writes.
///
/// The lock is on the configuration's folder itself, so that no file is left behind; the system releases it
/// when the process ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the right to write what the configuration in a folder names; `waiting` is called if another run has it.
    pub fn exclusive(folder: &Path, waiting: impl FnOnce()) -> Result<Self, Error> {
        Self::take(folder, File::try_lock, File::lock, waiting)
    }

    /// Waits until nobody writes what the configuration in a folder names; `waiting` is called if another run does.
    pub fn shared(folder: &Path, waiting: impl FnOnce()) -> Result<Self, Error> {
        Self::take(folder, File::try_lock_shared, File::lock_shared, waiting)
    }

    fn take(
        folder: &Path,
        attempt: fn(&File) -> Result<(), TryLockError>,
        wait: fn(&File) -> io::Result<()>,
        waiting: impl FnOnce(),
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::new(format!("cannot lock `{}`: {error}", folder.display()));
        let file = open(folder).map_err(failed)?;
        match attempt(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                wait(&file).map_err(failed)?;
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(Self { _file: file })
    }
}

#[cfg(unix)]
fn open(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Where folders cannot be opened as files, a file in them stands for them.
#[cfg(not(unix))]
fn open(folder: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(folder.join(".genclient.lock"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_second_run_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::exclusive(folder.path(), || panic!("nobody else is there")).unwrap();
        let (sender, receiver) = mpsc::channel();
        let path = folder.path().to_path_buf();
        let second = std::thread::spawn(move || {
            let waits = sender.clone();
            let lock = Lock::exclusive(&path, move || waits.send("waits").unwrap());
            sender.send("has it").unwrap();
            lock.unwrap();
        });
        assert_eq!(receiver.recv().unwrap(), "waits");
        assert!(receiver.try_recv().is_err());
        drop(first);
        assert_eq!(receiver.recv().unwrap(), "has it");
        second.join().unwrap();
    }

    #[test]
    fn readers_do_not_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let _one = Lock::shared(folder.path(), || panic!("nobody writes")).unwrap();
        let _two = Lock::shared(folder.path(), || panic!("nobody writes")).unwrap();
    }
}
