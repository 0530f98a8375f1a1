//! `#[derive(GenClient)]`.

use genclient::{
    decl::{Field, ResourceDecl},
    diag::Ctxt,
};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, spanned::Spanned as _};

use crate::{crd, mirror::Mirrored, runtime, schema, wire};

pub(crate) fn derive(cx: &Ctxt, input: &DeriveInput) -> Option<TokenStream> {
    let decl = ResourceDecl::parse(cx, input)?;
    let mirrored = Mirrored::new(&decl.shape, &["metadata", "status"]);
    let ident = &mirrored.ident;
    let runtime = runtime::path(decl.attrs.krate.as_ref());
    let kind = ident.to_string();
    let list_kind = format!("{kind}List");
    let plural = decl.plural();
    let scope =
        if decl.attrs.cluster_scoped { quote!(ClusterResourceScope) } else { quote!(NamespaceResourceScope) };
    let serde = wire::implement(&mirrored);
    let schema = (!decl.attrs.no_crd).then(|| schema::implement(&mirrored));
    let crd = (!decl.attrs.no_crd).then(|| crd::implement(&decl, ident));
    let methods = method_types(&decl);
    let has_impls = spec_and_status(&mirrored);
    // The marker carries the struct's place, so that a missing `group_version!` is reported there.
    let written = &decl.ident;
    let marker = quote_spanned!(written.span()=> __genclient_group_version::Marker);
    let allowed = runtime::allowed_lints();
    let assertions = quote_spanned! {written.span()=>
        const _: () = {
            __rt::api_type_is_clone::<#written>();
            __rt::api_type_is_debug::<#written>();
        };
    };
    Some(quote! {
        #[allow(unused_imports, reason = "`group_version!` in this module takes precedence over it")]
        use #runtime::__private::fallback::*;

        #allowed
        const _: () = {
            use #runtime::__private as __rt;

            #[automatically_derived]
            impl __rt::k8s_openapi::Resource for #ident {
                const API_VERSION: &'static str = <#marker as __rt::GroupVersion>::API_VERSION;
                const GROUP: &'static str = <#marker as __rt::GroupVersion>::GROUP;
                const KIND: &'static str = #kind;
                const VERSION: &'static str = <#marker as __rt::GroupVersion>::VERSION;
                const URL_PATH_SEGMENT: &'static str = #plural;
                type Scope = __rt::k8s_openapi::#scope;
            }

            #[automatically_derived]
            impl __rt::k8s_openapi::ListableResource for #ident {
                const LIST_KIND: &'static str = #list_kind;
            }

            #[automatically_derived]
            impl __rt::k8s_openapi::Metadata for #ident {
                type Ty = __rt::ObjectMeta;

                fn metadata(&self) -> &Self::Ty {
                    &self.metadata
                }

                fn metadata_mut(&mut self) -> &mut Self::Ty {
                    &mut self.metadata
                }
            }

            #serde
            #schema
            #crd
            #has_impls
            #assertions
            #methods
        };
    })
}

/// kube's `HasSpec` and `HasStatus`, where there are such fields.
fn spec_and_status(mirrored: &Mirrored<'_>) -> TokenStream {
    let ident = &mirrored.ident;
    let shape = mirrored.shape;
    let spec = shape.field("spec").filter(|spec| spec.option_item().is_none()).map(|spec| {
        let ty = &spec.ty;
        quote! {
            #[automatically_derived]
            impl __rt::kube::core::object::HasSpec for #ident {
                type Spec = #ty;

                fn spec(&self) -> &Self::Spec {
                    &self.spec
                }

                fn spec_mut(&mut self) -> &mut Self::Spec {
                    &mut self.spec
                }
            }
        }
    });
    let status = shape.field("status").and_then(Field::option_item).map(|ty| {
        quote! {
            #[automatically_derived]
            impl __rt::kube::core::object::HasStatus for #ident {
                type Status = #ty;

                fn status(&self) -> ::core::option::Option<&Self::Status> {
                    ::core::option::Option::as_ref(&self.status)
                }

                fn status_mut(&mut self) -> &mut ::core::option::Option<Self::Status> {
                    &mut self.status
                }
            }
        }
    });
    quote!(#spec #status)
}

/// Checks, where they are written, that the types which `method(…)` names can be sent and received.
fn method_types(decl: &ResourceDecl) -> TokenStream {
    let checks = decl.attrs.methods.iter().flat_map(|method| {
        let check = |reference: &Option<genclient::attr::TypeRef>, function: TokenStream| {
            let reference = reference.as_ref().filter(|reference| !reference.absolute)?;
            let path = &reference.tokens;
            Some(quote_spanned!(path.span()=> __rt::#function::<#path>();))
        };
        [check(&method.input, quote!(method_input)), check(&method.result, quote!(method_result))]
    });
    let checks: Vec<_> = checks.flatten().collect();
    if checks.is_empty() { quote!() } else { quote!(const _: () = { #(#checks)* };) }
}
