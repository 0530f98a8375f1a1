//! Trying again: a few quick attempts of one operation.
//!
//! This is for the moment between reading an object and writing it back. What fails for longer
//! belongs back into the work queue, which waits without holding a worker.

use std::{future::Future, time::Duration};

use rand::RngExt as _;

use crate::error::Error;

/// How often and after which pauses an operation is tried again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// How many attempts there are in all, the first included.
    pub attempts: u32,
    /// The pause after the first attempt.
    pub pause: Duration,
    /// By how much each pause is longer than the one before it.
    pub factor: f64,
    /// The random part that is added to each pause, as a share of it.
    pub jitter: f64,
}

impl RetryPolicy {
    /// client-go's `DefaultRetry`: five attempts, about 10 ms apart, for conflicts with another writer.
    pub const CONFLICT: Self =
        Self { attempts: 5, pause: Duration::from_millis(10), factor: 1.0, jitter: 0.1 };

    /// client-go's `DefaultBackoff`: four attempts, 10 ms, 50 ms and 250 ms apart, for conflicts with
    /// a writer that is itself busy with the object.
    pub const BUSY: Self = Self { attempts: 4, pause: Duration::from_millis(10), factor: 5.0, jitter: 0.1 };
}

/// Runs `operation` until it succeeds, it fails with something else than a conflict, or
/// [`RetryPolicy::CONFLICT`] is used up; then the last conflict is returned.
///
/// The operation must read the object anew each time: writing the same stale object again can only
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

/// Runs `operation` until it succeeds, it fails with an error that `again` does not want retried, or
/// the policy's attempts are used up; then the last error is returned.
pub async fn retry_if<T, E, F>(
    policy: RetryPolicy,
    again: impl Fn(&E) -> bool,
    mut operation: impl FnMut() -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut pause = policy.pause;
    let mut attempt = 1;
    loop {
        match operation().await {
            Err(error) if attempt < policy.attempts && again(&error) => {
                let jitter = rand::rng().random_range(0.0..=policy.jitter.max(0.0));
                tokio::time::sleep(pause.mul_f64(1.0 + jitter)).await;
                pause = pause.mul_f64(policy.factor);
                attempt += 1;
            }
            outcome => return outcome,
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
}
