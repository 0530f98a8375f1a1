//! One listener of an informer: its backlog, its synced signal and its end.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures::task::AtomicWaker;
use parking_lot::Mutex;

use super::{
    Cause, Event,
    backlog::{Backlog, Due},
    notice::{Notice, Step},
    signal::{SyncReceiver, SyncSender},
};
use crate::{object::CacheObject, panics, store::State};

/// One listener of an informer. The informer adds to its backlog, and one task or stream takes events.
pub(crate) struct Subscriber<K> {
    inner: Mutex<Inner<K>>,
    /// Wakes the task or stream that takes events.
    waker: AtomicWaker,
    synced: SyncSender,
}

struct Inner<K> {
    backlog: Backlog<K>,
    /// Whether every initial event is in the backlog, or was.
    is_complete: bool,
    /// Whether an initial event was taken and is still being handled.
    handles_initial: bool,
    phase: Phase,
}

/// Whether the listener still gets events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// More can come.
    Open,
    /// Nothing more comes; what waits is still delivered.
    Finishing,
    /// Nothing more is delivered.
    Closed,
}

impl<K: CacheObject> Subscriber<K> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                backlog: Backlog::default(),
                is_complete: false,
                handles_initial: false,
                phase: Phase::Open,
            }),
            waker: AtomicWaker::new(),
            synced: SyncSender::new(),
        })
    }

    /// Adds every object of the cache to the backlog, as initial ones. Returns `false` if the listener
    /// is closed.
    pub(crate) fn replay(&self, state: &State<K>, is_complete: bool) -> bool {
        let objects = state.iter().map(|object| {
            let (old, new) = (None, object.clone());
            Notice::new(Step::Put { old, new, cause: Cause::Relist, initial: true })
        });
        self.push(objects, is_complete).is_some()
    }

    /// Adds steps of the cache to the backlog, and returns its size, or `None` if the listener is
    /// not open. With `is_complete` every initial object has been added by now.
    pub(crate) fn push(
        &self,
        notices: impl IntoIterator<Item = Notice<K>>,
        is_complete: bool,
    ) -> Option<usize> {
        let mut inner = self.inner.lock();
        if inner.phase != Phase::Open {
            return None;
        }
        let notices = notices.into_iter();
        inner.backlog.reserve(notices.size_hint().0);
        for notice in notices {
            inner.backlog.push(notice);
        }
        inner.is_complete |= is_complete;
        self.settle(&inner);
        let waiting = inner.backlog.len();
        drop(inner);
        self.waker.wake();
        Some(waiting)
    }

    /// Takes the next event, or waits for it; `None` when there will be none.
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

    /// Takes the next event if one waits.
    pub(crate) fn try_next(&self) -> Option<Event<K>> {
        self.take(&mut self.inner.lock())
    }

    fn take(&self, inner: &mut Inner<K>) -> Option<Event<K>> {
        // The backlog of a closed listener is empty.
        let Due { event, initial } = inner.backlog.pop()?;
        inner.handles_initial = initial;
        Some(event)
    }

    /// Notes that the event taken last has been handled.
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

    /// How many keys wait.
    pub(crate) fn waiting(&self) -> usize {
        self.inner.lock().backlog.len()
    }

    /// Lets what waits be delivered, and then ends.
    pub(crate) fn finish(&self) {
        let mut inner = self.inner.lock();
        if inner.phase == Phase::Open {
            inner.phase = Phase::Finishing;
        }
        drop(inner);
        self.waker.wake();
    }

    /// Ends at once: what waits is dropped.
    pub(crate) fn close(&self) {
        let mut inner = self.inner.lock();
        inner.phase = Phase::Closed;
        let backlog = std::mem::take(&mut inner.backlog);
        drop(inner);
        self.synced.ended();
        self.waker.wake();
        panics::drop_caught(backlog);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.inner.lock().phase == Phase::Closed
    }

    pub(crate) fn synced(&self) -> SyncReceiver {
        self.synced.subscribe()
    }
}
