//! Private structs that repeat the fields of the annotated one, for other derives to work on.
//!
//! serde's and schemars' own derives know all of their attributes; a mirror carries those of the
//! user and adds `apiVersion` and `kind`, which are no fields of the user's struct.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DeriveInput, Field, Fields, Token, Type, punctuated::Punctuated};

/// The named fields; the declaration has been checked, so there are some.
pub(crate) fn fields(input: &DeriveInput) -> Punctuated<Field, Token![,]> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => named.named.clone(),
            _ => Punctuated::new(),
        },
        _ => Punctuated::new(),
    }
}

/// The attributes of these names.
pub(crate) fn attributes<'a>(attrs: &'a [Attribute], names: &[&str]) -> Vec<&'a Attribute> {
    attrs.iter().filter(|attr| names.iter().any(|name| attr.path().is_ident(name))).collect()
}

/// Whether a `#[serde(…)]` among these says this.
fn says(attrs: &[Attribute], word: &str) -> bool {
    attributes(attrs, &["serde"]).iter().any(|attr| {
        let mut found = false;
        // An attribute that does not parse is serde's to report.
        let _ = attr.parse_nested_meta(|meta| {
            found |= meta.path.is_ident(word);
            if meta.input.peek(Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            } else if meta.input.peek(syn::token::Paren) {
                meta.parse_nested_meta(|_| Ok(()))?;
            }
            Ok(())
        });
        found
    })
}

/// The serde attributes of a field, with the defaults of a Kubernetes object where it has none.
fn serde_of(field: &Field) -> TokenStream {
    let written = attributes(&field.attrs, &["serde"]);
    if !written.is_empty() {
        return quote!(#(#written)*);
    }
    if field.ident.as_ref().is_some_and(|ident| ident == "metadata") {
        return quote!(#[serde(default)]);
    }
    match is_option(&field.ty) {
        true => quote!(#[serde(default, skip_serializing_if = "::core::option::Option::is_none")]),
        false => quote!(),
    }
}

pub(crate) fn is_option(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        _ => false,
    }
}

/// `Serialize` and `Deserialize` for the struct, with `apiVersion` and `kind` in front. `kind` is the
/// marker type that reads the kind and refuses another, and the constant that is written.
pub(crate) fn serde_impls(input: &DeriveInput, kind_marker: TokenStream, kind: TokenStream) -> TokenStream {
    let ident = &input.ident;
    let name = ident.to_string();
    let container = attributes(&input.attrs, &["serde"]);
    let krate = (!says(&input.attrs, "crate"))
        .then(|| quote!(#[serde(crate = "::genclient_runtime::__private::serde")]));
    let rename = (!says(&input.attrs, "rename")).then(|| quote!(#[serde(rename = #name)]));
    let expecting = (!says(&input.attrs, "expecting")).then(|| {
        let text = format!("an object of the kind {name}");
        quote!(#[serde(expecting = #text)])
    });
    let fields = fields(input);
    let idents: Vec<_> = fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    let borrowed = fields.iter().map(|field| {
        let (serde, ident, ty) = (serde_of(field), &field.ident, &field.ty);
        quote!(#serde #ident: &'__object #ty)
    });
    let owned = fields.iter().map(|field| {
        let (serde, ident, ty) = (serde_of(field), &field.ident, &field.ty);
        quote!(#serde #ident: #ty)
    });
    quote! {
        impl __rt::serde::Serialize for #ident {
            fn serialize<S: __rt::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                #[derive(__rt::serde::Serialize)]
                #krate
                #rename
                #(#container)*
                struct Mirror<'__object> {
                    #[serde(rename = "apiVersion")]
                    api_version: &'static str,
                    #[serde(rename = "kind")]
                    kind: &'static str,
                    #(#borrowed,)*
                }
                __rt::serde::Serialize::serialize(
                    &Mirror {
                        api_version: <Self as __rt::k8s_openapi::Resource>::API_VERSION,
                        kind: #kind,
                        #(#idents: &self.#idents,)*
                    },
                    serializer,
                )
            }
        }

        impl<'de> __rt::serde::Deserialize<'de> for #ident {
            fn deserialize<D: __rt::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {
                #[derive(__rt::serde::Deserialize)]
                #krate
                #rename
                #expecting
                #(#container)*
                struct Mirror {
                    #[serde(rename = "apiVersion", default)]
                    #[allow(dead_code, reason = "reading it checks it")]
                    api_version: __rt::ApiVersion<#ident>,
                    #[serde(rename = "kind", default)]
                    #[allow(dead_code, reason = "reading it checks it")]
                    kind: #kind_marker,
                    #(#owned,)*
                }
                let mirror: Mirror = __rt::serde::Deserialize::deserialize(deserializer)?;
                ::core::result::Result::Ok(Self { #(#idents: mirror.#idents,)* })
            }
        }
    }
}

/// `JsonSchema` for the struct: its fields without `metadata`, whose schema is the server's own.
pub(crate) fn schema_impl(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let name = ident.to_string();
    let container = attributes(&input.attrs, &["serde", "schemars", "doc"]);
    let fields = fields(input);
    let mirrored = fields
        .iter()
        .filter(|field| field.ident.as_ref().is_none_or(|ident| ident != "metadata"))
        .map(|field| {
            let attrs = attributes(&field.attrs, &["schemars", "doc", "validate", "garde"]);
            let serde = serde_of(field);
            let (ident, ty) = (&field.ident, field.ty.to_token_stream());
            quote!(#(#attrs)* #serde #ident: #ty)
        });
    quote! {
        #[derive(__rt::schemars::JsonSchema)]
        #[schemars(crate = "::genclient_runtime::__private::schemars", rename = #name)]
        #(#container)*
        #[allow(dead_code, reason = "the derive above reads the fields, no code does")]
        struct __Schema {
            #(#mirrored,)*
        }

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
