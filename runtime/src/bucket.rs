//! The token bucket of the queue's limiter, the event recorder's spam filter and the client's request
//! limit.

use std::num::NonZeroU32;

use tokio::time::{Duration, Instant};

/// The shape of a bucket: it holds `burst` tokens and gains one every `interval`.
///
/// The state of a bucket is a single [`Instant`]: the moment at which it will be full again. A moment in
/// the past is a full bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) interval: Duration,
    pub(crate) burst: NonZeroU32,
}

impl Bucket {
    /// Takes the next token and returns how long to wait for it. Takes nothing and returns `None` if the
    /// wait would exceed `longest`, which bounds the debt of the bucket.
    pub(crate) fn take(&self, full_at: &mut Instant, now: Instant, longest: Duration) -> Option<Duration> {
        let wait = self.wait(*full_at, now);
        if wait > longest {
            return None;
        }
        *full_at = later((*full_at).max(now), self.interval);
        Some(wait)
    }

    /// Takes a token if the bucket has one.
    pub(crate) fn try_take(&self, full_at: &mut Instant, now: Instant) -> bool {
        self.take(full_at, now, Duration::ZERO).is_some()
    }

    /// Returns the time until the next token.
    pub(crate) fn wait(&self, full_at: Instant, now: Instant) -> Duration {
        let spare = self.interval.saturating_mul(self.burst.get() - 1);
        full_at.saturating_duration_since(now).saturating_sub(spare)
    }
}

/// Returns `start + delay`, or the far future if the clock cannot express that moment.
pub(crate) fn later(start: Instant, delay: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    start + delay.min(FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(burst: u32) -> Bucket {
        Bucket { interval: Duration::from_secs(1), burst: NonZeroU32::new(burst).unwrap() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_and_later_tokens_wait_up_to_the_longest_wait() {
        let (bucket, now) = (bucket(3), Instant::now());
        let mut full_at = now;
        let longest = Duration::from_secs(2);
        let mut take = |now| bucket.take(&mut full_at, now, longest).map(|wait| wait.as_secs());
        let waits: Vec<_> = (0..7).map(|_| take(now)).collect();
        assert_eq!(waits, [Some(0), Some(0), Some(0), Some(1), Some(2), None, None]);
        assert_eq!(take(now + Duration::from_secs(5)), Some(0), "the bucket filled up again");
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_bucket_refuses_and_a_refusal_costs_nothing() {
        let (bucket, now) = (bucket(2), Instant::now());
        let mut full_at = now;
        let taken = (0..10).filter(|_| bucket.try_take(&mut full_at, now)).count();
        assert_eq!(taken, 2);
        assert!(bucket.try_take(&mut full_at, now + Duration::from_secs(1)));
        assert!(!bucket.try_take(&mut full_at, now + Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_interval_beyond_the_clock_does_not_overflow() {
        let bucket = Bucket { interval: Duration::MAX, burst: NonZeroU32::MIN };
        let mut full_at = Instant::now();
        assert!(bucket.try_take(&mut full_at, Instant::now()));
        assert!(!bucket.try_take(&mut full_at, Instant::now()));
    }
}
