//! The pauses between failed attempts.

use std::time::Duration;

use rand::RngExt as _;
use tokio::time::Instant;

use crate::bucket::later;

/// Configures the pauses between failed attempts of a reflector or a watch.
///
/// Each pause is a random duration from the upper half of a range that doubles from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackoffConfig {
    /// The shortest pause.
    pub min: Duration,
    /// The longest pause, unless the server asks for a longer one.
    pub max: Duration,
    /// The time without a failure after which the pauses start at `min` again.
    pub reset_after: Duration,
}

impl BackoffConfig {
    /// Creates pauses that double from `min` to `max`.
    pub fn new(min: Duration, max: Duration) -> Self {
        Self { min, max, ..Self::default() }
    }
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

/// The minimum of every pause. It prevents a busy loop if the server fails at once.
const SHORTEST: Duration = Duration::from_millis(1);

/// Jittered pauses that double up to a cap and start over after a time without failures.
#[derive(Debug)]
pub(crate) struct Backoff {
    config: BackoffConfig,
    attempt: u32,
    /// The end of the last pause.
    last: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(config: BackoffConfig) -> Self {
        Self { config, attempt: 0, last: None }
    }

    /// Starts over: the next failure counts as the first.
    pub(crate) fn reset(&mut self) {
        self.attempt = 0;
        self.last = None;
    }

    /// Restarts the time without failures after which the pauses start over.
    pub(crate) fn touch(&mut self) {
        self.last = self.last.map(|last| last.max(Instant::now()));
    }

    /// Returns the number of consecutive failures.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Counts a failure, and returns the pause after it.
    ///
    /// The pause is from the upper half of the range, so that clients that lost their server at the same time
    /// do not all return at the same time, even at the cap.
    pub(crate) fn next(&mut self) -> Duration {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) >= self.config.reset_after) {
            self.attempt = 0;
        }
        self.attempt = self.attempt.saturating_add(1);
        let upper = exponential(self.config.min, 2, self.attempt, self.config.max);
        let pause = jittered(upper / 2, 1.0).max(self.config.min.min(upper)).max(SHORTEST);
        self.last = Some(later(now, pause));
        pause
    }
}

/// Returns `base × factor ^ steps`, at most `max`.
pub(crate) fn exponential(base: Duration, factor: u32, steps: u32, max: Duration) -> Duration {
    let nanos = base.as_nanos().saturating_mul(u128::from(factor).saturating_pow(steps));
    u64::try_from(nanos).map_or(max, |nanos| Duration::from_nanos(nanos).min(max))
}

/// Lengthens a pause by a random part of up to `share`, which must be between 0 and 1.
pub(crate) fn jittered(pause: Duration, share: f64) -> Duration {
    let part = share * rand::rng().random_range(0.0..=1.0);
    // The half cannot overflow, and the additions saturate.
    let half = (pause / 2).mul_f64(part);
    pause.saturating_add(half).saturating_add(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(range: std::ops::RangeInclusive<f64>, pause: Duration) -> bool {
        range.contains(&pause.as_secs_f64())
    }

    #[tokio::test(start_paused = true)]
    async fn a_configuration_without_pauses_still_pauses() {
        let mut backoff = Backoff::new(BackoffConfig::new(Duration::ZERO, Duration::ZERO));
        assert!((0..10).all(|_| backoff.next() == SHORTEST));
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
    async fn an_endless_cap_does_not_overflow() {
        let config = BackoffConfig { max: Duration::MAX, ..BackoffConfig::default() };
        let mut backoff = Backoff::new(config);
        let longest = (0..200).map(|_| backoff.next()).max().unwrap();
        assert!(longest > Duration::from_secs(1 << 60));
    }

    #[test]
    fn growth_is_exact_and_saturates() {
        let ms = Duration::from_millis;
        let growth = |factor, steps| exponential(ms(10), factor, steps, Duration::from_secs(1));
        assert_eq!([growth(1, 9), growth(2, 3), growth(5, 2)], [ms(10), ms(80), ms(250)]);
        assert_eq!([growth(2, 7), growth(2, u32::MAX), growth(u32::MAX, 90)], [Duration::from_secs(1); 3]);
        assert_eq!(growth(0, 3), Duration::ZERO);
        assert_eq!(exponential(Duration::MAX, 2, 2, Duration::MAX), Duration::MAX);
        assert_eq!(exponential(Duration::ZERO, 2, 200, Duration::MAX), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn many_failures_do_not_overflow() {
        let mut backoff = Backoff::new(BackoffConfig::default());
        for _ in 0..200 {
            assert!(backoff.next() <= Duration::from_secs(30));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_pauses_start_over_after_a_time_without_failures() {
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
