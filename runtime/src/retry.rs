//! A few retries of one operation in quick succession.
//!
//! Use them to write an object that another client may change between the read and the write. Work that fails
//! for longer belongs in the [work queue](crate::workqueue), which waits without occupying a worker.

use std::{future::Future, time::Duration};

use crate::{
    backoff::{exponential, jittered},
    error::Error,
};

/// The number of attempts and the pauses between them.
///
/// ```
/// # use genclient_runtime::retry::RetryPolicy;
/// # use std::time::Duration;
/// let policy = RetryPolicy::default().attempts(3).pause(Duration::from_millis(100)).factor(2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    attempts: u32,
    pause: Duration,
    factor: u32,
    jitter: f64,
    max_pause: Duration,
}

impl RetryPolicy {
    /// client-go's `DefaultRetry`, for conflicts with another writer: five attempts, about 10 ms apart.
    pub const CONFLICT: Self = Self {
        attempts: 5,
        pause: Duration::from_millis(10),
        factor: 1,
        jitter: 0.1,
        max_pause: Duration::from_secs(30),
    };

    /// client-go's `DefaultBackoff`, for conflicts with a writer that changes the object often: four
    /// attempts, about 10 ms, 50 ms and 250 ms apart.
    pub const BUSY: Self = Self { attempts: 4, factor: 5, ..Self::CONFLICT };

    /// Sets the number of attempts, including the first one, which is always made.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the pause after the first attempt.
    #[must_use]
    pub const fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sets the factor between a pause and the next one.
    #[must_use]
    pub const fn factor(mut self, factor: u32) -> Self {
        self.factor = factor;
        self
    }

    /// Sets the longest pause before jitter. The default is 30 s.
    #[must_use]
    pub const fn max_pause(mut self, max_pause: Duration) -> Self {
        self.max_pause = max_pause;
        self
    }

    /// Sets the random part that is added to each pause, as a share of the pause between 0 and 1.
    #[must_use]
    pub const fn jitter(mut self, share: f64) -> Self {
        // NaN becomes zero.
        self.jitter = if share > 0.0 { share.min(1.0) } else { 0.0 };
        self
    }

    /// Returns the pause after this many failed attempts, or `None` after the last attempt.
    pub(crate) fn pause_before_next(&self, failed: u32) -> Option<Duration> {
        (failed < self.attempts).then(|| self.pause_after(failed))
    }

    fn pause_after(&self, failed: u32) -> Duration {
        let pause = exponential(self.pause, self.factor, failed.saturating_sub(1), self.max_pause);
        jittered(pause, self.jitter)
    }
}

impl Default for RetryPolicy {
    /// Returns [`RetryPolicy::CONFLICT`].
    fn default() -> Self {
        Self::CONFLICT
    }
}

/// Runs `operation` until it succeeds, fails with an error that is not a conflict, or has failed as
/// often as [`RetryPolicy::CONFLICT`] allows. Returns the result of the last attempt.
///
/// The operation must read the object in each attempt: writing the same stale object again can only
/// conflict again.
///
/// ```no_run
/// # use genclient_runtime::{Result, TypedClient, retry::retry_on_conflict};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn label(config_maps: &TypedClient<ConfigMap>) -> Result<ConfigMap> {
/// retry_on_conflict(|| async {
///     let mut fresh = config_maps.get("example").await?;
///     fresh.metadata.labels.get_or_insert_default().insert("seen".into(), "yes".into());
///     config_maps.update(&fresh).await
/// })
/// .await
/// # }
/// ```
pub async fn retry_on_conflict<T, F>(operation: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    retry_if(RetryPolicy::CONFLICT, Error::is_conflict, operation).await
}

/// Runs `operation` until it succeeds, fails with an error that is not `retriable`, or has failed as
/// often as the policy allows. Returns the result of the last attempt.
pub async fn retry_if<T, E, F>(
    policy: RetryPolicy,
    retriable: impl Fn(&E) -> bool,
    mut operation: impl FnMut() -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut failed = 0;
    loop {
        let error = match operation().await {
            Err(error) if retriable(&error) => error,
            result => return result,
        };
        failed += 1;
        match policy.pause_before_next(failed) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use kube::core::Status;
    use tokio::time::Instant;

    use super::*;

    fn failure(reason: &str) -> Error {
        kube::Error::Api(Status::failure("no", reason).boxed()).into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_conflict_is_retried_until_the_write_succeeds() {
        let attempts = Cell::new(0);
        let outcome = retry_on_conflict(|| async {
            attempts.set(attempts.get() + 1);
            if attempts.get() < 3 { Err(failure("Conflict")) } else { Ok("written") }
        })
        .await;
        assert_eq!((outcome.unwrap(), attempts.get()), ("written", 3));
    }

    #[tokio::test(start_paused = true)]
    async fn after_five_attempts_about_ten_milliseconds_apart_the_conflict_is_returned() {
        let (attempts, start) = (Cell::new(0), Instant::now());
        let outcome: Result<(), _> = retry_on_conflict(|| async {
            attempts.set(attempts.get() + 1);
            Err(failure("Conflict"))
        })
        .await;
        assert!(outcome.unwrap_err().is_conflict());
        assert_eq!(attempts.get(), 5);
        let waited = start.elapsed();
        assert!((Duration::from_millis(40)..=Duration::from_millis(52)).contains(&waited), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn another_error_is_returned_at_once() {
        let (attempts, start) = (Cell::new(0), Instant::now());
        let outcome: Result<(), _> = retry_on_conflict(|| async {
            attempts.set(attempts.get() + 1);
            Err(failure("Forbidden"))
        })
        .await;
        assert!(outcome.unwrap_err().is_forbidden());
        assert_eq!((attempts.get(), start.elapsed()), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn the_pauses_follow_the_policy() {
        let start = Instant::now();
        let times = std::cell::RefCell::new(Vec::new());
        let policy = RetryPolicy::BUSY.attempts(5).max_pause(Duration::from_millis(300)).jitter(0.0);
        let outcome: Result<(), _> = retry_if(
            policy,
            |_| true,
            || async {
                times.borrow_mut().push(start.elapsed().as_millis());
                Err("no")
            },
        )
        .await;
        assert_eq!(outcome, Err("no"));
        assert_eq!(*times.borrow(), [0, 10, 60, 310, 610]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_absurd_policy_neither_panics_nor_skips_the_first_attempt() {
        let policy = RetryPolicy::default().attempts(0);
        assert_eq!(retry_if(policy, |_: &()| true, || async { Ok("first") }).await, Ok("first"));
        let policy = policy.pause(Duration::MAX).max_pause(Duration::MAX).factor(u32::MAX);
        for share in [f64::NAN, f64::INFINITY, -1.0, 2.0] {
            assert!(policy.jitter(share).pause_after(u32::MAX) >= Duration::MAX / 2);
        }
    }
}
