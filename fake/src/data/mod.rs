//! The file in which a server keeps its state.
//!
//! * A write is answered after its record is on the disk: neither the end of the process, however sudden, nor a loss
//!   of power loses anything that was answered.
//! * All that one request changes is one record: garbage that it made collectable and the content of a namespace that it
//!   deleted go with it, or stay with it.
//! * A write that the disk does not take is refused and undone. If it is not certain what the disk has, all further
//!   writes are refused.
//! * A file that this module does not understand, as a whole or at some point in it, is left as it is. Only a record at
//!   the end whose writing was interrupted is cut off; nobody got an answer to it.
//! * One process uses a file at a time.
//!
//! # Format
//! The first line names the format. Every other line is a record: the length and the CRC-32 of the JSON that follows. The
//! first record is a snapshot of all objects, each of the others is what one request changed after it. When those have
//! grown larger than the snapshot, the file is replaced by one with a new snapshot alone.

mod disk;
mod error;
mod lock;
mod record;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use self::{
    disk::{Disk, Files, ReplaceError},
    lock::Lock,
    record::Scanned,
};

pub use self::error::DataError;
pub(crate) use self::record::{Change, Commit, Snapshot};

/// The first line of every file.
const HEADER: &str = "genclient-fake data, format 1\n";

/// The first line up to the number of the format.
const FORMAT: &str = "genclient-fake data, format ";

/// How much larger than the snapshot the records after it may grow.
const MARGIN: u64 = 1024 * 1024;

/// The file of a running server.
#[derive(Debug)]
pub(crate) struct Data {
    path: PathBuf,
    disk: Box<dyn Disk>,
    /// The length of what is known to be complete.
    length: u64,
    /// The length from which on the file is to be replaced by a snapshot.
    limit: u64,
    /// Why nothing can be written any more.
    broken: Option<String>,
    _lock: Lock,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct Contents {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl Data {
    /// Opens a file. Its contents are `None` if it does not exist or is empty.
    pub(crate) fn open(path: &Path) -> Result<(Self, Option<Contents>), DataError> {
        let path = disk::resolve(path)?;
        let lock = Lock::take(&path)?;
        let (files, bytes) = Files::open(&path)?;
        let data = Self {
            path: path.clone(),
            disk: Box::new(files),
            length: 0,
            limit: 0,
            broken: None,
            _lock: lock,
        };
        if bytes.is_empty() {
            return Ok((data, None));
        }
        Ok((data, Some(Contents { bytes, path })))
    }

    /// Goes on after the records that were read, and cuts off what follows them.
    pub(crate) fn resume(&mut self, read: &Read) -> Result<(), DataError> {
        if read.torn > 0 {
            tracing::warn!(
                path = %self.path.display(),
                bytes = read.torn,
                "the last record of the data file was not written to its end and is cut off; its request was never \
                 answered"
            );
            self.disk
                .truncate(read.end)
                .and_then(|()| self.disk.sync())
                .map_err(|error| DataError::io(&self.path, "cut", error))?;
        }
        self.length = read.end;
        self.limit = limit_after(read.snapshot_end);
        Ok(())
    }

    /// Appends what one request changed. If it fails, the file is as before.
    ///
    /// The error says why nothing was written.
    pub(crate) fn append(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        let line = record::line(commit);
        let path = self.path.display();
        if let Err(error) = self.disk.append(&line) {
            let failed = format!("cannot write to the data file `{path}`: {error}");
            if let Err(error) = self.disk.truncate(self.length).and_then(|()| self.disk.sync()) {
                // Half a record in the middle of the file would make all later ones unreadable.
                self.broken = Some(format!(
                    "{failed}; nor can the part that was written be removed again ({error}), so nothing more is \
                     written until the server is restarted"
                ));
            }
            return Err(failed);
        }
        if let Err(error) = self.disk.sync() {
            let failed = format!("cannot flush the data file `{path}`: {error}");
            // What a failed flush has left on the disk is unknown, even if the next one succeeds.
            let _ = self.disk.truncate(self.length).and_then(|()| self.disk.sync());
            self.broken = Some(format!("{failed}; nothing more is written until the server is restarted"));
            return Err(failed);
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Returns whether the file is to be replaced by a snapshot.
    pub(crate) fn is_long(&self) -> bool {
        self.length > self.limit && self.broken.is_none()
    }

    /// Replaces the file by a snapshot. If that fails, the old file remains in use.
    pub(crate) fn replace(&mut self, snapshot: &Snapshot<'_>) -> Result<(), DataError> {
        let mut bytes = HEADER.as_bytes().to_vec();
        bytes.extend(record::line(snapshot));
        match self.disk.replace(&bytes) {
            Ok(()) => {
                self.length = bytes.len() as u64;
                self.limit = limit_after(self.length);
                Ok(())
            }
            Err(ReplaceError::Before(error)) => {
                // Not again at once, because a disk that is full stays so for a while.
                self.limit = self.length + MARGIN;
                Err(DataError::io(&self.path, "write a new", error))
            }
            Err(ReplaceError::After(error)) => {
                self.broken = Some(format!(
                    "cannot flush the folder of the data file `{}`: {error}; nothing more is written until the server \
                     is restarted",
                    self.path.display()
                ));
                Err(DataError::io(&self.path, "flush the folder of the", error))
            }
        }
    }

    /// Writes through another disk.
    #[cfg(test)]
    fn with_disk(self, disk: impl FnOnce(Box<dyn Disk>) -> Box<dyn Disk>) -> Self {
        Self { disk: disk(self.disk), ..self }
    }
}

/// Returns the length from which on a file with a snapshot of this length is to be replaced.
fn limit_after(snapshot: u64) -> u64 {
    snapshot * 2 + MARGIN
}

/// What was read of a file.
#[derive(Debug)]
pub(crate) struct Read {
    /// The end of the last complete record.
    end: u64,
    /// The end of the snapshot.
    snapshot_end: u64,
    /// The length of the incomplete record after the last one.
    torn: u64,
}

impl Contents {
    /// Reads the snapshot and all records after it, in their order. Each function returns why its record makes no
    /// sense, if it does not.
    pub(crate) fn read<S>(
        &self,
        restore: impl FnOnce(Snapshot<'_>) -> Result<S, String>,
        mut replay: impl FnMut(&mut S, Commit<'_>) -> Result<(), String>,
    ) -> Result<(S, Read), DataError> {
        self.check_header()?;
        let mut offset = HEADER.len();
        let Scanned::Record { json, end } = self.scan(offset)? else {
            return Err(self.damaged(offset, "the snapshot is not complete".to_owned()));
        };
        let snapshot = record::parse(json).map_err(|why| self.damaged(offset, why))?;
        let mut state = restore(snapshot).map_err(|why| self.damaged(offset, why))?;
        offset = end;
        let snapshot_end = end as u64;
        loop {
            match self.scan(offset)? {
                Scanned::Record { json, end } => {
                    record::parse(json)
                        .and_then(|commit| replay(&mut state, commit))
                        .map_err(|why| self.damaged(offset, why))?;
                    offset = end;
                }
                Scanned::End => break,
                Scanned::Torn => break,
            }
        }
        let torn = (self.bytes.len() - offset) as u64;
        Ok((state, Read { end: offset as u64, snapshot_end, torn }))
    }

    fn check_header(&self) -> Result<(), DataError> {
        if self.bytes.starts_with(HEADER.as_bytes()) {
            return Ok(());
        }
        let path = self.path.clone();
        let format = self.bytes.strip_prefix(FORMAT.as_bytes()).and_then(|rest| {
            let line = rest.get(..rest.iter().take(12).position(|byte| *byte == b'\n')?)?;
            str::from_utf8(line).ok()?.parse().ok()
        });
        Err(match format {
            Some(format) => DataError::OtherFormat { path, format },
            None => DataError::NotOurs { path },
        })
    }

    fn scan(&self, offset: usize) -> Result<Scanned<'_>, DataError> {
        record::scan(&self.bytes, offset).map_err(|why| self.damaged(offset, why))
    }

    fn damaged(&self, offset: usize, why: String) -> DataError {
        let in_snapshot = offset <= HEADER.len();
        DataError::Damaged { path: self.path.clone(), offset: offset as u64, why, in_snapshot }
    }
}
