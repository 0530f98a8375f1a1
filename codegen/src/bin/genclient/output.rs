//! Writing: what differs from what is there, shown or carried out.
//!
//! Every file is first written beside its place and then renamed into it, so that no file is ever
//! half-written; and nothing is written before everything has been rendered.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use genclient::{GeneratedFile, HEADER};
use similar::TextDiff;
use tempfile::{NamedTempFile, TempPath};

use crate::report::Failure;

/// What has to change so that the generated files are what the sources say.
#[derive(Default)]
pub(crate) struct Plan {
    changes: Vec<Change>,
    unchanged: usize,
}

struct Change {
    path: PathBuf,
    /// The path as a person reads it.
    shown: String,
    old: Option<String>,
    new: Option<String>,
}

impl Plan {
    /// Adds what differs between these files and the output folder, of which only the named
    /// subfolders belong to the generator.
    pub fn compare(
        &mut self,
        output: &Path,
        shown: &Path,
        subfolders: &[&str],
        files: Vec<GeneratedFile>,
    ) -> Result<(), Failure> {
        for file in &files {
            let path = output.join(&file.path);
            let shown = show(shown, &file.path);
            match read(&path)? {
                Some(old) if old == file.text => self.unchanged += 1,
                Some(old) if !is_generated(&old) => {
                    return Err(Failure::message(format!(
                        "`{shown}` is in the way: it was not written by genclient"
                    ))
                    .help("move it elsewhere, or remove it"));
                }
                old => self.changes.push(Change { path, shown, old, new: Some(file.text.clone()) }),
            }
        }
        let generated: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        for subfolder in subfolders {
            let mut found = Vec::new();
            walk(&output.join(subfolder), &mut found)?;
            for path in found {
                let relative =
                    path.strip_prefix(output).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                if generated.contains(relative.as_str()) {
                    continue;
                }
                let Some(old) = read(&path)?.filter(|text| is_generated(text)) else { continue };
                let shown = show(shown, &relative);
                self.changes.push(Change { path, shown, old: Some(old), new: None });
            }
        }
        self.changes.sort_by(|a, b| a.shown.cmp(&b.shown));
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Prints the differences in the way of `diff -u`.
    pub fn print_diff(&self) {
        for change in &self.changes {
            let (old, new) = (change.old.as_deref().unwrap_or(""), change.new.as_deref().unwrap_or(""));
            let name = |text: &Option<String>, side: &str| match text {
                Some(_) => format!("{side}/{}", change.shown),
                None => "/dev/null".to_owned(),
            };
            print!(
                "{}",
                TextDiff::from_lines(old, new)
                    .unified_diff()
                    .header(&name(&change.old, "a"), &name(&change.new, "b"))
            );
        }
    }

    /// Says in one line how many files are concerned.
    pub fn print_summary(&self, would: &str) {
        let count = |test: fn(&Change) -> bool| self.changes.iter().filter(|change| test(change)).count();
        let written = count(|change| change.new.is_some());
        let removed = count(|change| change.new.is_none());
        let files = if written == 1 { "file" } else { "files" };
        eprintln!("{written} {files} {would}written, {removed} {would}removed, {} unchanged", self.unchanged);
    }

    /// Carries the changes out. All new texts are on disk before the first one takes its place.
    pub fn write(&self) -> Result<(), Failure> {
        let staged = self.stage().inspect_err(|_| {
            self.changes.iter().for_each(|change| remove_empty_folders(&change.path));
        })?;
        let mut done = Vec::new();
        let result = staged
            .into_iter()
            .try_for_each(|(file, change)| {
                file.persist(&change.path).map_err(|error| {
                    Failure::message(format!("cannot write `{}`: {}", change.shown, error.error))
                })?;
                done.push(change);
                Ok(())
            })
            .and_then(|()| {
                self.changes.iter().filter(|change| change.new.is_none()).try_for_each(|change| {
                    fs::remove_file(&change.path).map_err(|error| {
                        Failure::message(format!("cannot remove `{}`: {error}", change.shown))
                    })?;
                    done.push(change);
                    Ok(())
                })
            });
        match &result {
            Ok(()) => {
                for change in self.changes.iter().filter(|change| change.new.is_none()) {
                    remove_empty_folders(&change.path);
                }
            }
            Err(_) => done.into_iter().for_each(Change::undo),
        }
        result
    }
}

impl Plan {
    /// Writes every new text beside its place.
    fn stage(&self) -> Result<Vec<(TempPath, &Change)>, Failure> {
        let mut staged = Vec::new();
        for change in &self.changes {
            let Some(text) = &change.new else { continue };
            let failed = |error: io::Error| {
                Failure::message(format!("cannot write `{}`: {error}", change.shown))
                    .help("the folder must be writable; nothing has been changed")
            };
            let folder = change.path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder).map_err(failed)?;
            let mut file = NamedTempFile::with_prefix_in(".genclient-", folder).map_err(failed)?;
            file.write_all(text.as_bytes()).map_err(failed)?;
            set_mode(file.as_file()).map_err(failed)?;
            // The path without its open file: there can be more files than one may hold open.
            staged.push((file.into_temp_path(), change));
        }
        Ok(staged)
    }
}

impl Change {
    /// Brings back what was there before. It is the last resort after a failure that has been
    /// reported already, so that a failure of its own has nothing to add.
    fn undo(&self) {
        let _ = match &self.old {
            Some(old) => fs::write(&self.path, old),
            None => fs::remove_file(&self.path),
        };
        if self.old.is_none() {
            remove_empty_folders(&self.path);
        }
    }
}

/// A temporary file is private; a source file is not.
#[cfg(unix)]
fn set_mode(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_mode(_: &fs::File) -> io::Result<()> {
    Ok(())
}

fn show(output: &Path, file: &str) -> String {
    output.join(file).to_string_lossy().replace('\\', "/")
}

/// Whether the generator wrote this text: its header is in the first line.
fn is_generated(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains(HEADER))
}

/// Whether nothing is there: no such file, or a file where a folder should be, which writing will tell of.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read(path) {
        // A file that is not text is not ours, and its bytes do not matter here.
        Ok(bytes) => Ok(Some(String::from_utf8(bytes).unwrap_or_default())),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(Failure::message(format!("cannot read `{}`: {error}", path.display()))),
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(Failure::message(format!("cannot read `{}`: {error}", folder.display()))),
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), found)?,
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found.sort();
    Ok(())
}

/// Removes the folders that the last file of a group or version leaves behind.
fn remove_empty_folders(file: &Path) {
    let mut folder = file.parent();
    // Removing a folder that is not empty fails, and that ends the climb.
    while let Some(path) = folder {
        if path.ends_with("src") || fs::remove_dir(path).is_err() {
            return;
        }
        folder = path.parent();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(folder: &Path, name: &str, old: Option<&str>, new: Option<&str>) -> Change {
        let path = folder.join(name);
        if let Some(old) = old {
            fs::write(&path, old).unwrap();
        }
        Change { path, shown: name.to_owned(), old: old.map(str::to_owned), new: new.map(str::to_owned) }
    }

    #[test]
    fn a_file_that_cannot_take_its_place_undoes_what_was_written_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let plan = Plan {
            changes: vec![
                change(folder, "changed", Some("old"), Some("new")),
                change(folder, "added", None, Some("new")),
                change(folder, "in-the-way", None, Some("new")),
                change(folder, "removed", Some("old"), None),
            ],
            unchanged: 0,
        };
        fs::create_dir_all(folder.join("in-the-way/x")).unwrap();
        assert!(plan.write().is_err());
        assert_eq!(fs::read_to_string(folder.join("changed")).unwrap(), "old");
        assert!(!folder.join("added").exists());
        assert_eq!(fs::read_to_string(folder.join("removed")).unwrap(), "old");
        let left: Vec<_> = fs::read_dir(folder).unwrap().collect();
        assert_eq!(left.len(), 3, "no temporary file stays: {left:?}");
    }
}
