//! The errors of requests.

use std::time::Duration;

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default())]
pub struct Error {
    /// The class of the failure.
    pub kind: ErrorKind,
    /// What happened, with the service's own message if there is one.
    pub message: String,
    /// The id of the request in the service's log.
    pub request_id: Option<String>,
    /// How long the service asks its clients to wait (`Retry-After`).
    pub retry_after: Option<Duration>,
}

/// The classes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// There was no answer, or the service reported a failure of its own. The request may have been carried
    /// out nevertheless.
    Unavailable,
    /// The resource to delete is in use.
    InUse,
    /// The resource was changed by somebody else at the same time.
    Conflict,
    /// The quota is used up.
    OverQuota,
    /// The service does not accept these values.
    Rejected,
    /// The credentials are valid, but do not permit the request.
    Forbidden,
    /// The credentials were not accepted, even after a renewal.
    Unauthorized,
    /// The answer does not decode.
    Protocol,
}

impl ErrorKind {
    /// Returns whether the service understood the request and refused it. The same request is then refused
    /// again until a person changes something.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::OverQuota | Self::Rejected | Self::Forbidden)
    }
}

impl Error {
    /// Returns an error without a request id.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), request_id: None, retry_after: None }
    }
}
