//! Handlers: who is told, and how a handler is left alone again.

use std::{
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{metrics::InformerMetrics, signal::SyncReceiver, subscriber::Subscriber};
use crate::{informer::Event, object::CacheObject};

/// After this many events a handler's task lets others run.
const EVENTS_PER_TURN: usize = 32;

/// Is told of every change in an informer's cache.
///
/// Each handler has a task of its own, in which it is called with one event after the other, so it
/// may keep state without a lock. It should be quick, typically putting a key into a work queue: it
/// holds one of the runtime's threads while it runs. What must wait or do I/O takes
/// [`SharedInformer::events`](crate::informer::SharedInformer::events) instead. A handler that is slow, or
/// blocks for good, neither delays other handlers nor costs more than two events a key.
///
/// Closures are handlers:
///
/// ```
/// # use genclient_runtime::{Event, SharedInformer};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// fn log(informer: &SharedInformer<ConfigMap>) {
///     informer.add_event_handler(|event: &Event<ConfigMap>| println!("{} changed", event.key()));
/// }
/// ```
pub trait EventHandler<K>: Send + 'static {
    /// Tells of one change. A panic is caught and counted; the next event comes all the same.
    fn on_event(&mut self, event: &Event<K>);
}

impl<K, F: FnMut(&Event<K>) + Send + 'static> EventHandler<K> for F {
    fn on_event(&mut self, event: &Event<K>) {
        self(event);
    }
}

/// A handler's place in an informer. Dropping it does not remove the handler.
#[derive(Clone)]
pub struct HandlerRegistration {
    place: Arc<dyn Place>,
    synced: SyncReceiver,
}

/// A subscriber of any type.
trait Place: Send + Sync {
    fn close(&self);
    fn is_closed(&self) -> bool;
    fn waiting(&self) -> usize;
}

impl<K: CacheObject> Place for Subscriber<K> {
    fn close(&self) {
        self.close();
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn waiting(&self) -> usize {
        self.waiting()
    }
}

impl fmt::Debug for HandlerRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerRegistration")
            .field("synced", &self.has_synced())
            .field("removed", &self.is_removed())
            .finish_non_exhaustive()
    }
}

impl HandlerRegistration {
    pub(super) fn new<K: CacheObject>(subscriber: Arc<Subscriber<K>>) -> Self {
        Self { synced: subscriber.synced(), place: subscriber }
    }

    /// Removes the handler: no further call begins, and what waited for it is dropped.
    ///
    /// A call that is under way on another thread ends by itself. Removing twice is harmless.
    pub fn remove(&self) {
        self.place.close();
    }

    /// Whether the handler was removed, or its informer stopped.
    pub fn is_removed(&self) -> bool {
        self.place.is_closed()
    }

    /// How many objects the handler has still to be told of.
    pub fn backlog(&self) -> usize {
        self.place.waiting()
    }

    /// Whether the handler was told of every object that was there when it came, or, if it came
    /// first, of every object of the first list. What it has heard by panicking counts as heard.
    pub fn has_synced(&self) -> bool {
        self.synced.is_synced()
    }

    /// Waits until [`has_synced`](Self::has_synced); `false` if the handler was removed before.
    pub async fn wait_for_sync(&self) -> bool {
        self.synced.clone().wait().await
    }
}

/// Delivers to one handler until it is removed or the informer ends.
pub(super) async fn deliver<K: CacheObject>(
    subscriber: Arc<Subscriber<K>>,
    mut handler: Box<dyn EventHandler<K>>,
    metrics: InformerMetrics,
) {
    let mut turn = 0;
    while let Some(event) = poll_fn(|context| subscriber.poll_next(context)).await {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler.on_event(&event))) {
            metrics.handler_panicked();
            tracing::error!(
                resource = metrics.resource(),
                key = %event.key(),
                panic = crate::panics::message(panic.as_ref()),
                "an event handler panicked",
            );
        }
        drop(event);
        subscriber.heard();
        turn += 1;
        if turn == EVENTS_PER_TURN {
            turn = 0;
            tokio::task::yield_now().await;
        }
    }
}
