//! An informer whose type is not known where it is used.

use std::{any::Any, fmt, sync::Arc};

use kube::core::GroupVersionResource;

use crate::{
    informer::SharedInformer,
    object::{ObjectKey, Watched},
};

/// A shared informer, found by group, version and resource rather than by its type.
///
/// It says what can be said without the type; [`downcast`](Self::downcast) gives the typed informer
/// back.
#[derive(Clone)]
pub struct GenericInformer {
    informer: Arc<dyn AnyInformer>,
}

impl GenericInformer {
    /// The resource that the informer follows.
    pub fn resource(&self) -> GroupVersionResource {
        self.informer.resource()
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    /// The object of this key; downcast it to its type to read more than that it is there.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<dyn Any + Send + Sync>> {
        self.informer.get(key)
    }

    /// The keys of every object, in no particular order.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.informer.keys()
    }

    /// How many objects the cache holds.
    pub fn len(&self) -> usize {
        self.informer.len()
    }

    /// Whether the cache holds no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The resource version that the cache has reached.
    pub fn resource_version(&self) -> Option<String> {
        self.informer.resource_version()
    }

    /// Stops the informer; see [`SharedInformer::stop`].
    pub fn stop(&self) {
        self.informer.stop();
    }

    /// The typed informer, if this is its type.
    pub fn downcast<K: Watched>(&self) -> Option<SharedInformer<K>> {
        self.informer.as_any().downcast_ref().cloned()
    }
}

impl fmt::Debug for GenericInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenericInformer")
            .field("resource", &self.resource())
            .field("synced", &self.has_synced())
            .field("len", &self.len())
            .finish()
    }
}

impl<K: Watched> SharedInformer<K> {
    /// This informer without its type.
    pub fn generic(&self) -> GenericInformer {
        GenericInformer { informer: Arc::new(self.clone()) }
    }
}

/// What an informer of any type can do.
trait AnyInformer: Send + Sync {
    fn resource(&self) -> GroupVersionResource;
    fn has_synced(&self) -> bool;
    fn get(&self, key: &ObjectKey) -> Option<Arc<dyn Any + Send + Sync>>;
    fn keys(&self) -> Vec<ObjectKey>;
    fn len(&self) -> usize;
    fn resource_version(&self) -> Option<String>;
    fn stop(&self);
    fn as_any(&self) -> &dyn Any;
}

impl<K: Watched> AnyInformer for SharedInformer<K> {
    fn resource(&self) -> GroupVersionResource {
        let resource = K::api_resource();
        GroupVersionResource::gvr(&resource.group, &resource.version, &resource.plural)
    }

    fn has_synced(&self) -> bool {
        self.has_synced()
    }

    fn get(&self, key: &ObjectKey) -> Option<Arc<dyn Any + Send + Sync>> {
        self.store().get(key).map(|object| object as Arc<dyn Any + Send + Sync>)
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.store().keys()
    }

    fn len(&self) -> usize {
        self.store().len()
    }

    fn resource_version(&self) -> Option<String> {
        self.resource_version()
    }

    fn stop(&self) {
        self.stop();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
