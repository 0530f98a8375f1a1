//! Why a file cannot be used.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a server cannot keep its state in a file. The file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file, its folder or its lock cannot be read or written.
    #[error("cannot {doing} data file `{}`: {error}", .path.display())]
    #[non_exhaustive]
    Io {
        /// The file.
        path: PathBuf,
        /// What failed, such as `read the`.
        doing: &'static str,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Another server uses the file.
    #[error(
        "the data file `{}` is in use by {}; end that server first, or use another file",
        .path.display(),
        .process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
    )]
    #[non_exhaustive]
    InUse {
        /// The file.
        path: PathBuf,
        /// The id of the process that uses it, if it is known.
        process: Option<u32>,
    },
    /// The file is something else.
    #[error(
        "`{}` is not a data file of genclient-fake, or its first line is damaged; it is left as it is: name a file that \
         does not exist to begin with an empty cluster",
        .path.display()
    )]
    #[non_exhaustive]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The file has a format that this version does not know.
    #[error(
        "the data file `{}` has format {format}, and this version of genclient-fake reads format 1 alone; use the \
         version that wrote it, or name another file",
        .path.display()
    )]
    #[non_exhaustive]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A part of the file is not what was written there.
    #[error("the data file `{}` is damaged at byte {offset}: {why}; {}", .path.display(), advice(.path, *.offset, *.in_snapshot))]
    #[non_exhaustive]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the record begins that cannot be read.
        offset: u64,
        /// What is wrong there.
        why: String,
        /// Whether the record is the snapshot, without which all others are worth nothing.
        in_snapshot: bool,
    },
}

impl DataError {
    pub(super) fn io(path: &Path, doing: &'static str, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), doing, error }
    }
}

/// Says what can be done about a damaged file.
fn advice(path: &Path, offset: u64, in_snapshot: bool) -> String {
    if in_snapshot {
        "restore it from a copy, or move it away to begin with an empty cluster".to_owned()
    } else {
        format!(
            "restore it from a copy or, to keep what was written before that point and lose all after it, run \
             `truncate --size={offset} {}`",
            path.display()
        )
    }
}
