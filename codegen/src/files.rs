//! What reading and writing have in common about files.

use std::{io, path::Path};

/// Whether nothing is there: no such file, or a file where a folder should be, which writing will tell of.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The path with forward slashes, the same on every machine.
pub(crate) fn with_slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}
