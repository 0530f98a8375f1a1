//! The configuration of a queue.

use std::fmt;

use super::{ExponentialBackoff, Key, RateLimiter, WorkQueue, queue::Inner};

/// Configures a queue.
pub struct Builder<T: Key> {
    name: Box<str>,
    limiter: Box<dyn RateLimiter<T>>,
    measured: bool,
}

impl<T: Key> Builder<T> {
    pub(super) fn new(name: &str) -> Self {
        let limiter = Box::new(ExponentialBackoff::<T>::default());
        Self { name: name.into(), limiter, measured: true }
    }

    /// Uses this limiter instead of the default [`ExponentialBackoff`].
    #[must_use]
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Disables the metrics of the queue, even if a recorder is installed.
    #[must_use]
    pub fn without_metrics(mut self) -> Self {
        self.measured = false;
        self
    }

    /// Builds the queue.
    pub fn build(self) -> WorkQueue<T> {
        WorkQueue::from_inner(Inner::new(self.name, self.limiter, self.measured))
    }
}

impl<T: Key> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("name", &self.name).finish_non_exhaustive()
    }
}
