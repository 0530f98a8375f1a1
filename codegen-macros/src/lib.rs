//! The derives of genclient. Use them through `genclient_runtime`, which exports them.
//!
//! Entry points only: what an attribute means is decided by `genclient`'s parser, which the command
//! line uses too, so that both say the same of the same source.

// Whatever can fail is an error that the caller can handle; tests may end with a panic.
#![warn(clippy::unwrap_used)]

mod crd;
mod group_version;
mod list;
mod mirror;
mod resource;
mod runtime;
mod schema;
mod wire;

use genclient::diag::{Ctxt, Diagnostic};
use proc_macro::TokenStream;
use quote::quote_spanned;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct an API type.
///
/// The struct's name is the kind; `group_version!` in the same module gives the group and the
/// version. The derive writes `Serialize` and `Deserialize` (with `apiVersion` and `kind`, which are
/// constants of the type), `JsonSchema`, k8s-openapi's `Resource`, `ListableResource` and `Metadata`
/// (and through them kube's `Resource`) and kube's `CustomResourceExt`.
///
/// `#[serde(…)]` and `#[schemars(…)]` work on the struct and its fields as usual. `metadata` may be
/// absent on input, and an `Option` without serde attributes is left out where it is `None`.
///
/// `genclient explain` lists what `#[genclient(…)]` takes.
#[proc_macro_derive(GenClient, attributes(genclient, serde, schemars, validate, garde))]
pub fn gen_client(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(|cx| resource::derive(cx, &input))
}

/// Makes a struct the list of an API type: `metadata: ListMeta` and `items: Vec<Kind>`.
#[proc_macro_derive(GenClientList, attributes(genclient, serde))]
pub fn gen_client_list(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(|cx| list::derive(cx, &input))
}

/// Lets `#[genclient(…)]` stand beside kube's `#[derive(CustomResource)] #[kube(…)]`.
///
/// It says what `#[kube(…)]` cannot: which verbs the generated client has, and its extra methods. The derive
/// adds nothing to the struct; it checks what both attributes say of the client.
#[proc_macro_derive(GenClientOptions, attributes(genclient, kube))]
pub fn gen_client_options(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(|cx| {
        genclient::decl::CustomResourceDecl::parse(cx, &input).map(|_| proc_macro2::TokenStream::new())
    })
}

/// The inside of `genclient_runtime::group_version!`, which adds the path of the runtime.
#[doc(hidden)]
#[proc_macro]
pub fn __group_version(input: TokenStream) -> TokenStream {
    expand(|cx| group_version::expand(cx, input.into()))
}

/// Runs a macro and turns what it collected into compiler errors.
fn expand(body: impl FnOnce(&Ctxt) -> Option<proc_macro2::TokenStream>) -> TokenStream {
    let cx = Ctxt::new();
    let tokens = body(&cx);
    match cx.check() {
        Ok(()) => tokens.unwrap_or_default().into(),
        Err(errors) => errors.into_iter().map(compile_error).collect::<proc_macro2::TokenStream>().into(),
    }
}

/// An error of the compiler has one place: the others are named in its text.
fn compile_error(error: Diagnostic) -> proc_macro2::TokenStream {
    let mut message = error.message;
    for (at, label) in error.related {
        message += &format!("\n\nnote: {label}, in line {}", at.unwrap().line());
    }
    if let Some(help) = error.help {
        message += &format!("\n\nhelp: {help}");
    }
    quote_spanned!(error.at=> ::core::compile_error!(#message);)
}
