//! How a key is added, and the answer to it.

use tokio::time::Duration;

use super::Priority;

/// How [`WorkQueue::add_with`](super::WorkQueue::add_with) adds a key.
///
/// ```
/// # use genclient_runtime::{WorkQueue, workqueue::{AddOptions, Priority}};
/// # use std::time::Duration;
/// # let queue = WorkQueue::new("networks");
/// queue.add_with("a", Priority::HIGH);
/// queue.add_with("b", AddOptions::new().priority(Priority::LOW).after(Duration::from_secs(60)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddOptions {
    pub(super) priority: Priority,
    pub(super) after: Duration,
    pub(super) rate_limited: bool,
}

impl AddOptions {
    /// Adds a key at once, with [`Priority::NORMAL`].
    pub const fn new() -> Self {
        Self { priority: Priority::NORMAL, after: Duration::ZERO, rate_limited: false }
    }

    /// Adds the key with this priority.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Adds the key when this time has passed.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.after = delay;
        self
    }

    /// Reports a failure of the key to the rate limiter, and adds the key when that allows it. If a delay
    /// is set too, the longer one counts.
    #[must_use]
    pub const fn rate_limited(mut self) -> Self {
        self.rate_limited = true;
        self
    }
}

impl From<Priority> for AddOptions {
    fn from(priority: Priority) -> Self {
        Self::new().priority(priority)
    }
}

/// The queue's answer to an add.
///
/// An event handler can ignore it: an open queue takes every key. A queue that is shut down takes none
/// and returns the key as [`Refused`](Self::Refused). If the caller ignores that, the key is lost until
/// the program restarts and adds it again, as an informer does with its first list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Added<T> {
    /// The key is queued.
    Queued,
    /// A worker holds the key, and it will run once more.
    Rerun,
    /// The key will be queued when its delay ends.
    Delayed,
    /// The key was queued or delayed already, and is not added a second time.
    Merged,
    /// The queue is shut down and does not take the key.
    Refused(T),
}

impl<T> Added<T> {
    /// Returns whether the queue is shut down and did not take the key.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}
