//! What one annotated item says: the part of the front end that the derives and the command line share.

mod custom_resource;
mod group;
mod shape;
mod wire;

use proc_macro2::{Ident, Span, TokenStream};
use syn::{DeriveInput, Token, Type, parse::Parser, spanned::Spanned as _};

pub use custom_resource::CustomResourceDecl;
pub use group::CrdGroupError;
pub use shape::{Field, Shape};
#[cfg(feature = "generate")]
pub(crate) use wire::{renamed, written_key};

use crate::{
    attr::{Entry, ResourceAttrs, Spanned, crate_path, entries, resource_attrs},
    diag::{Ctxt, Diagnostic, did_you_mean},
    names,
};

/// A struct with `#[derive(GenClient)]`.
#[derive(Clone, Debug)]
pub struct ResourceDecl {
    /// The struct's name, which is the kind.
    pub ident: Ident,
    /// The struct's documentation, a line each.
    pub docs: Vec<String>,
    /// What `#[genclient(…)]` says.
    pub attrs: ResourceAttrs,
    /// Whether there is a `status` field.
    pub has_status: bool,
    /// The struct's fields.
    pub shape: Shape,
}

impl ResourceDecl {
    /// Reads the struct. What is wrong is told to `cx`; `None` where nothing sensible is left.
    pub fn parse(cx: &Ctxt, input: &DeriveInput) -> Option<Self> {
        let shape = Shape::parse(cx, input, "GenClient");
        let has_status = shape.as_ref().is_some_and(|shape| shape.field("status").is_some());
        let attrs = resource_attrs(cx, &input.attrs, has_status);
        check_kind(cx, &input.ident, &attrs);
        let shape = shape?;
        shape.check_metadata(cx, "ObjectMeta");
        if !attrs.no_status {
            shape.check_status(cx);
        }
        wire::check(cx, &shape, &["metadata", "status"]);
        Some(Self { ident: input.ident.clone(), docs: docs(&input.attrs), attrs, has_status, shape })
    }

    /// The plural, given or derived.
    pub fn plural(&self) -> String {
        match &self.attrs.plural {
            Some(plural) => plural.value.clone(),
            None => names::plural(&self.ident.to_string()),
        }
    }

    /// Whether the kind has the status subresource.
    pub fn status_subresource(&self) -> bool {
        self.has_status && !self.attrs.no_status
    }
}

/// A struct with `#[derive(GenClientList)]`.
#[derive(Clone, Debug)]
pub struct ListDecl {
    /// The struct's name, which is the list's kind.
    pub ident: Ident,
    /// The type of the items.
    pub item: syn::Path,
    /// `crate = "…"`
    pub krate: Option<syn::Path>,
    /// The struct's fields.
    pub shape: Shape,
}

impl ListDecl {
    /// Reads the struct. What is wrong is told to `cx`; `None` where nothing sensible is left.
    pub fn parse(cx: &Ctxt, input: &DeriveInput) -> Option<Self> {
        let shape = Shape::parse(cx, input, "GenClientList")?;
        shape.check_metadata(cx, "ListMeta");
        wire::check(cx, &shape, &["metadata", "items"]);
        let krate = list_attrs(cx, &input.attrs);
        let list = input.ident.to_string();
        let expected = match list.strip_suffix("List") {
            Some(item) if !item.is_empty() => item,
            _ => {
                cx.error(
                    Diagnostic::new(input.ident.span(), format!("`{list}` is not the name of a list"))
                        .help("a list is called after its items: `NetworkList` for `Network`"),
                );
                return None;
            }
        };
        let Some(items) = shape.field("items") else {
            cx.error(
                Diagnostic::new(input.ident.span(), format!("`{list}` has no field `items`"))
                    .help(format!("add `pub items: Vec<{expected}>`")),
            );
            return None;
        };
        match items.vec_item() {
            Some(Type::Path(item))
                if item.path.segments.last().is_some_and(|last| last.ident == expected) =>
            {
                Some(Self { ident: input.ident.clone(), item: item.path.clone(), krate, shape })
            }
            _ => {
                cx.error(
                    Diagnostic::new(
                        items.ty.span(),
                        format!("the items of `{list}` must be of the type `Vec<{expected}>`"),
                    )
                    .help(format!("write `pub items: Vec<{expected}>`, or rename the list after its items")),
                );
                None
            }
        }
    }
}

/// Reads the `#[genclient(…)]` of a list, which only says where the runtime is.
fn list_attrs(cx: &Ctxt, attrs: &[syn::Attribute]) -> Option<syn::Path> {
    let mut krate = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("genclient")) {
        let entries =
            attr.meta.require_list().map(|list| entries(cx, list.tokens.clone())).unwrap_or_default();
        match &entries[..] {
            [entry] if entry.name == "crate" && krate.is_none() => krate = crate_path(cx, entry),
            _ => cx.error(
                Diagnostic::new(attr.span(), "a list type takes no `#[genclient(…)]` but `crate = \"…\"`")
                    .help("put it on the type of the items"),
            ),
        }
    }
    krate
}

/// The input of `group_version!`.
#[derive(Clone, Debug)]
pub enum GroupVersionDecl {
    /// `group_version!("samplecrd.k8s.io/v1")`
    Here {
        /// The group, empty for the core group.
        group: String,
        /// The version.
        version: String,
        /// The name that the group has in generated code, where it is not derived.
        ident: Option<Spanned<String>>,
        /// Where the group and the version were written.
        span: Span,
    },
    /// `group_version!(super)`
    Parent(Span),
}

impl GroupVersionDecl {
    /// Reads the tokens between the parentheses of `group_version!(…)`.
    pub fn parse(cx: &Ctxt, tokens: TokenStream, call_site: Span) -> Option<Self> {
        let help = "write `group_version!(\"samplecrd.k8s.io/v1\")`, or `group_version!(super)` to share the parent module's";
        let parser =
            |input: syn::parse::ParseStream<'_>| -> syn::Result<(Result<syn::LitStr, Span>, TokenStream)> {
                if input.peek(Token![super]) {
                    let span = input.parse::<Token![super]>()?.span;
                    return Ok((Err(span), input.parse()?));
                }
                let text: syn::LitStr = input.parse()?;
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
                Ok((Ok(text), input.parse()?))
            };
        let empty = tokens.is_empty();
        let (text, rest) = match parser.parse2(tokens) {
            Ok((Ok(text), rest)) => (text, rest),
            Ok((Err(span), rest)) if rest.is_empty() => return Some(Self::Parent(span)),
            Ok((Err(_), rest)) => {
                cx.error(
                    Diagnostic::new(rest.span(), "`group_version!(super)` takes nothing else")
                        .help("remove it; the parent module's has it"),
                );
                return None;
            }
            Err(error) => {
                let span = if empty { call_site } else { error.span() };
                cx.error(Diagnostic::new(span, "`group_version!` needs a group and a version").help(help));
                return None;
            }
        };
        let value = text.value();
        let (group, version) = value.rsplit_once('/').unwrap_or(("", &value));
        let mut valid = true;
        if group.is_empty() && value.contains('/') {
            cx.error(
                Diagnostic::new(text.span(), "there is no group before the `/`")
                    .help(format!("the core group has no name: write `group_version!(\"{version}\")`")),
            );
            valid = false;
        } else if !group.is_empty()
            && let Err(why) = names::dns_subdomain(group)
        {
            cx.error(
                Diagnostic::new(text.span(), format!("`{group}` is not a valid API group: {why}"))
                    .help("a group is a DNS name such as `samplecrd.k8s.io`"),
            );
            valid = false;
        }
        if let Err(why) = names::dns_1035_label(version) {
            cx.error(
                Diagnostic::new(text.span(), format!("`{version}` is not a valid API version: {why}"))
                    .help("a version is a name such as `v1`, `v1beta2` or `v2alpha1`"),
            );
            valid = false;
        }
        let mut ident = None;
        let mut first = None;
        for entry in entries(cx, rest) {
            match (entry.name.to_string().as_str(), first) {
                ("ident", None) => {
                    first = Some(entry.span());
                    ident = group_ident(cx, &entry);
                }
                ("ident", Some(first)) => cx.error(
                    Diagnostic::new(entry.span(), "`ident` is given twice")
                        .help("remove one of them")
                        .related(first, "first given here"),
                ),
                (other, _) => {
                    let error = Diagnostic::new(entry.span(), format!("`group_version!` has no `{other}`"));
                    cx.error(match did_you_mean(other, ["ident"]) {
                        Some(near) => error.help(format!("did you mean `{near}`?")),
                        None => error.help("it takes `ident = \"…\"`, the group's name in generated code"),
                    });
                }
            }
        }
        valid.then(|| Self::Here {
            group: group.to_owned(),
            version: version.to_owned(),
            ident,
            span: text.span(),
        })
    }
}

fn group_ident(cx: &Ctxt, entry: &Entry) -> Option<Spanned<String>> {
    let ident = entry.string(cx)?;
    let snake = ident.value.starts_with(|c: char| c.is_ascii_lowercase())
        && ident.value.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'));
    if !snake || names::is_keyword(&ident.value) {
        cx.error(Diagnostic::new(ident.span, format!("`{}` is not a valid ident", ident.value)).help(
            "the group's name in generated code is in snake case and no keyword, such as `example_test`",
        ));
        return None;
    }
    Some(ident)
}

fn check_kind(cx: &Ctxt, ident: &Ident, attrs: &ResourceAttrs) {
    let kind = ident.to_string();
    // A CRD also names the kind of the list, and all its names are DNS labels.
    let allowed = if attrs.no_crd { 63 } else { 63 - "List".len() };
    if !kind.starts_with(|c: char| c.is_ascii_uppercase()) || !kind.chars().all(|c| c.is_ascii_alphanumeric())
    {
        cx.error(
            Diagnostic::new(ident.span(), format!("`{kind}` is not a valid kind"))
                .help("a kind is in camel case, of ASCII letters and digits"),
        );
    } else if kind.len() > allowed {
        cx.error(
            Diagnostic::new(
                ident.span(),
                format!("the kind has {} characters, and {allowed} are allowed", kind.len()),
            )
            .help("choose a shorter name"),
        );
    } else if attrs.plural.is_none()
        && let Err(why) = names::dns_1035_label(&names::plural(&kind))
    {
        let plural = names::plural(&kind);
        cx.error(
            Diagnostic::new(ident.span(), format!("`{plural}` is not a valid plural: {why}"))
                .help("choose another one: `#[genclient(plural = \"…\")]`"),
        );
    }
}

/// The documentation in these attributes, a line each, without the space after the slashes.
pub fn docs(attrs: &[syn::Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        let syn::Meta::NameValue(value) = &attr.meta else { continue };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &value.value else { continue };
        for line in text.value().lines() {
            lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned());
        }
        if text.value().is_empty() {
            lines.push(String::new());
        }
    }
    lines
}
