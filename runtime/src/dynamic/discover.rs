//! Kinds as the server describes them.

use http::Method;
use kube::core::{GroupVersionKind, GroupVersionResource};
use serde::{Deserialize, de::DeserializeOwned};

use super::DynamicKind;
use crate::{
    client::{RestClient, fetch_path},
    error::{Error, Operation},
    meta::GroupResource,
    wire::{Call, check_resource},
};

/// Why a kind was not discovered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// The server does not serve the kind. Its definition may not be installed, or not be established yet.
    #[error("the server does not serve {wanted}{}", suggestion(.similar))]
    NotServed {
        /// The requested kind or resource, with its group and version.
        wanted: String,
        /// Resources that the server serves instead: similar names in the same group and version, or other
        /// versions of the group.
        similar: Vec<String>,
    },
    /// The server serves the kind, but without the verbs `list` and `watch`.
    ///
    /// Its objects cannot be cached. A client of the `kind` has the other verbs.
    #[error("{kind} cannot be followed: the server offers {} but not {}", verbs.join(", "), missing(verbs))]
    NotFollowable {
        /// The kind.
        kind: DynamicKind,
        /// The verbs that the server offers.
        verbs: Vec<String>,
    },
    /// The request failed.
    #[error(transparent)]
    Request(#[from] Error),
}

fn suggestion(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        several => format!("; did you mean one of {}?", several.join(", ")),
    }
}

fn missing(verbs: &[String]) -> String {
    let missing = NEEDED.iter().filter(|needed| !verbs.iter().any(|verb| verb == *needed));
    missing.copied().collect::<Vec<_>>().join(" and ")
}

/// The verbs that an informer needs.
const NEEDED: [&str; 2] = ["list", "watch"];

/// The maximum number of suggested names.
const SUGGESTED: usize = 3;

impl DynamicKind {
    /// Discovers the kind of a resource.
    ///
    /// It sends one request and does not repeat it. A definition that was just created may take a moment to be
    /// served.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not serve the resource, with similar names, or serves it without
    /// `list` and `watch`.
    pub async fn discover(
        client: impl Into<RestClient>,
        resource: &GroupVersionResource,
    ) -> Result<Self, DiscoverError> {
        let GroupVersionResource { group, version, resource, .. } = resource;
        let wanted = format!("{}/{version}", GroupResource::new(&**group, &**resource));
        let lookup = Lookup { rest: client.into(), group, version, wanted };
        lookup.find(resource, |served| served.name == *resource).await
    }

    /// Discovers a kind by its name, such as `Widget`.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not serve the kind, with similar names, or serves it without `list`
    /// and `watch`.
    pub async fn discover_kind(
        client: impl Into<RestClient>,
        kind: &GroupVersionKind,
    ) -> Result<Self, DiscoverError> {
        let GroupVersionKind { group, version, kind } = kind;
        let wanted = format!("{kind} of {}", kube::core::GroupVersion::gv(group, version).api_version());
        let lookup = Lookup { rest: client.into(), group, version, wanted };
        lookup.find(kind, |served| served.kind == *kind).await
    }
}

/// A search for a kind.
struct Lookup<'a> {
    rest: RestClient,
    group: &'a str,
    version: &'a str,
    /// The requested kind or resource, in words.
    wanted: String,
}

impl Lookup<'_> {
    async fn find(
        self,
        name: &str,
        is_wanted: impl Fn(&Served) -> bool,
    ) -> Result<DynamicKind, DiscoverError> {
        let api_version = kube::core::GroupVersion::gv(self.group, self.version).api_version();
        let served = match self.ask::<Resources>(&format!("/{api_version}")).await {
            Ok(served) => served.resources.unwrap_or_default(),
            Err(error) if error.is_not_found() => {
                let versions = self.versions().await;
                return Err(self.not_served(versions));
            }
            Err(error) => return Err(error.into()),
        };
        // A name with a slash is a subresource.
        let served: Vec<_> = served.into_iter().filter(|served| !served.name.contains('/')).collect();
        let Some(found) = served.iter().find(|served| is_wanted(served)) else {
            return Err(self.not_served(similar(name, &served)));
        };
        let (group, version) = (self.group, self.version);
        let kind = match found.namespaced {
            true => DynamicKind::namespaced(group, version, &found.kind, &found.name),
            false => DynamicKind::cluster(group, version, &found.kind, &found.name),
        };
        match NEEDED.iter().all(|needed| found.verbs.iter().any(|verb| verb == needed)) {
            true => Ok(kind),
            false => Err(DiscoverError::NotFollowable { kind, verbs: found.verbs.clone() }),
        }
    }

    /// The versions of the group that the server has, if it has the group.
    async fn versions(&self) -> Vec<String> {
        #[derive(Deserialize)]
        struct Group {
            versions: Vec<Version>,
        }

        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            group_version: String,
        }

        if self.group.is_empty() {
            return Vec::new();
        }
        // The versions only help to explain an error. A second error would hide the first.
        match self.ask::<Group>(&format!("/{}", self.group)).await {
            Ok(group) => group.versions.into_iter().map(|version| version.group_version).collect(),
            Err(_) => Vec::new(),
        }
    }

    async fn ask<R: DeserializeOwned + 'static>(&self, path: &str) -> Result<R, Error> {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        // The plural is no part of the path.
        let segments = DynamicKind::cluster(self.group, self.version, "", "_");
        let call =
            check_resource(segments.api_resource()).map(|()| Call::new(Method::GET, format!("{root}{path}")));
        let operation = Operation {
            verb: "discover",
            kind: self.wanted.clone(),
            namespace: None,
            name: None,
            subresource: None,
        };
        fetch_path(self.rest.clone(), operation, call).await
    }

    fn not_served(self, similar: Vec<String>) -> DiscoverError {
        DiscoverError::NotServed { wanted: self.wanted, similar }
    }
}

/// The resources of a group and version.
#[derive(Deserialize)]
struct Resources {
    resources: Option<Vec<Served>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Served {
    name: String,
    kind: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

/// The resources whose name, kind or short name is most similar to this one, if any is similar enough.
fn similar(name: &str, served: &[Served]) -> Vec<String> {
    let name = name.to_lowercase();
    // A longer name allows for more mistakes.
    let most = 1 + name.len() / 4;
    let mut similar: Vec<_> = served
        .iter()
        .filter_map(|served| {
            let Served { name: plural, kind, singular_name, short_names, .. } = served;
            let names = [plural, kind, singular_name].into_iter().chain(short_names);
            let nearest = names
                .filter(|candidate| !candidate.is_empty())
                .map(|candidate| distance(&name, &candidate.to_lowercase()))
                .min()?;
            (nearest <= most).then(|| (nearest, plural.clone()))
        })
        .collect();
    similar.sort();
    let nearest = similar.first().map(|(distance, _)| *distance);
    let nearest = similar.into_iter().take_while(|(distance, _)| Some(*distance) == nearest);
    nearest.map(|(_, plural)| plural).take(SUGGESTED).collect()
}

/// The number of characters to add, remove or replace to turn one text into the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (line, from) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, to) in to.chars().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_two_names_is_the_number_of_edits() {
        for (from, to, edits) in
            [("", "", 0), ("pods", "pods", 0), ("pod", "pods", 1), ("", "pods", 4), ("widgest", "widgets", 2)]
        {
            assert_eq!(distance(from, to), edits, "{from} {to}");
            assert_eq!(distance(to, from), edits, "{to} {from}");
        }
    }
}
