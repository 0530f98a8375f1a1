//! The listeners of an informer: handlers and streams, each with a backlog.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures::task::AtomicWaker;
use metrics::Gauge;
use parking_lot::{Mutex, MutexGuard};

use super::{
    Cause, Event,
    backlog::{Backlog, Due},
    notice::{Notice, Step},
    signal::{SyncReceiver, SyncSender},
};
use crate::{object::CacheObject, panics, store::State};

/// One listener of an informer. The informer adds to its backlog, and a handler or a stream takes events.
pub(crate) struct Subscriber<K> {
    inner: Mutex<Inner<K>>,
    /// Wakes the handler or stream that takes events.
    waker: AtomicWaker,
    synced: SyncSender,
}

struct Inner<K> {
    backlog: Backlog<K>,
    /// The sum of the backlogs of all listeners.
    gauge: Option<Gauge>,
    /// How much of it this listener has added.
    measured: usize,
    /// Whether all initial events were added to the backlog.
    is_complete: bool,
    /// Whether an initial event was taken and is not yet handled.
    handles_initial: bool,
    phase: Phase,
}

/// The state of a listener.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Events are added and delivered.
    Open,
    /// No more events are added. The backlog is still delivered.
    Finishing,
    /// No more events are delivered.
    Closed,
}

impl<K: CacheObject> Inner<K> {
    /// Brings the gauge up to date: when the backlog grows, and when it is empty.
    fn measure(&mut self) {
        let (Some(gauge), waiting) = (&self.gauge, self.backlog.len()) else { return };
        if waiting != self.measured {
            gauge.increment(waiting as f64 - self.measured as f64);
            self.measured = waiting;
        }
    }
}

impl<K: CacheObject> Subscriber<K> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                backlog: Backlog::default(),
                gauge: None,
                measured: 0,
                is_complete: false,
                handles_initial: false,
                phase: Phase::Open,
            }),
            waker: AtomicWaker::new(),
            synced: SyncSender::new(),
        })
    }

    /// Adds an initial event for every object of the cache to the backlog. Returns `false` if the listener
    /// is closed.
    pub(crate) fn replay(&self, state: &State<K>, is_complete: bool) -> bool {
        let objects = state.iter().map(|object| {
            let (old, new) = (None, object.clone());
            Notice::new(Step::Put { old, new, cause: Cause::Relist, initial: true })
        });
        self.push(objects, is_complete)
    }

    /// Adds changes of the cache to the backlog. Returns `false` if the listener is not open.
    /// `is_complete` says that all initial events have been added.
    pub(crate) fn push(&self, notices: impl IntoIterator<Item = Notice<K>>, is_complete: bool) -> bool {
        let mut inner = self.inner.lock();
        if inner.phase != Phase::Open {
            return false;
        }
        let notices = notices.into_iter();
        inner.backlog.reserve(notices.size_hint().0);
        for notice in notices {
            inner.backlog.push(notice);
        }
        inner.is_complete |= is_complete;
        self.settle(&inner);
        inner.measure();
        self.wake(inner);
        true
    }

    /// Adds the size of the backlog to this gauge, from now on.
    pub(crate) fn measure_with(&self, gauge: Gauge) {
        let mut inner = self.inner.lock();
        inner.gauge = Some(gauge);
        inner.measure();
    }

    /// Takes the next event, or waits for it. Returns `None` when there will be no more.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        while ready!(self.poll_waiting(context)) {
            // A deletion that arrives in between can leave nothing of the event that waited.
            if let Some(event) = self.next() {
                return Poll::Ready(Some(event));
            }
        }
        Poll::Ready(None)
    }

    /// Waits for an event. Returns `false` when there will be no more.
    pub(crate) fn poll_waiting(&self, context: &mut Context<'_>) -> Poll<bool> {
        self.waker.register(context.waker());
        let mut inner = self.inner.lock();
        if inner.backlog.len() > 0 {
            return Poll::Ready(true);
        }
        inner.measure();
        match inner.phase {
            Phase::Open => Poll::Pending,
            Phase::Finishing | Phase::Closed => {
                self.synced.ended();
                Poll::Ready(false)
            }
        }
    }

    /// Takes the next event, if there is one. There is none once the listener is closed.
    pub(crate) fn next(&self) -> Option<Event<K>> {
        let mut inner = self.inner.lock();
        let Some(Due { event, initial }) = inner.backlog.pop() else {
            inner.measure();
            return None;
        };
        inner.handles_initial = initial;
        Some(event)
    }

    /// Records that the last taken event was handled.
    pub(crate) fn handled(&self) {
        let mut inner = self.inner.lock();
        if inner.handles_initial {
            inner.handles_initial = false;
            self.settle(&inner);
        }
    }

    fn settle(&self, inner: &Inner<K>) {
        if inner.is_complete && !inner.handles_initial && inner.backlog.initial() == 0 {
            self.synced.synced();
        }
    }

    /// Wakes whatever waits for an event or for the end.
    fn wake(&self, inner: MutexGuard<'_, Inner<K>>) {
        drop(inner);
        self.waker.wake();
    }

    /// The number of keys in the backlog.
    pub(crate) fn waiting(&self) -> usize {
        self.inner.lock().backlog.len()
    }

    /// Ends the listener after the backlog is delivered.
    pub(crate) fn finish(&self) {
        let mut inner = self.inner.lock();
        if inner.phase == Phase::Open {
            inner.phase = Phase::Finishing;
        }
        self.wake(inner);
    }

    /// Ends the listener at once and drops its backlog.
    pub(crate) fn close(&self) {
        let mut inner = self.inner.lock();
        inner.phase = Phase::Closed;
        let backlog = std::mem::take(&mut inner.backlog);
        inner.measure();
        self.synced.ended();
        self.wake(inner);
        panics::drop_caught(backlog);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.inner.lock().phase == Phase::Closed
    }

    pub(crate) fn synced(&self) -> SyncReceiver {
        self.synced.subscribe()
    }
}
