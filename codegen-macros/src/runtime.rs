//! How an expansion refers to `genclient-runtime`, and what it asks of lints.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// The path of the runtime: the one that `crate = "…"` gives, or the crate's own name.
pub(crate) fn path(krate: Option<&syn::Path>) -> TokenStream {
    krate.map_or_else(|| quote!(::genclient_runtime), ToTokens::to_token_stream)
}

/// What the code that stands for a derive may do although the user's lints forbid it.
pub(crate) fn allowed_lints() -> TokenStream {
    quote! {
        #[allow(
            deprecated,
            dead_code,
            unused_qualifications,
            reason = "every field and type is named with its full path, whether anything else uses it or not"
        )]
    }
}
