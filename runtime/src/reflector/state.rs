//! The state of a reflector.

use std::{fmt, sync::Arc};

use tokio::time::Instant;

use crate::error::Error;

/// The state of a reflector.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReflectorState {
    /// The reflector reads the whole state.
    Listing,
    /// The reflector has the whole state and watches for changes.
    Watching,
    /// An attempt failed. The next one follows after a pause.
    Waiting {
        /// The kind of the failure.
        problem: Problem,
        /// The failure in words.
        reason: Arc<str>,
        /// The time since which attempts have failed with this problem.
        since: Instant,
        /// The number of consecutive failed attempts.
        attempt: u32,
    },
}

/// Why a reflector's attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// The server does not serve the resource: its definition is not installed.
    Absent,
    /// The caller is authenticated, but not allowed to list or watch the resource.
    Forbidden,
    /// The server does not accept the credentials.
    Unauthorized,
    /// The server is overloaded and asks the caller to wait.
    Busy,
    /// The version to resume from has expired, or the server has not reached it yet.
    Version,
    /// The server rejects the request for another reason.
    Refused,
    /// The server responded with a server error (5xx).
    Server,
    /// The server cannot be reached, or the connection was lost.
    Unreachable,
    /// The server sent data that cannot be read.
    Unreadable,
    /// The reflector or code that it called panicked.
    Panicked,
}

impl Problem {
    /// Returns a short name. It is used as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Forbidden => "forbidden",
            Self::Unauthorized => "unauthorized",
            Self::Busy => "busy",
            Self::Version => "version",
            Self::Refused => "refused",
            Self::Server => "server",
            Self::Unreachable => "unreachable",
            Self::Unreadable => "unreadable",
            Self::Panicked => "panicked",
        }
    }

    pub(crate) fn of(error: &Error) -> Self {
        match error.code() {
            _ if error.is_not_found() => Self::Absent,
            _ if error.is_forbidden() => Self::Forbidden,
            _ if error.is_unauthorized() => Self::Unauthorized,
            _ if error.is_too_many_requests() => Self::Busy,
            _ if error.is_gone() || error.is_version_too_large() => Self::Version,
            Some(500..) => Self::Server,
            Some(_) => Self::Refused,
            None if matches!(error.cause(), crate::error::Cause::Decode { .. }) => Self::Unreadable,
            None if error.is_invalid_request() => Self::Refused,
            None => Self::Unreachable,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
