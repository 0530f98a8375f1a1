//! The root of the generated code: what it holds, and how it is used.

use quote::{format_ident, quote};

use super::{crds, file::Files};
use crate::{
    config::ClientConfig,
    model::{Model, Resource},
};

pub(super) fn render(model: &Model, client: &ClientConfig, files: &mut Files<'_>) {
    let has_listers = model.resources().any(|(.., resource)| resource.has_lister());
    let has_informers = model.resources().any(|(.., resource)| resource.has_informer());
    let mut docs = vec!["Typed clientset, listers and shared informers for:".to_owned(), String::new()];
    for (group, version, resource) in model.resources() {
        docs.push(format!("- `{}` of `{}`", resource.kind, group.api_version(version)));
    }
    docs.push(String::new());
    docs.push("Write methods of your own as extension traits of the generated types:".to_owned());
    if let Some((group, version, resource)) = model.resources().next() {
        docs.extend(example(&group.accessor(version), resource));
    }
    let modules = [
        ("clientset", true),
        ("crds", client.crds && crds::has_crds(model)),
        ("expansions", client.expansions),
        ("informers", has_informers),
        ("listers", has_listers),
    ];
    let modules = modules.iter().filter(|(_, exists)| *exists).map(|(name, _)| {
        let module = format_ident!("{name}");
        // The formatter of generated code is not rustfmt, which is kept from it here.
        let skip = (*name != "expansions").then(|| quote!(#[rustfmt::skip]));
        quote!(#skip pub mod #module;)
    });
    files.add_at(files.layout.root(), &docs, files.uses([]), quote!(#(#modules)*));
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
