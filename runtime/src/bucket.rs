//! The token bucket under the queue's limiter, the event recorder's spam filter and the client's
//! request limit.

use std::num::NonZeroU32;

use tokio::time::{Duration, Instant};

/// The shape of a bucket: it holds `burst` tokens and gains one every `interval`.
///
/// A bucket itself is a single [`Instant`]: the moment at which it will be full again. A moment in
/// the past is a full bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) interval: Duration,
    pub(crate) burst: NonZeroU32,
}

impl Bucket {
    /// Takes a token and returns how long to wait for it. An empty bucket lends a token that is
    /// still to come.
    pub(crate) fn take(&self, full_at: &mut Instant, now: Instant) -> Duration {
        let wait = self.wait(*full_at, now);
        *full_at = later((*full_at).max(now), self.interval);
        wait
    }

    /// Takes a token if there is one.
    pub(crate) fn try_take(&self, full_at: &mut Instant, now: Instant) -> bool {
        let has_token = self.wait(*full_at, now).is_zero();
        if has_token {
            *full_at = later((*full_at).max(now), self.interval);
        }
        has_token
    }

    /// How long the next token takes.
    fn wait(&self, full_at: Instant, now: Instant) -> Duration {
        let spare = self.interval.saturating_mul(self.burst.get() - 1);
        full_at.saturating_duration_since(now).saturating_sub(spare)
    }
}

/// `start + delay`, or the far future where the clock cannot express that moment.
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
    async fn a_burst_is_free_and_what_follows_waits_its_turn() {
        let (bucket, now) = (bucket(3), Instant::now());
        let mut full_at = now;
        let waits: Vec<_> = (0..5).map(|_| bucket.take(&mut full_at, now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1, 2]);
        let later = now + Duration::from_secs(5);
        assert!(bucket.take(&mut full_at, later).is_zero(), "the bucket filled up again");
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
        bucket.take(&mut full_at, Instant::now());
        assert!(!bucket.try_take(&mut full_at, Instant::now()));
    }
}
