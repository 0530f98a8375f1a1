//! What a reflector is doing, for whoever waits for it or looks at it.

use std::{fmt, sync::Arc};

use tokio::time::Instant;

use crate::error::Error;

/// What a reflector is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReflectorState {
    /// It is reading the whole state.
    Listing,
    /// It has the whole state and follows the changes.
    Watching,
    /// It could not, and tries again after a pause.
    Waiting {
        /// What stands in the way.
        problem: Problem,
        /// The same in words a person understands.
        reason: Arc<str>,
        /// Since when it stands in the way.
        since: Instant,
        /// How many attempts have failed in a row.
        attempt: u32,
    },
}

/// What stands in a reflector's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// The server does not serve the resource: its definition is not installed.
    Absent,
    /// The server knows who is asking, and does not allow it.
    Forbidden,
    /// The server does not know who is asking.
    Unauthorized,
    /// The server asks for patience.
    Busy,
    /// The version to go on from is too old, or the server has not reached it yet.
    Version,
    /// The server refuses the request for another reason.
    Refused,
    /// The server fails.
    Server,
    /// The server cannot be reached, or the connection was lost.
    Unreachable,
    /// What the server sends cannot be read.
    Unreadable,
}

impl Problem {
    /// A short name, as a metric's label carries it.
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
