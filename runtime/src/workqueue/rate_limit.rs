//! How long a failed key waits before its retry.
//!
//! A limiter is called once for each failure, and again when the failures of a key are forgotten.
//! It never sleeps: it returns a duration, for which the queue delays the key.

use std::{
    fmt,
    hash::Hash,
    num::NonZeroU32,
    sync::atomic::{AtomicUsize, Ordering},
};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use crate::{backoff::exponential, bucket::Bucket};

/// Decides how long a failed key waits before its retry.
///
/// The queue catches the panics of a limiter, and delays the key by a second instead.
pub trait RateLimiter<T>: Send + Sync + 'static {
    /// Counts a failure of the key, and returns how long the key waits.
    fn when(&self, key: &T) -> Duration;

    /// Forgets the failures of the key, so that its next failure counts as the first.
    fn forget(&self, key: &T);

    /// Returns the number of failures that are counted for the key.
    fn num_requeues(&self, key: &T) -> u32;
}

/// Doubles the delay of a key with each of its failures, up to a limit.
///
/// The default starts at 5 ms and ends at 1000 s.
pub struct ExponentialBackoff<T> {
    base: Duration,
    max: Duration,
    failures: Mutex<HashMap<T, u32>>,
    /// The size of `failures`. While it is zero, forgetting a key takes no lock.
    failed: AtomicUsize,
}

impl<T> ExponentialBackoff<T> {
    /// Waits `base` after the first failure of a key, and never longer than `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, failures: Mutex::new(HashMap::new()), failed: AtomicUsize::new(0) }
    }
}

impl<T> Default for ExponentialBackoff<T> {
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(1000))
    }
}

impl<T> fmt::Debug for ExponentialBackoff<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExponentialBackoff")
            .field("base", &self.base)
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> RateLimiter<T> for ExponentialBackoff<T> {
    fn when(&self, key: &T) -> Duration {
        let mut failures = self.failures.lock();
        let earlier = failures.get(key).copied().unwrap_or(0);
        failures.insert(key.clone(), earlier.saturating_add(1));
        self.failed.store(failures.len(), Ordering::Release);
        exponential(self.base, 2, earlier, self.max)
    }

    fn forget(&self, key: &T) {
        if self.failed.load(Ordering::Acquire) > 0 {
            let mut failures = self.failures.lock();
            failures.remove(key);
            self.failed.store(failures.len(), Ordering::Release);
        }
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.failures.lock().get(key).copied().unwrap_or(0)
    }
}

/// Limits the retries of all keys together: a bucket of tokens that is refilled at a steady rate.
///
/// The default is 10 retries a second with bursts of 100. Each failure takes a token; if the bucket
/// is empty, the key waits for the next free token.
#[derive(Debug)]
pub struct TokenBucket {
    bucket: Bucket,
    /// The moment at which the bucket will be full; `None` if no token was ever taken.
    full_at: Mutex<Option<Instant>>,
}

impl TokenBucket {
    /// Creates a full bucket of `burst` tokens that gains one token every `interval`.
    pub fn new(interval: Duration, burst: NonZeroU32) -> Self {
        Self { bucket: Bucket { interval, burst }, full_at: Mutex::new(None) }
    }
}

impl Default for TokenBucket {
    fn default() -> Self {
        Self::new(Duration::from_millis(100), const { NonZeroU32::new(100).expect("100 is not zero") })
    }
}

impl<T> RateLimiter<T> for TokenBucket {
    fn when(&self, _: &T) -> Duration {
        let now = Instant::now();
        let wait = self.bucket.take(self.full_at.lock().get_or_insert(now), now, Duration::MAX);
        wait.unwrap_or(Duration::MAX)
    }

    fn forget(&self, _: &T) {}

    fn num_requeues(&self, _: &T) -> u32 {
        0
    }
}

/// Calls two limiters and uses the longer delay.
#[derive(Debug, Default)]
pub struct MaxOf<A, B>(pub A, pub B);

impl<T, A: RateLimiter<T>, B: RateLimiter<T>> RateLimiter<T> for MaxOf<A, B> {
    fn when(&self, key: &T) -> Duration {
        self.0.when(key).max(self.1.when(key))
    }

    fn forget(&self, key: &T) {
        self.0.forget(key);
        self.1.forget(key);
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.0.num_requeues(key).max(self.1.num_requeues(key))
    }
}

/// The default limiter of a queue: a backoff for each key and a bucket for all.
pub type DefaultRateLimiter<T> = MaxOf<ExponentialBackoff<T>, TokenBucket>;
