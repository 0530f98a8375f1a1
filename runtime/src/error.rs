//! The error of every request.
//!
//! An [`Error`] names the failed operation (the verb, the kind, the namespace and the name) and the cause.
//! `is_not_found`, `is_conflict` and the other predicates check the reason that the server sent. As in
//! client-go's `apierrors`, the HTTP status counts only if the reason is unknown. [`Error::cause`] and
//! [`Error::status`] return the details.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use kube::core::{
    Status,
    response::{StatusCause, reason},
};

use crate::object::ObjectKey;

/// Work was refused or given up by a [fence](crate::leader::Fence), because this process does not lead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this process does not hold the Lease {lease}, so it makes no changes: the replica that holds it does"
)]
pub struct Refused {
    pub(crate) lease: Arc<ObjectKey>,
}

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The operation of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// The verb: `get`, `list`, `create` …
    pub verb: &'static str,
    /// The kind.
    pub kind: String,
    /// The namespace, or `None` for a cluster-scoped kind or all namespaces.
    pub namespace: Option<String>,
    /// The name of the object, or `None` for a collection or an object without a name.
    pub name: Option<String>,
    /// The subresource, if any.
    pub subresource: Option<String>,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.kind)?;
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (None, Some(name)) => write!(f, " {name}"),
            (Some(namespace), None) => write!(f, " in namespace {namespace}"),
            (None, None) => Ok(()),
        }
    }
}

/// Why a request failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The server rejected the request or could not be reached.
    Kube(kube::Error),
    /// The response of the server does not decode into the expected type.
    Decode {
        /// The path of the invalid field, or `.` if the whole response is invalid.
        path: String,
        /// The decoding error.
        source: serde_json::Error,
    },
    /// The response was not complete within the timeout of the request.
    Timeout(Duration),
    /// The request was not sent, because the [rate limit](crate::RestClient::rate_limit) of the client
    /// would have delayed it by more than its timeout.
    RateLimited {
        /// The time until the rate limit would have admitted the request.
        wait: Duration,
        /// The timeout of the request.
        timeout: Duration,
    },
    /// The request was not sent because it cannot succeed.
    InvalidRequest(InvalidRequest),
}

/// Why a request was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// The namespace is not a DNS label.
    #[error(
        "`{0}` is not a namespace: it must be 1 to 63 lower case letters, digits or `-`, \
         and start and end with a letter or digit"
    )]
    Namespace(String),
    /// The group, the version or the plural of the kind would change the path of the request.
    #[error(
        "`{0}` is not a resource: its group, version and plural must be letters, digits, `-`, `_` or `.`"
    )]
    Resource(String),
    /// The client of a namespace has a cluster-scoped kind.
    #[error("{0} is cluster-scoped and has no objects in a namespace")]
    NotNamespaced(String),
    /// The name of the object would change the path of the request.
    #[error("`{0}` is not an object name: it must not be empty, `.` or `..`, nor contain `/` or `%`")]
    Name(String),
    /// The subresource would change the path of the request.
    #[error("`{0}` is not a subresource: it must not be empty, `.` or `..`, nor contain `/` or `%`")]
    Subresource(String),
    /// The verb needs a name, and the object has none.
    #[error("the object has no metadata.name")]
    NameMissing,
    /// An apply configuration lacks a field that identifies the object.
    #[error("the apply configuration has no {0}")]
    FieldMissing(&'static str),
    /// An apply configuration has a different kind or names a different object.
    #[error("the apply configuration's {field} is `{found}`, not `{expected}`")]
    FieldMismatch {
        /// The field.
        field: &'static str,
        /// The expected value.
        expected: String,
        /// The actual value.
        found: String,
    },
    /// The field manager is empty or longer than 128 bytes.
    #[error("`{0}` is not a field manager: it must have 1 to 128 bytes")]
    FieldManager(String),
    /// An apply has no field manager.
    #[error(
        "an apply needs a field manager: set it for all requests with `RestClient::field_manager`, or for one \
         request with `.field_manager(…)`"
    )]
    FieldManagerMissing,
    /// The write needs a resource version, and the object has none.
    #[error("the object has no metadata.resourceVersion, which is needed to detect a conflicting change")]
    ResourceVersionMissing,
    /// The object is not the one that the request names, or a change would alter its identity.
    #[error("the object's {field} is `{found}`, not `{expected}`, and a write cannot change it")]
    OtherObject {
        /// The field.
        field: &'static str,
        /// The expected value.
        expected: String,
        /// The actual value.
        found: String,
    },
    /// An update of the status changes other fields, which the server would ignore.
    #[error("a status update cannot change {}", .0.join(", "))]
    OutsideStatus(Vec<String>),
    /// The body does not serialize to JSON.
    #[error("the body does not serialize: {0}")]
    Body(#[source] serde_json::Error),
    /// The parts do not form a valid HTTP request.
    #[error("the request cannot be built: {0}")]
    Http(#[source] http::Error),
}

/// A field that an apply could not set because another manager owns it with a different value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldConflict {
    /// The manager that owns the field.
    pub manager: String,
    /// The path of the field, such as `.spec.cidr`.
    pub field: String,
}

impl FieldConflict {
    /// Reads a cause such as `conflict with "kubectl" using apps/v1`.
    fn of(cause: &StatusCause) -> Option<Self> {
        let manager = cause.message.strip_prefix("conflict with ").unwrap_or(&cause.message);
        // The name is quoted by Go's rules, which differ from JSON only in rare escapes.
        let quoted = serde_json::Deserializer::from_str(manager).into_iter::<String>().next();
        let manager = quoted.and_then(Result::ok).unwrap_or_else(|| manager.to_owned());
        (cause.reason == "FieldManagerConflict").then(|| Self { manager, field: cause.field.clone() })
    }
}

impl fmt::Display for FieldConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} belongs to \"{}\"", self.field, self.manager)
    }
}

/// A failed request, with its operation and cause.
pub struct Error(Box<Inner>);

struct Inner {
    operation: Option<Operation>,
    cause: Cause,
    retry_after: Option<Duration>,
}

impl Error {
    pub(crate) fn new(operation: Operation, cause: Cause, retry_after: Option<Duration>) -> Self {
        Self(Box::new(Inner { operation: Some(operation), cause, retry_after }))
    }

    /// Creates the error that the server sends for an object that does not exist.
    ///
    /// [`is_not_found`](Self::is_not_found) returns `true` for it, so callers need not distinguish a miss in
    /// the cache from an answer of the server.
    pub fn not_found(kind: impl Into<String>, key: &ObjectKey) -> Self {
        let kind = kind.into();
        let status = Status::failure(&format!("{kind} \"{}\" not found", key.name), reason::NOT_FOUND)
            .with_code(http::StatusCode::NOT_FOUND.as_u16());
        let operation = Operation {
            verb: "get",
            kind,
            namespace: key.namespace.clone(),
            name: Some(key.name.clone()),
            subresource: None,
        };
        Self::new(operation, Cause::Kube(kube::Error::Api(status.boxed())), None)
    }

    /// Returns the failed operation, or `None` if the error was converted from a [`kube::Error`].
    pub fn operation(&self) -> Option<&Operation> {
        self.0.operation.as_ref()
    }

    /// Returns the cause of the failure.
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Returns the status that the server sent, if any.
    pub fn status(&self) -> Option<&Status> {
        match &self.0.cause {
            Cause::Kube(kube::Error::Api(status)) => Some(status),
            _ => None,
        }
    }

    /// Returns the HTTP status code of the server's response, if there was one.
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// Returns whether the object, or the whole resource, does not exist.
    pub fn is_not_found(&self) -> bool {
        self.answers(reason::NOT_FOUND, 404)
    }

    /// Returns whether the object has changed since it was read, or a precondition does not hold.
    pub fn is_conflict(&self) -> bool {
        self.answers(reason::CONFLICT, 409)
    }

    /// Returns the fields that an apply could not set because other managers own them. Other errors have
    /// none.
    pub fn conflicts(&self) -> Vec<FieldConflict> {
        let details = self.status().and_then(|status| status.details.as_ref());
        let causes = details.into_iter().flat_map(|details| &details.causes);
        causes.filter_map(FieldConflict::of).collect()
    }

    /// Returns whether an object with this name already exists.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(|status| status.reason == reason::ALREADY_EXISTS)
    }

    /// Returns whether the requested state no longer exists (HTTP 410), including an expired resource
    /// version.
    pub fn is_gone(&self) -> bool {
        self.is_expired() || self.answers(reason::GONE, 410)
    }

    /// Returns whether the resource version or the continue token is too old.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(|status| status.reason == reason::EXPIRED)
    }

    /// Returns whether the caller is not allowed to make the request.
    pub fn is_forbidden(&self) -> bool {
        self.answers(reason::FORBIDDEN, 403)
    }

    /// Returns whether the server could not authenticate the caller.
    pub fn is_unauthorized(&self) -> bool {
        self.answers(reason::UNAUTHORIZED, 401)
    }

    /// Returns whether the object violates its schema.
    pub fn is_invalid(&self) -> bool {
        self.answers(reason::INVALID, 422)
    }

    /// Returns whether the server asks the caller to slow down; see [`Error::retry_after`].
    pub fn is_too_many_requests(&self) -> bool {
        self.answers(reason::TOO_MANY_REQUESTS, 429)
    }

    /// Returns whether the server has not reached the requested resource version yet.
    ///
    /// Servers report this with a cause, with a message and a different cause, or, in old versions, with the
    /// message alone.
    pub(crate) fn is_version_too_large(&self) -> bool {
        const REASON: &str = "ResourceVersionTooLarge";
        const MESSAGE: &str = "Too large resource version";
        let Some(status) = self.status() else { return false };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        status.message.contains(MESSAGE)
            || causes.any(|cause| cause.reason == REASON || cause.message.contains(MESSAGE))
    }

    /// Returns whether the request timed out, on the client or on the server.
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.cause, Cause::Timeout(_))
            || self.answers(reason::TIMEOUT, 504)
            || self.status().is_some_and(|status| status.reason == reason::SERVER_TIMEOUT)
    }

    /// Returns whether the request was not sent because it cannot succeed.
    pub fn is_invalid_request(&self) -> bool {
        matches!(self.0.cause, Cause::InvalidRequest(_))
    }

    /// Returns whether the request was refused or given up by the [fence](crate::leader::Fence) of its client,
    /// because this process does not lead.
    pub fn is_not_leading(&self) -> bool {
        matches!(&self.0.cause, Cause::Kube(kube::Error::Service(refused)) if refused.is::<Refused>())
    }

    /// Returns how long the server asks to wait before the next attempt.
    ///
    /// At most 5 minutes are returned, because the maintenance page of a proxy may ask for a day.
    pub fn retry_after(&self) -> Option<Duration> {
        const LONGEST: Duration = Duration::from_secs(300);
        let asked = self.0.retry_after.or_else(|| {
            let seconds = self.status()?.details.as_ref()?.retry_after_seconds;
            (seconds > 0).then(|| Duration::from_secs(seconds.into()))
        });
        asked.map(|wait| wait.min(LONGEST))
    }

    /// Returns whether the server sent this reason, or this HTTP status without a known reason.
    fn answers(&self, reason: &str, code: u16) -> bool {
        self.status().is_some_and(|status| {
            status.reason == reason || (status.code == code && !reason::is_known(&status.reason))
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = &self.0.operation {
            write!(f, "cannot {operation}: ")?;
        }
        let conflicts = self.conflicts();
        match &self.0.cause {
            // The message of the server has a line for each field.
            Cause::Kube(kube::Error::Api(status)) if !conflicts.is_empty() => {
                for (index, conflict) in conflicts.iter().enumerate() {
                    let separator = if index > 0 { ", " } else { "" };
                    write!(f, "{separator}{conflict}")?;
                }
                write!(f, " ({})", status.reason)
            }
            Cause::Kube(kube::Error::Api(status)) => {
                match (status.message.is_empty(), status.reason.is_empty()) {
                    (false, false) => write!(f, "{} ({})", status.message, status.reason),
                    (false, true) => f.write_str(&status.message),
                    (true, false) => f.write_str(&status.reason),
                    (true, true) => write!(f, "the server answered with HTTP status {}", status.code),
                }
            }
            Cause::Kube(error) => write_chain(f, error),
            Cause::Decode { path, source } => write!(f, "the answer does not decode at {path}: {source}"),
            Cause::Timeout(limit) => write!(f, "no answer within {limit:?}"),
            Cause::RateLimited { wait, timeout } => write!(
                f,
                "not sent: the client's rate limit would delay it by {wait:.1?}, longer than its timeout of \
                 {timeout:?}; raise `RestClient::rate_limit`, or make fewer requests at a time"
            ),
            Cause::InvalidRequest(error) => write!(f, "{error}"),
        }
    }
}

/// Writes an error and those of its sources that its text does not include, such as the "connection refused"
/// behind "client error (Connect)".
fn write_chain(f: &mut fmt::Formatter<'_>, error: &dyn StdError) -> fmt::Result {
    let mut said = error.to_string();
    f.write_str(&said)?;
    for cause in std::iter::successors(error.source(), |&cause| cause.source()) {
        let text = cause.to_string();
        if !said.contains(&text) {
            write!(f, ": {text}")?;
            said = text;
        }
    }
    Ok(())
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("operation", &self.0.operation)
            .field("cause", &self.0.cause)
            .field("retry_after", &self.retry_after())
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.cause {
            Cause::Kube(error) => Some(error),
            Cause::Decode { source, .. } => Some(source),
            Cause::InvalidRequest(error) => error.source(),
            Cause::Timeout(_) | Cause::RateLimited { .. } => None,
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self(Box::new(Inner { operation: None, cause: Cause::Kube(error), retry_after: None }))
    }
}

#[cfg(test)]
mod tests {
    use kube::core::response::StatusDetails;

    use super::*;

    fn api(reason: &str, code: u16) -> Error {
        kube::Error::Api(Status::failure("it failed", reason).with_code(code).boxed()).into()
    }

    #[test]
    fn an_error_names_the_operation_and_the_object() {
        let error = Error::not_found("Network", &ObjectKey::namespaced("default", "example"));
        assert_eq!(
            error.to_string(),
            "cannot get Network default/example: Network \"example\" not found (NotFound)"
        );
        assert!(error.is_not_found() && !error.is_conflict());
        assert!(error.source().is_some_and(|source| source.is::<kube::Error>()));
    }

    #[test]
    fn an_error_includes_the_text_of_its_sources() {
        #[derive(Debug, thiserror::Error)]
        #[error("{0}")]
        struct Layer(&'static str, #[source] Option<Box<Layer>>);
        let refused = Layer("connection refused", None);
        let tcp = Layer("tcp connect error", Some(Box::new(refused)));
        let client = Layer("client error (Connect)", Some(Box::new(tcp)));
        let error = Error::from(kube::Error::Service(Box::new(client)));
        assert_eq!(
            error.to_string(),
            "ServiceError: client error (Connect): tcp connect error: connection refused"
        );
    }

    #[test]
    fn the_reason_decides_and_the_code_only_if_the_reason_is_unknown() {
        assert!(api("Conflict", 409).is_conflict());
        assert!(api("a proxy said so", 409).is_conflict());
        assert!(!api("AlreadyExists", 409).is_conflict());
        assert!(api("AlreadyExists", 409).is_already_exists());
        assert!(api("", 404).is_not_found());
        assert!(api("Expired", 410).is_gone() && api("Expired", 410).is_expired());
        assert!(api("Gone", 410).is_gone() && !api("Gone", 410).is_expired());
        assert!(api("ServerTimeout", 500).is_timeout());
    }

    #[test]
    fn retry_after_is_read_from_the_details_of_the_status() {
        let details = StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: vec![],
            retry_after_seconds: 7,
        };
        let status = Status::failure("slow down", "TooManyRequests").with_code(429).with_details(details);
        let error = Error::from(kube::Error::Api(status.boxed()));
        assert!(error.is_too_many_requests());
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    }
}
