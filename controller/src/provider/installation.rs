//! Which controller a network belongs to.

use std::{fmt, str::FromStr};

use genclient_runtime::{Client, Error, TypedClient, k8s_openapi::api::core::v1::Namespace};

/// The longest name: what a description has room for beside the longest namespace and the uid.
const MAX: usize = 64;

/// The identity of a controller among all that use the same project.
///
/// It is a part of every network's marker, whole and unaltered. Two controllers with the same identity
/// take each other's networks for their own, so it comes from the cluster unless a person chooses it: the
/// uid of the namespace `kube-system`, which lives as long as the cluster. A copy of a cluster has the same
/// uid, and needs a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation(String);

/// A name that cannot be kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it must be 1 to {MAX} letters, digits, `-`, `_` and `.`, because it is kept unaltered in each network"
)]
pub struct InvalidInstallation;

impl Installation {
    /// The identity of the cluster that this client talks to; `None` if its namespace `kube-system` has no uid.
    pub async fn of_cluster(client: Client) -> Result<Option<Self>, Error> {
        let namespace = TypedClient::<Namespace>::cluster(client).get("kube-system").await?;
        Ok(namespace.metadata.uid.and_then(|uid| uid.parse().ok()))
    }

    /// The identity as it stands in a marker.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Installation {
    type Err = InvalidInstallation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if plain && (1..=MAX).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidInstallation)
        }
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_have_to_be_cut_or_altered_is_refused() {
        let longest = "x".repeat(64);
        for name in ["prod", "9b2f5f0e-7d8a-4c5e-9d0c-1f2e3d4c5b6a", "a_B.c-1", &longest] {
            assert_eq!(name.parse::<Installation>().unwrap().as_str(), name);
        }
        let longer = "x".repeat(65);
        for name in ["", " ", "a b", "prod/1", "ä", "a=b", "a\n", &longer] {
            assert_eq!(name.parse::<Installation>(), Err(InvalidInstallation), "{name:?}");
        }
    }
}
