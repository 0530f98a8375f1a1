//! The folder in which new texts wait for their turn.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::Error;
use crate::files::is_absent;

/// A folder of a package, beside its sources, that is removed at the end.
pub(super) struct Staging {
    folder: PathBuf,
    files: usize,
}

impl Staging {
    /// An empty folder. What a killed run left in it is removed; the caller holds the lock.
    pub fn create(package: &Path, shown: &str, made: &mut Folders) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            Error::new(format!("cannot write to `{shown}`: {error}"))
                .help("the folder must be writable; nothing has been changed")
        };
        let folder = Self::folder(package);
        Self::remove(package).map_err(failed)?;
        made.make(package).and_then(|()| fs::create_dir(&folder)).map_err(failed)?;
        Ok(Self { folder, files: 0 })
    }

    /// Removes the folder, if a killed run has left one.
    pub fn remove(package: &Path) -> io::Result<()> {
        match fs::remove_dir_all(Self::folder(package)) {
            Err(error) if !is_absent(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn folder(package: &Path) -> PathBuf {
        package.join(".genclient")
    }

    /// Writes a text, and returns the path of its file.
    pub fn put(&mut self, text: &str) -> io::Result<PathBuf> {
        let path = self.folder.join(self.files.to_string());
        self.files += 1;
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What stays is removed by the next run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folders that a run has made.
#[derive(Debug, Default)]
pub(super) struct Folders(Vec<PathBuf>);

impl Folders {
    /// Makes a folder and those above it, where there are none. Another run may make the same ones meanwhile,
    /// and remove its own again: one that it has made is its own, and an error of the kind `NotFound` says
    /// that it has removed one.
    pub fn make(&mut self, folder: &Path) -> io::Result<()> {
        let missing: Vec<_> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.into_iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
            match fs::create_dir(folder) {
                Ok(()) => self.0.push(folder.to_path_buf()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    // It can be gone again by now, which this look reports as `NotFound`. One look decides:
                    // with a second one it could go in between.
                    let there = fs::symlink_metadata(folder)?;
                    if !(there.is_dir() || there.is_symlink() && folder.is_dir()) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes them again. One that somebody has put something into stays.
    pub fn unmake(self) {
        self.0.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}
