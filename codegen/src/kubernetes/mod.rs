//! The front end for Kubernetes' own kinds: k8s-openapi's sources, and what they do not say.
//!
//! k8s-openapi generates its code from the API server's specification, a file for each type, and only the
//! files of kinds matter here. What a kind's type shows is read from it: names, scope, documentation, whether
//! it has a list and a status. The verbs and subresources that the server offers are in `table.rs`.

mod parse;
mod parts;
mod read;
mod table;

use std::collections::BTreeSet;

use crate::{
    diag::Ctxt,
    model::{Group, Model, Resource, Version},
    parse::GroupVersion,
    source::{Location, Sources},
    verb::Verb,
};

pub(crate) use parts::{Part, Parts, from_outside};
pub(crate) use read::{Kubernetes, read};

/// The kinds of Kubernetes among the sources.
pub(crate) fn kinds(sources: &Sources, cx: &Ctxt<Option<Location>>) -> Vec<(GroupVersion, Resource)> {
    sources.kubernetes.iter().flat_map(|kubernetes| parse::kinds(sources, kubernetes, cx)).collect()
}

/// A resource or subresource as the API server lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Served {
    /// The group and version.
    pub api_version: String,
    /// The plural, and the subresource after a `/`.
    pub name: String,
    /// Whether it is in namespaces.
    pub namespaced: bool,
    /// What the server does with it.
    pub verbs: BTreeSet<String>,
}

/// What an API server must serve so that the clients of Kubernetes' own kinds have every method that there is,
/// and none that there is not.
pub fn served(model: &Model) -> BTreeSet<Served> {
    model.resources().flat_map(|(group, version, resource)| served_kind(group, version, resource)).collect()
}

fn served_kind(group: &Group, version: &Version, resource: &Resource) -> Vec<Served> {
    let served = |subresource: Option<&str>, verbs: &[&str]| Served {
        api_version: group.api_version(version),
        name: match subresource {
            None => resource.plural.clone(),
            Some(subresource) => format!("{}/{subresource}", resource.plural),
        },
        namespaced: resource.namespaced,
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
    };
    let methods = resource.methods.iter().filter(|method| method.subresource.is_none());
    let verbs: Vec<_> = resource
        .verbs
        .iter()
        .copied()
        .chain(methods.map(|method| method.verb))
        .filter_map(server_verb)
        .collect();
    let mut all = vec![served(None, &verbs)];
    if resource.verbs.contains(&Verb::UpdateStatus) {
        all.push(served(Some("status"), &["get", "patch", "update"]));
    }
    let subresources = table::subresources(&group.name, &resource.kind);
    all.extend(subresources.map(|subresource| served(Some(subresource.name), subresource.served)));
    if group.name.is_empty() {
        let connections = table::CONNECT.iter().filter(|(kind, ..)| *kind == resource.kind);
        all.extend(connections.map(|(_, name, verbs)| served(Some(name), verbs)));
    }
    all
}

/// The server's word for a verb; those of the status belong to the subresource.
fn server_verb(verb: Verb) -> Option<&'static str> {
    match verb {
        Verb::UpdateStatus | Verb::ApplyStatus => None,
        Verb::DeleteCollection => Some("deletecollection"),
        // The server knows an apply as a patch.
        Verb::Apply => Some("patch"),
        verb => Some(verb.name()),
    }
}
