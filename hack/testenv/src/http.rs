//! JSON over plain HTTP, for the few requests that handles and tests make to Neutron and Keystone.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::Value;

use crate::Error;

/// An answer; the body is `Value::Null` when there is none, and a string when it is not JSON.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Value,
}

impl Answer {
    /// The answer if its status is the expected one, and otherwise an error that shows it.
    pub fn expect(self, status: StatusCode, request: &str) -> Result<Self, Error> {
        if self.status == status {
            return Ok(self);
        }
        Err(Error::Answer { request: request.to_owned(), answer: format!("{} {}", self.status, self.body) })
    }
}

/// Sends one request on a connection of its own, so that it belongs to no other test's runtime, and waits for the
/// answer. There is no time limit: wrap it in `tokio::time::timeout` where a server may be paused.
pub async fn send(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Result<Answer, Error> {
    let failed = |error: &dyn std::error::Error| Error::Answer {
        request: format!("{method} {url}"),
        answer: chain(error),
    };
    let mut request = Request::builder().method(&method).uri(url).header(header::ACCEPT, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let request = request.body(Full::new(bytes)).map_err(|error| failed(&error))?;

    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
    let response = client.request(request).await.map_err(|error| failed(&error))?;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
    let body = if bytes.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into())
    };
    Ok(Answer { status: parts.status, headers: parts.headers, body })
}

/// The message of an error with those of its causes; hyper's own says little.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |message, cause| format!("{message}: {cause}"))
}
