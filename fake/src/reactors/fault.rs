//! The errors that a test can ask for.

use std::time::Duration;

use http::{HeaderValue, Response, StatusCode, header};
use kube::core::Status;
use serde_json::{Map, Value, json};

use crate::{Action, Verb, body::ResponseBody};

/// An error of the API server, in its words for the request that it answers.
///
/// A [`Status`] is one, too.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    code: u16,
    reason: String,
    message: Message,
    retry_after: Option<u64>,
    /// A whole `Status`, which is sent as it is.
    status: Option<Status>,
}

/// What an error says.
#[derive(Clone, Debug, PartialEq)]
enum Message {
    /// The same for every request.
    Text(String),
    /// What follows the name of the object.
    OfObject { before: &'static str, after: String },
    /// That the user may not do what was asked for.
    Forbidden,
}

impl Fault {
    /// Returns an error with this code, reason and message, for example `418`, `"Teapot"` and `"short and stout"`.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self::with(code, reason, Message::Text(message.into()))
    }

    fn with(code: u16, reason: &str, message: Message) -> Self {
        Self { code, reason: reason.to_owned(), message, retry_after: None, status: None }
    }

    fn of_object(code: u16, reason: &str, before: &'static str, after: impl Into<String>) -> Self {
        Self::with(code, reason, Message::OfObject { before, after: after.into() })
    }

    /// 404: there is no such object.
    pub fn not_found() -> Self {
        Self::of_object(404, "NotFound", "", " not found")
    }

    /// 409: somebody else has changed the object.
    pub fn conflict() -> Self {
        let why =
            ": the object has been modified; please apply your changes to the latest version and try again";
        Self::of_object(409, "Conflict", "Operation cannot be fulfilled on ", why)
    }

    /// 409: there is such an object already.
    pub fn already_exists() -> Self {
        Self::of_object(409, "AlreadyExists", "", " already exists")
    }

    /// 422: the object breaks a rule.
    pub fn invalid(why: &str) -> Self {
        Self::of_object(422, "Invalid", "", format!(" is invalid: {why}"))
    }

    /// 401: the credentials are missing or have expired.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: the user `fake` may not do this.
    pub fn forbidden() -> Self {
        Self::with(403, "Forbidden", Message::Forbidden)
    }

    /// 410: the version of a list or of a watch is too old.
    pub fn expired() -> Self {
        Self::new(410, "Expired", "The provided resource version is too old.")
    }

    /// 429: the client is to wait for so long, in whole seconds and at least one.
    pub fn too_many_requests(retry_after: Duration) -> Self {
        let message = "Too many requests, please try again later.";
        Self::new(429, "TooManyRequests", message).retry_after(retry_after)
    }

    /// 500: the server has failed.
    pub fn internal_error(why: &str) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {why}"))
    }

    /// 503: the server is not available.
    pub fn unavailable() -> Self {
        Self::new(503, "ServiceUnavailable", "the server is currently unable to handle the request")
    }

    /// 504: the server did not answer in time. Nobody knows whether the request had an effect.
    pub fn timeout() -> Self {
        let message = "Timeout: request did not complete within the allotted timeout";
        Self::new(504, "Timeout", message)
    }

    /// Tells the client to wait for so long, in whole seconds and at least one.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Self { retry_after: Some(seconds.max(1)), ..self }
    }

    /// Returns the answer to a request.
    pub(crate) fn response(&self, action: &Action) -> Response<ResponseBody> {
        let status = match &self.status {
            Some(status) => serde_json::to_value(status).unwrap_or_default(),
            None => self.status_of(action),
        };
        let mut response = Response::new(ResponseBody::whole(format!("{status}\n")));
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    fn status_of(&self, action: &Action) -> Value {
        let created = || action.body().and_then(|body| body["metadata"]["name"].as_str()).unwrap_or_default();
        let name = if action.verb == Verb::Create { created() } else { &action.name };
        let object = || match name {
            "" => action.qualified(),
            name => format!("{} {name:?}", action.qualified()),
        };
        let message = match &self.message {
            Message::Text(text) => text.clone(),
            Message::OfObject { before, after } => format!("{before}{}{after}", object()),
            Message::Forbidden => format!("{} is forbidden: {}", object(), refusal(action)),
        };
        let mut details = Map::new();
        for (key, value) in [("name", name), ("group", &action.group), ("kind", &action.resource)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
        if let Some(seconds) = self.retry_after {
            details.insert("retryAfterSeconds".to_owned(), seconds.into());
        }
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": self.reason,
            "details": details,
            "code": self.code,
        })
    }
}

/// Says what a user may not do.
fn refusal(action: &Action) -> String {
    let Action { verb, group, resource, subresource, namespace, .. } = action;
    let verb = if *verb == Verb::DeleteCollection { "deletecollection".to_owned() } else { verb.to_string() };
    let slash = if subresource.is_empty() { "" } else { "/" };
    let place = match namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    format!(
        "User \"fake\" cannot {verb} resource \"{resource}{slash}{subresource}\" in API group {group:?} {place}"
    )
}

impl From<Status> for Fault {
    fn from(status: Status) -> Self {
        Self { status: Some(status.clone()), ..Self::new(status.code, &status.reason, status.message) }
    }
}
