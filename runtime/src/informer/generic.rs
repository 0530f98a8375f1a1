//! An informer whose type is not known where it is used.

use std::{any::Any, fmt, sync::Arc};

use kube::core::GroupVersionResource;

use super::{Event, HandlerRegistration, SharedInformer, SyncReceiver};
use crate::{
    object::{CacheObject, ObjectKey, Watched},
    selector::Selector,
};

/// A shared informer that was found by group, version and resource rather than by its type.
///
/// Its objects are [`CacheObject`]s, which have names, versions and labels;
/// [`downcast`](Self::downcast) returns the typed informer.
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

    /// Waits until the first list is in the cache. Returns `false` if the informer ended before.
    pub async fn wait_for_sync(&self) -> bool {
        self.informer.sync_signal().wait().await
    }

    /// The object of this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<dyn CacheObject>> {
        self.informer.get(key)
    }

    /// Every object that the selector matches, in all namespaces, in no particular order.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<dyn CacheObject>> {
        self.informer.list(selector)
    }

    /// Adds a handler; see [`SharedInformer::add_event_handler`].
    pub fn add_event_handler(
        &self,
        handler: impl FnMut(&Event<dyn CacheObject>) + Send + 'static,
    ) -> HandlerRegistration {
        self.informer.add_event_handler(Box::new(handler))
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

type GenericHandler = Box<dyn FnMut(&Event<dyn CacheObject>) + Send>;

/// What an informer of any type can do.
trait AnyInformer: Send + Sync {
    fn resource(&self) -> GroupVersionResource;
    fn has_synced(&self) -> bool;
    fn sync_signal(&self) -> SyncReceiver;
    fn get(&self, key: &ObjectKey) -> Option<Arc<dyn CacheObject>>;
    fn list(&self, selector: &Selector) -> Vec<Arc<dyn CacheObject>>;
    fn add_event_handler(&self, handler: GenericHandler) -> HandlerRegistration;
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

    fn sync_signal(&self) -> SyncReceiver {
        self.sync_signal()
    }

    fn get(&self, key: &ObjectKey) -> Option<Arc<dyn CacheObject>> {
        self.store().get(key).map(|object| object as Arc<dyn CacheObject>)
    }

    fn list(&self, selector: &Selector) -> Vec<Arc<dyn CacheObject>> {
        self.store().list(selector).into_iter().map(|object| object as Arc<dyn CacheObject>).collect()
    }

    fn add_event_handler(&self, mut handler: GenericHandler) -> HandlerRegistration {
        SharedInformer::add_event_handler(self, move |event: &Event<K>| handler(&event.clone().erase()))
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
