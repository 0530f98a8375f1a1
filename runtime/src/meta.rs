//! Group-qualified names of kinds and resources, and the trait of list types.

use std::fmt;

/// A kind qualified with its group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// The group, empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

impl GroupKind {
    /// Creates a group-qualified kind.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        qualified(f, &self.kind, &self.group)
    }
}

/// A resource, such as `networks`, qualified with its group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupResource {
    /// The group, empty for the core group.
    pub group: String,
    /// The resource.
    pub resource: String,
}

impl GroupResource {
    /// Creates a group-qualified resource.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { group: group.into(), resource: resource.into() }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        qualified(f, &self.resource, &self.group)
    }
}

/// Writes `networks.samplecrd.k8s.io`, or only the name in the core group.
fn qualified(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group {
        "" => f.write_str(name),
        _ => write!(f, "{name}.{group}"),
    }
}

/// The list type of a kind. `#[derive(GenClientList)]` implements it.
pub trait KindList {
    /// The type of the objects.
    type Item;

    /// Returns the objects of the list.
    fn items(&self) -> &[Self::Item];

    /// Converts the list into its objects.
    fn into_items(self) -> Vec<Self::Item>;
}

/// The error for a resource without an informer in a factory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no informer for `{}` of `{}/{}`", .resource.resource, .resource.group, .resource.version)]
pub struct UnknownResource {
    /// The requested resource.
    pub resource: kube::core::GroupVersionResource,
}

impl UnknownResource {
    /// Creates the error for a resource.
    pub fn new(resource: &kube::core::GroupVersionResource) -> Self {
        Self { resource: resource.clone() }
    }
}
