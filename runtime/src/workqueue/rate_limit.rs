//! How long a key that failed must wait.
//!
//! A limiter is asked once for each failure and is told when a key may start afresh. It never
//! sleeps: it only says how long to wait, and the queue's delays do the rest.

use std::{
    fmt,
    hash::Hash,
    num::NonZeroU32,
    sync::atomic::{AtomicUsize, Ordering},
};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// Says how long a failed key waits before it is tried again.
pub trait RateLimiter<T>: Send + Sync + 'static {
    /// Counts one more failure of the key and says how long it waits.
    fn when(&self, key: &T) -> Duration;

    /// Forgets the key's failures; its next one is its first.
    fn forget(&self, key: &T);

    /// How many failures of the key are counted.
    fn num_requeues(&self, key: &T) -> u32;
}

/// Doubles a key's wait with each of its failures, up to a limit.
///
/// The default is 5 ms at first and 1000 s at most.
pub struct ExponentialBackoff<T> {
    base: Duration,
    max: Duration,
    failures: Mutex<HashMap<T, u32>>,
    /// How many keys have failed. Most never do, and to forget one of those takes no lock.
    failed: AtomicUsize,
}

impl<T> ExponentialBackoff<T> {
    /// Waits `base` after a key's first failure and never longer than `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, failures: Mutex::new(HashMap::new()), failed: AtomicUsize::new(0) }
    }

    /// The wait after `earlier` failures and one more.
    fn wait(&self, earlier: u32) -> Duration {
        let factor = 1_u128.checked_shl(earlier).unwrap_or(u128::MAX);
        let nanos = self.base.as_nanos().saturating_mul(factor);
        match u64::try_from(nanos) {
            Ok(nanos) => Duration::from_nanos(nanos).min(self.max),
            Err(_) => self.max,
        }
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
        self.wait(earlier)
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

/// Limits all keys together: a bucket that holds some tokens and is refilled at a steady rate.
///
/// The default is 10 a second with bursts of 100. A failure always takes a token; where there is
/// none, it takes one that is still to come, and waits for it.
#[derive(Debug)]
pub struct TokenBucket {
    interval: Duration,
    burst: NonZeroU32,
    /// When the bucket will be full; in the past when it is full now.
    full_at: Mutex<Option<Instant>>,
}

impl TokenBucket {
    /// A bucket of `burst` tokens, full at first, that gains one token every `interval`.
    pub fn new(interval: Duration, burst: NonZeroU32) -> Self {
        Self { interval, burst, full_at: Mutex::new(None) }
    }

    fn reserve(&self) -> Duration {
        let now = Instant::now();
        let mut full_at = self.full_at.lock();
        let start = full_at.map_or(now, |full_at| full_at.max(now));
        *full_at = Some(super::later(start, self.interval));
        let spare = self.interval.saturating_mul(self.burst.get() - 1);
        start.saturating_duration_since(now).saturating_sub(spare)
    }
}

impl Default for TokenBucket {
    fn default() -> Self {
        Self::new(Duration::from_millis(100), const { NonZeroU32::new(100).expect("100 is not zero") })
    }
}

impl<T> RateLimiter<T> for TokenBucket {
    fn when(&self, _: &T) -> Duration {
        self.reserve()
    }

    fn forget(&self, _: &T) {}

    fn num_requeues(&self, _: &T) -> u32 {
        0
    }
}

/// Asks two limiters and takes the longer wait.
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

/// What a queue uses unless told otherwise: backoff for each key and a bucket for all.
pub type DefaultRateLimiter<T> = MaxOf<ExponentialBackoff<T>, TokenBucket>;
