//! The errors of the API server: `Status` objects.

use serde_json::{Map, Value, json};

pub(crate) use crate::schema::Cause;
use crate::{kinds::Kind, schema::quote};

/// A request that failed, in the words of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    reason: &'static str,
    message: String,
    details: Option<Map<String, Value>>,
    /// The field `metadata.continue`, from which a list that expired can go on.
    resume: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, resume: None }
    }

    fn of(mut self, kind: &Kind, name: &str) -> Self {
        self.name(name);
        self.detail("group", &kind.group);
        self.detail("kind", &kind.plural);
        self
    }

    /// Has details that say nothing, as errors do that come before any object is known.
    fn without_object(mut self) -> Self {
        self.details = Some(Map::new());
        self
    }

    fn name(&mut self, name: &str) {
        self.detail("name", name);
    }

    fn detail(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.details.get_or_insert_default().insert(key.to_owned(), value.into());
        }
    }

    fn causes(&mut self, causes: &[Cause]) {
        if causes.is_empty() {
            return;
        }
        let causes = causes.iter().map(|cause| {
            let mut written = Map::new();
            for (key, value) in
                [("reason", cause.reason), ("message", &cause.message), ("field", &cause.field)]
            {
                if !value.is_empty() {
                    written.insert(key.to_owned(), value.into());
                }
            }
            Value::Object(written)
        });
        self.details.get_or_insert_default().insert("causes".to_owned(), causes.collect());
    }

    /// The request makes no sense.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// There is no such object.
    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {} not found", kind.qualified_plural(), quote(name)))
            .of(kind, name)
    }

    /// There is no such path.
    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").without_object()
    }

    /// There is such an object already.
    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {} already exists", kind.qualified_plural(), quote(name));
        Self::new(409, "AlreadyExists", message).of(kind, name)
    }

    /// The object is not the one that the preconditions of a deletion mean. The message names the kind.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let qualified =
            if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) };
        let message = format!("Operation cannot be fulfilled on {qualified} {}: {why}", quote(name));
        let mut failure = Self::new(409, "Conflict", message).of(kind, name);
        failure.detail("kind", &kind.kind);
        failure
    }

    /// The object has changed, or is not the one that was meant.
    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {}: {why}", kind.qualified_plural(), quote(name));
        Self::new(409, "Conflict", message).of(kind, name)
    }

    /// Another manager owns fields of the applied configuration.
    pub(crate) fn apply_conflict(message: String, causes: &[Cause]) -> Self {
        let mut failure = Self::new(409, "Conflict", message);
        failure.causes(causes);
        failure
    }

    /// The object breaks rules.
    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        // The rules are those of the form in which objects are stored.
        let group = if kind.is_converted() { "" } else { &kind.group };
        Self::invalid_named(group, &kind.kind, name, causes)
    }

    /// Like [`Failure::invalid`], for what is no kind of its own, such as the options of a request.
    pub(crate) fn invalid_named(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let lines: Vec<_> = causes
            .iter()
            .map(|cause| {
                if cause.field.is_empty() {
                    cause.message.clone()
                } else {
                    format!("{}: {}", cause.field, cause.message)
                }
            })
            .collect();
        // The message says everything once, though there may be several causes in the same words.
        let mut seen = std::collections::BTreeSet::new();
        let lines: Vec<_> = lines.into_iter().filter(|line| seen.insert(line.clone())).collect();
        let list = match &lines[..] {
            [line] => line.clone(),
            lines => format!("[{}]", lines.join(", ")),
        };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut failure =
            Self::new(422, "Invalid", format!("{qualified} {} is invalid: {list}", quote(name)));
        failure.name(name);
        failure.detail("group", group);
        failure.detail("kind", kind);
        failure.causes(causes);
        failure
    }

    /// Like [`Failure::invalid`], in the name of the resource.
    pub(crate) fn invalid_resource(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_named(&kind.group, &kind.plural, name, causes)
    }

    /// A patch that cannot be applied.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message).without_object()
    }

    /// The request is not allowed.
    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str, causes: &[Cause]) -> Self {
        let message = format!("{} {} is forbidden: {why}", kind.qualified_plural(), quote(name));
        let mut failure = Self::new(403, "Forbidden", message).of(kind, name);
        failure.causes(causes);
        failure
    }

    /// The resource does not have this verb.
    pub(crate) fn method_not_supported() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .without_object()
    }

    /// There is no kubelet that could answer.
    pub(crate) fn nothing_runs(subresource: &str) -> Self {
        let message = format!("nothing runs in this cluster, so there is no {subresource}");
        Self::new(405, "MethodNotAllowed", message).without_object()
    }

    /// The custom resource does not have this verb.
    pub(crate) fn verb_not_supported(kind: &Kind, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {:?}", kind.qualified_plural());
        Self::new(405, "MethodNotAllowed", message).of(kind, "")
    }

    /// The resource version, or the continue token, is older than what is kept.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// Like [`Failure::expired`], with a token that goes on from the same place in the present state.
    pub(crate) fn expired_list(token: String) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start \
                       a new list without the continue parameter, or use the continue token in this response to \
                       retrieve the remainder of the results. Continuing with the provided token results in an \
                       inconsistent list - objects that were created, modified, or deleted between the time the \
                       first chunk was returned and now may show up in the list.";
        Self { resume: Some(token), ..Self::expired(message) }
    }

    /// The resource version is one that the server has not reached.
    pub(crate) fn version_too_large(wanted: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {wanted}, current: {current}");
        let mut failure = Self::new(504, "Timeout", message.clone());
        failure.causes(&[Cause {
            reason: "ResourceVersionTooLarge",
            message: "Too large resource version".to_owned(),
            field: String::new(),
        }]);
        failure.details.get_or_insert_default().insert("retryAfterSeconds".to_owned(), 1.into());
        failure.message = format!("Timeout: {message}");
        failure
    }

    /// The body has a media type that the resource does not take.
    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// The patch has a media type that there is not.
    pub(crate) fn unknown_patch_type() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").without_object()
    }

    /// The client accepts none of the media types that the server can answer with.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// The client accepts none of the media types that there are.
    pub(crate) fn nothing_acceptable() -> Self {
        Self::not_acceptable(
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
             application/vnd.kubernetes.protobuf, application/json;stream=watch, \
             application/vnd.kubernetes.protobuf;stream=watch",
        )
        .without_object()
    }

    /// The body is too large.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// An error for which the server has no reason.
    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// The server cannot work with what it was given, and has no better word.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        let mut failure = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        failure.causes(&[Cause { reason: "", message, field: String::new() }]);
        failure
    }

    /// Returns what went wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Adds a text before the message.
    #[must_use]
    pub(crate) fn context(mut self, text: &str) -> Self {
        self.message = format!("{text}{}", self.message);
        self
    }

    /// Returns the `Status` object.
    pub(crate) fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.resume {
            metadata.insert("continue".to_owned(), token.as_str().into());
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = Value::Object(details.clone());
        }
        status
    }
}
