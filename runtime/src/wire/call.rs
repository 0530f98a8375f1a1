//! Requests and their responses.

use std::time::Duration;

use bytes::Bytes;
use form_urlencoded::Serializer;
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use kube::{
    client::Body,
    core::{ApiResource, Status},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    error::{Cause, Error, InvalidRequest, Operation, Result},
    selector::is_dns_label,
};

pub(crate) const JSON: &str = "application/json";
pub(crate) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
pub(crate) const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The largest body of an error response that is read. API servers send smaller ones.
const ERROR_BODY_LIMIT: usize = 1 << 20;

/// The parts of a request.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) accept: &'static str,
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) body: Vec<u8>,
}

impl Call {
    pub(crate) fn new(method: Method, path: String) -> Self {
        Self { method, path, query: Query::default(), accept: JSON, content_type: None, body: Vec::new() }
    }

    pub(crate) fn accept(mut self, media_type: &'static str) -> Self {
        self.accept = media_type;
        self
    }

    pub(crate) fn body(
        mut self,
        content_type: &'static str,
        body: &impl Serialize,
    ) -> Result<Self, InvalidRequest> {
        self.body = serde_json::to_vec(body).map_err(InvalidRequest::Body)?;
        self.content_type = Some(HeaderValue::from_static(content_type));
        Ok(self)
    }

    pub(crate) fn build(self) -> Result<Request<Bytes>, InvalidRequest> {
        let query = self.query.0;
        let uri = if query.is_empty() { self.path } else { format!("{}?{query}", self.path) };
        let mut request = Request::builder().method(self.method).uri(uri).header(header::ACCEPT, self.accept);
        if let Some(content_type) = self.content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        request.body(Bytes::from(self.body)).map_err(InvalidRequest::Http)
    }
}

/// A query string.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn push(&mut self, key: &str, value: &str) {
        let pair = Serializer::new(String::new()).append_pair(key, value).finish();
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(&pair);
    }

    pub(crate) fn push_some(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(key, value);
        }
    }
}

/// Sends a request and reads the whole body of the response.
pub(crate) async fn fetch(
    client: &kube::Client,
    operation: &Operation,
    request: Request<Bytes>,
) -> Result<Bytes> {
    let exchange = async {
        let response = send(client, request.map(Body::from)).await?;
        match response.into_body().collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) => Err(Refusal { error, retry_after: None }),
        }
    };
    exchange.await.map_err(|refusal: Refusal| refusal.into_error(operation.clone()))
}

/// Decodes a response. If it is invalid, a second pass finds the path of the invalid field, so that valid
/// responses do not pay for it.
pub(crate) fn decode<T: DeserializeOwned>(operation: &Operation, body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| {
        let mut deserializer = serde_json::Deserializer::from_slice(body);
        let cause = match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Ok(_) => Cause::Decode { path: ".".to_owned(), source: error },
            Err(error) => Cause::Decode { path: error.path().to_string(), source: error.into_inner() },
        };
        Error::new(operation.clone(), cause, None)
    })
}

/// A request that the server rejected or did not receive.
pub(crate) struct Refusal {
    pub(crate) error: kube::Error,
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    pub(crate) fn into_error(self, operation: Operation) -> Error {
        Error::new(operation, Cause::Kube(self.error), self.retry_after)
    }
}

/// Sends a request. A response without a success code becomes an error with the server's status.
pub(crate) async fn send(client: &kube::Client, request: Request<Body>) -> Result<Response<Body>, Refusal> {
    let response = client.send(request).await.map_err(|error| Refusal { error, retry_after: None })?;
    let code = response.status();
    if code.is_success() {
        return Ok(response);
    }
    let retry_after = response
        .headers()
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    let body = match Limited::new(response.into_body(), ERROR_BODY_LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let mut status = serde_json::from_slice::<Status>(&body).unwrap_or_else(|_| {
        // A proxy uses another format, and the server itself responds to an unknown path in plain text.
        Status::failure(String::from_utf8_lossy(&body).trim(), "")
    });
    status.code = code.as_u16();
    Err(Refusal { error: kube::Error::Api(status.boxed()), retry_after })
}

/// Checks that a namespace is a DNS label (RFC 1123).
pub(crate) fn check_namespace(namespace: &str) -> Result<(), InvalidRequest> {
    match is_dns_label(namespace) {
        true => Ok(()),
        false => Err(InvalidRequest::Namespace(namespace.to_owned())),
    }
}

/// Checks that the group, the version and the plural of a resource cannot change the path of a request.
pub(crate) fn check_resource(resource: &ApiResource) -> Result<(), InvalidRequest> {
    let is_segment = |text: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        !matches!(text, "" | "." | "..") && text.bytes().all(is_plain)
    };
    let ApiResource { group, version, api_version, plural, .. } = resource;
    let expected = match group.as_str() {
        "" => version.clone(),
        _ => format!("{group}/{version}"),
    };
    let is_valid = (group.is_empty() || is_segment(group)) && is_segment(version) && is_segment(plural);
    match is_valid && *api_version == expected {
        true => Ok(()),
        false => Err(InvalidRequest::Resource(format!("{api_version}/{plural}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_cannot_change_the_path() {
        let resource = |group: &str, version: &str, plural: &str| {
            let kind = kube::core::GroupVersionKind::gvk(group, version, "Widget");
            check_resource(&ApiResource::from_gvk_with_plural(&kind, plural))
        };
        assert!(resource("", "v1", "pods").is_ok());
        assert!(resource("example.com", "v1alpha1", "widgets").is_ok());
        let invalid = [
            ("a/b", "v1", "widgets"),
            ("..", "v1", "widgets"),
            ("example.com", "", "widgets"),
            ("example.com", "v1", ""),
            ("example.com", "v1", "widgets/a"),
            ("example.com", "v1", "widgets?watch=true"),
            ("example.com", "v1", "%2e%2e"),
        ];
        for (group, version, plural) in invalid {
            assert!(resource(group, version, plural).is_err(), "{group} {version} {plural}");
        }
    }

    #[test]
    fn a_namespace_must_be_a_dns_label() {
        for valid in ["default", "a", "kube-system", "0a", &"x".repeat(63)] {
            assert!(check_namespace(valid).is_ok(), "{valid}");
        }
        for invalid in ["", "Default", "a/b", "-a", "a-", "a.b", "a b", &"x".repeat(64)] {
            assert!(check_namespace(invalid).is_err(), "{invalid}");
        }
    }
}
