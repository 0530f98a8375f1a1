//! The root of the generated code: what it holds, and how it is used.

use std::collections::BTreeSet;

use quote::{format_ident, quote};

use super::{
    crds,
    file::{Files, any_condition},
};
use crate::{
    config::ClientConfig,
    model::{Group, Model, Resource},
};

pub(super) fn render(model: &Model, client: &ClientConfig, files: &mut Files<'_>) {
    let with = |has: fn(&Resource) -> bool| -> Vec<&Group> {
        let some = |group: &&Group| group.versions.iter().flat_map(|version| &version.resources).any(has);
        model.groups.iter().filter(some).collect()
    };
    let (listers, informers) = (with(Resource::has_lister), with(Resource::has_informer));
    let applied: BTreeSet<_> = model.apply.iter().flat_map(|of| &of.users).collect();
    let applied: Vec<_> = model.groups.iter().filter(|group| applied.contains(&group.name)).collect();
    let mut docs = vec![
        "Typed clientset, apply configurations, listers and shared informers for:".to_owned(),
        String::new(),
    ];
    for (group, version, resource) in model.resources() {
        docs.push(format!("- `{}` of `{}`", resource.kind, group.api_version(version)));
    }
    if model.groups.iter().any(|group| group.feature.is_some()) {
        docs.push(String::new());
        docs.push("Each group is a Cargo feature. No group is enabled by default:".to_owned());
        docs.push(String::new());
        docs.extend(model.groups.iter().filter_map(feature));
    }
    if client.fake {
        docs.push(String::new());
        docs.push(
            "The feature `fake` adds `fake::Clientset`, a clientset on an in-memory API server.".to_owned(),
        );
    }
    docs.push(String::new());
    docs.push("Add your own methods as extension traits of the generated types:".to_owned());
    if let Some((group, version, resource)) = model.resources().next() {
        docs.extend(example(&group.accessor(version), resource));
    }
    let modules = [
        ("apply", !applied.is_empty(), any_condition(applied.iter().copied())),
        ("clientset", true, None),
        ("crds", client.crds && crds::has_crds(model), None),
        ("expansions", client.expansions, None),
        ("fake", client.fake, Some(quote!(#[cfg(feature = "fake")]))),
        ("informers", !informers.is_empty(), any_condition(informers.iter().copied())),
        ("listers", !listers.is_empty(), any_condition(listers.iter().copied())),
    ];
    let modules = modules.iter().filter(|(_, exists, _)| *exists).map(|(name, _, condition)| {
        let module = format_ident!("{name}");
        // The formatter of generated code is not rustfmt, which is kept from it here.
        let skip = (*name != "expansions").then(|| quote!(#[rustfmt::skip]));
        // Callers are warned where they name the type themselves.
        let allow = (model.has_deprecated && *name != "expansions")
            .then(|| quote!(#[allow(deprecated, reason = "a type is deprecated")]));
        quote!(#condition #allow #skip pub mod #module;)
    });
    files.add_at(files.layout.root(), &docs, files.uses([]), quote!(#(#modules)*));
}

/// The line of a group's feature.
fn feature(group: &Group) -> Option<String> {
    let feature = group.feature.as_ref()?;
    let needs: Vec<_> = feature.needs.iter().map(|name| format!("`{name}`")).collect();
    Some(match &needs[..] {
        [] => format!("- `{}`: `{}`", feature.name, group.display_name()),
        needs => format!("- `{}`: `{}`, with {}", feature.name, group.display_name(), needs.join(", ")),
    })
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
