//! `JsonSchema`: the fields without `metadata`, whose schema is the API server's own.

use genclient::decl::Field;
use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::Attribute;

use crate::mirror::{Mirrored, attributes};

pub(crate) fn implement(mirrored: &Mirrored<'_>) -> TokenStream {
    let ident = &mirrored.ident;
    let name = ident.to_string();
    let attrs = &mirrored.shape.attrs;
    let container = mirrored.container();
    let schemars = attributes(attrs, &["schemars"]);
    let rename = (!says(&schemars, "rename")).then(|| quote!(#[schemars(rename = #name)]));
    let krate = (!says(&schemars, "crate")).then(|| quote!(#[schemars(crate = "__rt::schemars")]));
    let docs = documentation(attrs);
    let described: Vec<&Field> =
        mirrored.shape.fields.iter().filter(|field| field.name != "metadata").collect();
    let (default, default_fn) = mirrored.default(&quote!(__Schema), &described, &TokenStream::new());
    let fields = described.iter().map(|field| {
        let attrs = attributes(&field.attrs, &["schemars", "validate", "garde"]);
        let attrs = attrs.into_iter().map(|attr| mirrored.own(quote!(#attr)));
        let docs = documentation(&field.attrs);
        let (serde, ident, ty) = (mirrored.serde_of(field), &field.ident, mirrored.type_of(field));
        quote!(#docs #(#attrs)* #serde #ident: #ty)
    });
    let schemars = schemars.into_iter().map(|attr| mirrored.own(quote!(#attr)));
    quote! {
        #[derive(__rt::schemars::JsonSchema)]
        #krate
        #rename
        #(#schemars)*
        #container
        #default
        #docs
        struct __Schema {
            #(#fields,)*
        }

        #default_fn

        #[automatically_derived]
        impl __rt::schemars::JsonSchema for #ident {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                <__Schema as __rt::schemars::JsonSchema>::schema_name()
            }

            fn json_schema(generator: &mut __rt::schemars::SchemaGenerator) -> __rt::schemars::Schema {
                <__Schema as __rt::schemars::JsonSchema>::json_schema(generator)
            }
        }
    }
}

/// The documentation, for schemars to read. rustdoc has seen it on the struct itself: were it here
/// too, every example in it would run twice.
fn documentation(attrs: &[Attribute]) -> TokenStream {
    let docs = attributes(attrs, &["doc"]).into_iter().map(|attr| &attr.meta);
    quote!(#(#[cfg_attr(not(any(doc, doctest)), #docs)])*)
}

/// Whether one of these attributes starts an entry with this word.
fn says(attrs: &[&Attribute], word: &str) -> bool {
    attrs.iter().filter_map(|attr| attr.meta.require_list().ok()).any(|list| {
        let mut starts = true;
        list.tokens.clone().into_iter().any(|tree| {
            let found = starts && matches!(&tree, TokenTree::Ident(ident) if ident == word);
            starts = matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == ',');
            found
        })
    })
}
