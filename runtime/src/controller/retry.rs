//! What happens to a key whose reconciliation failed.

use std::{error::Error as StdError, fmt, time::Duration};

use crate::error::Error;

/// Any error of a reconciliation.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// What happens to a key whose reconciliation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The key is retried after a pause, which doubles with each failure of the key.
    Backoff,
    /// The key is retried after this time.
    After(Duration),
    /// The key is reconciled again when it changes, and not before.
    Never,
}

impl Retry {
    /// Returns what happens by default: if the server has asked for a pause with `Retry-After`, the key is
    /// retried after it, which is at most five minutes; otherwise with a [backoff](Self::Backoff).
    ///
    /// The request of the genclient [`Error`] may be the source of the error.
    pub fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut source = Some(error);
        while let Some(error) = source {
            let asked = error.downcast_ref::<Error>().and_then(Error::retry_after);
            if let Some(pause) = asked.filter(|pause| !pause.is_zero()) {
                return Self::After(pause);
            }
            source = error.source();
        }
        Self::Backoff
    }
}

/// A failed reconciliation.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: BoxError,
    pub(super) retry: Retry,
}

impl Failure {
    /// Creates the failure of a request that the controller itself made.
    pub(super) fn of(error: impl Into<BoxError>) -> Self {
        let error = error.into();
        let retry = Retry::of(&*error);
        Self { error, retry }
    }
}

impl fmt::Display for Failure {
    /// Writes the error and its sources. An [`Error`] includes its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error: &dyn StdError = &*self.error;
        let mut text = error.to_string();
        f.write_str(&text)?;
        while !error.is::<Error>()
            && let Some(source) = error.source()
        {
            let cause = source.to_string();
            if !text.contains(&cause) {
                write!(f, ": {cause}")?;
                text = cause;
            }
            error = source;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ObjectKey,
        error::{Cause, Operation},
    };

    #[derive(Debug, thiserror::Error)]
    #[error("cannot create the network")]
    struct Wrapped(#[source] Error);

    fn slow_down() -> Error {
        let operation =
            Operation { verb: "get", kind: "Pod".into(), namespace: None, name: None, subresource: None };
        Error::new(operation, Cause::Timeout(Duration::ZERO), Some(Duration::from_secs(7)))
    }

    #[test]
    fn the_pause_that_the_server_asks_for_is_honoured_in_any_source_of_the_error() {
        let asked = Retry::After(Duration::from_secs(7));
        assert_eq!(Retry::of(&slow_down()), asked);
        assert_eq!(Retry::of(&Wrapped(slow_down())), asked);
        assert_eq!(Retry::of(&Error::not_found("Pod", &ObjectKey::cluster("a"))), Retry::Backoff);
    }

    #[test]
    fn an_error_is_shown_with_its_sources_once() {
        let failure = Failure::of(Wrapped(slow_down()));
        let text = failure.to_string();
        assert_eq!(text, "cannot create the network: cannot get Pod: no answer within 0ns");
    }
}
