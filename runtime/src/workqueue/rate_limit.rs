//! How long a failed key waits before its retry.
//!
//! A limiter never sleeps: it returns a duration, and the queue delays the key by it.

use std::{fmt, hash::Hash, num::NonZeroU32};

use hashbrown::HashMap;
use parking_lot::Mutex;
use rand::RngExt as _;
use tokio::time::{Duration, Instant};

use crate::{
    backoff::exponential,
    bucket::{Bucket, later},
};

/// Decides how long a failed key waits before its retry.
///
/// The queue catches the panics of a limiter, and delays the key by a second instead.
pub trait RateLimiter<T>: Send + Sync + 'static {
    /// Returns how long the key waits after a failed run.
    ///
    /// The run may have started during the last delay, because an event added the key. An implementation
    /// should not count such a failure, or a busy key reaches the longest delay within moments.
    fn when(&self, key: &T) -> Duration;

    /// Forgets the failures of the key, so that its next failure counts as the first.
    fn forget(&self, key: &T);

    /// Returns the number of failures that are counted for the key.
    fn num_requeues(&self, key: &T) -> u32;
}

impl<T, L: RateLimiter<T> + ?Sized> RateLimiter<T> for Box<L> {
    fn when(&self, key: &T) -> Duration {
        (**self).when(key)
    }

    fn forget(&self, key: &T) {
        (**self).forget(key);
    }

    fn num_requeues(&self, key: &T) -> u32 {
        (**self).num_requeues(key)
    }
}

/// Doubles the delay of a key with each of its failures, up to a limit. This is the limiter of a queue
/// unless the builder sets another one.
///
/// - The default starts at 5 ms and ends at 1000 s.
/// - Each delay is shortened by a random part of up to a half, so that keys that fail at the same moment
///   are not all retried at the same moment; see [`jitter`](Self::jitter).
/// - Events neither shorten nor lengthen the backoff. If a key is added during its delay, it runs at once.
///   If this run fails before the delay has ended, the failure does not count, and the key is retried at
///   the end of that delay.
/// - No limit is shared between keys, so a failing key never delays another one. For client-go's default,
///   which limits all retries of a queue to 10 a second, use
///   `MaxOf(ExponentialBackoff::default(), TokenBucket::default())`.
pub struct ExponentialBackoff<T> {
    base: Duration,
    max: Duration,
    jitter: f64,
    failed: Mutex<HashMap<T, Failures>>,
}

struct Failures {
    count: u32,
    /// The end of the current delay.
    until: Instant,
}

impl<T> ExponentialBackoff<T> {
    /// Waits up to `base` after the first failure of a key, and never longer than `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, jitter: 0.5, failed: Mutex::new(HashMap::new()) }
    }

    /// Sets the largest part by which a delay is randomly shortened: 0.5 by default, 0 for exact delays.
    #[must_use]
    pub fn jitter(mut self, share: f64) -> Self {
        // NaN counts as zero.
        self.jitter = if share > 0.0 { share.min(1.0) } else { 0.0 };
        self
    }

    fn delay(&self, earlier_failures: u32) -> Duration {
        let longest = exponential(self.base, 2, earlier_failures, self.max);
        let part = self.jitter * rand::rng().random_range(0.0..=1.0);
        // Halving and doubling avoids an overflow.
        longest.saturating_sub((longest / 2).mul_f64(part).saturating_mul(2))
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
            .field("jitter", &self.jitter)
            .finish_non_exhaustive()
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> RateLimiter<T> for ExponentialBackoff<T> {
    fn when(&self, key: &T) -> Duration {
        let now = Instant::now();
        let mut failed = self.failed.lock();
        let failures = failed.entry(key.clone()).or_insert(Failures { count: 0, until: now });
        if failures.until <= now {
            failures.until = later(now, self.delay(failures.count));
            failures.count = failures.count.saturating_add(1);
        }
        failures.until - now
    }

    fn forget(&self, key: &T) {
        let mut failed = self.failed.lock();
        if !failed.is_empty() {
            failed.remove(key);
        }
    }

    fn num_requeues(&self, key: &T) -> u32 {
        self.failed.lock().get(key).map_or(0, |failures| failures.count)
    }
}

/// Limits the retries of all keys together: a bucket of tokens that is refilled at a steady rate.
///
/// The default is 10 retries a second with bursts of 100. Each failed run takes a token; if the bucket is
/// empty, the key waits for the next token.
///
/// No key waits longer than an empty bucket takes to fill, 10 s by default. While so many keys fail that
/// the wait would be longer, they exceed the rate: otherwise a few busy keys could delay all others by
/// hours.
#[derive(Debug)]
pub struct TokenBucket {
    bucket: Bucket,
    /// The moment at which the bucket will be full; `None` before the first token is taken.
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
        let longest = self.bucket.interval.saturating_mul(self.bucket.burst.get());
        self.bucket.take(self.full_at.lock().get_or_insert(now), now, longest).unwrap_or(longest)
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
