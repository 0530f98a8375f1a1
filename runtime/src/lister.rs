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
/// Cheap to clone.
pub struct Lister<K> {
    store: Store<K>,
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone() }
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
        Self { store }
    }

    /// Returns the objects of all namespaces that the selector matches, in no particular order.
    ///
    /// Checks the labels of every object. For frequent lookups in a large cache, add an
    /// [`Index`](crate::store::Index).
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
    pub fn namespace(&self, namespace: impl AsRef<str>) -> NamespaceLister<K> {
        NamespaceLister::new(self.store.clone(), namespace.as_ref())
    }
}

/// Reads the objects of one kind in one namespace from the cache.
pub struct NamespaceLister<K> {
    store: Store<K>,
    namespace: Arc<str>,
}

impl<K> Clone for NamespaceLister<K> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), namespace: self.namespace.clone() }
    }
}

impl<K: CacheObject> fmt::Debug for NamespaceLister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespaceLister").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl<K: CacheObject> NamespaceLister<K> {
    pub(crate) fn new(store: Store<K>, namespace: &str) -> Self {
        Self { store, namespace: namespace.into() }
    }

    /// Returns the objects of the namespace that the selector matches, in no particular order.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.store.list_namespace(&self.namespace, selector)
    }

    /// Returns the object with this name.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.store.find(Some(&self.namespace), name)
    }

    /// Returns the object with this name, or an error that names it.
    pub fn require(&self, name: &str) -> Result<Arc<K>, NotFound> {
        self.get(name).ok_or_else(|| NotFound { key: ObjectKey::namespaced(&*self.namespace, name) })
    }
}
