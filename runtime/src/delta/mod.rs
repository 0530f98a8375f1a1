//! What a reflector sends to the informer: one change, or one whole new state.

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
    /// One namespace of several that an informer follows.
    Namespace(Arc<str>),
}

impl Scope {
    /// Whether this is the scope of one namespace, and of this one.
    pub(crate) fn is_namespace(&self, namespace: &str) -> bool {
        matches!(self, Self::Namespace(own) if **own == *namespace)
    }

    /// Whether an object of this namespace is in the scope.
    pub(crate) fn contains(&self, namespace: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(_) => namespace.is_some_and(|namespace| self.is_namespace(namespace)),
        }
    }
}

/// One step from a state of the cache to the next, in the server's order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Delta<K> {
    /// A list: what is in `scope` is these objects and nothing else.
    Replace {
        /// The part of the kind that was listed.
        scope: Scope,
        /// Every object of the list that could be decoded.
        objects: Vec<Arc<K>>,
        /// The objects of the list that could not be decoded: they exist, and keep their last good state.
        invalid: Vec<InvalidObject>,
        /// The list's resource version.
        resource_version: String,
    },
    /// An object was added or modified.
    Upsert(Arc<K>),
    /// An object was deleted; this is its last state.
    Delete(Arc<K>),
    /// An added or modified object that could not be decoded: it keeps its last good state.
    Invalid(InvalidObject),
    /// An object was deleted whose last state could not be decoded: only that it is gone is known.
    DeleteInvalid(InvalidObject),
    /// The server's history was set back, for example by a restore from a backup: versions sent before
    /// cannot be compared with what follows. A `Replace` of the scope comes next.
    Reset {
        /// The part of the kind whose history was set back.
        scope: Scope,
    },
    /// Nothing changed up to this resource version.
    Bookmark {
        /// The part of the kind that the bookmark speaks of.
        scope: Scope,
        /// The resource version reached.
        resource_version: String,
    },
}

/// An object that the server holds and that does not decode into the type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidObject {
    /// The object's key. The name is empty if not even that could be read.
    pub key: ObjectKey,
    /// Its uid, empty if it could not be read.
    pub uid: String,
    /// Its resource version, empty if it could not be read.
    pub resource_version: String,
    /// What is wrong, with the path of the field.
    pub error: String,
}
