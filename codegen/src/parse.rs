//! From sources to declarations: finds the annotated items of every module and reads them.

use proc_macro2::Span;
use syn::{DeriveInput, Item, spanned::Spanned as _};

use crate::{
    decl::{GroupVersionDecl, ListDecl, ResourceDecl},
    diag::{Ctxt, Diagnostic},
    source::{Condition, Location, Module, Sources, adopt, locate},
};

/// One annotated item, where it was found, and the group and version that cover it.
#[derive(Debug)]
pub(crate) struct Found<T> {
    pub decl: T,
    /// The number of the crate.
    pub krate: usize,
    /// The module that holds it.
    pub module: Vec<String>,
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
        for item in &module.items {
            let Some((input, derives)) = annotated(item) else { continue };
            let cfg = match Condition::of(&input.attrs) {
                Condition::False => continue,
                Condition::True => module.condition.clone(),
                Condition::Unknown(span) => Some(locate(module.file, span)),
            };
            if let Some(at) = cfg.or(derives.conditional.map(|span| locate(module.file, span))) {
                self.cx.error(
                    Diagnostic::new(
                        Some(at),
                        format!(
                            "`{}` depends on a condition that only the compiler can evaluate",
                            input.ident
                        ),
                    )
                    .help("`cfg(test)` is skipped; move annotated types out of any other `cfg`"),
                );
                continue;
            }
            self.item(module, &input, derives, group_version.as_ref());
        }
        for child in &module.children {
            self.module(child, group_version.as_ref().ok().and_then(Option::as_ref));
        }
    }

    fn item(
        &mut self,
        module: &Module,
        input: &DeriveInput,
        derives: Derives,
        group_version: Result<&Option<GroupVersion>, &()>,
    ) {
        let location = locate(module.file, input.ident.span());
        let cx = Ctxt::new();
        if derives.client {
            let decl = ResourceDecl::parse(&cx, input);
            match (decl, group_version) {
                (Some(decl), Ok(Some(group_version))) => {
                    let found = self.found(module, location.clone(), decl);
                    self.declarations.resources.push((found, group_version.clone()));
                }
                (_, Ok(None)) => self.cx.error(
                    Diagnostic::new(
                        Some(location.clone()),
                        format!("the module of `{}` has no `group_version!`", input.ident),
                    )
                    .help(
                        "add `genclient_runtime::group_version!(\"samplecrd.k8s.io/v1\");` to the module, \
                         or `genclient_runtime::group_version!(super);` to share its parent's",
                    ),
                ),
                // What is wrong with the one or the other has been told already.
                (None, _) | (_, Err(())) => {}
            }
        }
        // A struct with both derives is refused by one of the two, as by the compiler.
        if derives.list
            && let Some(decl) = ListDecl::parse(&cx, input)
        {
            let found = self.found(module, location, decl);
            self.declarations.lists.push(found);
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
            if item.mac.path.segments.last().is_none_or(|last| last.ident != "group_version") {
                continue;
            }
            let span = item.mac.path.span();
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

/// Which of our derives an item has.
#[derive(Clone, Copy, Default)]
struct Derives {
    client: bool,
    list: bool,
    /// One of them stands in a `cfg_attr`.
    conditional: Option<Span>,
}

/// The item as a derive sees it, where it has one of ours.
fn annotated(item: &Item) -> Option<(DeriveInput, Derives)> {
    let attrs = match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        _ => return None,
    };
    let mut derives = Derives::default();
    for attr in attrs {
        let syn::Meta::List(list) = &attr.meta else { continue };
        let is_derive = list.path.is_ident("derive");
        if !is_derive && !list.path.is_ident("cfg_attr") {
            continue;
        }
        for name in last_names(list.tokens.clone()) {
            match name.as_str() {
                "GenClient" => derives.client = true,
                "GenClientList" => derives.list = true,
                _ => continue,
            }
            if !is_derive {
                derives.conditional = Some(attr.span());
            }
        }
    }
    if !derives.client && !derives.list {
        return None;
    }
    let input = match item {
        Item::Struct(item) => item.clone().into(),
        Item::Enum(item) => item.clone().into(),
        Item::Union(item) => item.clone().into(),
        _ => return None,
    };
    Some((input, derives))
}

/// The identifiers among the tokens that end a path, however deep they stand in groups.
fn last_names(tokens: proc_macro2::TokenStream) -> Vec<String> {
    tokens
        .into_iter()
        .flat_map(|tree| match tree {
            proc_macro2::TokenTree::Ident(ident) => vec![ident.to_string()],
            proc_macro2::TokenTree::Group(group) => last_names(group.stream()),
            _ => Vec::new(),
        })
        .collect()
}
