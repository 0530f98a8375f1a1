//! How an expansion refers to `genclient-runtime`, and what it asks of lints.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// The path of the runtime: the one that `crate = "…"` gives, or the crate's own name.
pub(crate) fn path(krate: Option<&syn::Path>) -> TokenStream {
    krate.map_or_else(|| quote!(::genclient_runtime), ToTokens::to_token_stream)
}

/// The lints that do not apply to an expansion. It repeats the user's types, where a lint that the
/// user has allowed on the struct itself would fire again.
pub(crate) fn allowed_lints() -> TokenStream {
    quote! {
        #[allow(
            deprecated,
            dead_code,
            unused_qualifications,
            clippy::all,
            clippy::pedantic,
            clippy::nursery,
            clippy::restriction,
            reason = "the code of a derive"
        )]
    }
}
