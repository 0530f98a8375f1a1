//! What the private structs have in common that repeat the fields of the annotated one.
//!
//! serde's and schemars' own derives know all of their attributes. They work on mirrors of the
//! annotated struct, which carry the user's attributes and add `apiVersion` and `kind`.

use genclient::decl::{Field, Shape};
use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, LitStr};

/// An annotated struct that is to be mirrored.
pub(crate) struct Mirrored<'s> {
    pub shape: &'s Shape,
    /// The struct's name as the expansion refers to it.
    pub ident: Ident,
    /// The fields that the API server knows by name.
    pub known: &'s [&'s str],
}

impl<'s> Mirrored<'s> {
    pub fn new(shape: &'s Shape, known: &'s [&'s str]) -> Self {
        Self { shape, ident: generated(&shape.ident), known }
    }

    /// The struct's `#[serde(…)]` for a mirror. What the mirror says itself is left out.
    pub fn container(&self) -> TokenStream {
        let serde = &self.shape.serde;
        let name = self.shape.ident.to_string();
        let rename = serde.says("rename").is_none().then(|| quote!(#[serde(rename = #name)]));
        let written = serde.without(&["crate", "default"]).map(|entry| self.own(entry));
        quote! {
            #[serde(crate = "__rt::serde")]
            #rename
            #(#[serde(#written)])*
        }
    }

    /// Fills in what a whole object has by default, for a mirror with these fields.
    ///
    /// Gives the attribute for the mirror and the function that the attribute names.
    pub fn default(
        &self,
        mirror: &TokenStream,
        fields: &[&Field],
        more: &TokenStream,
    ) -> (TokenStream, TokenStream) {
        let serde = &self.shape.serde;
        if serde.says("default").is_none() {
            return (TokenStream::new(), TokenStream::new());
        }
        let ident = &self.ident;
        let value = match serde.text("default").and_then(|path| path.parse::<syn::ExprPath>().ok()) {
            Some(path) => self.own(path.to_token_stream()),
            None => quote!(<#ident as ::core::default::Default>::default),
        };
        let name = quote::format_ident!("__default_of{}", mirror.to_string().to_lowercase());
        let text = name.to_string();
        let fields = fields.iter().map(|field| &field.ident);
        (
            quote!(#[serde(default = #text)]),
            quote! {
                fn #name() -> #mirror {
                    let __object: #ident = #value();
                    #mirror { #more #(#fields: __object.#fields,)* }
                }
            },
        )
    }

    /// The `#[serde(…)]` of a field, with the defaults of a Kubernetes object where it has none.
    pub fn serde_of(&self, field: &Field) -> TokenStream {
        let serde = &field.serde;
        let mut added = Vec::new();
        // Where the whole object has a default, it holds for the fields, too.
        let may_be_absent = self.shape.serde.says("default").is_none() && serde.says("default").is_none();
        if serde.is_empty() && field.option_item().is_some() {
            added.push(quote!(skip_serializing_if = "::core::option::Option::is_none"));
            if may_be_absent {
                added.push(quote!(default));
            }
        }
        if self.known.contains(&field.name.as_str()) && serde.says("rename").is_none() {
            let name = &field.name;
            added.push(quote!(rename = #name));
        }
        if field.name == "metadata" && may_be_absent {
            added.push(quote!(default));
        }
        let written = serde.without(&[]).map(|entry| self.own(entry));
        quote!(#(#[serde(#written)])* #(#[serde(#added)])*)
    }

    /// The type of a field.
    pub fn type_of(&self, field: &Field) -> TokenStream {
        self.own(field.ty.to_token_stream())
    }

    /// The tokens with `Self` as the annotated type, which in a mirror would be the mirror.
    pub fn own(&self, tokens: TokenStream) -> TokenStream {
        tokens
            .into_iter()
            .map(|tree| match tree {
                TokenTree::Ident(ident) if ident == "Self" => TokenTree::Ident(self.ident.clone()),
                TokenTree::Group(group) => {
                    let mut own = Group::new(group.delimiter(), self.own(group.stream()));
                    own.set_span(group.span());
                    TokenTree::Group(own)
                }
                TokenTree::Literal(literal) => TokenTree::Literal(self.own_path(literal)),
                other => other,
            })
            .collect()
    }

    /// The same for a path in a text, as in `default = "Self::new"` or `"<Self as Maker>::make"`.
    fn own_path(&self, literal: Literal) -> Literal {
        let path = syn::parse2::<LitStr>(TokenTree::Literal(literal.clone()).into());
        // A text that is no path, such as a name or a bound, says nothing of `Self`.
        let Some(path) = path.ok().and_then(|path| path.parse::<syn::ExprPath>().ok()) else {
            return literal;
        };
        let written = path.to_token_stream();
        // `Self` alone is a name, such as that of `rename`.
        let is_name = path.qself.is_none() && path.path.segments.len() == 1;
        if is_name || !names_self(written.clone()) {
            return literal;
        }
        let mut own = Literal::string(&self.own(written).to_string());
        own.set_span(literal.span());
        own
    }
}

/// Whether `Self` is among the tokens.
fn names_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => names_self(group.stream()),
        _ => false,
    })
}

/// The identifier at its place, but as a part of the expansion: lints leave it alone.
fn generated(ident: &Ident) -> Ident {
    Ident::new(&ident.to_string(), Span::call_site().located_at(ident.span()))
}

/// The attributes of these names.
pub(crate) fn attributes<'a>(attrs: &'a [Attribute], names: &[&str]) -> Vec<&'a Attribute> {
    attrs.iter().filter(|attr| names.iter().any(|name| attr.path().is_ident(name))).collect()
}
