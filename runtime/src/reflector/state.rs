//! What a reflector is doing.

use std::{fmt, sync::Arc};

use tokio::time::Instant;

use crate::error::Error;

/// What a reflector is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReflectorState {
    /// It is reading the whole state.
    Listing,
    /// It has the whole state and follows the changes.
    Watching,
    /// An attempt failed, and the next follows after a pause.
    Waiting {
        /// Why it failed.
        problem: Problem,
        /// The same in words.
        reason: Arc<str>,
        /// Since when attempts have failed for this reason.
        since: Instant,
        /// How many attempts have failed in a row.
        attempt: u32,
    },
}

/// Why a reflector's attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// The server does not serve the resource: its definition is not installed.
    Absent,
    /// The caller is known and not allowed to list or watch the resource.
    Forbidden,
    /// The server does not accept the credentials.
    Unauthorized,
    /// The server is overloaded and asks to wait.
    Busy,
    /// The version to resume from has expired, or the server has not reached it yet.
    Version,
    /// The server refuses the request for another reason.
    Refused,
    /// The server fails.
    Server,
    /// The server cannot be reached, or the connection was lost.
    Unreachable,
    /// What the server sends cannot be read.
    Unreadable,
    /// The reflector, or something that it called, panicked.
    Panicked,
}

impl Problem {
    /// A short name, used as the label of a metric.
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
