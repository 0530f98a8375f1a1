//! Finds the files of kinds among the thousand files of one version of Kubernetes.

use std::{collections::BTreeMap, path::Path};

use crate::{
    diag::{Ctxt, Diagnostic},
    files::with_slashes,
    names::Name,
    source::{Error, Location, Package, ReadFile, SourceFile},
};

/// The kinds of one version of Kubernetes, before they are parsed.
#[derive(Debug)]
pub(crate) struct Kubernetes {
    /// The files of kinds, by number, each with the module that exports the type.
    pub files: Vec<(usize, Vec<Name>)>,
    /// The texts of the other structs, by the path of the type.
    pub parts: BTreeMap<Vec<Name>, String>,
    /// The groups that are wanted; all of them where it is empty.
    pub groups: Vec<String>,
    /// The version, such as `1.37`.
    pub version: String,
}

/// The words by which the file of a kind is known without parsing it.
const KIND: &str = "impl crate::Resource for";

/// Reads the files of every kind of a version.
pub(crate) fn read(
    reader: &dyn ReadFile,
    package: &Package,
    version: &str,
    groups: &[String],
    files: &mut Vec<SourceFile>,
    cx: &Ctxt<Option<Location>>,
) -> Option<Kubernetes> {
    let shown = format!("{}-{}", package.name, package.version);
    let sources = package.folder.join("src");
    let folder = format!("v{}", version.replace('.', "_"));
    let mut walk = Walk {
        reader,
        root: &package.folder,
        shown: &shown,
        files,
        found: Vec::new(),
        parts: BTreeMap::new(),
    };
    if walk.module(&sources.join(&folder), &[Name::new("k8s_openapi")]).is_none() {
        let known = reader.read(&sources.join("lib.rs")).map(|text| versions(&text)).unwrap_or_default();
        cx.error(unknown_version(&shown, version, &known));
        return None;
    }
    let Walk { found, parts, .. } = walk;
    Some(Kubernetes { files: found, parts, groups: groups.to_vec(), version: version.to_owned() })
}

struct Walk<'a> {
    reader: &'a dyn ReadFile,
    root: &'a Path,
    shown: &'a str,
    files: &'a mut Vec<SourceFile>,
    found: Vec<(usize, Vec<Name>)>,
    parts: BTreeMap<Vec<Name>, String>,
}

impl Walk<'_> {
    /// Goes through the modules that the `mod.rs` of a folder declares; `None` where there is none.
    fn module(&mut self, folder: &Path, path: &[Name]) -> Option<()> {
        let text = self.reader.read(&folder.join("mod.rs")).ok()?;
        for name in text.lines().filter_map(declared) {
            let file = folder.join(format!("{name}.rs"));
            match self.reader.read(&file) {
                Ok(text) => self.file(&file, text, path),
                Err(_) => {
                    self.module(&folder.join(name), &[path, &[Name::new(name)]].concat());
                }
            }
        }
        Some(())
    }

    /// Keeps the file of a kind or of another struct. Its type is exported by the module around it.
    fn file(&mut self, file: &Path, text: String, module: &[Name]) {
        if text.contains(KIND) {
            let path = with_slashes(file.strip_prefix(self.root).unwrap_or(file));
            self.found.push((self.files.len(), module.to_vec()));
            self.files.push(SourceFile { path: format!("{}/{path}", self.shown), text });
        } else if let Some(name) = text.lines().find_map(struct_name) {
            self.parts.insert([module, &[Name::new(name)]].concat(), text);
        }
    }
}

/// The name of the struct with named fields that begins in a line.
fn struct_name(line: &str) -> Option<&str> {
    line.strip_prefix("pub struct ")?.strip_suffix(" {")
}

/// The name of the module that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim();
    line.strip_prefix("pub mod ").or(line.strip_prefix("mod "))?.strip_suffix(';')
}

/// The versions of Kubernetes that the root of k8s-openapi declares: `mod v1_36;` is `1.36`.
fn versions(root: &str) -> Vec<String> {
    let declared = root.split("mod v1_").skip(1).filter_map(|rest| rest.split_once(';'));
    let mut versions: Vec<String> = declared
        .filter(|(minor, _)| minor.parse::<u32>().is_ok())
        .map(|(minor, _)| format!("1.{minor}"))
        .collect();
    versions.sort();
    versions.dedup();
    versions
}

fn unknown_version(package: &str, version: &str, known: &[String]) -> Error {
    let error = Diagnostic::new(None, format!("`{package}` has no Kubernetes {version}"));
    let all = known.join(", ");
    match known.is_empty() {
        true => error.help("genclient does not know this release of k8s-openapi"),
        false => error.help(format!("it has {all}; other versions are in other releases of k8s-openapi")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_root() {
        let root =
            "#[cfg(k8s_openapi_enabled_version=\"1.33\")] mod v1_33;\n pub use self::v1_33::*;\nmod v1_9;";
        assert_eq!(versions(root), ["1.33", "1.9"]);
        assert!(versions("// such as v1_50").is_empty());
        assert_eq!(declared("pub mod api;"), Some("api"));
        assert_eq!(declared("mod list;"), Some("list"));
        assert_eq!(declared("pub use self::list::List;"), None);
    }
}
