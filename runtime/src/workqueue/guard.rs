//! The guard around the rate limiter of a queue.
//!
//! A limiter can be the user's code, and it is called when an item is dropped, possibly during a panic.
//! Its panics are caught, logged and counted, so that the key is still finished and the process is not
//! aborted.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::time::Duration;

use super::{Key, RateLimiter, queue::Inner};
use crate::panics;

/// How long a failed key waits if its limiter panics.
const FALLBACK_DELAY: Duration = Duration::from_secs(1);

impl<T: Key> Inner<T> {
    /// Reports a failure of the key to the limiter. Returns how long the key waits.
    pub fn failure_delay(&self, key: &T) -> Duration {
        if let Some(measure) = self.measure.get() {
            measure.retries.increment(1);
        }
        self.guard(FALLBACK_DELAY, |limiter| limiter.when(key))
    }

    /// Forgets the failures of the key.
    pub fn forget(&self, key: &T) {
        self.guard((), |limiter| limiter.forget(key));
    }

    /// Returns the number of failures of the key.
    pub fn failures(&self, key: &T) -> u32 {
        self.guard(0, |limiter| limiter.num_requeues(key))
    }

    fn guard<R>(&self, fallback: R, call: impl FnOnce(&dyn RateLimiter<T>) -> R) -> R {
        catch_unwind(AssertUnwindSafe(|| call(&*self.limiter))).unwrap_or_else(|panic| {
            let panic = panics::message(&*panic);
            tracing::error!(queue = &*self.name, panic, "the rate limiter panicked");
            self.count_panic();
            fallback
        })
    }

    pub fn count_panic(&self) {
        if let Some(measure) = self.measure.get() {
            measure.panics.increment(1);
        }
    }
}
