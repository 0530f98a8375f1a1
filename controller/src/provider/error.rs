//! What can go wrong in a provider, and what helps.

/// Why a provider did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default())]
pub struct Error {
    /// The class of the failure.
    pub kind: ErrorKind,
    /// What happened, in the provider's words where it gave some.
    pub message: String,
    /// The provider's name for the request, to be looked up in its log.
    pub request_id: Option<String>,
}

/// The classes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// There was no answer, or one that says that the provider is in trouble. The request may have
    /// been carried out all the same.
    Unavailable,
    /// Something else uses what is to be removed.
    InUse,
    /// Somebody else changed it at the same time.
    Conflict,
    /// The quota is used up.
    OverQuota,
    /// The provider does not accept these values.
    Rejected,
    /// The credentials are valid and do not suffice.
    Forbidden,
    /// The credentials were not accepted, not even after they were renewed.
    Unauthorized,
    /// The provider's answer could not be understood.
    Protocol,
}

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryPolicy {
    /// It can pass by itself: try again with growing waits.
    Backoff,
    /// A person must change something: report it, and look again slowly.
    AfterChange,
}

impl ErrorKind {
    /// Whether trying again can help.
    pub fn retry_policy(self) -> RetryPolicy {
        match self {
            Self::Unavailable | Self::InUse | Self::Conflict | Self::Unauthorized | Self::Protocol => {
                RetryPolicy::Backoff
            }
            Self::OverQuota | Self::Rejected | Self::Forbidden => RetryPolicy::AfterChange,
        }
    }

    /// The reason to show in an event.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unavailable => "ProviderUnavailable",
            Self::InUse => "NetworkInUse",
            Self::Conflict => "ProviderConflict",
            Self::OverQuota => "QuotaExceeded",
            Self::Rejected => "ProviderRejected",
            Self::Forbidden => "ProviderForbidden",
            Self::Unauthorized => "ProviderUnauthorized",
            Self::Protocol => "ProviderProtocolError",
        }
    }
}

impl Error {
    /// A failure without a request id.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), request_id: None }
    }

    /// Whether trying again can help.
    pub fn retry_policy(&self) -> RetryPolicy {
        self.kind.retry_policy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_retried_and_the_rest_waits_for_a_person() {
        use ErrorKind::*;
        for kind in [Unavailable, InUse, Conflict, Unauthorized, Protocol] {
            assert_eq!(kind.retry_policy(), RetryPolicy::Backoff, "{kind:?}");
        }
        for kind in [OverQuota, Rejected, Forbidden] {
            assert_eq!(kind.retry_policy(), RetryPolicy::AfterChange, "{kind:?}");
        }
    }
}
