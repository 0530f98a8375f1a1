//! The metadata of an apply configuration.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::{Deserialize, Serialize};

/// The metadata of an apply configuration: the name of the object, and the metadata that the manager wants to
/// own.
///
/// The name is required, because a configuration applies to one object. Fields that are not set are not
/// serialized, and the manager does not own them.
///
/// ```
/// use genclient_runtime::apply::ObjectMetaApply;
///
/// let fluent = ObjectMetaApply::new("example").labels([("app", "web")]);
/// let literal = ObjectMetaApply {
///     labels: Some([("app".to_owned(), "web".to_owned())].into()),
///     ..ObjectMetaApply::new("example")
/// };
/// assert_eq!(fluent, literal);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectMetaApply {
    /// The name of the object.
    pub name: String,
    /// The prefix of a name that the server completes. The API server ignores it in an apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate_name: Option<String>,
    /// The namespace of the object. It may be omitted; the client has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The uid that the object must have. Applying to an object with a different uid is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The resource version that the object must have. Applying to a newer object is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The labels that the manager owns, each one separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// The annotations that the manager owns, each one separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// The finalizers that the manager owns, each one separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizers: Option<Vec<String>>,
    /// The owner references that the manager owns, each one separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_references: Option<Vec<OwnerReference>>,
}

impl ObjectMetaApply {
    /// Creates the metadata of the object with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            generate_name: None,
            namespace: None,
            uid: None,
            resource_version: None,
            labels: None,
            annotations: None,
            finalizers: None,
            owner_references: None,
        }
    }

    /// Sets the prefix of a name that the server completes.
    #[must_use]
    pub fn generate_name(mut self, prefix: impl Into<String>) -> Self {
        self.generate_name = Some(prefix.into());
        self
    }

    /// Sets the namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the uid that the object must have.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// Sets the resource version that the object must have.
    #[must_use]
    pub fn resource_version(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// Sets the labels and replaces those set before.
    #[must_use]
    pub fn labels<N: Into<String>, V: Into<String>>(
        mut self,
        labels: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.labels = Some(texts(labels));
        self
    }

    /// Sets the annotations and replaces those set before.
    #[must_use]
    pub fn annotations<N: Into<String>, V: Into<String>>(
        mut self,
        annotations: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.annotations = Some(texts(annotations));
        self
    }

    /// Sets the finalizers and replaces those set before.
    #[must_use]
    pub fn finalizers<F: Into<String>>(mut self, finalizers: impl IntoIterator<Item = F>) -> Self {
        self.finalizers = Some(finalizers.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the owner references and replaces those set before.
    #[must_use]
    pub fn owner_references(mut self, references: impl IntoIterator<Item = OwnerReference>) -> Self {
        self.owner_references = Some(references.into_iter().collect());
        self
    }
}

fn texts<N: Into<String>, V: Into<String>>(
    pairs: impl IntoIterator<Item = (N, V)>,
) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}
