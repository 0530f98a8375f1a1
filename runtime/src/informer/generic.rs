//! Informers without a static type.

use std::{any::Any, fmt, sync::Arc};

use kube::core::GroupVersionResource;

use super::{Event, HandlerRegistration, SharedInformer, SyncReceiver};
use crate::{
    dynamic::DynamicKind,
    object::{CacheObject, ObjectKey, Watched},
    selector::Selector,
};

/// A shared informer without a static type, found by its group, version and resource.
///
/// Its objects are [`CacheObject`]s, which have names, versions and labels. [`downcast`](Self::downcast)
/// returns the typed informer.
#[derive(Clone)]
pub struct GenericInformer {
    resource: GroupVersionResource,
    informer: Arc<dyn AnyInformer>,
}

impl GenericInformer {
    /// Returns the resource of the informer.
    pub fn resource(&self) -> GroupVersionResource {
        self.resource.clone()
    }

    /// Returns whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    /// Waits until the first list is in the cache. Returns `false` if the informer ended before that.
    pub async fn wait_for_sync(&self) -> bool {
        self.informer.sync_signal().wait().await
    }

    /// Returns the object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<dyn CacheObject>> {
        self.informer.get(key)
    }

    /// Returns the objects of all namespaces that the selector matches, in no particular order.
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

    /// Returns the key of every object, in no particular order.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.informer.keys()
    }

    /// Returns the number of objects in the cache.
    pub fn len(&self) -> usize {
        self.informer.len()
    }

    /// Returns whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the resource version of the cache.
    pub fn resource_version(&self) -> Option<String> {
        self.informer.resource_version()
    }

    /// Stops the informer; see [`SharedInformer::stop`].
    pub fn stop(&self) {
        self.informer.stop();
    }

    /// Returns the typed informer, if `K` is its type.
    pub fn downcast<K: CacheObject>(&self) -> Option<SharedInformer<K>> {
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

impl<K: CacheObject> SharedInformer<K> {
    /// Returns the informer without its static type.
    ///
    /// [`InformerFactory::for_resource`](crate::InformerFactory::for_resource) returns it for kinds that
    /// are not known at compile time.
    pub fn generic(&self) -> GenericInformer
    where
        K: Watched,
    {
        self.generic_of(&DynamicKind::of::<K>())
    }

    /// Returns the informer of a kind without its static type.
    pub(crate) fn generic_of(&self, kind: &DynamicKind) -> GenericInformer {
        GenericInformer { resource: kind.resource(), informer: Arc::new(self.clone()) }
    }
}

type GenericHandler = Box<dyn FnMut(&Event<dyn CacheObject>) + Send>;

/// The methods of an informer that do not depend on its type.
trait AnyInformer: Send + Sync {
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

impl<K: CacheObject> AnyInformer for SharedInformer<K> {
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
