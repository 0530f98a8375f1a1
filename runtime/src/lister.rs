//! Listers: typed reads of the cache.
//!
//! A lister sends no request. It returns shared objects (`Arc`), which cannot be changed by accident.
//!
//! An object is found by its [`ObjectKey`], which is the key that `reconcile` gets. An object of a
//! cluster-scoped kind is also found by its name, and an object of a namespaced kind by its namespace and
//! name:
//!
//! ```
//! # use genclient_runtime::{Lister, ObjectKey};
//! # use k8s_openapi::api::core::v1::{ConfigMap, Node};
//! fn find(key: &ObjectKey, config_maps: &Lister<ConfigMap>, nodes: &Lister<Node>) {
//!     let config_map = config_maps.get(key);
//!     let config_map = config_maps.namespace("default").get("example");
//!     let node = nodes.get(key);
//!     let node = nodes.get("example");
//! }
//! ```
//!
//! Other combinations do not compile:
//!
//! ```compile_fail,E0277
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
//! The scope of a dynamic kind is unknown to the compiler; see
//! [`DynamicLister`](crate::dynamic::DynamicLister).
//!
//! In a unit test, a lister of given objects needs neither a server nor an informer:
//!
//! ```
//! use genclient_runtime::{Lister, ObjectKey};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! # let mut config_map = ConfigMap::default();
//! # config_map.metadata.namespace = Some("default".to_owned());
//! # config_map.metadata.name = Some("example".to_owned());
//!
//! let lister = Lister::of([config_map]);
//! assert!(lister.get(&ObjectKey::namespaced("default", "example")).is_some());
//! ```

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

/// Identifies an object of a kind with this scope: an [`ObjectKey`], or the name of a cluster-scoped object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not identify an object of this kind",
    note = "an object of a namespaced kind is found with `get(&ObjectKey)`, or with `namespace(…).get(name)`"
)]
pub trait Key<Scope> {
    /// Returns the namespace and the name.
    fn parts(&self) -> (Option<&str>, &str);
}

impl<Scope> Key<Scope> for ObjectKey {
    fn parts(&self) -> (Option<&str>, &str) {
        (self.namespace.as_deref(), &self.name)
    }
}

impl Key<ClusterResourceScope> for str {
    fn parts(&self) -> (Option<&str>, &str) {
        (None, self)
    }
}

impl Key<ClusterResourceScope> for String {
    fn parts(&self) -> (Option<&str>, &str) {
        (None, self)
    }
}

/// Reads the objects of one kind from the cache. Cheap to clone.
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
    pub(crate) fn new(store: Store<K>) -> Self {
        Self { store }
    }

    /// Creates a lister of these objects, for unit tests; see [`Store::of`].
    pub fn of(objects: impl IntoIterator<Item = K>) -> Self {
        Self::new(Store::of(objects))
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

impl<K: Watched> Lister<K> {
    /// Returns the object with this [`ObjectKey`], or with this name if the kind is cluster-scoped.
    pub fn get(&self, key: &(impl Key<K::Scope> + ?Sized)) -> Option<Arc<K>> {
        let (namespace, name) = key.parts();
        self.store.find(namespace, name)
    }

    /// Returns the object with this key, or an error that names the key.
    pub fn require(&self, key: &(impl Key<K::Scope> + ?Sized)) -> Result<Arc<K>, NotFound> {
        self.get(key).ok_or_else(|| {
            let (namespace, name) = key.parts();
            NotFound { key: ObjectKey { namespace: namespace.map(str::to_owned), name: name.to_owned() } }
        })
    }
}

impl<K: Watched<Scope = NamespaceResourceScope>> Lister<K> {
    /// Returns a lister of one namespace.
    pub fn namespace(&self, namespace: impl AsRef<str>) -> NamespaceLister<K> {
        NamespaceLister::new(self.store.clone(), namespace.as_ref())
    }
}

/// Reads the objects of one kind in one namespace from the cache. Cheap to clone.
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

    /// Returns the object with this name, or an error that names its key.
    pub fn require(&self, name: &str) -> Result<Arc<K>, NotFound> {
        self.get(name).ok_or_else(|| NotFound { key: ObjectKey::namespaced(&*self.namespace, name) })
    }
}
