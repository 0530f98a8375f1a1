//! The checks that need more than one item: names that meet, and versions that must agree.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    decl::CrdGroupError,
    diag::{Ctxt, Diagnostic},
    model::{Group, Model, Resource, Version},
    names,
    source::Location,
};

type Cx = Ctxt<Option<Location>>;

/// Checks the whole model.
pub(crate) fn check(model: &Model, cx: &Cx) {
    groups(model, cx);
    for group in &model.groups {
        for version in &group.versions {
            kinds(group, version, cx);
            idents(group, version, cx);
        }
        versions(group, cx);
        crds(group, cx);
    }
}

fn at(resource: &Resource) -> Option<Location> {
    Some(resource.location.clone())
}

/// Two kinds in the order of the sources, so that it is the second one which is marked.
fn in_order<'r>(a: &'r Resource, b: &'r Resource) -> (&'r Resource, &'r Resource) {
    let place = |resource: &Resource| (resource.location.file, resource.location.range.start);
    if place(a) <= place(b) { (a, b) } else { (b, a) }
}

fn first_of(group: &Group) -> Option<Location> {
    group.versions.first().and_then(|version| version.resources.first()).and_then(at)
}

/// The names that the clientset and the factory give to groups.
fn groups(model: &Model, cx: &Cx) {
    const RESERVED: &[&str] = &[
        "builder",
        "start",
        "shutdown",
        "wait_for_cache_sync",
        "for_resource",
        "factory",
        "generic",
        "typed",
        "listers",
        "informers",
        "apply",
    ];
    let mut accessors: BTreeMap<String, &Group> = BTreeMap::new();
    let mut clients: BTreeMap<String, &Group> = BTreeMap::new();
    let mut variants: BTreeMap<String, &Resource> = BTreeMap::new();
    for group in &model.groups {
        if RESERVED.contains(&group.ident.as_str()) {
            cx.error(
                Diagnostic::new(
                    first_of(group),
                    format!(
                        "the group `{}` would be called `{}`, which generated code uses itself",
                        group.display_name(),
                        group.ident
                    ),
                )
                .help("choose another name: `group_version!(\"…\", ident = \"…\")`"),
            );
        }
        for version in &group.versions {
            let accessor = group.accessor(version);
            // One ident for two groups has been told of already.
            let other = accessors.insert(accessor.clone(), group);
            if other.is_some_and(|other| other.ident == group.ident) {
                continue;
            }
            if let Some(other) = other {
                let error = Diagnostic::new(
                    version.resources.first().and_then(at),
                    format!(
                        "the groups `{}` and `{}` would both be `{accessor}` in the clientset",
                        other.display_name(),
                        group.display_name()
                    ),
                )
                .help("choose another name for one of them: `group_version!(\"…\", ident = \"…\")`");
                cx.error(error.related(first_of(other), "the first one is here"));
                continue;
            }
            let client = format!("{}Client", group.camel(version));
            if let Some(other) = clients.insert(client.clone(), group) {
                cx.error(
                    Diagnostic::new(
                        version.resources.first().and_then(at),
                        format!(
                            "the groups `{}` and `{}` would both have the client `{client}`",
                            other.display_name(),
                            group.display_name()
                        ),
                    )
                    .help("choose another name for one of them: `group_version!(\"…\", ident = \"…\")`")
                    .related(first_of(other), "the first one is here"),
                );
                continue;
            }
            for resource in &version.resources {
                let list = resource.list_path.as_ref().map(|list| list.name().to_owned());
                for kind in std::iter::once(resource.kind.clone()).chain(list) {
                    let variant = format!("{}{kind}", group.camel(version));
                    // A kind that is there twice is told of with its version.
                    if let Some(first) =
                        variants.insert(variant.clone(), resource).filter(|first| first.kind != resource.kind)
                    {
                        cx.error(
                            Diagnostic::new(
                                at(resource),
                                format!(
                                    "`{}` and `{}` would both be `{variant}` in the scheme",
                                    first.kind, resource.kind
                                ),
                            )
                            .help(
                                "rename one of the kinds, or a group: `group_version!(\"…\", ident = \"…\")`",
                            )
                            .related(at(first), "the first one is here"),
                        );
                    }
                }
            }
        }
    }
}

/// Kinds and plurals are unique within a version.
fn kinds(group: &Group, version: &Version, cx: &Cx) {
    let api_version = group.api_version(version);
    let mut plurals: BTreeMap<&str, &Resource> = BTreeMap::new();
    let mut kinds: BTreeMap<String, &Resource> = BTreeMap::new();
    for resource in &version.resources {
        if let Some(other) = kinds.insert(resource.kind.clone(), resource) {
            let (first, second) = in_order(other, resource);
            cx.error(
                Diagnostic::new(
                    at(second),
                    format!("`{}` is defined twice in `{api_version}`", resource.kind),
                )
                .help("rename one of them, or put it into another group or version")
                .related(at(first), "the first one is here"),
            );
        } else if let Some(other) = plurals.insert(&resource.plural, resource) {
            let (first, second) = in_order(other, resource);
            cx.error(
                Diagnostic::new(
                    at(second),
                    format!(
                        "`{}` and `{}` have the same plural `{}` in `{api_version}`",
                        first.kind, second.kind, resource.plural
                    ),
                )
                .help("choose another one: `#[genclient(plural = \"…\")]`")
                .related(at(first), "the first one is here"),
            );
        }
    }
    for resource in &version.resources {
        if let Some(list) = kinds.get(&format!("{}List", resource.kind)) {
            cx.error(
                Diagnostic::new(
                    at(list),
                    format!("the kind `{}` is also the kind of the list of `{}`", list.kind, resource.kind),
                )
                .help("rename it, or derive `GenClientList` if it is that list")
                .related(at(resource), format!("`{}` is here", resource.kind)),
            );
        }
    }
}

/// The Rust names of one version's clients, modules and accessors.
fn idents(group: &Group, version: &Version, cx: &Cx) {
    let version_client = format!("{}Client", group.camel(version));
    let mut modules: BTreeMap<&str, &Resource> = BTreeMap::new();
    let mut accessors: BTreeMap<String, &Resource> = BTreeMap::new();
    let mut types: BTreeMap<String, &Resource> = BTreeMap::new();
    for resource in &version.resources {
        // Where one name clashes, those that are made of it do too: one of them is enough.
        let mut told = false;
        let mut clash = |other: &Resource, what: &str, name: &str| {
            if std::mem::replace(&mut told, true) {
                return;
            }
            let (first, second) = in_order(other, resource);
            cx.error(
                Diagnostic::new(
                    at(second),
                    format!("`{}` and `{}` would both have the {what} `{name}`", first.kind, second.kind),
                )
                .help("rename one of the kinds, or choose another plural: `#[genclient(plural = \"…\")]`")
                .related(at(first), "the first one is here"),
            );
        };
        // Two kinds with one plural have been reported; their accessors are no news.
        let same_plural = |other: &Resource| other.plural == resource.plural || other.kind == resource.kind;
        if let Some(first) = modules.insert(&resource.module, resource)
            && first.kind != resource.kind
        {
            clash(first, "module", &resource.module);
        }
        for accessor in [resource.accessor.clone(), format!("all_{}", resource.accessor)] {
            if let Some(first) = accessors.insert(accessor.clone(), resource)
                && !same_plural(first)
            {
                clash(first, "accessor", &accessor);
            }
        }
        if ["new", "client", "list", "get", "require"].contains(&resource.accessor.as_str()) {
            cx.error(
                Diagnostic::new(
                    at(resource),
                    format!(
                        "`{}` would have the accessor `{}`, which generated code uses itself",
                        resource.kind, resource.accessor
                    ),
                )
                .help("choose another plural: `#[genclient(plural = \"…\")]`"),
            );
        }
        for name in [Some(resource.client_name()), resource.all_name()].into_iter().flatten() {
            if let Some(first) = types.insert(name.clone(), resource)
                && !same_plural(first)
            {
                clash(first, "client", &name);
            }
        }
        if resource.client_name() == version_client {
            cx.error(
                Diagnostic::new(
                    at(resource),
                    format!("the client of `{}` would have the same name as that of its version, `{version_client}`", resource.kind),
                )
                .help("rename the kind, or the group: `group_version!(\"…\", ident = \"…\")`"),
            );
        }
    }
}

/// What the versions of one kind share, because they are one CRD.
fn versions(group: &Group, cx: &Cx) {
    for (kind, versions) in by_kind(group) {
        let [first, rest @ ..] = &versions[..] else { continue };
        for resource in rest {
            let differs = |what: &str, here: &str, there: &str| {
                cx.error(
                    Diagnostic::new(
                        at(resource),
                        format!("the versions of `{kind}` differ in their {what}: `{there}` and `{here}`"),
                    )
                    .help("all versions of a kind share one CRD")
                    .related(at(first), "the other version is here"),
                );
            };
            let scope = |resource: &Resource| if resource.namespaced { "Namespaced" } else { "Cluster" };
            if resource.namespaced != first.namespaced {
                differs("scope", scope(resource), scope(first));
            }
            if resource.plural != first.plural {
                differs("plural", &resource.plural, &first.plural);
            }
        }
        let with_crd: Vec<&Resource> = versions.iter().copied().filter(|resource| resource.crd).collect();
        said_once(kind, &with_crd, cx);
        let stored: Vec<_> = with_crd.iter().filter(|resource| resource.storage == Some(true)).collect();
        match (&with_crd[..], &stored[..]) {
            ([only], _) if only.storage == Some(false) => cx.error(
                Diagnostic::new(at(only), format!("no version of `{kind}` is stored"))
                    .help("remove `storage = false`: the only version is the stored one"),
            ),
            ([] | [_], _) | (_, [_]) => {}
            ([first, ..], []) => cx.error(
                Diagnostic::new(at(first), format!("no version of `{kind}` is marked as the stored one"))
                    .help("put `#[genclient(storage)]` on exactly one of its versions"),
            ),
            (_, [first, second, ..]) => cx.error(
                Diagnostic::new(at(second), format!("two versions of `{kind}` are marked as the stored one"))
                    .help("keep `storage` on exactly one of its versions")
                    .related(at(first), "the first one is here"),
            ),
        }
    }
}

/// What the CRD says once for all versions of a kind. It is taken from the stored version, or gathered from
/// all of them, so that what another version says differently would be lost.
fn said_once(kind: &str, versions: &[&Resource], cx: &Cx) {
    let [first, rest @ ..] = versions else { return };
    let differs = |(resource, other): (&Resource, &Resource), what: &str, here: &str, there: &str| {
        cx.error(
            Diagnostic::new(
                at(resource),
                format!("the versions of `{kind}` differ in their {what}: {there} and {here}"),
            )
            .help("all versions of a kind share one CRD; give each of them the same")
            .related(at(other), "the other version is here"),
        );
    };
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => format!("`{}`", names.join("`, `")),
    };
    for resource in rest {
        let (here, there) = (&resource.shared, &first.shared);
        if here.singular != there.singular {
            let (here, there) = (format!("`{}`", here.singular), format!("`{}`", there.singular));
            differs((resource, first), "singular", &here, &there);
        }
        for (what, here, there) in [
            ("short names", &here.short_names, &there.short_names),
            ("categories", &here.categories, &there.categories),
        ] {
            if here != there {
                differs((resource, first), what, &list(here), &list(there));
            }
        }
    }
    // Annotations and labels are gathered: each may be on any version, with one value.
    for (what, of) in [
        ("annotation", (|resource| &resource.annotations) as fn(&Resource) -> &Vec<(String, String)>),
        ("label", |resource| &resource.shared.labels),
    ] {
        let mut values: BTreeMap<&str, (&str, &Resource)> = BTreeMap::new();
        for resource in versions {
            for (key, value) in of(resource) {
                let (first, other) = *values.entry(key).or_insert((value, resource));
                if first != value {
                    let (here, there) = (format!("`{value}`"), format!("`{first}`"));
                    differs((resource, other), &format!("{what} `{key}`"), &here, &there);
                }
            }
        }
    }
}

/// What the API server asks of a CRD.
fn crds(group: &Group, cx: &Cx) {
    const APPROVED: &str = "api-approved.kubernetes.io";
    if let Some(wrong) = CrdGroupError::of(&group.name) {
        for resource in group.versions.iter().flat_map(|version| &version.resources) {
            if resource.crd {
                cx.error(Diagnostic::new(at(resource), wrong.message()).help(wrong.help()));
            }
        }
        return;
    }
    for (kind, versions) in by_kind(group) {
        let Some(first) = versions.iter().find(|resource| resource.crd) else { continue };
        let name = format!("{}.{}", first.plural, group.name);
        if name.len() > 253 {
            cx.error(
                Diagnostic::new(
                    at(first),
                    format!(
                        "the CRD of `{kind}` would be called `{}.…`, {} characters long, and 253 are allowed",
                        first.plural,
                        name.len()
                    ),
                )
                .help("shorten the group or the plural"),
            );
        }
        if !names::is_protected_group(&group.name) {
            continue;
        }
        let approval = versions
            .iter()
            .flat_map(|resource| &resource.annotations)
            .find(|(key, _)| key == APPROVED)
            .map(|(_, value)| value.as_str());
        match approval {
            Some(value) if value.starts_with("unapproved") || value.starts_with("https://") => {}
            Some(value) => cx.error(
                Diagnostic::new(
                    at(first),
                    format!("`{value}` is not a valid value of the annotation `{APPROVED}`"),
                )
                .help("it is the URL of the approval, or a text that starts with `unapproved`"),
            ),
            None => cx.error(
                Diagnostic::new(
                    at(first),
                    format!("the API server will refuse the CRD of `{kind}`: the group `{}` needs the annotation `{APPROVED}`", group.name),
                )
                .help(format!(
                    "add `annotation(\"{APPROVED}\", \"unapproved, …\")` to `#[genclient(…)]` or `#[kube(…)]`, or choose a \
                     group outside of k8s.io and kubernetes.io; where the type is another crate's, remove `crds = true` \
                     from its source"
                )),
            ),
        }
    }
}

/// The versions of each kind of a group.
fn by_kind(group: &Group) -> BTreeMap<&str, Vec<&Resource>> {
    let mut kinds: BTreeMap<&str, Vec<&Resource>> = BTreeMap::new();
    for version in &group.versions {
        let mut seen = BTreeSet::new();
        // A kind that is there twice in one version is told of as such.
        for resource in version.resources.iter().filter(|resource| seen.insert(&resource.kind)) {
            let versions = kinds.entry(&resource.kind).or_default();
            versions.push(resource);
        }
    }
    kinds
}
