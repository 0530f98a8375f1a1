//! From sources to declarations: finds the annotated items of every module and reads them.

mod annotated;
mod unseen;

use proc_macro2::Span;
use syn::{DeriveInput, Item, spanned::Spanned as _};

use crate::{
    decl::{CustomResourceDecl, GroupVersionDecl, ListDecl, ResourceDecl},
    diag::{Ctxt, Diagnostic},
    names::Name,
    source::{Condition, Error, Location, Module, Sources, adopt, is_group_version, locate},
};
pub(crate) use annotated::derive_names;
use annotated::{Derive, annotated};

/// One annotated item, and where it was found.
#[derive(Debug)]
pub(crate) struct Found<T> {
    pub decl: T,
    /// The number of the crate.
    pub krate: usize,
    /// The module that holds it.
    pub module: Vec<Name>,
    pub location: Location,
}

/// A group and version that a module declares.
#[derive(Clone, Debug)]
pub(crate) struct GroupVersion {
    pub group: String,
    pub version: String,
    /// The given ident, and where.
    pub ident: Option<(String, Location)>,
}

/// All that the sources declare.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    pub resources: Vec<(Found<ResourceDecl>, GroupVersion)>,
    pub lists: Vec<Found<ListDecl>>,
    pub custom_resources: Vec<Found<CustomResourceDecl>>,
}

/// Reads every annotated item of the sources.
pub(crate) fn parse(sources: &Sources, cx: &Ctxt<Option<Location>>) -> Declarations {
    let mut declarations = Declarations::default();
    for (number, krate) in sources.crates.iter().enumerate() {
        Parser { cx, krate: number, declarations: &mut declarations }.module(&krate.root, None);
    }
    declarations
}

struct Parser<'a> {
    cx: &'a Ctxt<Option<Location>>,
    krate: usize,
    declarations: &'a mut Declarations,
}

impl Parser<'_> {
    fn module(&mut self, module: &Module, parent: Option<&GroupVersion>) {
        let group_version = self.group_version(module, parent);
        unseen::check(module, self.cx);
        for item in &module.items {
            let cx = Ctxt::new();
            if let Some(found) = annotated(&cx, item) {
                match found.condition.map(|span| locate(module.file, span)).or(module.condition.clone()) {
                    Some(at) => self.cx.error(unknown_condition(at, &found.input.ident.to_string())),
                    None => self.item(module, &found.input, found.derive, group_version.as_ref()),
                }
            }
            adopt(self.cx, module.file, cx);
        }
        for child in &module.children {
            self.module(child, group_version.as_ref().ok().and_then(Option::as_ref));
        }
    }

    fn item(
        &mut self,
        module: &Module,
        input: &DeriveInput,
        derive: Derive,
        group_version: Result<&Option<GroupVersion>, &()>,
    ) {
        let location = locate(module.file, input.ident.span());
        let cx = Ctxt::new();
        match derive {
            Derive::Client => match (ResourceDecl::parse(&cx, input), group_version) {
                (Some(decl), Ok(Some(group_version))) => {
                    let found = self.found(module, location.clone(), decl);
                    self.declarations.resources.push((found, group_version.clone()));
                }
                (_, Ok(None)) => self.cx.error(
                    Diagnostic::new(Some(location.clone()), "this module has no `group_version!`").help(
                        "add `genclient_runtime::group_version!(\"samplecrd.k8s.io/v1\");` to the module, \
                         or `genclient_runtime::group_version!(super);` to share its parent's",
                    ),
                ),
                // What is wrong with the one or the other has been told already.
                (None, _) | (_, Err(())) => {}
            },
            Derive::CustomResource => {
                if let Some(decl) = CustomResourceDecl::parse(&cx, input) {
                    let found = self.found(module, location, decl);
                    self.declarations.custom_resources.push(found);
                }
            }
            Derive::List => {
                if let Some(decl) = ListDecl::parse(&cx, input) {
                    let found = self.found(module, location, decl);
                    self.declarations.lists.push(found);
                }
            }
        }
        adopt(self.cx, module.file, cx);
    }

    fn found<T>(&self, module: &Module, location: Location, decl: T) -> Found<T> {
        Found { decl, krate: self.krate, module: module.path.clone(), location }
    }

    /// The group and version of a module: `Err` where it declares one that is wrong.
    fn group_version(
        &self,
        module: &Module,
        parent: Option<&GroupVersion>,
    ) -> Result<Option<GroupVersion>, ()> {
        let mut declared: Option<(Span, Result<GroupVersion, ()>)> = None;
        for item in &module.items {
            let Item::Macro(item) = item else { continue };
            if !is_group_version(&item.mac.path) {
                continue;
            }
            let span = item.mac.path.span();
            match Condition::of(&item.attrs) {
                Condition::True => {}
                Condition::False => continue,
                Condition::Unknown(at) => {
                    self.cx.error(unknown_condition(locate(module.file, at), "group_version!"));
                    declared = Some((span, Err(())));
                    continue;
                }
            }
            if let Some((first, _)) = &declared {
                self.cx.error(
                    Diagnostic::new(
                        Some(locate(module.file, span)),
                        "this module has a `group_version!` already",
                    )
                    .help("a module holds one version of one group; put the types into modules of their own")
                    .related(Some(locate(module.file, *first)), "the first one is here"),
                );
                continue;
            }
            let cx = Ctxt::new();
            let decl = GroupVersionDecl::parse(&cx, item.mac.tokens.clone(), span);
            adopt(self.cx, module.file, cx);
            let result = match decl {
                None => Err(()),
                Some(GroupVersionDecl::Here { group, version, ident, .. }) => Ok(GroupVersion {
                    group,
                    version,
                    ident: ident.map(|ident| (ident.value, locate(module.file, ident.span))),
                }),
                Some(GroupVersionDecl::Parent(at)) => parent.cloned().ok_or_else(|| {
                    self.cx.error(
                        Diagnostic::new(
                            Some(locate(module.file, at)),
                            "the parent module has no `group_version!`",
                        )
                        .help("name the group and the version here, as in `group_version!(\"samplecrd.k8s.io/v1\")`"),
                    );
                }),
            };
            declared = Some((span, result));
        }
        declared.map(|(_, result)| result).transpose()
    }
}

/// What is there or not, and only the compiler knows which.
fn unknown_condition(at: Location, what: &str) -> Error {
    Error::new(Some(at), format!("`{what}` depends on a condition that only the compiler can evaluate")).help(
        "`cfg(test)` is skipped, and `cfg(feature = …)` is known if the source is a dependency, \
             `{ package = \"…\" }`; move annotated types out of any other `cfg`",
    )
}
