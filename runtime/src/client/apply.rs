//! Requests that apply a configuration, and checks of the configuration.

use http::{HeaderValue, Method};
use serde::{Deserialize, Serialize};

use super::{
    request::{Request, request},
    write::{WriteOptions, field_manager_option, write_options},
};
use crate::{error::InvalidRequest, wire::Call};

/// Applies a configuration to an object or a subresource when awaited; see
/// [`TypedClient::apply`](super::TypedClient::apply).
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Apply<R> {
    request: Request<R>,
    options: WriteOptions,
    force: bool,
}

impl<R> Apply<R> {
    pub(super) fn new(request: Request<R>, options: WriteOptions) -> Self {
        Self { request, options, force: false }
    }

    write_options!();
    field_manager_option!();

    /// Takes ownership of fields that other managers own, instead of failing with a
    /// [conflict](crate::Error::conflicts).
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    fn finish(self) -> Request<R> {
        self.request.with(|call| {
            if self.options.field_manager.is_none() {
                return Err(InvalidRequest::FieldManagerMissing);
            }
            let mut call = self.options.write_to(call)?;
            if self.force {
                call.query.push("force", "true");
            }
            Ok(call)
        })
    }
}

request!(Apply<R> -> R);

/// A serialized configuration.
pub(super) struct Configuration(Vec<u8>);

impl Configuration {
    /// Serializes a configuration of this kind and returns it with the name that it contains. Its
    /// `apiVersion` and `kind` must be these, and its namespace, if it has one, must be the client's.
    pub(super) fn of(
        config: &impl Serialize,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<(String, Self), InvalidRequest> {
        let (facts, body) = Facts::read(config)?;
        expect("apiVersion", facts.api_version, api_version)?;
        expect("kind", facts.kind, kind)?;
        let Some(Metadata { name: Some(name), namespace: own }) = facts.metadata else {
            return Err(InvalidRequest::FieldMissing("metadata.name"));
        };
        if let (Some(own), Some(namespace)) = (own, namespace) {
            expect("metadata.namespace", Some(own), namespace)?;
        }
        Ok((name, Self(body)))
    }

    /// Serializes a configuration of any kind. Its name, if it has one, must be `name`.
    pub(super) fn for_object(config: &impl Serialize, name: &str) -> Result<Self, InvalidRequest> {
        let (facts, body) = Facts::read(config)?;
        facts.api_version.ok_or(InvalidRequest::FieldMissing("apiVersion"))?;
        facts.kind.ok_or(InvalidRequest::FieldMissing("kind"))?;
        if let Some(found) = facts.metadata.and_then(|meta| meta.name) {
            expect("metadata.name", Some(found), name)?;
        }
        Ok(Self(body))
    }

    pub(super) fn into_call(self, path: String) -> Call {
        let mut call = Call::new(Method::PATCH, path);
        call.body = self.0;
        // JSON is valid YAML, and every server accepts this media type.
        call.content_type = Some(HeaderValue::from_static("application/apply-patch+yaml"));
        call
    }
}

/// The fields of a configuration that identify the object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
}

impl Facts {
    fn read(config: &impl Serialize) -> Result<(Self, Vec<u8>), InvalidRequest> {
        let body = serde_json::to_vec(config).map_err(InvalidRequest::Body)?;
        let facts = serde_json::from_slice(&body).map_err(InvalidRequest::Body)?;
        Ok((facts, body))
    }
}

fn expect(field: &'static str, found: Option<String>, expected: &str) -> Result<(), InvalidRequest> {
    match found {
        None => Err(InvalidRequest::FieldMissing(field)),
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(InvalidRequest::FieldMismatch { field, expected: expected.to_owned(), found }),
    }
}
