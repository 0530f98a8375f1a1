//! Event handlers, and how they are called.

use std::{
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use super::{Event, metrics::InformerMetrics, signal::SyncReceiver, subscriber::Subscriber};
use crate::{object::CacheObject, offload::offload, panics};

/// How many events a handler that runs on an async thread gets before other tasks run.
const EVENTS_PER_TURN: usize = 32;

/// How long the thread of a handler waits for the next event before it is given back. Handing the handler to a
/// thread and back for each event wakes twice as many threads, which is most of what an event costs. Only as
/// many threads wait as half of the processors: a runtime may have few, and others need them too.
const LINGER: Duration = Duration::from_millis(100);

/// Is called with every change in an informer's cache.
///
/// Each handler is called with one event after the other, so it may keep state without a lock. It runs
/// on the runtime's blocking threads, one at a time per handler. A handler may therefore block, and one
/// that is slow or blocks forever delays neither other handlers nor anything else; its own backlog
/// stays at two events per key. A handler that works with async code uses
/// [`SharedInformer::events`](crate::SharedInformer::events) instead.
///
/// The price is one switch of threads for a burst of events, tens of microseconds; the benchmark
/// `store` of this crate measures it. A runtime that is dropped waits for the call that is under way,
/// so a program whose handlers may block forever ends with `Runtime::shutdown_timeout`.
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
}

impl<K, F: FnMut(&Event<K>) + Send + 'static> EventHandler<K> for F {
    fn on_event(&mut self, event: &Event<K>) {
        self(event);
    }
}

/// A handler of an informer. Dropping it does not remove the handler.
#[derive(Clone)]
pub struct HandlerRegistration {
    listener: Arc<dyn Listener>,
    synced: SyncReceiver,
}

/// A subscriber of any type.
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

    /// Removes the handler: no further call begins, and what waited for it is dropped.
    ///
    /// A call that is under way ends by itself. Removing twice is harmless.
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

/// Calls one handler until it is removed or the informer ends.
pub(super) async fn deliver<K: CacheObject>(
    subscriber: Arc<Subscriber<K>>,
    mut handler: Box<dyn EventHandler<K>>,
    metrics: InformerMetrics,
) {
    let listener = CloseOnDrop(subscriber);
    while let Some(event) = poll_fn(|context| listener.0.poll_next(context)).await {
        let (subscriber, metrics) = (listener.0.clone(), metrics.clone());
        let delivery = Delivery { subscriber, handler, metrics, event };
        handler = match offload(delivery, |delivery| delivery.run(usize::MAX, LINGER)).await {
            Ok(handler) => handler,
            // There is no thread at all: the handler is called here, and other tasks get a turn.
            Err(delivery) => {
                let handler = delivery.run(EVENTS_PER_TURN, Duration::ZERO);
                tokio::task::yield_now().await;
                handler
            }
        };
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

/// Calls of a handler with the events that wait for it.
struct Delivery<K: CacheObject> {
    subscriber: Arc<Subscriber<K>>,
    handler: Box<dyn EventHandler<K>>,
    metrics: InformerMetrics,
    event: Event<K>,
}

impl<K: CacheObject> Delivery<K> {
    /// Calls the handler until no event waits, but with no more than `most` events, and returns it. It
    /// waits for the next event for up to `linger`, which blocks the thread.
    fn run(self, most: usize, linger: Duration) -> Box<dyn EventHandler<K>> {
        let Self { subscriber, mut handler, metrics, event } = self;
        let (mut next, mut calls) = (Some(event), 0);
        while let Some(event) = next {
            call(&mut *handler, &event, &metrics);
            panics::drop_caught(event);
            calls += 1;
            next = if calls < most {
                subscriber.handled_then_next(linger)
            } else {
                subscriber.handled();
                None
            };
        }
        handler
    }
}

/// Calls a handler, and counts and logs its panic.
fn call<K: CacheObject>(handler: &mut dyn EventHandler<K>, event: &Event<K>, metrics: &InformerMetrics) {
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
