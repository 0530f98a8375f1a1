//! kube's `CustomResourceExt`: the CRD that the attributes and the schema describe.

use genclient::{
    attr::ResourceAttrs,
    decl::{CrdGroupError, ResourceDecl},
};
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::Lit;

pub(crate) fn implement(decl: &ResourceDecl, ident: &Ident) -> TokenStream {
    let attrs = &decl.attrs;
    let shortnames = attrs.shortnames.iter().map(|name| &name.value);
    let options = options(decl);
    let group = group_check(decl);
    quote! {
        #group

        #[automatically_derived]
        impl __rt::kube::CustomResourceExt for #ident {
            fn crd() -> __rt::CustomResourceDefinition {
                __rt::crd::<Self>(#options)
            }

            fn crd_name() -> &'static str {
                const PLURAL: &str = <#ident as __rt::k8s_openapi::Resource>::URL_PATH_SEGMENT;
                const GROUP: &str = <#ident as __rt::k8s_openapi::Resource>::GROUP;
                const LENGTH: usize = PLURAL.len() + 1 + GROUP.len();
                const BYTES: [u8; LENGTH] = __rt::join_with_dot::<LENGTH>(PLURAL, GROUP);
                const NAME: &str = __rt::utf8(&BYTES);
                NAME
            }

            fn api_resource() -> __rt::kube::core::ApiResource {
                __rt::kube::core::ApiResource::erase::<Self>(&())
            }

            fn shortnames() -> &'static [&'static str] {
                &[#(#shortnames),*]
            }
        }
    }
}

/// Asks the compiler whether the group can have a CRD.
fn group_check(decl: &ResourceDecl) -> TokenStream {
    let ident = &decl.ident;
    let words = |error: CrdGroupError| format!("{}\n\nhelp: {}", error.message(), error.help());
    let (core, no_dot) = (words(CrdGroupError::Core), words(CrdGroupError::NoDot));
    quote_spanned! {ident.span()=>
        const _: () = {
            const GROUP: &str = <#ident as __rt::k8s_openapi::Resource>::GROUP;
            ::core::assert!(!GROUP.is_empty(), #core);
            ::core::assert!(__rt::has_dot(GROUP), #no_dot);
        };
    }
}

fn options(decl: &ResourceDecl) -> TokenStream {
    let ResourceAttrs {
        singular,
        categories,
        printcolumns,
        selectable,
        scale,
        annotations,
        labels,
        storage,
        served,
        deprecated,
        validations,
        ..
    } = &decl.attrs;
    let singular =
        singular.as_ref().map_or_else(|| decl.ident.to_string().to_lowercase(), |name| name.value.clone());
    let categories = categories.iter().map(|category| &category.value);
    let columns = printcolumns.iter().map(|column| {
        let (name, type_, path) = (&column.name.value, &column.type_, &column.json_path);
        let (description, format) = (optional(column.description.as_ref()), optional(column.format.as_ref()));
        let priority = optional(column.priority.as_ref());
        quote! {
            __rt::PrintColumn {
                name: #name, type_: #type_, json_path: #path,
                description: #description, format: #format, priority: #priority,
            }
        }
    });
    let selectable = selectable.iter().map(|path| &path.value);
    let scale = optional(
        scale
            .as_ref()
            .map(|scale| {
                let (spec, status) = (&scale.spec_replicas_path, &scale.status_replicas_path);
                let selector = optional(scale.label_selector_path.as_ref());
                quote!(__rt::Scale {
                    spec_replicas_path: #spec, status_replicas_path: #status, label_selector_path: #selector,
                })
            })
            .as_ref(),
    );
    let pairs = |pairs: &[(genclient::attr::Spanned<String>, genclient::attr::Spanned<String>)]| {
        let pairs = pairs.iter().map(|(key, value)| {
            let (key, value) = (&key.value, &value.value);
            quote!((#key, #value))
        });
        quote!(&[#(#pairs),*])
    };
    let (annotations, labels) = (pairs(annotations), pairs(labels));
    let storage = storage.as_ref().is_none_or(|storage| storage.value);
    let served = served.as_ref().is_none_or(|served| served.value);
    let (is_deprecated, warning) =
        (deprecated.is_some(), optional(deprecated.as_ref().and_then(Option::as_ref)));
    let status = decl.status_subresource();
    let validations = validations.iter().map(|rule| match syn::parse2::<Lit>(rule.clone()) {
        Ok(Lit::Str(text)) => quote!(__rt::kube::core::Rule::new(#text)),
        _ => quote!(#rule),
    });
    quote! {
        __rt::CrdOptions {
            singular: #singular,
            categories: &[#(#categories),*],
            print_columns: &[#(#columns),*],
            selectable: &[#(#selectable),*],
            status: #status,
            scale: #scale,
            annotations: #annotations,
            labels: #labels,
            storage: #storage,
            served: #served,
            deprecated: #is_deprecated,
            deprecation_warning: #warning,
            validations: ::std::vec![#(#validations),*],
        }
    }
}

fn optional<T: quote::ToTokens>(value: Option<&T>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}
