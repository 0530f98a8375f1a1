//! The file on the disk.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{DataError, lock::beside};

/// What the server does with its file.
pub(super) trait Disk: fmt::Debug + Send {
    /// Writes at the end of the file.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when all that was written is on the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Replaces the file by one with these contents. There is always the old one or the new one under its name,
    /// complete.
    fn replace(&mut self, bytes: &[u8]) -> Result<(), ReplaceError>;
}

/// Why a file was not replaced.
#[derive(Debug)]
pub(super) enum ReplaceError {
    /// The old file is still there.
    Before(io::Error),
    /// The new file is there, but a loss of power may bring the old one back.
    After(io::Error),
}

/// A real file.
#[derive(Debug)]
pub(super) struct Files {
    path: PathBuf,
    /// `None` before the first snapshot.
    file: Option<File>,
}

impl Files {
    /// Opens a file and reads it. One that does not exist is as empty as one that does.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<u8>), DataError> {
        let mut bytes = Vec::new();
        let file = match OpenOptions::new().read(true).append(true).open(path) {
            Ok(mut file) => {
                file.read_to_end(&mut bytes).map_err(|error| DataError::io(path, "read the", error))?;
                Some(file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(DataError::io(path, "open the", error)),
        };
        Ok((Self { path: path.to_owned(), file }, bytes))
    }

    fn file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Writes a new file aside, in full.
    fn write_aside(&self, aside: &Path, bytes: &[u8]) -> io::Result<File> {
        match fs::remove_file(aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // A process that was killed left it there, or there is none.
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        // The state has secrets.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(aside)?;
        if let Some(old) = &self.file {
            file.set_permissions(old.metadata()?.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(file)
    }
}

impl Disk for Files {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file()?.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file()?.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file()?.set_len(length)
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), ReplaceError> {
        let aside = beside(&self.path, ".new");
        let written = self.write_aside(&aside, bytes).and_then(|file| {
            fs::rename(&aside, &self.path)?;
            Ok(file)
        });
        match written {
            Ok(file) => self.file = Some(file),
            Err(error) => {
                // On a full disk what was written so far is in the way.
                let _ = fs::remove_file(&aside);
                return Err(ReplaceError::Before(error));
            }
        }
        sync_folder(&self.path).map_err(ReplaceError::After)
    }
}

/// Returns when the name of a file is on the disk.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder)?.sync_all()
}

/// Folders cannot be opened here; the file system writes names by itself.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the path of the file itself: not that of a link to it, and not one that depends on the current folder.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, DataError> {
    let failed = |error| DataError::io(path, "find the", error);
    match fs::canonicalize(path) {
        Ok(path) => return Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let missing = |error| DataError::io(path, "find the folder of the", error);
    Ok(fs::canonicalize(folder).map_err(missing)?.join(name))
}
