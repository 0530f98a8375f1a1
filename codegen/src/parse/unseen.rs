//! Annotated types that the generator cannot see are errors, lest it generate half of a client.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{
    Attribute, DeriveInput, Item, ItemMacro, UseTree,
    ext::IdentExt as _,
    spanned::Spanned as _,
    visit::{self, Visit},
};

use super::annotated::{annotated_input, derive_of_name};
use crate::{
    diag::{Ctxt, Diagnostic},
    source::{Condition, Location, Module, adopt, is_group_version},
};

/// Looks through a module for what may hide annotated types.
pub(super) fn check(module: &Module, cx: &Ctxt<Option<Location>>) {
    let found = Ctxt::new();
    for item in &module.items {
        match item {
            Item::Macro(item) if is_present(&item.attrs) => check_macro(&found, item),
            Item::Verbatim(tokens) => check_tokens(&found, tokens.clone()),
            Item::Use(item) if is_present(&item.attrs) => check_renames(&found, &item.tree),
            Item::Struct(_) | Item::Enum(_) | Item::Union(_) | Item::Macro(_) | Item::Use(_) => {}
            item => Bodies { cx: &found }.visit_item(item),
        }
    }
    adopt(cx, module.file, found);
}

fn is_present(attrs: &[Attribute]) -> bool {
    !matches!(Condition::of(attrs), Condition::False)
}

fn check_macro(cx: &Ctxt, item: &ItemMacro) {
    let path = &item.mac.path;
    if path.segments.last().is_some_and(|last| last.ident == "include") {
        cx.error(
            Diagnostic::new(path.span(), "annotated types behind `include!` would be missed")
                .help("declare the file as a module instead: `#[path = \"…\"] mod name;`"),
        );
    } else if !is_group_version(path) {
        check_tokens(cx, item.mac.tokens.clone());
    }
}

fn check_tokens(cx: &Ctxt, tokens: TokenStream) {
    if let Some(span) = annotation(tokens) {
        cx.error(
            Diagnostic::new(span, "annotated types that a macro defines would be missed")
                .help("write the types out, without the macro"),
        );
    }
}

/// Where tokens name a derive, or hold a `genclient(…)`.
fn annotation(tokens: TokenStream) -> Option<Span> {
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(ident) => {
                let attribute = ident == "genclient" && matches!(trees.peek(), Some(TokenTree::Group(_)));
                if attribute || derive_of_name(&ident.unraw().to_string()).is_some() {
                    return Some(ident.span());
                }
            }
            TokenTree::Group(group) => {
                if let Some(span) = annotation(group.stream()) {
                    return Some(span);
                }
            }
            _ => {}
        }
    }
    None
}

/// A derive under another name would not be known again.
fn check_renames(cx: &Ctxt, tree: &UseTree) {
    match tree {
        UseTree::Rename(rename) if rename.rename != "_" => {
            let name = rename.ident.unraw().to_string();
            if derive_of_name(&name).is_some() && rename.rename.unraw() != name {
                cx.error(
                    Diagnostic::new(
                        rename.span(),
                        format!("types that derive `{name}` under another name would be missed"),
                    )
                    .help(format!(
                        "import it as `{name}`, or name it in full: `#[derive(genclient_runtime::{name})]`"
                    )),
                );
            }
        }
        UseTree::Path(path) => check_renames(cx, &path.tree),
        UseTree::Group(group) => group.items.iter().for_each(|tree| check_renames(cx, tree)),
        UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

/// Finds annotated types in the bodies of functions, which no other crate can name.
struct Bodies<'a> {
    cx: &'a Ctxt,
}

impl Bodies<'_> {
    fn item(&self, input: DeriveInput) {
        if let Some(found) = annotated_input(self.cx, input) {
            let ident = &found.input.ident;
            self.cx.error(
                Diagnostic::new(ident.span(), format!("`{ident}` cannot be reached from other crates"))
                    .help("move it out of the function's body into a module"),
            );
        }
    }
}

impl<'ast> Visit<'ast> for Bodies<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Struct(item) => self.item(item.clone().into()),
            Item::Enum(item) => self.item(item.clone().into()),
            Item::Union(item) => self.item(item.clone().into()),
            Item::Fn(item) if is_test(&item.attrs) => {}
            Item::Mod(item) if !is_present(&item.attrs) => {}
            item => visit::visit_item(self, item),
        }
    }
}

/// Whether a function exists in tests only. A test's attribute may have any path, as `tokio::test` has.
fn is_test(attrs: &[Attribute]) -> bool {
    !is_present(attrs)
        || attrs.iter().any(|attr| attr.path().segments.last().is_some_and(|last| last.ident == "test"))
}
