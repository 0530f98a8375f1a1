//! `#[derive(GenClientList)]`.

use genclient::{decl::ListDecl, diag::Ctxt};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, spanned::Spanned as _};

use crate::{mirror::Mirrored, runtime, wire};

pub(crate) fn derive(cx: &Ctxt, input: &DeriveInput) -> Option<TokenStream> {
    let ListDecl { item, shape, krate, .. } = ListDecl::parse(cx, input)?;
    let mirrored = Mirrored::new(&shape, &["metadata", "items"]);
    let (ident, written) = (&mirrored.ident, &shape.ident);
    let name = ident.to_string();
    let runtime = runtime::path(krate.as_ref());
    let serde = wire::implement(&mirrored);
    let tie = quote_spanned! {item.span()=>
        const _: () = __rt::list_belongs_to_item(<#item as __rt::k8s_openapi::ListableResource>::LIST_KIND, #name);
    };
    let assertions = quote_spanned! {written.span()=>
        const _: () = {
            __rt::api_type_is_clone::<#written>();
            __rt::api_type_is_debug::<#written>();
        };
    };
    let allowed = runtime::allowed_lints();
    Some(quote! {
        #allowed
        const _: () = {
            use #runtime::__private as __rt;

            #[automatically_derived]
            impl __rt::k8s_openapi::Resource for #ident {
                const API_VERSION: &'static str = <#item as __rt::k8s_openapi::Resource>::API_VERSION;
                const GROUP: &'static str = <#item as __rt::k8s_openapi::Resource>::GROUP;
                const KIND: &'static str = #name;
                const VERSION: &'static str = <#item as __rt::k8s_openapi::Resource>::VERSION;
                const URL_PATH_SEGMENT: &'static str = <#item as __rt::k8s_openapi::Resource>::URL_PATH_SEGMENT;
                type Scope = <#item as __rt::k8s_openapi::Resource>::Scope;
            }

            #[automatically_derived]
            impl __rt::k8s_openapi::Metadata for #ident {
                type Ty = __rt::ListMeta;

                fn metadata(&self) -> &Self::Ty {
                    &self.metadata
                }

                fn metadata_mut(&mut self) -> &mut Self::Ty {
                    &mut self.metadata
                }
            }

            #[automatically_derived]
            impl #runtime::meta::KindList for #ident {
                type Item = #item;

                fn items(&self) -> &[Self::Item] {
                    &self.items
                }

                fn into_items(self) -> ::std::vec::Vec<Self::Item> {
                    self.items
                }
            }

            #serde
            #tie
            #assertions
        };
    })
}
