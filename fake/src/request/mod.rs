//! A request: what it names, its parameters, its media types and its body.

mod media;
mod path;
mod query;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};

use crate::{protobuf, status::Failure};

pub(crate) use media::{Form, Input, Look, ONLY_ACCEPTED, PatchType, Rows, content_type};
pub(crate) use path::{Path, ResourcePath};
pub(crate) use query::{FieldValidation, Query, WriteOptions};

/// A request whose line was read.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: Path,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    /// Reads the line of a request.
    pub(crate) fn new(request: http::Request<Bytes>) -> Self {
        let (parts, body) = request.into_parts();
        Self {
            method: parts.method,
            path: Path::parse(parts.uri.path()),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            headers: parts.headers,
            body,
        }
    }

    /// Returns the same request with a body in JSON, if the body is an object in protobuf.
    pub(crate) fn without_protobuf(&self) -> Option<Result<Self, Failure>> {
        if content_type(&self.headers) != protobuf::MEDIA_TYPE || self.body.is_empty() {
            return None;
        }
        Some(match protobuf::decode(&self.body) {
            Ok(value) => {
                let mut headers = self.headers.clone();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok(Self {
                    method: self.method.clone(),
                    path: self.path.clone(),
                    query: self.query.clone(),
                    headers,
                    body: value.to_string().into(),
                })
            }
            Err(why) => Err(Failure::bad_request(format!("the object provided is unrecognized: {why}"))),
        })
    }

    /// Returns how the answer shall look, at an endpoint that shows objects.
    pub(crate) fn look(&self) -> Result<Look, Failure> {
        Look::wanted(&self.headers, &[Form::Metadata, Form::Table])?.with_rows(&self.query)
    }

    /// Returns the field manager: the parameter, or the first part of the `User-Agent`.
    pub(crate) fn manager(&self) -> String {
        if let Some(manager) = self.query.get("fieldManager") {
            return manager.to_owned();
        }
        let agent = self.headers.get(http::header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let first = agent.unwrap_or_default().split('/').next().unwrap_or_default();
        first.chars().take(128).collect()
    }
}
