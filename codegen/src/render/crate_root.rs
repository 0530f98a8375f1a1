//! `lib.rs`: what the crate holds, and how it is used.

use quote::quote;

use super::file::{Files, Uses};
use crate::{
    config::ClientConfig,
    model::{Model, Resource},
};

pub(super) fn render(model: &Model, client: &ClientConfig, files: &mut Files) {
    let has_listers = model.resources().any(|(.., resource)| resource.has_lister());
    let has_informers = model.resources().any(|(.., resource)| resource.has_informer());
    let mut docs = vec!["Typed clientset, listers and shared informers for:".to_owned(), String::new()];
    for (group, version, resource) in model.resources() {
        docs.push(format!("- `{}` of `{}`", resource.kind, group.api_version(version)));
    }
    docs.push(String::new());
    docs.push("Methods of your own belong into extension traits on the generated types.".to_owned());
    if let Some((group, version, resource)) = model.resources().next() {
        docs.extend(example(&group.accessor(version), resource));
    }
    // The formatter of generated code is not rustfmt, so the modules are kept from it here.
    let listers = has_listers.then(|| {
        quote! {
            #[rustfmt::skip]
            pub mod listers;
        }
    });
    let informers = has_informers.then(|| {
        quote! {
            #[rustfmt::skip]
            pub mod informers;
        }
    });
    let expansions = client.expansions.then(|| {
        quote!(
            pub mod expansions;
        )
    });
    files.add(
        "src/lib.rs",
        &docs,
        Uses::default(),
        quote! {
            #[rustfmt::skip]
            pub mod clientset;
            #expansions
            #informers
            #listers
        },
    );
}

/// How an extension trait is written, for the first kind.
fn example(group_version: &str, resource: &Resource) -> Vec<String> {
    let kind = &resource.kind;
    let argument = if resource.namespaced { "\"default\"" } else { "" };
    vec![
        String::new(),
        "```text".into(),
        format!("trait {kind}Expansion {{ async fn rename(&self, from: &str, to: &str) -> Result<()>; }}"),
        format!("impl {kind}Expansion for {kind}Client {{ … }}"),
        format!("clientset.{group_version}().{}({argument}).rename(\"a\", \"b\").await?;", resource.accessor),
        "```".into(),
    ]
}
