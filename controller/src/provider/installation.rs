//! The identity under which a controller keeps its networks.

use std::{fmt, str::FromStr};

use genclient_runtime::{Client, Error, TypedClient, k8s_openapi::api::core::v1::Namespace};

/// The longest name. A description has room for it beside the longest namespace and two uids.
const MAX: usize = 48;

/// The identity of a controller among all that use the same provider: its cluster, and its name there.
///
/// Every network carries both, whole and unaltered. A controller never touches a network of another
/// cluster, even if the name is the same, as with the wrong kubeconfig.
///
/// The cluster is identified by the uid of its namespace `kube-system`, which lives as long as the cluster.
/// A cluster that was restored from the backup of another one has the same uid; if both run, their
/// controllers need different names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    name: InstallationName,
    cluster: String,
}

/// The name of a controller in its cluster; `default` by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallationName(String);

/// A name that cannot be kept unaltered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it must be 1 to {MAX} letters, digits, `-`, `_` and `.`, because it is kept unaltered in each network"
)]
pub struct InvalidInstallationName;

impl Installation {
    /// Returns the identity of the controller with this name in the cluster with this uid.
    pub fn new(name: InstallationName, cluster: impl Into<String>) -> Self {
        Self { name, cluster: cluster.into() }
    }

    /// Asks the API server for the uid of its cluster. Returns `None` if its namespace `kube-system` has none.
    pub async fn of_cluster(name: &InstallationName, client: Client) -> Result<Option<Self>, Error> {
        let namespace = TypedClient::<Namespace>::cluster(client).get("kube-system").await?;
        let cluster = namespace.metadata.uid.filter(|uid| !uid.is_empty() && !uid.contains(' '));
        Ok(cluster.map(|cluster| Self::new(name.clone(), cluster)))
    }

    /// The name of the controller in its cluster.
    pub fn name(&self) -> &str {
        &self.name.0
    }

    /// The uid of the cluster.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }
}

/// Shows the identity as every network carries it.
impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "installation={} cluster={}", self.name, self.cluster)
    }
}

impl Default for InstallationName {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl FromStr for InstallationName {
    type Err = InvalidInstallationName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if plain && (1..=MAX).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidInstallationName)
        }
    }
}

impl fmt::Display for InstallationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_have_to_be_cut_or_altered_is_refused() {
        let longest = "x".repeat(48);
        for name in ["prod", "9b2f5f0e-7d8a-4c5e-9d0c-1f2e3d4c5b6a", "a_B.c-1", &longest] {
            assert_eq!(name.parse::<InstallationName>().unwrap().to_string(), name);
        }
        let longer = "x".repeat(49);
        for name in ["", " ", "a b", "prod/1", "ä", "a=b", "a\n", &longer] {
            assert_eq!(name.parse::<InstallationName>(), Err(InvalidInstallationName), "{name:?}");
        }
    }
}
