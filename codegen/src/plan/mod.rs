//! Writing: what differs from what is there, shown or carried out.
//!
//! - Nothing is written before everything has been rendered, and no file is ever half-written: each one is
//!   written to a folder of its own and renamed into its place.
//! - After an error, or an interruption before the first rename, all files are what they were.
//! - Whoever holds the [`Lock`] is the only run that writes. What a killed run leaves behind is mended by the
//!   next one.

mod change;
mod error;
mod lock;
mod staging;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    GeneratedFile, HEADER,
    files::{is_absent, with_slashes},
};
use change::Change;
pub use error::Error;
pub use lock::Lock;
use staging::{Folders, Staging};

/// What has to change so that the generated files are what the sources say.
///
/// ```no_run
/// # use std::path::Path;
/// # fn example(files: Vec<genclient::GeneratedFile>) -> Result<(), genclient::plan::Error> {
/// let mut plan = genclient::plan::Plan::default();
/// plan.compare(Path::new("generated/client"), "generated/client", &["src".into()], files)?;
/// assert!(plan.is_empty(), "{}", plan.diff());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Plan {
    changes: Vec<Change>,
    unchanged: usize,
}

impl Plan {
    /// Adds what differs between these files and the folder of a package, of which the named files and
    /// subfolders may hold generated ones. Other packages below it are left alone. `shown` is the folder as a person reads it.
    pub fn compare(
        &mut self,
        package: &Path,
        shown: &str,
        subfolders: &[String],
        files: Vec<GeneratedFile>,
    ) -> Result<(), Error> {
        let generated: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
        for file in files {
            match read(&package.join(&file.path))? {
                Some(old) if is_same(&old, &file.text) => self.unchanged += 1,
                Some(old) if !is_generated(&old) => {
                    let shown = show(shown, &file.path);
                    return Err(Error::new(format!(
                        "`{shown}` is in the way: it was not written by genclient"
                    ))
                    .help("move it elsewhere, or remove it"));
                }
                old => self.changes.push(Change::new(package, shown, &file.path, old, Some(file.text))),
            }
        }
        for subfolder in subfolders {
            let mut found = Vec::new();
            walk(&package.join(subfolder), &mut found)?;
            for path in found {
                let relative = with_slashes(path.strip_prefix(package).unwrap_or(&path));
                if generated.contains(&relative) {
                    continue;
                }
                let Some(old) = read(&path)?.filter(|text| is_generated(text)) else { continue };
                self.changes.push(Change::new(package, shown, &relative, Some(old), None));
            }
        }
        self.changes.sort_by(|a, b| a.shown.cmp(&b.shown));
        Ok(())
    }

    /// Adds a file that a person goes on with: it is written where there is none.
    pub fn create(&mut self, package: &Path, shown: &str, file: GeneratedFile) -> Result<(), Error> {
        if read(&package.join(&file.path))?.is_none() {
            self.changes.push(Change::new(package, shown, &file.path, None, Some(file.text)));
        }
        Ok(())
    }

    /// Adds a file that must not be there yet.
    ///
    /// # Errors
    ///
    /// Returns an error if there is one.
    pub fn create_new(&mut self, folder: &Path, file: &str, text: String) -> Result<(), Error> {
        if read(&folder.join(file))?.is_some() {
            return Err(Error::new(format!("`{file}` is there already"))
                .help("nothing is overwritten; move it elsewhere"));
        }
        self.changes.push(Change::new(folder, "", file, None, Some(text)));
        Ok(())
    }

    /// Adds a new text of a file that is there. `shown` is the folder as a person reads it.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn edit(&mut self, folder: &Path, shown: &str, file: &str, text: String) -> Result<(), Error> {
        let old = read(&folder.join(file))?;
        if old.as_ref() != Some(&text) {
            self.changes.push(Change::new(folder, shown, file, old, Some(text)));
        }
        Ok(())
    }

    /// The path of every file that changes, and what happens to it.
    pub fn list(&self) -> Vec<(String, &'static str)> {
        let mut list: Vec<_> =
            self.changes.iter().map(|change| (change.shown.clone(), change.fate())).collect();
        list.sort();
        list
    }

    /// Whether everything is as it should be.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The differences in the way of `diff -u`.
    pub fn diff(&self) -> String {
        self.changes.iter().map(Change::diff).collect()
    }

    /// Carries the changes out. All new texts are on disk before the first one takes its place.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written or removed, or if `interrupted` became true before the
    /// first file took its place. Everything is then what it was.
    pub fn write(self, interrupted: &AtomicBool) -> Result<Written, Error> {
        let mut written =
            Written { changes: Vec::new(), made: Folders::default(), unchanged: self.unchanged };
        match self.carry_out(interrupted, &mut written) {
            Ok(()) => Ok(written),
            Err(error) => {
                written.undo();
                Err(error)
            }
        }
    }

    fn carry_out(self, interrupted: &AtomicBool, written: &mut Written) -> Result<(), Error> {
        let mut stagings = BTreeMap::new();
        let mut staged = Vec::new();
        for change in &self.changes {
            if interrupted.load(Ordering::Relaxed) {
                return Err(Error::interrupted());
            }
            let staging = match stagings.entry(change.package.clone()) {
                Entry::Occupied(staging) => staging.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(Staging::create(&change.package, &change.shown_package, &mut written.made)?)
                }
            };
            let put = change.new.as_ref().map(|text| staging.put(text));
            staged.push(put.transpose().map_err(|error| change.failed(&error))?);
        }
        for (change, staged) in self.changes.into_iter().zip(staged) {
            change.carry_out(staged.as_deref(), &mut written.made)?;
            written.changes.push(change);
        }
        Ok(())
    }

    /// How many files a plan concerns.
    pub fn count(&self) -> Count {
        Count::of(&self.changes, self.unchanged)
    }
}

/// Changes that were carried out, and can be taken back.
#[must_use]
#[derive(Debug)]
pub struct Written {
    changes: Vec<Change>,
    made: Folders,
    unchanged: usize,
}

impl Written {
    /// Brings back what was there before. Files that somebody else has changed since are left alone.
    pub fn undo(self) {
        self.changes.iter().rev().for_each(Change::undo);
        self.made.unmake();
    }

    /// The paths of the files that were removed.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.changes.iter().filter(|change| change.new.is_none()).map(|change| &*change.shown)
    }

    /// How many files were written and removed.
    pub fn count(&self) -> Count {
        Count::of(&self.changes, self.unchanged)
    }
}

/// Numbers of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Files with a new text.
    pub written: usize,
    /// Files that are no longer generated.
    pub removed: usize,
    /// Files that were right.
    pub unchanged: usize,
}

impl Count {
    fn of(changes: &[Change], unchanged: usize) -> Self {
        let written = changes.iter().filter(|change| change.new.is_some()).count();
        Self { written, removed: changes.len() - written, unchanged }
    }
}

impl std::ops::Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            written: self.written + other.written,
            removed: self.removed + other.removed,
            unchanged: self.unchanged + other.unchanged,
        }
    }
}

fn show(package: &str, file: &str) -> String {
    match package {
        "" => file.to_owned(),
        package => format!("{package}/{file}"),
    }
}

/// Returns whether a file is as it was generated. A checkout may have other line ends.
fn is_same(old: &str, new: &str) -> bool {
    old == new || old.contains('\r') && with_unix_ends(old) == new
}

/// Replaces the line ends of Windows.
fn with_unix_ends(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Whether the generator wrote this text: its header is in the first line.
fn is_generated(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains(HEADER))
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read(path) {
        // A file that is not text is not ours, and its bytes do not matter here.
        Ok(bytes) => Ok(Some(String::from_utf8(bytes).unwrap_or_default())),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(Error::new(format!("cannot read `{}`: {error}", path.display()))),
    }
}

/// Removes what a killed run has left in the folder of a package. The caller holds the lock.
pub fn clean(package: &Path) -> Result<(), Error> {
    Staging::remove(package).map_err(|error| {
        Error::new(format!("cannot remove what another run left in `{}`: {error}", package.display()))
            .help("the folder must be writable; nothing has been changed")
    })
}

/// Every file at a path: itself, or those in the folder and the folders in it.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    if folder.is_file() {
        found.push(folder.to_path_buf());
        return Ok(());
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(Error::new(format!("cannot read `{}`: {error}", folder.display()))),
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            // Another package has its own generated files.
            Ok(kind) if kind.is_dir() && !entry.path().join("Cargo.toml").exists() => {
                walk(&entry.path(), found)?;
            }
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found.sort();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATED: &str = "// Code generated by genclient. DO NOT EDIT.\n";

    fn file(path: &str, text: &str) -> GeneratedFile {
        GeneratedFile { path: path.to_owned(), text: format!("{GENERATED}{text}") }
    }

    fn plan(package: &Path, files: Vec<GeneratedFile>) -> Plan {
        let mut plan = Plan::default();
        plan.compare(package, "out", &["src".to_owned()], files).unwrap();
        plan
    }

    fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        walk(folder, &mut found).unwrap();
        found.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    /// A package with one file of each fate, and the plan that brings it about.
    fn package() -> (tempfile::TempDir, Vec<GeneratedFile>) {
        let folder = tempfile::tempdir().unwrap();
        let old =
            vec![file("src/changed.rs", "old"), file("src/gone/removed.rs", "old"), file("src/same.rs", "")];
        let never = AtomicBool::new(false);
        drop(plan(folder.path(), old).write(&never).unwrap());
        let new = vec![file("src/a/added.rs", "new"), file("src/changed.rs", "new"), file("src/same.rs", "")];
        (folder, new)
    }

    #[test]
    fn what_was_written_can_be_taken_back() {
        let (folder, new) = package();
        let before = tree(folder.path());
        let written = plan(folder.path(), new).write(&AtomicBool::new(false)).unwrap();
        assert_eq!(written.count(), Count { written: 2, removed: 1, unchanged: 1 });
        assert!(!folder.path().join("src/gone").exists(), "an empty folder is removed");
        assert!(!folder.path().join(".genclient").exists());
        written.undo();
        assert_eq!(tree(folder.path()), before);
        assert!(!folder.path().join("src/a").exists());
    }

    #[test]
    fn a_checkout_with_the_line_ends_of_windows_is_up_to_date() {
        let folder = tempfile::tempdir().unwrap();
        let files = vec![file("src/a.rs", "one\ntwo\n")];
        drop(plan(folder.path(), files.clone()).write(&AtomicBool::new(false)).unwrap());
        let path = folder.path().join("src/a.rs");
        let text = fs::read_to_string(&path).unwrap().replace('\n', "\r\n");
        fs::write(&path, text).unwrap();
        assert!(plan(folder.path(), files).is_empty());
        let changed = plan(folder.path(), vec![file("src/a.rs", "one\nthree\n")]);
        let lines = changed.diff().lines().filter(|line| line.starts_with(['+', '-'])).count();
        assert_eq!(lines, 4, "two names and one line: {}", changed.diff());
    }

    #[test]
    fn what_another_has_changed_since_is_not_taken_back() {
        let (folder, new) = package();
        let written = plan(folder.path(), new).write(&AtomicBool::new(false)).unwrap();
        fs::write(folder.path().join("src/changed.rs"), "another's").unwrap();
        fs::create_dir_all(folder.path().join("src/gone")).unwrap();
        fs::write(folder.path().join("src/gone/removed.rs"), "another's").unwrap();
        written.undo();
        assert_eq!(fs::read_to_string(folder.path().join("src/changed.rs")).unwrap(), "another's");
        assert_eq!(fs::read_to_string(folder.path().join("src/gone/removed.rs")).unwrap(), "another's");
    }

    #[test]
    fn a_file_that_cannot_take_its_place_undoes_what_was_written_before_it() {
        let (folder, mut new) = package();
        new.push(file("src/z.rs", "new"));
        let plan = plan(folder.path(), new);
        fs::create_dir_all(folder.path().join("src/z.rs/x")).unwrap();
        let before = tree(folder.path());
        let error = plan.write(&AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains("cannot write `out/src/z.rs`"), "{error}");
        assert_eq!(tree(folder.path()), before);
    }

    #[test]
    fn an_interruption_before_the_first_file_leaves_everything_as_it_was() {
        let (folder, new) = package();
        let before = tree(folder.path());
        let error = plan(folder.path(), new).write(&AtomicBool::new(true)).unwrap_err();
        assert!(error.is_interruption());
        assert_eq!(tree(folder.path()), before);
    }

    #[test]
    fn a_removed_file_that_is_gone_already_is_removed() {
        let (folder, new) = package();
        let plan = plan(folder.path(), new);
        fs::remove_dir_all(folder.path().join("src/gone")).unwrap();
        drop(plan.write(&AtomicBool::new(false)).unwrap());
        assert!(folder.path().join("src/a/added.rs").exists());
    }

    #[test]
    fn the_leavings_of_a_killed_run_are_removed() {
        let (folder, new) = package();
        fs::create_dir_all(folder.path().join(".genclient/7/8")).unwrap();
        fs::write(folder.path().join(".genclient/0"), "").unwrap();
        drop(plan(folder.path(), new).write(&AtomicBool::new(false)).unwrap());
        assert!(!folder.path().join(".genclient").exists());
    }
}
