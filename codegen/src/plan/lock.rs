//! One run at a time.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

use super::{Error, staging::Folders};

/// The right to write what is in a folder, or to read it while nobody writes.
///
/// The lock is on the folder itself, so that no file is left behind; the system releases it when the process
/// ends in whatever way. Whoever needs several takes them in the order of their paths, so that no two runs
/// wait for each other.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    /// The folders that were made to be locked. Those that are still empty are removed at the end.
    made: Folders,
}

impl Lock {
    /// Waits for the right to write what is in a folder, which is made if it is not there; `waiting` is called
    /// if another run has it.
    pub fn exclusive(folder: &Path, waiting: impl Fn()) -> Result<Self, Error> {
        Self::take(folder, File::try_lock, File::lock, waiting)
    }

    /// Waits until nobody writes what is in a folder; `waiting` is called if another run does.
    pub fn shared(folder: &Path, waiting: impl Fn()) -> Result<Self, Error> {
        Self::take(folder, File::try_lock_shared, File::lock_shared, waiting)
    }

    fn take(
        folder: &Path,
        attempt: fn(&File) -> Result<(), TryLockError>,
        wait: fn(&File) -> io::Result<()>,
        waiting: impl Fn(),
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            Error::new(format!("cannot lock `{}`: {error}", folder.display()))
                .help("the folder must be writable, on a file system with locks; nothing has been changed")
        };
        loop {
            let mut made = Folders::default();
            let file = match made.make(folder).and_then(|()| open(folder)) {
                // The run that had made it, or a folder above it, has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    made.unmake();
                    continue;
                }
                file => file.map_err(failed)?,
            };
            match attempt(&file) {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    waiting();
                    wait(&file).map_err(failed)?;
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // While this run waited another one may have removed the folder, and a third made it anew.
            if is_there(&file, folder) {
                return Ok(Self { _file: file, made });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        std::mem::take(&mut self.made).unmake();
    }
}

/// Whether the folder at a path is the one that was opened.
#[cfg(unix)]
fn is_there(file: &File, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), folder.metadata()) {
        (Ok(opened), Ok(there)) => identity(opened) == identity(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_there(_: &File, folder: &Path) -> bool {
    folder.exists()
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
    fn a_folder_that_is_made_for_the_lock_is_removed_while_it_is_empty() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        drop(Lock::exclusive(&folder, || panic!("nobody else is there")).unwrap());
        assert!(!root.path().join("a").exists());
        let lock = Lock::exclusive(&folder, || panic!("nobody else is there")).unwrap();
        std::fs::write(folder.join("file"), "").unwrap();
        drop(lock);
        assert!(folder.join("file").exists());
    }

    #[test]
    fn runs_that_make_the_same_folder_at_once_all_get_their_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..2_000).for_each(|_| drop(Lock::exclusive(&path, || ()).unwrap())));
            }
        });
        assert!(!path.exists());
        // One of them may make a folder within that of another.
        let nested = path.join("two");
        std::thread::scope(|scope| {
            for path in [&path, &nested, &path, &nested] {
                scope.spawn(move || (0..2_000).for_each(|_| drop(Lock::exclusive(path, || ()).unwrap())));
            }
        });
        assert!(!nested.exists());
    }

    #[test]
    fn a_run_that_waited_for_a_folder_which_is_gone_locks_the_new_one() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a");
        let first = Lock::exclusive(&folder, || panic!("nobody else is there")).unwrap();
        let (sender, receiver) = mpsc::channel();
        let path = folder.clone();
        let second = std::thread::spawn(move || Lock::exclusive(&path, || sender.send(()).unwrap()).unwrap());
        receiver.recv().unwrap();
        // It removes the folder, which was made for it.
        drop(first);
        let second = second.join().unwrap();
        assert!(folder.exists());
        let (sender, receiver) = mpsc::channel();
        let third = std::thread::spawn(move || {
            Lock::exclusive(&folder, || sender.send(()).unwrap()).unwrap();
        });
        receiver.recv().unwrap();
        drop(second);
        third.join().unwrap();
    }

    #[test]
    fn readers_do_not_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let _one = Lock::shared(folder.path(), || panic!("nobody writes")).unwrap();
        let _two = Lock::shared(folder.path(), || panic!("nobody writes")).unwrap();
    }
}
