//! Names of kinds and resources, and what every list type has.

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
    /// A kind of this group.
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
    /// A resource of this group.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { group: group.into(), resource: resource.into() }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        qualified(f, &self.resource, &self.group)
    }
}

/// `networks.samplecrd.k8s.io`, or the bare name in the core group.
fn qualified(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group {
        "" => f.write_str(name),
        _ => write!(f, "{name}.{group}"),
    }
}

/// The list type of a kind, as `#[derive(GenClientList)]` makes one.
pub trait KindList {
    /// The kind.
    type Item;

    /// The objects.
    fn items(&self) -> &[Self::Item];

    /// The objects, by value.
    fn into_items(self) -> Vec<Self::Item>;
}

/// A resource for which a factory has no informer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no informer is known for `{}` of `{}/{}`", .resource.resource, .resource.group, .resource.version)]
pub struct UnknownResource {
    /// The resource that was asked for.
    pub resource: kube::core::GroupVersionResource,
}

impl UnknownResource {
    /// The error for this resource.
    pub fn new(resource: &kube::core::GroupVersionResource) -> Self {
        Self { resource: resource.clone() }
    }
}
