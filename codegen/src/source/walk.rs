//! Follows the `mod` declarations of a crate from its root, as the compiler does.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use proc_macro2::Span;
use serde::Deserialize;
use syn::{Item, ItemMod, Visibility, spanned::Spanned as _};

use super::{Condition, Error, Location, Module, ReadFile, SourceCrate, SourceFile, locate};
use crate::diag::{Ctxt, Diagnostic};

/// The part of a crate's manifest that says how it is called and where it starts.
#[derive(Deserialize)]
struct Manifest {
    package: Option<Package>,
    lib: Option<Lib>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Deserialize)]
struct Lib {
    name: Option<String>,
    path: Option<String>,
}

/// Reads one crate; what is wrong is told to `cx`.
pub(super) fn load_crate(
    reader: &dyn ReadFile,
    folder: &str,
    files: &mut Vec<SourceFile>,
    cx: &Ctxt<Option<Location>>,
) -> Option<SourceCrate> {
    let manifest_path = normalise(&Path::new(folder).join("Cargo.toml"));
    let manifest = match reader.read(&manifest_path) {
        Ok(text) => text,
        Err(error) => {
            cx.error(Error::new(None, format!("cannot read `{}`: {error}", display(&manifest_path))).help(
                "`sources` in the configuration names the folders of the crates that hold annotated types",
            ));
            return None;
        }
    };
    let manifest: Manifest = match toml::from_str(&manifest) {
        Ok(manifest) => manifest,
        Err(error) => {
            cx.error(Error::new(None, format!("cannot parse `{}`: {error}", display(&manifest_path))));
            return None;
        }
    };
    let (name, root) = match (manifest.lib, manifest.package) {
        (Some(Lib { name: Some(name), path }), _) => (name, path),
        (lib, Some(package)) => (package.name, lib.and_then(|lib| lib.path)),
        (_, None) => {
            cx.error(
                Error::new(None, format!("`{}` describes no package", display(&manifest_path)))
                    .help("name the folder of a crate, not of a workspace"),
            );
            return None;
        }
    };
    let root_path = normalise(&Path::new(folder).join(root.as_deref().unwrap_or("src/lib.rs")));
    let mut walker = Walker { reader, files, cx };
    let (file, ast) = match reader.read(&root_path) {
        Ok(text) => walker.parse(&root_path, text)?,
        Err(error) => {
            cx.error(
                Error::new(None, format!("cannot read `{}`: {error}", display(&root_path)))
                    .help("annotated types live in a library crate"),
            );
            return None;
        }
    };
    let place = Place { file, own: root_path.clone(), children: parent(&root_path) };
    let root = walker.module(ast.items, Vec::new(), true, None, &place);
    Some(SourceCrate { name: name.replace('-', "_"), folder: folder.to_owned(), root })
}

/// Where a module's items stand, and where the files of its children are looked for.
#[derive(Clone)]
struct Place {
    file: usize,
    /// The file itself: a `#[path]` outside of inline modules is relative to its folder.
    own: PathBuf,
    /// The folder of the children's files.
    children: PathBuf,
}

struct Walker<'a> {
    reader: &'a dyn ReadFile,
    files: &'a mut Vec<SourceFile>,
    cx: &'a Ctxt<Option<Location>>,
}

impl Walker<'_> {
    /// Parses a file. One that does not parse has been reported and is `None`.
    fn parse(&mut self, path: &Path, text: String) -> Option<(usize, syn::File)> {
        let file = self.files.len();
        // The compiler skips a byte order mark, and so do the positions it reports.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let parsed = syn::parse_file(&text);
        self.files.push(SourceFile { path: display(path), text });
        match parsed {
            Ok(ast) => Some((file, ast)),
            Err(error) => {
                let at = locate(file, error.span());
                self.cx.error(
                    Error::new(Some(at), format!("this file does not parse: {error}"))
                        .help("`cargo check` shows the same error"),
                );
                None
            }
        }
    }

    fn module(
        &mut self,
        items: Vec<Item>,
        path: Vec<String>,
        public: bool,
        condition: Option<Location>,
        place: &Place,
    ) -> Module {
        let mut module =
            Module { path, file: place.file, public, condition, items: Vec::new(), children: Vec::new() };
        for item in items {
            match item {
                Item::Mod(item) => {
                    let child = self.child(item, &module, place);
                    module.children.extend(child);
                }
                item => module.items.push(item),
            }
        }
        module
    }

    fn child(&mut self, item: ItemMod, parent_module: &Module, place: &Place) -> Option<Module> {
        let own_condition = Condition::of(&item.attrs);
        let conditional = matches!(own_condition, Condition::Unknown(_));
        let condition = match own_condition {
            Condition::False => return None,
            Condition::True => parent_module.condition.clone(),
            Condition::Unknown(span) => Some(locate(place.file, span)),
        };
        let name = item.ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
        let mut path = parent_module.path.clone();
        path.push(name.clone());
        let public = matches!(item.vis, Visibility::Public(_));
        let given = path_attribute(&item);
        if let Some((_, items)) = item.content {
            // An inline module is a folder on the way to its children.
            let folder = given.map(|(folder, _)| folder).unwrap_or(name);
            let inner = Place { children: place.children.join(folder), ..place.clone() };
            return Some(self.module(items, path, public, condition, &inner));
        }
        let candidates = self.candidates(&name, given.as_ref(), place);
        let mut found: Vec<(&PathBuf, io::Result<String>)> = candidates
            .iter()
            .map(|candidate| (candidate, self.reader.read(candidate)))
            .filter(|(_, text)| !text.as_ref().is_err_and(is_absent))
            .collect();
        let mark = |span: Span| Some(locate(place.file, span));
        if let [(first, _), (second, _), ..] = &found[..] {
            let files = format!("`{}` and `{}`", display(first), display(second));
            self.cx.error(
                Diagnostic::new(
                    mark(item.ident.span()),
                    format!("the module `{name}` has two files, {files}"),
                )
                .help("remove one of them"),
            );
            return None;
        }
        let Some((file_path, text)) = found.pop() else {
            // A file behind a feature may well be absent; it matters only if it is there.
            if !conditional {
                let names: Vec<_> = candidates.iter().map(|path| format!("`{}`", display(path))).collect();
                let at = given.as_ref().map_or(item.ident.span(), |(_, span)| *span);
                self.cx.error(
                    Diagnostic::new(mark(at), format!("the file of the module `{name}` is missing"))
                        .help(format!("create {}", names.join(" or "))),
                );
            }
            return None;
        };
        if self.files.iter().any(|file| file.path == display(file_path)) {
            self.cx.error(
                Diagnostic::new(
                    mark(item.ident.span()),
                    format!("`{}` is already the file of another module", display(file_path)),
                )
                .help("give each module a file of its own"),
            );
            return None;
        }
        let (file, ast) = match text {
            Ok(text) => self.parse(file_path, text)?,
            Err(error) => {
                self.cx.error(Diagnostic::new(
                    mark(item.ident.span()),
                    format!("cannot read `{}`: {error}", display(file_path)),
                ));
                return None;
            }
        };
        let is_mod_rs = given.is_some() || file_path.file_name().is_some_and(|name| name == "mod.rs");
        let children = match is_mod_rs {
            true => parent(file_path),
            false => parent(file_path).join(&name),
        };
        Some(self.module(
            ast.items,
            path,
            public,
            condition,
            &Place { file, own: file_path.clone(), children },
        ))
    }

    /// The files that a `mod name;` can mean.
    fn candidates(&self, name: &str, given: Option<&(String, Span)>, place: &Place) -> Vec<PathBuf> {
        match given {
            Some((path, _)) => {
                // Inside inline modules a `#[path]` starts at their folder, else at the file's own.
                let own = parent(&place.own);
                let file_stem_folder = match place.own.file_stem() {
                    Some(stem) => own.join(stem),
                    None => own.clone(),
                };
                let outside = place.children == own || place.children == file_stem_folder;
                let base = if outside { own } else { place.children.clone() };
                vec![normalise(&base.join(path))]
            }
            None => vec![
                normalise(&place.children.join(format!("{name}.rs"))),
                normalise(&place.children.join(name).join("mod.rs")),
            ],
        }
    }
}

/// Whether an error of reading says that there is no such file.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The value of `#[path = "…"]`.
fn path_attribute(item: &ItemMod) -> Option<(String, Span)> {
    item.attrs.iter().find_map(|attr| match &attr.meta {
        syn::Meta::NameValue(value) if value.path.is_ident("path") => match &value.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                Some((text.value(), text.span()))
            }
            other => Some((String::new(), other.span())),
        },
        _ => None,
    })
}

fn parent(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The path without `.` and `..`, as far as that is possible.
fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The path with forward slashes, the same on every machine.
fn display(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}
