//! Deltas: the changes and lists that a reflector sends to an informer.

mod queue;
mod sink;

use std::sync::Arc;

pub use queue::{DeltaReceiver, DeltaSender, delta_queue};
pub use sink::{DeltaSink, SinkClosed};

use crate::object::ObjectKey;

/// The part of a kind that one reflector lists and watches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All namespaces, or a cluster-scoped kind.
    All,
    /// One namespace.
    Namespace(Arc<str>),
}

impl Scope {
    /// Returns whether the scope is exactly this namespace.
    pub(crate) fn is_namespace(&self, namespace: &str) -> bool {
        matches!(self, Self::Namespace(own) if **own == *namespace)
    }

    /// Returns whether the scope contains the objects of this namespace.
    pub(crate) fn contains(&self, namespace: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(_) => namespace.is_some_and(|namespace| self.is_namespace(namespace)),
        }
    }
}

/// One change of the cache. Deltas arrive in the order of the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Delta<K> {
    /// A list: `scope` contains exactly these objects.
    Replace {
        /// The listed scope.
        scope: Scope,
        /// The objects of the list that decode.
        objects: Vec<Arc<K>>,
        /// The objects of the list that do not decode. They exist and keep their last good state.
        invalid: Vec<InvalidObject>,
        /// The resource version of the list.
        resource_version: String,
    },
    /// An object was added or modified.
    Upsert(Arc<K>),
    /// An object was deleted; this is its last state.
    Delete(Arc<K>),
    /// An object was added or modified and does not decode. It keeps its last good state.
    Invalid(InvalidObject),
    /// An object was deleted, and its last state does not decode.
    DeleteInvalid(InvalidObject),
    /// The server's history was set back, for example by a restore from a backup. Earlier versions cannot
    /// be compared with later ones. A `Replace` of the scope follows.
    Reset {
        /// The scope whose history was set back.
        scope: Scope,
    },
    /// Nothing changed up to this resource version.
    Bookmark {
        /// The scope of the bookmark.
        scope: Scope,
        /// The resource version.
        resource_version: String,
    },
}

/// An object on the server that does not decode into its type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidObject {
    /// The key of the object. The name is empty if it could not be read.
    pub key: ObjectKey,
    /// The uid, empty if it could not be read.
    pub uid: String,
    /// The resource version, empty if it could not be read.
    pub resource_version: String,
    /// The error, with the path of the field.
    pub error: String,
}

impl InvalidObject {
    /// Creates an invalid object without a known uid and resource version.
    pub fn new(key: ObjectKey, error: impl Into<String>) -> Self {
        Self { key, uid: String::new(), resource_version: String::new(), error: error.into() }
    }
}
