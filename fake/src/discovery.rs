//! What the server serves, as clients ask for it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    kinds::{Kind, Registry, Subresource, api_version, text_at},
    openapi,
    storage::State,
};

/// Returns the version of the server that this one behaves like.
pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.4",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    })
}

/// A group and its versions, the preferred one first.
struct Group<'k> {
    name: &'k str,
    versions: Vec<(&'k str, Vec<&'k Arc<Kind>>)>,
}

/// Returns the groups: Kubernetes' own in their order, then those of CRDs by name.
fn all_groups(kinds: &Registry) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for kind in kinds.all() {
        let at = groups.iter().position(|group| group.name == kind.group).unwrap_or_else(|| {
            groups.push(Group { name: &kind.group, versions: Vec::new() });
            groups.len() - 1
        });
        let versions = &mut groups[at].versions;
        match versions.iter_mut().find(|(version, _)| *version == kind.version) {
            Some((_, kinds)) => kinds.push(kind),
            None => versions.push((&kind.version, vec![kind])),
        }
    }
    for group in &mut groups {
        group.versions.sort_by_key(|(version, _)| Reverse(priority(version)));
    }
    groups
}

/// Sorts versions: `v2` before `v1` before `v1beta2` before `v1alpha1` before all others.
fn priority(version: &str) -> (u8, u64, u64, Reverse<String>) {
    let other = (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return other };
    let split = |text: &str| {
        let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        Some((text[..end].parse::<u64>().ok()?, text[end..].to_owned()))
    };
    let Some((major, rest)) = split(rest) else { return other };
    let last = Reverse(String::new());
    if rest.is_empty() {
        return (3, major, 0, last);
    }
    for (stage, rank) in [("beta", 2), ("alpha", 1)] {
        if let Some(minor) = rest.strip_prefix(stage).and_then(|minor| minor.parse().ok()) {
            return (rank, major, minor, last);
        }
    }
    other
}

/// Returns `/api`.
pub(crate) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "fake" }],
    })
}

/// Returns `/`.
pub(crate) fn root(kinds: &Registry) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in all_groups(kinds).iter().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|(version, _)| format!("/apis/{}/{version}", group.name)));
    }
    paths.extend(["/healthz", "/livez", "/readyz", "/version"].map(str::to_owned));
    paths.sort();
    json!({ "paths": paths })
}

fn group_value(group: &Group<'_>) -> Value {
    let versions: Vec<_> = group
        .versions
        .iter()
        .map(|(version, _)| json!({ "groupVersion": api_version(group.name, version), "version": version }))
        .collect();
    json!({ "name": group.name, "preferredVersion": versions.first(), "versions": versions })
}

/// Returns `/apis`.
pub(crate) fn groups(kinds: &Registry) -> Value {
    let groups: Vec<_> =
        all_groups(kinds).iter().filter(|group| !group.name.is_empty()).map(group_value).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// Returns `/apis/{group}`.
pub(crate) fn group(kinds: &Registry, name: &str) -> Option<Value> {
    let groups = all_groups(kinds);
    let mut value = group_value(groups.iter().find(|group| group.name == name && !name.is_empty())?);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    Some(value)
}

/// Returns `/apis/{group}/{version}`.
pub(crate) fn resources(kinds: &Registry, group: &str, version: &str) -> Option<Value> {
    let of: Vec<_> = kinds.all().filter(|kind| kind.group == group && kind.version == version).collect();
    if of.is_empty() {
        return None;
    }
    let mut resources = Vec::new();
    for kind in of {
        let mut resource = json!({
            "name": kind.plural,
            "singularName": kind.singular,
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": kind.verbs,
        });
        if !kind.short_names.is_empty() {
            resource["shortNames"] = kind.short_names.clone().into();
        }
        if !kind.categories.is_empty() {
            resource["categories"] = kind.categories.clone().into();
        }
        if let Some(hash) = storage_version_hash(kind) {
            resource["storageVersionHash"] = hash.into();
        }
        resources.push(resource);
        for subresource in &kind.subresources {
            let mut value = json!({
                "name": format!("{}/{}", kind.plural, subresource.name),
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": kind.kind,
                "verbs": subresource.verbs,
            });
            if let Some((group, version, name)) = &subresource.body {
                value["kind"] = name.as_str().into();
                if (group.as_str(), version.as_str()) != (kind.group.as_str(), kind.version.as_str()) {
                    value["group"] = group.as_str().into();
                    value["version"] = version.as_str().into();
                }
            }
            resources.push(value);
        }
    }
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version(group, version),
        "resources": resources,
    });
    // The list of the core group is as old as the server, and has none.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

/// Returns a text that changes with the version in which objects are stored. What is not stored has none.
fn storage_version_hash(kind: &Kind) -> Option<String> {
    let stored = kind.verbs.iter().any(|verb| verb == "watch");
    // Events of both groups are stored as those of the core group.
    let group = if kind.is_converted() { "" } else { &kind.group };
    let name = format!("{group}/{}/{}", kind.storage_version, kind.kind);
    stored.then(|| BASE64_STANDARD.encode(&Sha256::digest(name)[..8]))
}

/// Returns all of the discovery in one document: of the core group, or of all others.
pub(crate) fn aggregated(kinds: &Registry, core: bool) -> Value {
    let items: Vec<_> = all_groups(kinds)
        .iter()
        .filter(|group| group.name.is_empty() == core)
        .map(|group| {
            let versions: Vec<_> = group
                .versions
                .iter()
                .map(|(version, kinds)| {
                    let resources: Vec<_> = kinds.iter().map(|kind| resource(kind)).collect();
                    json!({ "version": version, "resources": resources, "freshness": "Current" })
                })
                .collect();
            let metadata = if core { json!({}) } else { json!({ "name": group.name }) };
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn resource(kind: &Kind) -> Value {
    // The core group leaves its version out.
    let version =
        |group: &str, version: &str| if group.is_empty() { String::new() } else { version.to_owned() };
    let own =
        json!({ "group": kind.group, "version": version(&kind.group, &kind.version), "kind": kind.kind });
    let mut fields = BTreeMap::from([
        ("resource", json!(kind.plural)),
        ("responseKind", own.clone()),
        ("scope", json!(if kind.namespaced { "Namespaced" } else { "Cluster" })),
        ("singularResource", json!(kind.singular)),
        ("verbs", json!(kind.verbs)),
    ]);
    if !kind.short_names.is_empty() {
        fields.insert("shortNames", json!(kind.short_names));
    }
    if !kind.categories.is_empty() {
        fields.insert("categories", json!(kind.categories));
    }
    if !kind.subresources.is_empty() {
        let subresource = |subresource: &Subresource| {
            let body = match &subresource.body {
                Some((group, of, kind)) => {
                    json!({ "group": group, "version": version(group, of), "kind": kind })
                }
                None => own.clone(),
            };
            json!({ "subresource": subresource.name, "responseKind": body, "verbs": subresource.verbs })
        };
        fields.insert("subresources", kind.subresources.iter().map(subresource).collect());
    }
    let fields: Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Value::Object(fields)
}

/// Returns the CRDs whose kinds are served.
fn served_crds(state: &mut State) -> Vec<Value> {
    let Some(kind) = state.kinds.get("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
        return Vec::new();
    };
    let crds: Vec<_> =
        state.table(&kind.resource).range("", "").map(|(_, object)| object.value(&kind)).collect();
    let served = |crd: &Value| {
        let (group, plural) = (text_at(crd, "spec.group"), text_at(crd, "spec.names.plural"));
        state.kinds.custom().any(|kind| kind.group == group && kind.plural == plural)
    };
    crds.into_iter().filter(served).collect()
}

/// The documents of Kubernetes' own kinds that somebody has asked for, by group and version.
static BUILTIN_DOCUMENTS: LazyLock<Mutex<BTreeMap<(String, String), Bytes>>> = LazyLock::new(Mutex::default);

/// Returns the OpenAPI document of one of Kubernetes' own groups in one version, which the first call makes.
pub(crate) fn builtin_open_api(group: &str, version: &str) -> Option<Bytes> {
    if !Registry::builtin().any(|kind| kind.group == group && kind.version == version) {
        return None;
    }
    let mut documents = BUILTIN_DOCUMENTS.lock();
    let document = documents.entry((group.to_owned(), version.to_owned())).or_insert_with(|| {
        let kinds: Vec<_> = Registry::builtin().cloned().collect();
        Bytes::from(format!("{}\n", openapi::builtin_document(&kinds, group, version)))
    });
    Some(document.clone())
}

/// Returns the OpenAPI document of a group of CRDs in one version.
pub(crate) fn open_api(state: &mut State, group: &str, version: &str) -> Option<Value> {
    let served = state.kinds.custom().any(|kind| kind.group == group && kind.version == version);
    served.then(|| openapi::document(&served_crds(state), group, version))
}

/// Returns the list of the OpenAPI documents.
pub(crate) fn open_api_index(state: &mut State) -> Value {
    let versions: BTreeSet<(String, String)> =
        state.kinds.custom().map(|kind| (kind.group.clone(), kind.version.clone())).collect();
    let crds = served_crds(state);
    let documents: Vec<_> = versions
        .iter()
        .map(|(group, version)| (group.as_str(), version.as_str(), openapi::document(&crds, group, version)))
        .collect();
    let mut index =
        openapi::index(documents.iter().map(|(group, version, document)| (*group, *version, document)));
    // The documents of Kubernetes' own kinds change with the program alone, and are large: none is made for this.
    let builtin: BTreeSet<_> = Registry::builtin().map(|kind| (&kind.group, &kind.version)).collect();
    for (group, version) in builtin {
        let (path, entry) = openapi::entry(group, version, env!("CARGO_PKG_VERSION"));
        index["paths"][path] = entry;
    }
    index
}
