//! The pauses between failed attempts.

use std::time::Duration;

use rand::RngExt as _;
use tokio::time::Instant;

/// The pauses between failed attempts: each is drawn at random from a range that doubles, between
/// `min` and `max`, and the first range returns after a quiet time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackoffConfig {
    /// No pause is shorter.
    pub min: Duration,
    /// No pause is longer, except where the server asks for it.
    pub max: Duration,
    /// After this time without a failure the pauses start from `min` again.
    pub reset_after: Duration,
}

impl Default for BackoffConfig {
    fn default() -> Self {
        Self {
            min: Duration::from_millis(800),
            max: Duration::from_secs(30),
            reset_after: Duration::from_secs(120),
        }
    }
}

/// Doubling, jittered, capped pauses that start over after a quiet time.
#[derive(Debug)]
pub(crate) struct Backoff {
    config: BackoffConfig,
    attempt: u32,
    last: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(config: BackoffConfig) -> Self {
        Self { config, attempt: 0, last: None }
    }

    /// Starts over with the first pause, after a success.
    pub(crate) fn reset(&mut self) {
        self.attempt = 0;
    }

    /// How many attempts have failed in a row.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The pause after one more failure.
    ///
    /// It is drawn from the upper half of a range that doubles, so that many clients that lost their
    /// server at one moment do not all return at one moment, not even when they have reached the cap.
    pub(crate) fn next(&mut self) -> Duration {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) >= self.config.reset_after) {
            self.attempt = 0;
        }
        self.attempt = self.attempt.saturating_add(1);
        let doubled = 2_u32.checked_pow(self.attempt).and_then(|factor| self.config.min.checked_mul(factor));
        let upper = doubled.map_or(self.config.max, |upper| upper.min(self.config.max));
        let pause = upper.mul_f64(rand::rng().random_range(0.5..=1.0)).max(self.config.min.min(upper));
        // The quiet time begins when the pause is over.
        self.last = Some(now + pause);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(range: std::ops::RangeInclusive<f64>, pause: Duration) -> bool {
        range.contains(&pause.as_secs_f64())
    }

    #[tokio::test(start_paused = true)]
    async fn the_pauses_grow_are_jittered_and_are_capped() {
        let mut distinct = std::collections::HashSet::new();
        for _ in 0..50 {
            let mut backoff = Backoff::new(BackoffConfig::default());
            for upper in [1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
                let pause = backoff.next();
                assert!(seconds(upper / 2.0..=upper, pause), "{pause:?} of {upper}");
                distinct.insert(pause);
            }
        }
        assert!(distinct.len() > 300, "the pauses must differ between clients");
    }

    #[tokio::test(start_paused = true)]
    async fn many_failures_do_not_overflow() {
        let mut backoff = Backoff::new(BackoffConfig::default());
        for _ in 0..200 {
            assert!(backoff.next() <= Duration::from_secs(30));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_time_brings_the_first_pause_back() {
        let mut backoff = Backoff::new(BackoffConfig::default());
        for _ in 0..6 {
            let pause = backoff.next();
            tokio::time::sleep(pause).await;
        }
        tokio::time::sleep(Duration::from_secs(119)).await;
        assert!(backoff.next() >= Duration::from_secs(15), "not yet quiet for long enough");
        tokio::time::sleep(Duration::from_secs(160)).await;
        assert!(backoff.next() <= Duration::from_millis(1600));
        assert_eq!(backoff.attempt(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_success_brings_the_first_pause_back() {
        let mut backoff = Backoff::new(BackoffConfig::default());
        for _ in 0..6 {
            backoff.next();
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(1600));
    }
}
