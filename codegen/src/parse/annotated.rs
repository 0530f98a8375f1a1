//! Annotated items as the derives see them: conditions evaluated, absent fields left out.

use proc_macro2::Span;
use syn::{
    Attribute, Data, DeriveInput, Fields, Item, Path, Token, ext::IdentExt as _, punctuated::Punctuated,
    spanned::Spanned as _,
};

use crate::{
    diag::{Ctxt, Diagnostic},
    source::{Condition, Configured},
};

/// One of the derives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Derive {
    /// `GenClient`
    Client,
    /// `GenClientList`
    List,
    /// kube's `CustomResource`
    CustomResource,
}

impl Derive {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "GenClient",
            Self::List => "GenClientList",
            Self::CustomResource => "CustomResource",
        }
    }
}

/// The derive of this name.
pub(super) fn derive_of_name(name: &str) -> Option<Derive> {
    match name {
        "GenClient" => Some(Derive::Client),
        "GenClientList" => Some(Derive::List),
        "CustomResource" => Some(Derive::CustomResource),
        _ => None,
    }
}

/// An item with one of the derives.
pub(super) struct Annotated {
    /// The item as the derive sees it.
    pub input: DeriveInput,
    pub derive: Derive,
    /// The condition, of the item or of a part that matters, which cannot be evaluated.
    pub condition: Option<Span>,
}

/// Reads an item that has one of the derives and is not for tests. One that is annotated by halves is
/// told to `cx`.
pub(super) fn annotated(cx: &Ctxt, item: &Item) -> Option<Annotated> {
    let input: DeriveInput = match item {
        Item::Struct(item) => item.clone().into(),
        Item::Enum(item) => item.clone().into(),
        Item::Union(item) => item.clone().into(),
        _ => return None,
    };
    annotated_input(cx, input)
}

/// Does the work of [`annotated`].
pub(super) fn annotated_input(cx: &Ctxt, mut input: DeriveInput) -> Option<Annotated> {
    let Configured { condition, attrs, uncertain } = Configured::of(&input.attrs);
    let mut unknown = match condition {
        Condition::False => return None,
        Condition::True => None,
        Condition::Unknown(span) => Some(span),
    };
    input.attrs = attrs;
    let certain: Vec<Derive> = input.attrs.iter().flat_map(derives).collect();
    let possible: Vec<Derive> = uncertain.iter().flat_map(|(attr, _)| derives(attr)).collect();
    let Some(derive) = certain.first().or(possible.first()).copied() else {
        if let Some(attr) = input.attrs.iter().find(|attr| attr.path().is_ident("genclient")) {
            cx.error(
                Diagnostic::new(
                    attr.span(),
                    "`#[genclient(…)]` needs `#[derive(GenClient)]` on the same item",
                )
                .help(format!("add the derive to `{}`, or remove the attribute", input.ident)),
            );
        }
        return None;
    };
    if let Some(other) = certain.iter().chain(&possible).find(|other| **other != derive) {
        let ident = &input.ident;
        let mut both = [derive, *other];
        both.sort();
        let [first, second] = both.map(Derive::name);
        let help = match second {
            "CustomResource" => {
                "kube's derive writes the struct of the kind, genclient's stands on it: keep one of them"
            }
            _ => "a type is either an object or a list: remove one of the derives",
        };
        let message = format!("`{ident}` derives both `{first}` and `{second}`");
        cx.error(Diagnostic::new(ident.span(), message).help(help));
        return None;
    }
    let matters = |attr: &Attribute| {
        ["genclient", "kube"].iter().any(|name| attr.path().is_ident(name)) || derives(attr).next().is_some()
    };
    unknown = unknown.or(uncertain.iter().find(|(attr, _)| matters(attr)).map(|(_, span)| *span));
    if let Data::Struct(data) = &mut input.data
        && let Fields::Named(fields) = &mut data.fields
    {
        let mut kept = Punctuated::new();
        for mut field in std::mem::take(&mut fields.named) {
            let configured = Configured::of(&field.attrs);
            match configured.condition {
                Condition::False => continue,
                Condition::Unknown(span) if derive != Derive::CustomResource && is_read(&field) => {
                    unknown = unknown.or(Some(span))
                }
                _ => {}
            }
            field.attrs = configured.attrs;
            kept.push(field);
        }
        fields.named = kept;
    }
    Some(Annotated { input, derive, condition: unknown })
}

/// Whether what is generated depends on a field of this name.
fn is_read(field: &syn::Field) -> bool {
    let name = field.ident.as_ref().map(|ident| ident.unraw().to_string());
    matches!(name.as_deref(), Some("metadata" | "status" | "items" | "kind" | "api_version"))
}

/// The derives among those that an attribute names.
fn derives(attr: &Attribute) -> impl Iterator<Item = Derive> {
    derive_names(attr).filter_map(|name| derive_of_name(&name))
}

/// The last names of all derives that an attribute names.
pub(crate) fn derive_names(attr: &Attribute) -> impl Iterator<Item = String> {
    let paths = match attr.path().is_ident("derive") {
        true => attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated).unwrap_or_default(),
        false => Punctuated::new(),
    };
    paths.into_iter().filter_map(|path| Some(path.segments.last()?.ident.unraw().to_string()))
}
