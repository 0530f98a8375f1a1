//! What can go wrong in a call, and whether trying again can help.

use std::time::Duration;

/// Why a call did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default())]
pub struct Error {
    /// The class of the failure.
    pub kind: ErrorKind,
    /// What happened, in the service's words where it gave some.
    pub message: String,
    /// The service's name for the request, to look up in its log.
    pub request_id: Option<String>,
    /// How long the service asks its clients to wait (`Retry-After`).
    pub retry_after: Option<Duration>,
}

/// The classes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// There was no answer, or one that says that the service is in trouble. The request may have been
    /// carried out all the same.
    Unavailable,
    /// Something else uses what is to be removed.
    InUse,
    /// Somebody else changed it at the same time.
    Conflict,
    /// The quota is used up.
    OverQuota,
    /// The service does not accept these values.
    Rejected,
    /// The credentials are valid and do not suffice.
    Forbidden,
    /// The credentials were not accepted, not even after they were renewed.
    Unauthorized,
    /// The answer could not be understood.
    Protocol,
}

impl ErrorKind {
    /// Whether the service understood the request and refused it: the same request is refused again
    /// until a person changes something.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::OverQuota | Self::Rejected | Self::Forbidden)
    }
}

impl Error {
    /// A failure without a request id.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), request_id: None, retry_after: None }
    }
}
