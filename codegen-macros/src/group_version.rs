//! `group_version!`.

use genclient::{decl::GroupVersionDecl, diag::Ctxt};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

/// Expands `$crate { … }`: the path of the runtime, and what stands between the parentheses of
/// `group_version!(…)`.
pub(crate) fn expand(cx: &Ctxt, input: TokenStream) -> Option<TokenStream> {
    let mut trees = input.into_iter();
    let runtime = trees.next()?;
    let Some(TokenTree::Group(arguments)) = trees.next() else { return None };
    Some(match GroupVersionDecl::parse(cx, arguments.stream(), Span::call_site())? {
        GroupVersionDecl::Parent(span) => of_parent(&runtime, span),
        GroupVersionDecl::Here { group, version, .. } => here(&runtime, &group, &version),
    })
}

/// All items are in one module, so that a second `group_version!` is one error of the compiler.
fn here(runtime: &TokenTree, group: &str, version: &str) -> TokenStream {
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    quote! {
        mod __genclient_group_version {
            /// The API group of the types in this module.
            pub const GROUP: &str = #group;

            /// The API version of the types in this module.
            pub const VERSION: &str = #version;

            /// The group and the version, as `apiVersion` has them.
            pub const API_VERSION: &str = #api_version;

            /// Qualifies a kind with this module's group.
            pub fn kind(kind: impl ::core::convert::Into<::std::string::String>) -> #runtime::meta::GroupKind {
                #runtime::meta::GroupKind::new(GROUP, kind)
            }

            /// Qualifies a resource, such as `networks`, with this module's group.
            pub fn resource(
                resource: impl ::core::convert::Into<::std::string::String>,
            ) -> #runtime::meta::GroupResource {
                #runtime::meta::GroupResource::new(GROUP, resource)
            }

            #[allow(dead_code, reason = "a module may name its version and hold no kind yet")]
            pub(super) struct Marker;

            impl #runtime::__private::GroupVersion for Marker {
                const GROUP: &'static str = GROUP;
                const VERSION: &'static str = VERSION;
                const API_VERSION: &'static str = API_VERSION;
            }

            impl #runtime::__private::ParentGroupVersion for Marker {
                type GroupVersion = Self;
            }
        }

        pub use self::__genclient_group_version::*;
    }
}

/// The marker of this module says what the parent's says. The name of the parent's is looked for in
/// the inner block first and in the outer one then, which has one that says that it is missing.
fn of_parent(runtime: &TokenTree, span: Span) -> TokenStream {
    let parent = quote_spanned! {span=>
        <__genclient_group_version::Marker as #runtime::__private::ParentGroupVersion>::GroupVersion
    };
    quote! {
        mod __genclient_group_version {
            #[allow(dead_code, reason = "a module may share its parent's version and hold no kind itself")]
            pub(super) struct Marker;
        }

        #[allow(unused_imports, unused_qualifications, reason = "the parent's takes precedence over the fallback")]
        const _: () = {
            use #runtime::__private::fallback::*;

            const _: () = {
                use super::*;

                type Parent = #parent;

                impl #runtime::__private::GroupVersion for self::__genclient_group_version::Marker {
                    const GROUP: &'static str = <Parent as #runtime::__private::GroupVersion>::GROUP;
                    const VERSION: &'static str = <Parent as #runtime::__private::GroupVersion>::VERSION;
                    const API_VERSION: &'static str = <Parent as #runtime::__private::GroupVersion>::API_VERSION;
                }

                impl #runtime::__private::ParentGroupVersion for self::__genclient_group_version::Marker {
                    type GroupVersion = Self;
                }
            };
        };
    }
}
