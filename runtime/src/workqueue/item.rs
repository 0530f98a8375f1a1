//! A key that a worker holds.

use std::fmt;

use tokio::time::Duration;

use super::{Key, Priority, WorkQueue, state::Taken};

/// A key that a worker holds. No other worker gets the same key at the same time.
///
/// The worker reports the outcome with [`done`](Self::done), [`requeue_after`](Self::requeue_after)
/// or [`retry`](Self::retry). An item that is dropped without an outcome, by a panic, a cancelled
/// future or an early return, is retried.
#[must_use = "an item that is dropped without an outcome is retried"]
pub struct Item<T: Key> {
    queue: WorkQueue<T>,
    slot: usize,
    key: T,
    priority: Priority,
    outcome: Outcome,
}

#[derive(Clone, Copy)]
enum Outcome {
    Done,
    RequeueAfter(Duration),
    Retry,
}

impl<T: Key> Item<T> {
    pub(super) fn new(queue: WorkQueue<T>, taken: Taken<T>) -> Self {
        let Taken { slot, key, priority, .. } = taken;
        Self { queue, slot, key, priority, outcome: Outcome::Retry }
    }

    /// Returns the key.
    pub fn key(&self) -> &T {
        &self.key
    }

    /// Returns the priority with which the key was queued. A retry keeps it.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// Reports success. The failures of the key are forgotten.
    pub fn done(mut self) {
        self.outcome = Outcome::Done;
    }

    /// Reports success, and queues the key again when `delay` has passed. The failures of the key
    /// are forgotten.
    pub fn requeue_after(mut self, delay: Duration) {
        self.outcome = Outcome::RequeueAfter(delay);
    }

    /// Reports a failure. The key is queued again when the rate limiter allows it, or earlier if it is added.
    pub fn retry(mut self) {
        self.outcome = Outcome::Retry;
    }

    /// Counts a panic, and reports a failure.
    pub(crate) fn panicked(self) {
        self.queue.inner.count_panic();
        self.retry();
    }
}

impl<T: Key> Drop for Item<T> {
    fn drop(&mut self) {
        let inner = &*self.queue.inner;
        let delay = match self.outcome {
            Outcome::Done => {
                inner.forget(&self.key);
                None
            }
            Outcome::RequeueAfter(delay) => {
                inner.forget(&self.key);
                Some(delay)
            }
            Outcome::Retry => Some(inner.failure_delay(&self.key)),
        };
        inner.finish(self.slot, delay.map(|delay| (self.priority, delay)));
    }
}

impl<T: Key + fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item").field("key", &self.key).field("priority", &self.priority).finish()
    }
}
