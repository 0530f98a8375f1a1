//! The lister of a dynamic kind.

use std::{fmt, sync::Arc};

use crate::{
    informer::SharedInformer,
    lister::{NamespaceLister, NotFound},
    object::{CacheObject, ObjectKey},
    selector::Selector,
    store::Store,
};

/// Reads the objects of a [dynamic kind](crate::dynamic) from the cache. It sends no request.
///
/// The compiler does not know whether the kind is namespaced, so an object is found by its [`ObjectKey`], with or
/// without a namespace. A key of the other scope finds nothing.
///
/// ```
/// use genclient_runtime::{InformerFactory, ObjectKey, Selector, dynamic::DynamicKind};
///
/// fn show(factory: &InformerFactory, kind: &DynamicKind) {
///     let lister = factory.dynamic_informer(kind).dynamic_lister();
///     if let Some(object) = lister.get(&ObjectKey::namespaced("default", "example")) {
///         println!("{}", object.data["spec"]);
///     }
///     println!("{} objects", lister.namespace("default").list(&Selector::everything()).len());
/// }
/// ```
pub struct DynamicLister<K> {
    store: Store<K>,
}

impl<K> Clone for DynamicLister<K> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone() }
    }
}

impl<K: CacheObject> fmt::Debug for DynamicLister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicLister").field("store", &self.store).finish()
    }
}

impl<K: CacheObject> DynamicLister<K> {
    /// Creates a lister of a store.
    pub fn new(store: Store<K>) -> Self {
        Self { store }
    }

    /// Returns the object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.store.get(key)
    }

    /// Returns the object with this key, or an error that names it.
    pub fn require(&self, key: &ObjectKey) -> Result<Arc<K>, NotFound> {
        self.get(key).ok_or_else(|| NotFound { key: key.clone() })
    }

    /// Returns a lister of one namespace. If the kind is cluster-scoped, it finds nothing.
    pub fn namespace(&self, namespace: impl AsRef<str>) -> NamespaceLister<K> {
        NamespaceLister::new(self.store.clone(), namespace.as_ref())
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

impl<K: CacheObject> SharedInformer<K> {
    /// Returns a lister of the cache that finds objects by their key, for a [dynamic kind](crate::dynamic).
    pub fn dynamic_lister(&self) -> DynamicLister<K> {
        DynamicLister::new(self.store())
    }
}
