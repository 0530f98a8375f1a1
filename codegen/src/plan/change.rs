//! The change of one file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use similar::TextDiff;

use super::{Error, read, show, staging::Folders, with_unix_ends};
use crate::files::is_absent;

/// A file that is written, changed or removed.
#[derive(Debug)]
pub(super) struct Change {
    /// The folder of the package.
    pub package: PathBuf,
    path: PathBuf,
    /// The folder of the package as a person reads it.
    pub shown_package: String,
    /// The path as a person reads it.
    pub shown: String,
    /// The text that is there.
    pub old: Option<String>,
    /// The text that is wanted.
    pub new: Option<String>,
}

impl Change {
    /// The change of a file of a package, which a person reads as `shown`.
    pub fn new(package: &Path, shown: &str, file: &str, old: Option<String>, new: Option<String>) -> Self {
        Self {
            package: package.to_path_buf(),
            path: package.join(file),
            shown_package: if shown.is_empty() { ".".to_owned() } else { shown.to_owned() },
            shown: show(shown, file),
            old,
            new,
        }
    }

    /// What happens to the file.
    pub fn fate(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "new",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
        }
    }

    /// The change in the way of `diff -u`.
    pub fn diff(&self) -> String {
        let name = |text: &Option<String>, side: &str| match text {
            Some(_) => format!("{side}/{}", self.shown),
            None => "/dev/null".to_owned(),
        };
        let old = with_unix_ends(self.old.as_deref().unwrap_or(""));
        TextDiff::from_lines(&old, self.new.as_deref().unwrap_or(""))
            .unified_diff()
            .header(&name(&self.old, "a"), &name(&self.new, "b"))
            .to_string()
    }

    /// Puts the staged text into its place, or removes the file.
    pub fn carry_out(&self, staged: Option<&Path>, made: &mut Folders) -> Result<(), Error> {
        match staged {
            Some(staged) => {
                let folder = self.path.parent().unwrap_or(&self.package);
                made.make(folder)
                    .and_then(|()| fs::rename(staged, &self.path))
                    .map_err(|error| self.failed(&error))
            }
            None => match fs::remove_file(&self.path) {
                Err(error) if !is_absent(&error) => {
                    Err(Error::new(format!("cannot remove `{}`: {error}", self.shown)))
                }
                _ => {
                    self.remove_empty_folders();
                    Ok(())
                }
            },
        }
    }

    /// Brings back what was there before, unless somebody has changed it since. It is the last resort
    /// after a failure that is reported already, so that a failure of its own has nothing to add.
    pub fn undo(&self) {
        if !read(&self.path).is_ok_and(|now| now == self.new) {
            return;
        }
        match &self.old {
            Some(old) => {
                let _ = self.path.parent().map(fs::create_dir_all);
                let _ = fs::write(&self.path, old);
            }
            None => drop(fs::remove_file(&self.path)),
        }
    }

    pub fn failed(&self, error: &io::Error) -> Error {
        Error::new(format!("cannot write `{}`: {error}", self.shown))
            .help("the folder must be writable; nothing has been changed")
    }

    /// Removes the folders that the last file of a group or version leaves behind.
    fn remove_empty_folders(&self) {
        let folders = self.path.ancestors().skip(1);
        for folder in folders.take_while(|folder| *folder != self.package && !folder.ends_with("src")) {
            // Removing a folder that is not empty fails, and that ends the climb.
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}
