//! Listers: typed reads of the cache.
//!
//! A lister sends no request. It returns shared objects (`Arc`), which cannot be changed by accident.
//! An object of a cluster-scoped kind is found by its name, and one of a namespaced kind by its
//! namespace and name. Anything else does not compile:
//!
//! ```compile_fail,E0599
//! # use genclient_runtime::Lister;
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! fn find(lister: &Lister<ConfigMap>) {
//!     lister.get("example"); // in which namespace?
//! }
//! ```
//! ```compile_fail,E0599
//! # use genclient_runtime::Lister;
//! # use k8s_openapi::api::core::v1::Node;
//! fn find(lister: &Lister<Node>) {
//!     lister.namespace("default"); // nodes are not in namespaces
//! }
//! ```
//!
//! The scope of a kind that is known only at run time is not known to the compiler, so its objects are found
//! by their [`ObjectKey`], with a [`DynamicLister`](crate::dynamic::DynamicLister).

use std::{fmt, sync::Arc};

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};

use crate::{
    object::{CacheObject, ObjectKey, Watched},
    selector::Selector,
    store::Store,
};

/// The cache does not hold the object.
///
/// The cache can be a little behind the server, so an object that was just created may still arrive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no `{key}` in the cache")]
pub struct NotFound {
    /// The key of the missing object.
    pub key: ObjectKey,
}

/// Reads the objects of one kind from the cache.
///
/// Cheap to clone. Threads that read very often do best with a clone each, because clones share no counter
/// that their processors would have to pass back and forth.
pub struct Lister<K> {
    /// Counted for this lister and its namespace listers alone.
    store: Arc<Store<K>>,
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self { store: Arc::new(Store::clone(&self.store)) }
    }
}

impl<K: CacheObject> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister").field("store", &self.store).finish()
    }
}

impl<K: CacheObject> Lister<K> {
    /// Creates a lister of a store.
    pub fn new(store: Store<K>) -> Self {
        Self { store: Arc::new(store) }
    }

    /// Returns the objects of all namespaces that the selector matches, in no particular order.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.store.list(selector)
    }

    /// Returns the store that the lister reads.
    pub fn store(&self) -> &Store<K> {
        &self.store
    }
}

impl<K: Watched<Scope = ClusterResourceScope>> Lister<K> {
    /// Returns the object with this name.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.store.find(None, name)
    }

    /// Returns the object with this name, or an error that names it.
    pub fn require(&self, name: &str) -> Result<Arc<K>, NotFound> {
        self.get(name).ok_or_else(|| NotFound { key: ObjectKey::cluster(name) })
    }
}

impl<K: Watched<Scope = NamespaceResourceScope>> Lister<K> {
    /// Returns a lister of one namespace.
    ///
    /// It allocates nothing, so there is no need to keep one for many reads.
    pub fn namespace(&self, namespace: impl AsRef<str>) -> NamespaceLister<K> {
        NamespaceLister::new(self.store.clone(), namespace.as_ref())
    }
}

/// Reads the objects of one kind in one namespace from the cache.
pub struct NamespaceLister<K> {
    store: Arc<Store<K>>,
    namespace: Name,
}

impl<K> Clone for NamespaceLister<K> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), namespace: self.namespace.clone() }
    }
}

impl<K: CacheObject> fmt::Debug for NamespaceLister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespaceLister").field("namespace", &self.namespace.as_str()).finish_non_exhaustive()
    }
}

impl<K: CacheObject> NamespaceLister<K> {
    pub(crate) fn new(store: Arc<Store<K>>, namespace: &str) -> Self {
        Self { store, namespace: Name::new(namespace) }
    }

    /// Returns the objects of the namespace that the selector matches, in no particular order.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.store.list_namespace(self.namespace.as_str(), selector)
    }

    /// Returns the object with this name.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.store.find(Some(self.namespace.as_str()), name)
    }

    /// Returns the object with this name, or an error that names it.
    pub fn require(&self, name: &str) -> Result<Arc<K>, NotFound> {
        self.get(name).ok_or_else(|| NotFound { key: ObjectKey::namespaced(self.namespace.as_str(), name) })
    }
}

/// The longest name that a namespace can have.
const LONGEST_NAME: usize = 63;

/// The name of a namespace, kept in place as every valid one can be.
#[derive(Clone)]
enum Name {
    Short { bytes: [u8; LONGEST_NAME], length: u8 },
    Long(Arc<str>),
}

impl Name {
    fn new(name: &str) -> Self {
        let mut bytes = [0; LONGEST_NAME];
        match (bytes.get_mut(..name.len()), u8::try_from(name.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(name.as_bytes());
                Self::Short { bytes, length }
            }
            _ => Self::Long(name.into()),
        }
    }

    fn as_str(&self) -> &str {
        match self {
            // It was a text when it came, so it is one now.
            Self::Short { bytes, length } => {
                std::str::from_utf8(&bytes[..usize::from(*length)]).unwrap_or_default()
            }
            Self::Long(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_length_is_kept() {
        for length in [0, 1, 62, 63, 64, 300] {
            for letter in ["x", "ü"] {
                let name = letter.repeat(length);
                assert_eq!(Name::new(&name).as_str(), name);
            }
        }
    }
}
