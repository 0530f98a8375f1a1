//! Event handlers, and how they are called.

use std::{
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Event, metrics::InformerMetrics, signal::SyncReceiver, subscriber::Subscriber};
use crate::{object::CacheObject, offload::offload, panics};

/// How long a busy handler keeps a blocking thread before others may have it.
const TURN: Duration = Duration::from_millis(50);

/// Is called with every change in an informer's cache.
///
/// Each handler is called with one event after the other, so it may keep state without a lock. It runs on the
/// runtime's blocking threads, one at a time per handler. A handler may therefore block; meanwhile its events
/// are merged, so that its backlog stays at two events per key, and neither other handlers nor the cache wait
/// for it.
///
/// A handler that blocks occupies a blocking thread, of which a runtime has 512 by default. Name resolution,
/// large lists and other handlers need these threads, too: what waits for long belongs into a task, with
/// [`SharedInformer::events`](crate::SharedInformer::events). A runtime that is dropped waits for the call that is
/// under way, so a program whose handlers may block forever ends with `Runtime::shutdown_timeout`.
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
    /// Handles one change. A panic is caught and counted, and the next event follows.
    fn on_event(&mut self, event: &Event<K>);

    /// Whether the handler returns at once, as those of [`enqueue`](crate::enqueue) do.
    ///
    /// Such a handler is called by the informer itself, right after the cache has changed, which saves two
    /// switches of threads. It must neither block nor call [`SharedInformer`] methods that change the informer.
    ///
    /// [`SharedInformer`]: crate::SharedInformer
    fn is_quick(&self) -> bool {
        false
    }
}

impl<K, F: FnMut(&Event<K>) + Send + 'static> EventHandler<K> for F {
    fn on_event(&mut self, event: &Event<K>) {
        self(event);
    }
}

/// Makes a [quick](EventHandler::is_quick) handler of a closure that returns at once.
pub fn quick<K: 'static>(on_event: impl FnMut(&Event<K>) + Send + 'static) -> impl EventHandler<K> {
    struct Quick<F>(F);

    impl<K, F: FnMut(&Event<K>) + Send + 'static> EventHandler<K> for Quick<F> {
        fn on_event(&mut self, event: &Event<K>) {
            self.0(event);
        }

        fn is_quick(&self) -> bool {
            true
        }
    }

    Quick(on_event)
}

/// A handler of an informer. Dropping it does not remove the handler.
#[derive(Clone)]
pub struct HandlerRegistration {
    listener: Arc<dyn Listener>,
    synced: SyncReceiver,
}

/// A listener of any type.
trait Listener: Send + Sync {
    fn close(&self);
    fn is_closed(&self) -> bool;
    fn waiting(&self) -> usize;
}

impl<K: CacheObject> Listener for Subscriber<K> {
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
        Self { synced: subscriber.synced(), listener: subscriber }
    }

    /// Removes the handler: it takes no further event, and its backlog is dropped.
    ///
    /// A call that is under way finishes. Removing a handler twice is harmless.
    pub fn remove(&self) {
        self.listener.close();
    }

    /// Whether the handler was removed, or its informer was stopped.
    pub fn is_removed(&self) -> bool {
        self.listener.is_closed()
    }

    /// How many objects wait for the handler.
    pub fn backlog(&self) -> usize {
        self.listener.waiting()
    }

    /// Whether the handler has handled every object that was there when it was added or, if it was
    /// added before the first list, every object of that list. A call that panicked counts.
    pub fn has_synced(&self) -> bool {
        self.synced.is_synced()
    }

    /// Waits until [`has_synced`](Self::has_synced). Returns `false` if the handler was removed before.
    pub async fn wait_for_sync(&self) -> bool {
        self.synced.clone().wait().await
    }
}

/// Calls one handler until it is removed or the informer ends. The listener is closed also if the future is dropped
/// before it is first polled.
pub(super) fn deliver<K: CacheObject>(
    subscriber: Arc<Subscriber<K>>,
    mut handler: Box<dyn EventHandler<K>>,
    metrics: InformerMetrics,
) -> impl Future<Output = ()> + Send {
    let listener = CloseOnDrop(subscriber);
    async move {
        while poll_fn(|context| listener.0.poll_waiting(context)).await {
            let (subscriber, metrics) = (listener.0.clone(), metrics.clone());
            handler = offload(move || {
                let begun = Instant::now();
                // A busy handler gives its thread back from time to time, because others may wait for one.
                while begun.elapsed() < TURN
                    && let Some(event) = subscriber.next()
                {
                    call(&mut *handler, &event, &metrics);
                    panics::drop_caught(event);
                    subscriber.handled();
                }
                handler
            })
            .await;
        }
    }
}

/// Closes a listener when its handler is called no more, also after a panic or a shutdown of the runtime,
/// so that no caller waits for it and its backlog stays empty.
struct CloseOnDrop<K: CacheObject>(Arc<Subscriber<K>>);

impl<K: CacheObject> Drop for CloseOnDrop<K> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Calls a handler, and counts and logs its panic.
pub(super) fn call<K: CacheObject>(
    handler: &mut dyn EventHandler<K>,
    event: &Event<K>,
    metrics: &InformerMetrics,
) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler.on_event(event))) {
        metrics.handler_panics.increment(1);
        tracing::error!(
            resource = metrics.resource(),
            key = %event.key(),
            panic = panics::message(&*panic),
            "an event handler panicked",
        );
    }
}
