//! `Serialize` and `Deserialize`, with `apiVersion` and `kind` in front of the fields.

use genclient::decl::Field;
use proc_macro2::TokenStream;
use quote::quote;

use crate::mirror::Mirrored;

pub(crate) fn implement(mirrored: &Mirrored<'_>) -> TokenStream {
    let (write, read) = (serialize(mirrored), deserialize(mirrored));
    quote!(#write #read)
}

/// serde's `remote` reads the fields of the annotated struct itself, so that a function which an
/// attribute names gets what its user expects.
fn serialize(mirrored: &Mirrored<'_>) -> TokenStream {
    let ident = &mirrored.ident;
    let name = ident.to_string();
    let container = mirrored.container();
    let fields = mirrored.shape.fields.iter().map(|field| {
        let (serde, ident, ty) = (mirrored.serde_of(field), &field.ident, mirrored.type_of(field));
        quote!(#serde #ident: #ty)
    });
    quote! {
        #[derive(__rt::serde::Serialize)]
        #[serde(remote = #name)]
        #container
        struct __Write {
            #[serde(rename = "apiVersion", getter = "__api_version")]
            api_version: &'static str,
            #[serde(rename = "kind", getter = "__kind")]
            kind: &'static str,
            #(#fields,)*
        }

        fn __api_version(_: &#ident) -> &'static str {
            <#ident as __rt::k8s_openapi::Resource>::API_VERSION
        }

        fn __kind(_: &#ident) -> &'static str {
            <#ident as __rt::k8s_openapi::Resource>::KIND
        }

        #[automatically_derived]
        impl __rt::serde::Serialize for #ident {
            fn serialize<__S: __rt::serde::Serializer>(
                &self,
                __serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                __Write::serialize(self, __serializer)
            }
        }
    }
}

fn deserialize(mirrored: &Mirrored<'_>) -> TokenStream {
    let ident = &mirrored.ident;
    let container = mirrored.container();
    let expecting = mirrored.shape.serde.says("expecting").is_none().then(|| {
        let text = format!("an object of the kind {ident}");
        quote!(#[serde(expecting = #text)])
    });
    let markers = quote! {
        api_version: ::core::default::Default::default(),
        kind: ::core::default::Default::default(),
    };
    let all: Vec<&Field> = mirrored.shape.fields.iter().collect();
    let (default, default_fn) = mirrored.default(&quote!(__Read), &all, &markers);
    let idents: Vec<_> = all.iter().map(|field| &field.ident).collect();
    let fields = all.iter().map(|field| {
        let (serde, ident, ty) = (mirrored.serde_of(field), &field.ident, mirrored.type_of(field));
        quote!(#serde #ident: #ty)
    });
    quote! {
        #[derive(__rt::serde::Deserialize)]
        #container
        #default
        #expecting
        struct __Read {
            #[serde(rename = "apiVersion", default)]
            api_version: __rt::ApiVersion<#ident>,
            #[serde(rename = "kind", default)]
            kind: __rt::Kind<#ident>,
            #(#fields,)*
        }

        #default_fn

        #[automatically_derived]
        impl<'de> __rt::serde::Deserialize<'de> for #ident {
            fn deserialize<__D: __rt::serde::Deserializer<'de>>(
                __deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                let __object: __Read = __rt::serde::Deserialize::deserialize(__deserializer)?;
                ::core::result::Result::Ok(Self { #(#idents: __object.#idents,)* })
            }
        }
    }
}
