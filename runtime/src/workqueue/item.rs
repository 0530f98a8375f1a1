//! A key in a worker's hands.

use std::fmt;

use tokio::time::Duration;

use super::{Key, Priority, WorkQueue, state::Taken};

/// A key that a worker holds; no other worker is given the same key meanwhile.
///
/// The worker ends with a verdict: [`done`](Self::done), [`requeue_after`](Self::requeue_after) or
/// [`retry`](Self::retry). An item that is dropped without one, be it by a panic, by a future that
/// was cancelled or by an early return, counts as failed and is retried with backoff: work is never
/// lost silently.
#[must_use = "an item that is dropped without a verdict is retried"]
pub struct Item<T: Key> {
    queue: WorkQueue<T>,
    slot: usize,
    key: T,
    priority: Priority,
    verdict: Verdict,
}

/// What is to become of the key.
#[derive(Clone, Copy)]
enum Verdict {
    Done,
    RequeueAfter(Duration),
    Retry,
}

impl<T: Key> Item<T> {
    pub(super) fn new(queue: WorkQueue<T>, taken: Taken<T>) -> Self {
        let Taken { slot, key, priority, .. } = taken;
        Self { queue, slot, key, priority, verdict: Verdict::Retry }
    }

    /// The key to work on.
    pub fn key(&self) -> &T {
        &self.key
    }

    /// The priority with which the key was queued. A retry keeps it.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// The work succeeded; the key's earlier failures are forgotten.
    pub fn done(mut self) {
        self.verdict = Verdict::Done;
    }

    /// The work succeeded, and the key is to be looked at again when `delay` has passed.
    pub fn requeue_after(mut self, delay: Duration) {
        self.verdict = Verdict::RequeueAfter(delay);
    }

    /// The work failed; the key is tried again when the rate limiter allows it.
    pub fn retry(mut self) {
        self.verdict = Verdict::Retry;
    }
}

impl<T: Key> Drop for Item<T> {
    fn drop(&mut self) {
        let inner = &*self.queue.inner;
        let delay = match self.verdict {
            Verdict::Done => {
                inner.limiter.forget(&self.key);
                None
            }
            Verdict::RequeueAfter(delay) => {
                inner.limiter.forget(&self.key);
                Some(delay)
            }
            Verdict::Retry => Some(inner.put_off(&self.key)),
        };
        inner.finish(self.slot, delay.map(|delay| (self.priority, delay)));
    }
}

impl<T: Key + fmt::Debug> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item").field("key", &self.key).field("priority", &self.priority).finish()
    }
}
