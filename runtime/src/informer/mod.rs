//! The shared informer: one cache of one kind, and the handlers that are called with its changes.
//!
//! * Readers see a change before any handler is called with it.
//! * Handlers can be added and removed at any time. One that is added late is first called with every
//!   object, as `Added { initial: true }`, and has its own synced signal.
//! * Each handler gets the events of one object in order and without a gap; see [`Event`]. A slow
//!   handler gets fewer events; see the table in `backlog`. Its backlog is bounded by two events per
//!   key.
//! * A handler that panics or blocks disturbs no other handler, no work queue and no cache, as long as the runtime has
//!   a blocking thread left: handlers run on these threads, and so does the resolution of names. Only [quick](EventHandler::is_quick) handlers, which queue keys, are called
//!   by the informer itself.
//! * A resync calls a handler with every object again, on that handler's own schedule. It never
//!   replaces a change.
//! * The informer is synced when the first list of each of its scopes is in the cache. A handler is
//!   never synced before its informer.
//! * Adding a handler, opening a stream, waiting for a version and reading the cache never wait for a
//!   list that is being applied. A large list is applied on a blocking thread.
//! * The informer ends when it is stopped, when its source ends, when the future of [`run`] is dropped,
//!   when the last handle of it and of its store is dropped, and when applying a change panics. Handlers
//!   and streams then end, and so do all calls that wait; [`SharedInformer::failure`] has the panic.
//!
//! [`run`]: SharedInformer::run

mod apply;
mod backlog;
mod catch_up;
mod core;
mod event;
mod generic;
mod handler;
mod inner;
mod metrics;
mod notice;
mod resync;
mod signal;
mod stream;
mod subscriber;

use std::{fmt, hash::Hash, sync::Arc, time::Duration};

use self::inner::{Inner, Registered};
use crate::{
    delta::{DeltaReceiver, InvalidObject, Scope},
    dynamic::DynamicKind,
    lister::Lister,
    object::CacheObject,
    store::{Index, IndexError, Store},
};

pub use catch_up::CatchUpError;
pub use event::{Cause, Event, FinalState};
pub use generic::GenericInformer;
pub use handler::{EventHandler, HandlerRegistration, quick};
pub(crate) use resync::checked_resync;
pub use resync::{ResyncTooShort, SHORTEST_RESYNC};
pub(crate) use signal::SyncReceiver;
pub use stream::EventStream;

/// What an informer follows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerConfig {
    /// The name of the resource in logs and metrics, such as `networks.samplecrd.k8s.io`.
    pub resource: Arc<str>,
    /// The kind, if it is not known at compile time; see [`dynamic`](crate::dynamic).
    pub kind: Option<DynamicKind>,
    /// The parts of the kind that are listed and watched. The informer is synced when all were listed.
    pub scopes: Vec<Scope>,
    /// How often handlers are called with every object again, unless they say it themselves.
    pub resync: Option<Duration>,
    /// Whether the objects are metadata only. It is a label of the metrics.
    pub metadata_only: bool,
    /// A name that distinguishes the metrics of the informer from those of others of the same resource.
    pub name: Option<Arc<str>>,
}

impl InformerConfig {
    /// An informer of everything of a resource, without resync.
    pub fn new(resource: impl Into<Arc<str>>) -> Self {
        Self {
            resource: resource.into(),
            kind: None,
            scopes: vec![Scope::All],
            resync: None,
            metadata_only: false,
            name: None,
        }
    }

    /// The same for these scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.scopes = scopes.into_iter().collect();
        self
    }

    /// The same with a resync.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }
}

/// One cache of one kind, shared by its readers and handlers. A cheap handle.
///
/// An informer runs while a handle of it, of its store, its lister, an index or a stream exists. Note
/// that a handler that owns such a handle keeps its own informer running.
pub struct SharedInformer<K> {
    inner: Arc<Inner<K>>,
    store: Store<K>,
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), store: self.store.clone() }
    }
}

impl<K: CacheObject> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("resource", &self.inner.config.resource)
            .field("synced", &self.has_synced())
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl<K: CacheObject> SharedInformer<K> {
    /// An informer that does not run yet. The factory makes and runs one per kind; an informer that is
    /// made by hand is [`run`](Self::run) over a delta queue.
    pub fn new(config: InformerConfig) -> Self {
        let (inner, store) = Inner::new(config);
        Self { inner, store }
    }

    /// What the informer follows.
    pub fn config(&self) -> &InformerConfig {
        &self.inner.config
    }

    /// Adds a handler, which resyncs as the informer is configured. It can be added at any time, from
    /// any thread.
    pub fn add_event_handler(&self, handler: impl EventHandler<K>) -> HandlerRegistration {
        self.register(Box::new(handler), self.inner.config.resync)
    }

    /// Adds a handler with its own resync period; zero means never.
    pub fn add_event_handler_with_resync(
        &self,
        handler: impl EventHandler<K>,
        period: Duration,
    ) -> Result<HandlerRegistration, ResyncTooShort> {
        Ok(self.register(Box::new(handler), checked_resync(period)?))
    }

    fn register(&self, handler: Box<dyn EventHandler<K>>, resync: Option<Duration>) -> HandlerRegistration {
        let subscriber = match self.inner.register(Some(handler), resync) {
            Registered::Open(subscriber) => subscriber,
            Registered::Ended(subscriber) => {
                subscriber.close();
                subscriber
            }
        };
        HandlerRegistration::new(subscriber)
    }

    /// The events as a stream, for async code. It begins with the objects that are there, and
    /// coalesces while it is not polled.
    pub fn events(&self) -> EventStream<K> {
        let subscriber = match self.inner.register(None, self.inner.config.resync) {
            Registered::Open(subscriber) => subscriber,
            Registered::Ended(subscriber) => {
                self.store.read(|state| subscriber.replay(state, self.has_synced()));
                subscriber.finish();
                subscriber
            }
        };
        EventStream::new(subscriber, self.store.clone())
    }

    /// Adds an index over what the cache holds and will hold, at any time. On a cache that is filled
    /// it is computed here, after a list that is being applied: add it before the informer runs if
    /// that matters.
    ///
    /// The function returns any number of values for an object, and must not call this informer. It is
    /// called once for each state of an object. If it panics on an object that the cache holds, the index
    /// is not added; if it panics later, the object is found under no value of this index, and the panic
    /// is counted.
    pub fn add_index<V, I>(
        &self,
        name: &str,
        values_of: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Result<Index<K, V>, IndexError>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
    {
        self.inner.with_writer(|writer| writer.add_index(&self.store, name, values_of))
    }

    /// The cache, to read.
    pub fn store(&self) -> Store<K> {
        self.store.clone()
    }

    /// The cache as a lister.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.store())
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        self.inner.synced.is_synced()
    }

    /// Waits until the first list is in the cache. Returns `false` if the informer ended before.
    pub async fn wait_for_sync(&self) -> bool {
        self.sync_signal().wait().await
    }

    pub(crate) fn sync_signal(&self) -> SyncReceiver {
        self.inner.synced.subscribe()
    }

    /// The objects that the server holds and that do not decode. If such an object decoded before, its
    /// last good state is still in the cache.
    pub fn invalid(&self) -> Vec<InvalidObject> {
        self.store.invalid().to_vec()
    }

    /// The resource version that the cache has reached; see [`Store::resource_version`].
    pub fn resource_version(&self) -> Option<String> {
        self.store.resource_version()
    }

    /// How long ago the cache last changed, or was confirmed not to have changed: the time since the last
    /// list, event or bookmark. `None` before the first list. If the informer follows several namespaces,
    /// it is the age of the one that has been silent longest.
    ///
    /// A Kubernetes API server sends a bookmark about every minute, so a much greater age means that
    /// the cache is stale.
    pub fn age(&self) -> Option<Duration> {
        let oldest = self.inner.moved.borrow().iter().copied().min().flatten();
        oldest.map(|moved| moved.elapsed())
    }

    /// Stops this informer and no other: handlers take no further event, streams end, the watch is closed.
    /// The cache keeps its state and can still be read. An informer does not start again.
    pub fn stop(&self) {
        self.inner.stop();
    }

    /// Whether the informer has ended, for any reason.
    pub fn is_stopped(&self) -> bool {
        self.inner.is_ended()
    }

    /// Waits until the informer has ended, for any reason.
    pub async fn stopped(&self) {
        self.inner.ended().await;
    }

    /// The panic that ended the informer, if one did.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.inner.failure.get().cloned()
    }

    /// What runs this informer, without keeping it running.
    pub(crate) fn inner(&self) -> Arc<Inner<K>> {
        self.inner.clone()
    }

    /// Feeds the cache from a delta queue, and handlers from the cache, until the informer ends; see
    /// [the module](self). Handlers run on the runtime that this is polled on. An informer runs once;
    /// further calls return at once.
    pub async fn run(&self, deltas: DeltaReceiver<K>) {
        self.inner.run(deltas).await;
    }
}
