//! `#[derive(GenClient)]`.

use genclient::{decl::ResourceDecl, diag::Ctxt};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, spanned::Spanned as _};

use crate::{crd, mirror};

pub(crate) fn derive(cx: &Ctxt, input: &DeriveInput) -> Option<TokenStream> {
    let decl = ResourceDecl::parse(cx, input)?;
    let ident = &decl.ident;
    let kind = ident.to_string();
    let list_kind = format!("{kind}List");
    let plural = decl.plural();
    let scope = match decl.attrs.cluster_scoped {
        true => quote!(ClusterResourceScope),
        false => quote!(NamespaceResourceScope),
    };
    let serde = mirror::serde_impls(
        input,
        quote!(__rt::Kind<#ident>),
        quote!(<Self as __rt::k8s_openapi::Resource>::KIND),
    );
    let schema = (!decl.attrs.no_crd).then(|| mirror::schema_impl(input));
    let crd = (!decl.attrs.no_crd).then(|| crd::implement(&decl));
    let methods = method_types(&decl);
    let has_impls = spec_and_status(input);
    // The marker carries the struct's place, so that a missing `group_version!` is reported there.
    let marker = quote_spanned!(ident.span()=> __GenclientGroupVersion);
    let assertions = quote_spanned! {ident.span()=>
        const _: () = {
            __rt::api_type_is_clone::<#ident>();
            __rt::api_type_is_debug::<#ident>();
        };
    };
    Some(quote! {
        #[allow(unused_imports, reason = "`group_version!` in this module takes precedence over it")]
        use ::genclient_runtime::__private::fallback::*;

        const _: () = {
            use ::genclient_runtime::__private as __rt;

            impl __rt::k8s_openapi::Resource for #ident {
                const API_VERSION: &'static str = <#marker as __rt::GroupVersion>::API_VERSION;
                const GROUP: &'static str = <#marker as __rt::GroupVersion>::GROUP;
                const KIND: &'static str = #kind;
                const VERSION: &'static str = <#marker as __rt::GroupVersion>::VERSION;
                const URL_PATH_SEGMENT: &'static str = #plural;
                type Scope = __rt::k8s_openapi::#scope;
            }

            impl __rt::k8s_openapi::ListableResource for #ident {
                const LIST_KIND: &'static str = #list_kind;
            }

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
fn spec_and_status(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let fields = mirror::fields(input);
    let field =
        |name: &str| fields.iter().find(|field| field.ident.as_ref().is_some_and(|ident| ident == name));
    let spec = field("spec").filter(|field| !mirror::is_option(&field.ty)).map(|field| {
        let ty = &field.ty;
        quote! {
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
    let status = field("status").and_then(|field| option_item(&field.ty)).map(|ty| {
        quote! {
            impl __rt::kube::core::object::HasStatus for #ident {
                type Status = #ty;

                fn status(&self) -> ::core::option::Option<&Self::Status> {
                    self.status.as_ref()
                }

                fn status_mut(&mut self) -> &mut ::core::option::Option<Self::Status> {
                    &mut self.status
                }
            }
        }
    });
    quote!(#spec #status)
}

/// `T` of `Option<T>`.
fn option_item(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
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
    match checks.is_empty() {
        true => quote!(),
        false => quote!(const _: () = { #(#checks)* };),
    }
}
