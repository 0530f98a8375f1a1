//! The end of a queue.

use std::pin::pin;

use tokio::time::{Duration, timeout};

use super::{Key, WorkQueue, queue::Inner, state::State};

/// The keys that a queue returns when it is shut down.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shutdown<T> {
    /// The keys that workers still held at the deadline.
    pub unfinished: Vec<T>,
    /// The keys that were queued, in the order in which they would have run.
    pub queued: Vec<T>,
    /// The keys that were delayed or waited for a retry, the earliest first.
    pub delayed: Vec<T>,
}

impl<T> Shutdown<T> {
    pub(super) const fn empty() -> Self {
        Self { unfinished: Vec::new(), queued: Vec::new(), delayed: Vec::new() }
    }

    /// Returns whether no key is left.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.unfinished.is_empty() && self.queued.is_empty() && self.delayed.is_empty()
    }
}

/// The stages of a queue, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Keys are added and taken.
    Open,
    /// No key is added or taken; running keys may finish.
    Draining,
    /// The queue does not wait for running keys.
    Ended,
}

impl<T: Key> WorkQueue<T> {
    /// Shuts the queue down, and waits up to `deadline` for the running keys to finish.
    ///
    /// From the moment of the call adds are refused and `next` returns `None`. Dropping the future
    /// leaves the queue shut down with its keys in it; another call returns them.
    pub async fn shutdown(&self, deadline: Duration) -> Shutdown<T> {
        let inner = &*self.inner;
        inner.close(Stage::Draining);
        let drained = inner.until(|state| state.running() == 0 || state.stage() == Stage::Ended);
        // The report shows which of the two came first.
        let _ = timeout(deadline, drained).await;
        self.shutdown_now()
    }

    /// Shuts the queue down without waiting, and ends a [`shutdown`](Self::shutdown) that waits.
    ///
    /// Only the first call returns a queued or delayed key.
    pub fn shutdown_now(&self) -> Shutdown<T> {
        let inner = &*self.inner;
        inner.close(Stage::Ended);
        inner.drain()
    }

    /// Waits for the last stage.
    pub(super) async fn ended(&self) {
        self.inner.until(|state| state.stage() == Stage::Ended).await;
    }
}

impl<T: Key> Inner<T> {
    /// Removes and returns all keys, but keeps the slots of the running keys.
    pub(super) fn drain(&self) -> Shutdown<T> {
        let mut locked = self.locked.lock();
        let depth = locked.state.depth();
        let report = locked.state.drain();
        drop(locked);
        if let Some(measure) = self.measure.get() {
            measure.drained(depth);
        }
        report
    }

    fn close(&self, stage: Stage) {
        self.locked.lock().state.close(stage);
        self.ready.notify_waiters();
        self.closing.notify_waiters();
        self.alarm_changed.notify_waiters();
    }

    /// Waits for a condition, which is checked whenever `closing` is notified.
    async fn until(&self, reached: impl Fn(&State<T>) -> bool) {
        loop {
            let mut notified = pin!(self.closing.notified());
            notified.as_mut().enable();
            if reached(&self.locked.lock().state) {
                return;
            }
            notified.await;
        }
    }
}
