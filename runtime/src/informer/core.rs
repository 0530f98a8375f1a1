//! What applies deltas to the cache and hands the changes to the listeners.

use std::sync::Arc;

use tokio::time::Instant;

use super::{
    EventHandler,
    apply::{Outcome, Progress},
    handler::call,
    inner::NewListener,
    metrics::InformerMetrics,
    notice::{Notice, Step},
    resync::Resync,
    signal::SyncSender,
    subscriber::Subscriber,
};
use crate::{
    delta::{Delta, Scope},
    object::CacheObject,
    panics,
    store::{State, Writer},
};

/// The writing side of an informer.
pub(crate) struct Core<K> {
    pub(super) writer: Writer<K>,
    pub(super) metrics: InformerMetrics,
    progress: Progress,
    listeners: Vec<Listener<K>>,
}

pub(super) struct Listener<K> {
    subscriber: Arc<Subscriber<K>>,
    resync: Option<Resync>,
    /// A quick handler, which is called here.
    handler: Option<Box<dyn EventHandler<K>>>,
}

impl<K: CacheObject> Listener<K> {
    /// Adds changes to the backlog. Returns `false` if the listener is closed.
    ///
    /// A quick handler is called here, with each change by itself: its backlog would merge an object that was
    /// created and deleted to nothing.
    fn push(
        &mut self,
        notices: impl IntoIterator<Item = Notice<K>>,
        is_complete: bool,
        metrics: &InformerMetrics,
    ) -> bool {
        if self.handler.is_none() {
            return self.subscriber.push(notices, is_complete);
        }
        for notice in notices {
            self.subscriber.push([notice], false);
            self.call(metrics);
        }
        self.subscriber.push([], is_complete)
    }

    /// Calls a quick handler with its backlog.
    fn call(&mut self, metrics: &InformerMetrics) {
        let Some(handler) = &mut self.handler else { return };
        while let Some(event) = self.subscriber.next() {
            call(&mut **handler, &event, metrics);
            panics::drop_caught(event);
            self.subscriber.handled();
        }
    }
}

impl<K: CacheObject> Core<K> {
    pub(super) fn new(writer: Writer<K>, scopes: Vec<Scope>, metrics: InformerMetrics) -> Self {
        Self { writer, metrics, progress: Progress::new(scopes), listeners: Vec::new() }
    }

    /// How many objects the cache holds.
    pub(super) fn len(&self) -> usize {
        self.writer.read(State::len).unwrap_or_default()
    }

    /// Adds a listener and hands it every object of the cache.
    pub(super) fn listen(&mut self, new: NewListener<K>) {
        let NewListener { subscriber, resync, handler } = new;
        let is_complete = self.progress.is_complete();
        subscriber.measure_with(self.metrics.backlog.clone());
        if self.writer.read(|state| subscriber.replay(state, is_complete)).unwrap_or_default() {
            if self.listeners.len() == self.listeners.capacity() {
                // Otherwise only a change removes the listeners that were closed.
                self.listeners.retain(|listener| !listener.subscriber.is_closed());
            }
            let mut listener = Listener { subscriber, resync: resync.map(Resync::new), handler };
            listener.call(&self.metrics);
            self.listeners.push(listener);
        }
    }

    /// Removes all listeners.
    pub(super) fn take_listeners(&mut self) -> Vec<Listener<K>> {
        std::mem::take(&mut self.listeners)
    }

    /// Applies deltas, publishes the result, and hands the changes to the listeners. If the informer
    /// has ended meanwhile, the cache stays as it is. Returns the numbers of the scopes that the deltas
    /// belong to.
    pub(super) fn apply(
        &mut self,
        deltas: &mut Vec<Delta<K>>,
        synced: &SyncSender,
        is_ended: impl FnOnce() -> bool,
    ) -> Vec<usize> {
        self.metrics.deltas.increment(deltas.len() as u64);
        let mut outcome = Outcome::default();
        let mut batch = self.writer.begin();
        let mut is_list = false;
        for delta in deltas.drain(..) {
            is_list |= matches!(delta, Delta::Replace { .. });
            self.metrics.relists.increment(u64::from(matches!(delta, Delta::Replace { .. })));
            self.progress.apply(delta, &mut batch, &mut outcome);
        }
        let heard = self.progress.take_heard();
        if is_ended() {
            return heard;
        }
        let index_panics = std::mem::take(&mut batch.index_panics);
        let objects = batch.state().len();
        if let Some(invalid) = self.progress.take_changed_invalid() {
            self.metrics.invalid.set(invalid.len() as f64);
            batch.publish_invalid(invalid);
        }
        batch.publish();
        for (index, key, panic) in index_panics {
            self.metrics.index_panics.increment(1);
            tracing::error!(resource = self.metrics.resource(), %index, %key, panic, "an index function panicked");
        }
        self.metrics.objects.set(objects as f64);
        self.metrics.stale.increment(outcome.stale);
        self.metrics.events.increment(outcome.notices.len() as u64);
        let is_complete = self.progress.is_complete();
        if is_complete {
            // Before any listener, so that no handler is synced before its informer.
            synced.synced();
        }
        self.metrics.synced.set(f64::from(u8::from(is_complete)));
        self.hand_out(outcome.notices, is_complete);
        if is_list {
            self.writer.prepare();
        }
        heard
    }

    fn hand_out(&mut self, notices: Vec<Notice<K>>, is_complete: bool) {
        let Self { listeners, metrics, .. } = self;
        let Some(mut last) = listeners.pop() else { return };
        listeners.retain_mut(|listener| listener.push(notices.iter().cloned(), is_complete, metrics));
        // Most informers have one listener, which takes the changes that the others get clones of.
        if last.push(notices, is_complete, metrics) {
            listeners.push(last);
        }
    }

    /// When the next resync of a listener is due.
    pub(super) fn next_resync(&self) -> Option<Instant> {
        self.listeners.iter().filter_map(|listener| Some(listener.resync.as_ref()?.due())).min()
    }

    /// Hands every object to each listener whose resync is due.
    pub(super) fn resync(&mut self, now: Instant) {
        let Self { writer, listeners, metrics, .. } = self;
        for listener in listeners {
            if listener.resync.as_mut().is_some_and(|resync| resync.take_due(now)) {
                writer.read(|state| {
                    let all = state.iter().map(|object| Notice::new(Step::Resync(object.clone())));
                    listener.push(all, false, metrics)
                });
            }
        }
    }
}
