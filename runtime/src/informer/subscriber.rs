//! One listener of an informer: its backlog, its synced signal and its end.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures::task::AtomicWaker;
use parking_lot::Mutex;

use super::{
    backlog::{Backlog, Due},
    notice::Notice,
    signal::{SyncReceiver, SyncSender},
};
use crate::{informer::Event, object::CacheObject};

/// One listener of an informer. The informer pushes, and one task or stream takes out.
pub(crate) struct Subscriber<K> {
    inner: Mutex<Inner<K>>,
    /// Whoever takes out waits here.
    waker: AtomicWaker,
    synced: SyncSender,
}

struct Inner<K> {
    backlog: Backlog<K>,
    /// Whether every initial event is in the backlog, or was.
    is_complete: bool,
    /// Whether an initial event was taken out and has not been heard to its end.
    hears_initial: bool,
    phase: Phase,
}

/// Where the listener is in its life.
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
                hears_initial: false,
                phase: Phase::Open,
            }),
            waker: AtomicWaker::new(),
            synced: SyncSender::new(),
        })
    }

    /// Takes steps of the store in. With `complete` every initial object has been told by now.
    ///
    /// Nothing is taken in once the listener is closed: then it gives `false`.
    pub(crate) fn push(&self, notices: impl IntoIterator<Item = Notice<K>>, complete: bool) -> bool {
        let mut inner = self.inner.lock();
        if inner.phase == Phase::Closed {
            return false;
        }
        let notices = notices.into_iter();
        inner.backlog.reserve(notices.size_hint().0);
        for notice in notices {
            inner.backlog.push(notice);
        }
        inner.is_complete |= complete;
        self.settle(&inner);
        drop(inner);
        self.waker.wake();
        true
    }

    /// Takes out the next event, or waits for it; `None` when there will be none.
    pub(crate) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        self.waker.register(context.waker());
        let mut inner = self.inner.lock();
        if inner.phase == Phase::Closed {
            return Poll::Ready(None);
        }
        match inner.backlog.pop() {
            Some(Due { event, initial }) => {
                inner.hears_initial = initial;
                Poll::Ready(Some(event))
            }
            None if inner.phase == Phase::Finishing => {
                self.synced.ended();
                Poll::Ready(None)
            }
            None => Poll::Pending,
        }
    }

    /// Notes that the event taken out last has been heard to its end.
    pub(crate) fn heard(&self) {
        let mut inner = self.inner.lock();
        if inner.hears_initial {
            inner.hears_initial = false;
            self.settle(&inner);
        }
    }

    fn settle(&self, inner: &Inner<K>) {
        if inner.is_complete && !inner.hears_initial && inner.backlog.initial() == 0 {
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
        drop(backlog);
        self.synced.ended();
        self.waker.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.inner.lock().phase == Phase::Closed
    }

    pub(crate) fn synced(&self) -> SyncReceiver {
        self.synced.subscribe()
    }
}
