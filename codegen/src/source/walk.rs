//! Follows the `mod` declarations of a crate from its root, as the compiler does.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Item, ItemMod, Visibility, spanned::Spanned as _};

use super::{
    Condition, Configured, Error, Location, Module, Package, PackageLibrary, ReadFile, SourceCrate,
    SourceFile, features, locate,
    manifest::{Library, unreadable},
};
use crate::{
    diag::{Ctxt, Diagnostic},
    files::{is_absent, with_slashes},
    names::Name,
};

/// Reads the crate in a folder; what is wrong is told to `cx`.
pub(super) fn load_folder(
    reader: &dyn ReadFile,
    folder: &str,
    files: &mut Vec<SourceFile>,
    cx: &Ctxt<Option<Location>>,
) -> Option<SourceCrate> {
    let library = cx.ok(Library::read(reader, folder))?;
    let walker = Walker { reader, files, cx, open: Vec::new(), package: None };
    load_crate(walker, library, folder)
}

/// Reads the library of a package of the dependency graph.
pub(super) fn load_package(
    reader: &dyn ReadFile,
    package: &Package,
    files: &mut Vec<SourceFile>,
    cx: &Ctxt<Option<Location>>,
) -> Option<SourceCrate> {
    let library = package.library.clone().ok_or_else(|| {
        Error::new(None, format!("the package `{}` has no library", package.name))
            .help("types that generated code can use are in a library")
    });
    let PackageLibrary { name, root, edition_2015 } = cx.ok(library)?;
    let walker = Walker { reader, files, cx, open: Vec::new(), package: Some(package) };
    let krate = load_crate(walker, Library { name, root, edition_2015 }, &package.name)?;
    Some(SourceCrate { package: Some((package.name.clone(), package.version.clone())), ..krate })
}

fn load_crate(mut walker: Walker<'_>, library: Library, folder: &str) -> Option<SourceCrate> {
    let Library { name, root, edition_2015 } = library;
    let cx = walker.cx;
    let text = cx.ok(walker.reader.read(&root).map_err(|error| {
        let (message, help) = unreadable(&walker.show(&root), &error);
        Error::new(None, message).help(help.unwrap_or("annotated types live in a library crate"))
    }))?;
    walker.open.push(root.clone());
    let parsed = walker.parse(&root, text);
    let (file, ast) = cx.ok(parsed)?;
    let (condition, items) = match Condition::of(&ast.attrs) {
        Condition::True => (None, ast.items),
        Condition::False => (None, Vec::new()),
        Condition::Unknown(span) => (Some(locate(file, span)), ast.items),
    };
    let place = Place { file, folder: parent(&root), relative: None };
    let root = Module {
        path: Vec::new(),
        file,
        vis: Visibility::Inherited,
        condition,
        items: Vec::new(),
        children: Vec::new(),
    };
    let root = walker.fill(root, items, &place);
    Some(SourceCrate { name, folder: folder.to_owned(), package: None, crds: false, edition_2015, root })
}

/// Where a module's items stand, and where the files of its children are looked for.
#[derive(Clone)]
struct Place {
    file: usize,
    /// The folder at which a `#[path]` starts.
    folder: PathBuf,
    /// The folder in it with the children's files, where the module's own file is not a `mod.rs`.
    relative: Option<Name>,
}

impl Place {
    fn children(&self) -> PathBuf {
        self.relative.iter().fold(self.folder.clone(), |folder, name| folder.join(name.as_str()))
    }
}

/// A file that was parsed, or the error that says why not.
type Parsed = Result<(usize, syn::File), Error>;

struct Walker<'a> {
    reader: &'a dyn ReadFile,
    files: &'a mut Vec<SourceFile>,
    cx: &'a Ctxt<Option<Location>>,
    /// The files of the module that is read and of those around it.
    open: Vec<PathBuf>,
    /// The package that is read, if it is one of the dependency graph.
    package: Option<&'a Package>,
}

impl Walker<'_> {
    /// A path as a person reads it: that of a package starts with the package's name and version.
    fn show(&self, path: &Path) -> String {
        let within =
            self.package.and_then(|package| Some((package, path.strip_prefix(&package.folder).ok()?)));
        match within {
            Some((package, path)) => format!("{}-{}/{}", package.name, package.version, with_slashes(path)),
            None => with_slashes(path),
        }
    }

    /// Parses a file. Several modules may share one.
    fn parse(&mut self, path: &Path, text: String) -> Parsed {
        // The compiler skips a byte order mark, and so do the positions it reports.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let path = self.show(path);
        let file = match self.files.iter().position(|file| file.path == path) {
            Some(known) => known,
            None => {
                self.files.push(SourceFile { path, text: text.clone() });
                self.files.len() - 1
            }
        };
        let text = without_shebang(text);
        let parsed = match self.package {
            None => syn::parse_file(&text),
            // The features of a package are known.
            Some(package) => text
                .parse::<TokenStream>()
                .map_err(syn::Error::from)
                .and_then(|tokens| syn::parse2(features::resolve(tokens, &package.features))),
        };
        parsed.map(|ast| (file, ast)).map_err(|error| {
            let message = match error.to_string().as_str() {
                // A bracket or a quote without its other half is no matter of grammar.
                "cannot parse string into token stream" => "this file is not valid Rust".to_owned(),
                error => format!("this file does not parse: {error}"),
            };
            Error::new(Some(locate(file, error.span())), message)
                .help("run `cargo check` for the compiler's own message")
        })
    }

    /// Adds the items to a module and reads its children.
    fn fill(&mut self, mut module: Module, items: Vec<Item>, place: &Place) -> Module {
        for item in items {
            match item {
                Item::Mod(item) => {
                    let children = self.children(item, &module, place);
                    module.children.extend(children);
                }
                item => module.items.push(item),
            }
        }
        module
    }

    /// The modules that a declaration can mean: one, unless its file depends on a condition.
    fn children(&mut self, item: ItemMod, parent_module: &Module, place: &Place) -> Vec<Module> {
        let Configured { condition, attrs, uncertain } = Configured::of(&item.attrs);
        let condition = match condition {
            Condition::False => return Vec::new(),
            Condition::True => None,
            Condition::Unknown(span) => Some(locate(place.file, span)),
        };
        let name = Name::from(&item.ident);
        let child = |condition: Option<Location>| Module {
            path: [&parent_module.path[..], std::slice::from_ref(&name)].concat(),
            file: place.file,
            vis: item.vis.clone(),
            condition: condition.or_else(|| parent_module.condition.clone()),
            items: Vec::new(),
            children: Vec::new(),
        };
        let given = attrs.iter().find_map(path_attribute);
        let maybe: Vec<_> = uncertain
            .iter()
            .filter_map(|(attr, span)| Some((path_attribute(attr)?, locate(place.file, *span))))
            .collect();
        if let Some((_, items)) = item.content {
            let condition = condition.or_else(|| maybe.into_iter().next().map(|(_, at)| at));
            // An inline module is a folder on the way to its children.
            let folder = match &given {
                Some((folder, _)) => place.folder.join(folder),
                None => place.children().join(name.as_str()),
            };
            let inner = Place { file: place.file, folder, relative: None };
            return vec![self.fill(child(condition), items, &inner)];
        }
        let at = locate(place.file, item.ident.span());
        let mut modules = Vec::new();
        let default = condition.or_else(|| maybe.first().map(|(_, at)| at.clone()));
        modules.extend(self.file_module(child(default), given.as_ref(), place, &at));
        for (given, condition) in maybe {
            modules.extend(self.file_module(child(Some(condition)), Some(&given), place, &at));
        }
        modules
    }

    /// Reads the file of a module.
    fn file_module(
        &mut self,
        mut module: Module,
        given: Option<&(String, Span)>,
        place: &Place,
        at: &Location,
    ) -> Option<Module> {
        let name = module.path.last()?.clone();
        let error = |message: String| Diagnostic::new(Some(at.clone()), message);
        let candidates = match given {
            Some((path, _)) => vec![normalise(&place.folder.join(path))],
            None => vec![
                normalise(&place.children().join(format!("{}.rs", name.as_str()))),
                normalise(&place.children().join(name.as_str()).join("mod.rs")),
            ],
        };
        let mut found: Vec<(&PathBuf, io::Result<String>)> = candidates
            .iter()
            .map(|candidate| (candidate, self.reader.read(candidate)))
            .filter(|(_, text)| !text.as_ref().is_err_and(is_absent))
            .collect();
        if let [(first, _), (second, _), ..] = &found[..] {
            let files = format!("`{}` and `{}`", self.show(first), self.show(second));
            self.cx.error(
                error(format!("the module `{name}` has two files, {files}")).help("remove one of them"),
            );
            return None;
        }
        let Some((path, text)) = found.pop() else {
            // A file behind a feature may well be absent; it matters only if it is there.
            if module.condition.is_none() {
                let names: Vec<_> = candidates.iter().map(|path| format!("`{}`", self.show(path))).collect();
                let at = given.map_or(at.clone(), |(_, span)| locate(place.file, *span));
                self.cx.error(
                    Diagnostic::new(Some(at), format!("the file of the module `{name}` is missing"))
                        .help(format!("create {}", names.join(" or "))),
                );
            }
            return None;
        };
        if self.open.contains(path) {
            self.cx.error(
                error(format!(
                    "the file of the module `{name}` holds the module itself, `{}`",
                    self.show(path)
                ))
                .help("give the module a file of its own"),
            );
            return None;
        }
        let text = self.cx.ok(text.map_err(|cause| {
            let (message, help) = unreadable(&self.show(path), &cause);
            error(message).help(help.unwrap_or("it must be a file that you may read"))
        }))?;
        // The compiler may never open a file behind a condition; it matters if it holds a kind.
        let matters = module.condition.is_none()
            || ["GenClient", "CustomResource"].iter().any(|derive| text.contains(derive));
        let parsed = self.parse(path, text);
        if !matters && parsed.is_err() {
            return None;
        }
        let (file, ast) = self.cx.ok(parsed)?;
        match Condition::of(&ast.attrs) {
            Condition::True => {}
            Condition::False => return None,
            Condition::Unknown(span) => module.condition = Some(locate(file, span)),
        }
        module.file = file;
        // The file of a module called `mod` may be a `mod.rs` that is none.
        let own_folder = given.is_none() && *path == candidates[0];
        let relative = own_folder.then_some(name);
        self.open.push(path.clone());
        let module = self.fill(module, ast.items, &Place { file, folder: parent(path), relative });
        self.open.pop();
        Some(module)
    }
}

/// The value of `#[path = "…"]`.
fn path_attribute(attr: &Attribute) -> Option<(String, Span)> {
    match &attr.meta {
        syn::Meta::NameValue(value) if value.path.is_ident("path") => match &value.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                Some((text.value(), text.span()))
            }
            other => Some((String::new(), other.span())),
        },
        _ => None,
    }
}

/// The text with its first line as a comment if it is a shebang, so that all positions stay.
fn without_shebang(text: String) -> String {
    match text.strip_prefix("#!") {
        Some(rest) if !rest.trim_start().starts_with('[') => format!("//{rest}"),
        _ => text,
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The path without `.` and `..`, as far as that is possible.
pub(super) fn normalise(path: &Path) -> PathBuf {
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
