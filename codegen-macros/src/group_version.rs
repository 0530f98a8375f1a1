//! `group_version!`.

use genclient::{decl::GroupVersionDecl, diag::Ctxt};
use proc_macro2::{Span, TokenStream};
use quote::quote;

pub(crate) fn expand(cx: &Ctxt, input: TokenStream) -> Option<TokenStream> {
    Some(match GroupVersionDecl::parse(cx, input, Span::call_site())? {
        GroupVersionDecl::Parent(_) => quote! {
            #[allow(unused_imports, reason = "a module may share its parent's version and hold no kind itself")]
            use super::__GenclientGroupVersion;
        },
        GroupVersionDecl::Here { group, version, .. } => {
            let api_version = match group.as_str() {
                "" => version.clone(),
                _ => format!("{group}/{version}"),
            };
            quote! {
                /// The API group of the types in this module.
                pub const GROUP: &str = #group;

                /// The API version of the types in this module.
                pub const VERSION: &str = #version;

                /// The group and the version, as `apiVersion` has them.
                pub const API_VERSION: &str = #api_version;

                /// Qualifies a kind with this module's group.
                pub fn kind(kind: impl ::core::convert::Into<::std::string::String>) -> ::genclient_runtime::meta::GroupKind {
                    ::genclient_runtime::meta::GroupKind::new(GROUP, kind)
                }

                /// Qualifies a resource, such as `networks`, with this module's group.
                pub fn resource(
                    resource: impl ::core::convert::Into<::std::string::String>,
                ) -> ::genclient_runtime::meta::GroupResource {
                    ::genclient_runtime::meta::GroupResource::new(GROUP, resource)
                }

                #[doc(hidden)]
                #[allow(dead_code, reason = "a module may name its version and hold no kind yet")]
                struct __GenclientGroupVersion;

                impl ::genclient_runtime::__private::GroupVersion for __GenclientGroupVersion {
                    const GROUP: &'static str = GROUP;
                    const VERSION: &'static str = VERSION;
                    const API_VERSION: &'static str = API_VERSION;
                }
            }
        }
    })
}
