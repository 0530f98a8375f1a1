//! Requests that read objects.

use kube::api::{ListParams, VersionMatch};

use super::request::{Request, request};
use crate::wire::Query;

/// Reads an object or a subresource when awaited; see [`TypedClient::get`](super::TypedClient::get).
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Get<R> {
    request: Request<R>,
    resource_version: Option<String>,
}

impl<R> Get<R> {
    pub(super) fn new(request: Request<R>) -> Self {
        Self { request, resource_version: None }
    }

    /// Accepts any state that is not older than this version. `"0"` accepts any state, so that the server can
    /// respond from its cache.
    pub fn resource_version(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    fn finish(self) -> Request<R> {
        self.request.with(|mut call| {
            call.query.push_some("resourceVersion", self.resource_version.as_deref());
            Ok(call)
        })
    }
}

request!(Get<R> -> R);

/// Lists objects when awaited; see [`TypedClient::list`](super::TypedClient::list).
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct List<R> {
    request: Request<R>,
}

impl<R> List<R> {
    pub(super) fn new(request: Request<R>, params: &ListParams) -> Self {
        let request = request.with(|mut call| {
            write_list_params(params, &mut call.query);
            Ok(call)
        });
        Self { request }
    }

    fn finish(self) -> Request<R> {
        self.request
    }
}

request!(List<R> -> R);

/// Adds the parameters of a list to a query.
pub(super) fn write_list_params(params: &ListParams, query: &mut Query) {
    query.push_some("labelSelector", params.label_selector.as_deref());
    query.push_some("fieldSelector", params.field_selector.as_deref());
    if let Some(limit) = params.limit {
        query.push("limit", &limit.to_string());
    }
    match (&params.continue_token, &params.resource_version) {
        // The token contains the version of the list that it continues.
        (Some(token), _) => query.push("continue", token),
        (None, Some(version)) => {
            query.push("resourceVersion", version);
            query.push_some(
                "resourceVersionMatch",
                params.version_match.as_ref().map(|rule| match rule {
                    VersionMatch::NotOlderThan => "NotOlderThan",
                    VersionMatch::Exact => "Exact",
                }),
            );
        }
        (None, None) => {}
    }
}
