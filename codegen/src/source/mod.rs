//! Source crates, read whole: the module tree from a crate's root, each file parsed.
//!
//! Reading goes through [`ReadFile`], so that all that follows is pure and a test can hold its
//! sources in a map. A file that is missing or does not parse is an error and the reading goes on:
//! the errors of all files are shown together.

mod cfg;
mod features;
mod import;
mod manifest;
mod packages;
mod paths;
mod scope;
mod walk;

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use proc_macro2::Span;

use crate::{
    config::Source,
    diag::{Ctxt, Diagnostic},
    kubernetes::{self, Kubernetes},
    names::Name,
};

pub use cfg::Condition;
pub(crate) use cfg::Configured;
pub use packages::{Package, PackageLibrary, Packages};
pub(crate) use paths::PublicPaths;
pub(crate) use scope::{Resolved, is_group_version};

/// Where source files come from.
pub trait ReadFile {
    /// The text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// The files below a folder.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

impl ReadFile for Folder {
    fn read(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(self.0.join(path))
    }
}

impl ReadFile for BTreeMap<PathBuf, String> {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A place in one of the files of [`Sources`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The number of the file.
    pub file: usize,
    /// The bytes of the file's text.
    pub range: Range<usize>,
    /// The line of the first byte, from 1.
    pub line: usize,
}

/// An error of a whole crate. It has no place where no source is to blame.
pub type Error = Diagnostic<Option<Location>>;

/// One source file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The file's path, with forward slashes, relative to the folder of the configuration.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A module of a crate.
#[derive(Debug)]
pub struct Module {
    /// The names from the crate's root to here; the root's is empty.
    pub path: Vec<Name>,
    /// The file that holds its items.
    pub file: usize,
    /// How visible its parent makes it.
    pub vis: syn::Visibility,
    /// The conditions of the module and its parents that cannot be evaluated.
    pub condition: Option<Location>,
    /// Its items other than modules.
    pub items: Vec<syn::Item>,
    /// The modules in it.
    pub children: Vec<Module>,
}

impl Module {
    /// This module and all below it, parents first.
    pub fn walk(&self) -> impl Iterator<Item = &Module> {
        let mut stack = vec![self];
        std::iter::from_fn(move || {
            let module = stack.pop()?;
            stack.extend(module.children.iter().rev());
            Some(module)
        })
    }
}

/// A crate with annotated types.
#[derive(Debug)]
pub struct SourceCrate {
    /// The name by which other crates import it.
    pub name: String,
    /// The crate's folder or package, as the configuration names it.
    pub folder: String,
    /// The name and version of the package, if it was found in the dependency graph.
    pub package: Option<(String, String)>,
    /// Whether CRDs are written for kube's custom resources.
    pub crds: bool,
    /// Whether the crate is of the edition of 2015, in which a `use` starts at the root.
    pub edition_2015: bool,
    /// Its root module.
    pub root: Module,
}

/// All source crates of one client.
#[derive(Debug, Default)]
pub struct Sources {
    /// The crates.
    pub crates: Vec<SourceCrate>,
    /// The versions of Kubernetes.
    pub(crate) kubernetes: Vec<Kubernetes>,
    /// Every file that was read.
    pub files: Vec<SourceFile>,
    /// What could not be read or parsed.
    pub errors: Vec<Error>,
}

impl Sources {
    /// Reads these sources. Those that are not in folders are looked up among the packages.
    pub fn load(reader: &dyn ReadFile, from: &[Source], packages: &Packages) -> Self {
        let mut sources = Self::default();
        let cx = Ctxt::new();
        for source in from {
            match source {
                Source::Folder { folder, crds } => {
                    let krate = walk::load_folder(reader, folder, &mut sources.files, &cx);
                    sources.crates.extend(krate.map(|krate| SourceCrate { crds: *crds, ..krate }));
                }
                Source::Package { package, crds } => {
                    let Some(package) = cx.ok(packages.find(package)) else { continue };
                    let krate = walk::load_package(reader, package, &mut sources.files, &cx);
                    sources.crates.extend(krate.map(|krate| SourceCrate { crds: *crds, ..krate }));
                }
                Source::Kubernetes { version, groups } => {
                    let package = packages.k8s_openapi().map_err(|message| {
                        Error::new(None, message).help(
                            "Kubernetes' kinds come from the `k8s-openapi` that `genclient-runtime` uses",
                        )
                    });
                    let Some(package) = cx.ok(package) else { continue };
                    let found = kubernetes::read(reader, package, version, groups, &mut sources.files, &cx);
                    sources.kubernetes.extend(found);
                }
            }
        }
        sources.errors = cx.check().err().unwrap_or_default();
        sources
    }
}

/// The place of a span in a file.
pub(crate) fn locate(file: usize, span: Span) -> Location {
    Location { file, range: span.byte_range(), line: span.start().line }
}

/// Takes over what one item's context collected.
pub(crate) fn adopt(cx: &Ctxt<Option<Location>>, file: usize, item: Ctxt) {
    for error in item.check().err().into_iter().flatten() {
        cx.error(error.map(|span| Some(locate(file, span))));
    }
}
