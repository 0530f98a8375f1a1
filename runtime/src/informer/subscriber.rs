//! The listeners of an informer: handlers and streams, each with a backlog.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::task::AtomicWaker;
use metrics::Gauge;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::{
    Cause, Event,
    backlog::{Backlog, Due},
    notice::{Notice, Step},
    signal::{SyncReceiver, SyncSender},
};
use crate::{object::CacheObject, offload::PROCESSORS, panics, store::State};

/// How long a thread waits for the next event if several already do. A runtime may have few blocking threads,
/// and others need them too.
const SHORT_LINGER: Duration = Duration::from_millis(1);

/// The threads that wait for the next event of their handler, in the whole program.
static LINGERING: AtomicUsize = AtomicUsize::new(0);

/// How long a thread may wait that would like to wait for `linger`, while so many others do.
fn linger_among(others: usize, linger: Duration) -> Duration {
    if others < PROCESSORS.div_ceil(2) { linger } else { linger.min(SHORT_LINGER) }
}

/// One listener of an informer. The informer adds to its backlog, and a handler or a stream takes events.
pub(crate) struct Subscriber<K> {
    inner: Mutex<Inner<K>>,
    /// Wakes the handler or stream that takes events.
    waker: AtomicWaker,
    synced: SyncSender,
    /// Wakes a thread that lingers in [`handled_then_next`](Self::handled_then_next).
    more: Condvar,
}

struct Inner<K> {
    backlog: Backlog<K>,
    /// The sum of the backlogs of all listeners.
    gauge: Option<Gauge>,
    /// How much of it this listener has added.
    measured: usize,
    /// Whether all initial events were added to the backlog.
    is_complete: bool,
    /// Whether a thread lingers for the next event.
    lingers: bool,
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
                lingers: false,
                handles_initial: false,
                phase: Phase::Open,
            }),
            waker: AtomicWaker::new(),
            synced: SyncSender::new(),
            more: Condvar::new(),
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
        self.waker.register(context.waker());
        let mut inner = self.inner.lock();
        match self.take(&mut inner) {
            Some(event) => Poll::Ready(Some(event)),
            None if inner.phase == Phase::Open => Poll::Pending,
            None => {
                self.synced.ended();
                Poll::Ready(None)
            }
        }
    }

    /// Records that the last taken event was handled, and takes the next one. If there is none, it waits
    /// for one for up to `linger`, which blocks the thread, or for a shorter time if several threads do.
    pub(crate) fn handled_then_next(&self, linger: Duration) -> Option<Event<K>> {
        let mut inner = self.inner.lock();
        self.settle_handled(&mut inner);
        if inner.backlog.len() == 0 && inner.phase == Phase::Open && !linger.is_zero() {
            inner.measure();
            inner.lingers = true;
            let linger = linger_among(LINGERING.fetch_add(1, Ordering::Relaxed), linger);
            // Whether an event came or the time is over shows in the backlog.
            let _ = self.more.wait_for(&mut inner, linger);
            LINGERING.fetch_sub(1, Ordering::Relaxed);
            inner.lingers = false;
        }
        self.take(&mut inner)
    }

    fn take(&self, inner: &mut Inner<K>) -> Option<Event<K>> {
        // The backlog of a closed listener is empty.
        let Some(Due { event, initial }) = inner.backlog.pop() else {
            inner.measure();
            return None;
        };
        inner.handles_initial = initial;
        Some(event)
    }

    /// Records that the last taken event was handled.
    pub(crate) fn handled(&self) {
        self.settle_handled(&mut self.inner.lock());
    }

    fn settle_handled(&self, inner: &mut Inner<K>) {
        if inner.handles_initial {
            inner.handles_initial = false;
            self.settle(inner);
        }
    }

    fn settle(&self, inner: &Inner<K>) {
        if inner.is_complete && !inner.handles_initial && inner.backlog.initial() == 0 {
            self.synced.synced();
        }
    }

    /// Wakes whatever waits for an event or for the end.
    fn wake(&self, inner: MutexGuard<'_, Inner<K>>) {
        if inner.lingers {
            self.more.notify_one();
        }
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
