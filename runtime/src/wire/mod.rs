//! Lists and watches on the wire, under the reflector and the typed client's watch.
//!
//! - These requests are not retried by kube, whose default configuration repeats a request that is
//!   answered with 429, 503 or 504 up to 15 times, including the opening of a watch. A cache must see
//!   each refusal, honour its `Retry-After`, and report what it waits for.
//! - Watches ask for `Accept-Encoding: identity`, because compression delays small events. Lists that a remote
//!   server streams may be compressed.
//! - Objects are requested without managedFields unless they are kept.
//! - Silence is limited, not duration: a slow list or watch may continue as long as bytes arrive, and a
//!   dead connection is given up. See [`Timeouts`].

mod call;
mod gunzip;
mod lines;
mod watch;

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Empty};
use kube::{
    Client,
    client::Body,
    core::{ApiResource, DynamicObject, Resource as _},
};
use tokio::time::Instant;
use tower::service_fn;

use crate::{
    backoff::jittered,
    delta::Scope,
    error::{Cause, Error, InvalidRequest, Operation, Result},
    meta::GroupResource,
};
pub(crate) use call::{
    Call, JSON, METADATA, METADATA_LIST, Query, check_namespace, check_resource, decode, fetch, send,
};
pub(crate) use lines::LineBatch;
#[cfg(test)]
pub(crate) use lines::Lines;
pub(crate) use watch::Watch;

/// Marks a request whose response is read for a long time, so that it gets a separate connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongResponse;

/// Marks a response whose connection is polled with its body. Data that has arrived can be read at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SelfPolled;

/// Asks the server to leave managedFields out (KEP-5958). Servers without the feature ignore the parameter.
const WITHOUT_MANAGED_FIELDS: &str = ";drop=metadata.managedFields";

/// How much longer than the server the client waits for the end of a watch.
const WATCH_GRACE: Duration = Duration::from_secs(30);

/// No watch is asked to stay open for longer: servers count in nanoseconds, which overflow.
const LONGEST_WATCH: Duration = Duration::from_secs(365 * 24 * 3600);

/// A watch that the server ends sooner is not normal.
pub(crate) const SHORT_WATCH: Duration = Duration::from_secs(1);

/// A watch that was open for this long worked, even if nothing changed meanwhile.
pub(crate) const HEALTHY_WATCH: Duration = Duration::from_secs(5);

/// How long a reflector waits for the server before it gives up on a request.
///
/// A client made by [`client::connect`](crate::client) notices most dead connections earlier, by TCP
/// keep-alive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// How long the response headers of a list may take: the server sends them once it has the page.
    pub list_response: Duration,
    /// How long a list may stay silent while it is read. A slow list takes as long as it takes.
    pub list_silence: Duration,
    /// How long the response headers of a watch may take.
    pub watch_response: Duration,
    /// How long an open watch may stay silent. A Kubernetes API server sends a bookmark about every
    /// minute; a watch that misses two is opened again from the last version.
    pub watch_silence: Duration,
    /// How long a streamed list may stay silent. A server that ignores the request for a stream never sends
    /// its end, and is then listed in pages.
    pub stream_silence: Duration,
    /// How long the server is asked to keep a watch open, at least. Each watch asks for up to twice as
    /// long, at random, so that watches opened together do not end together.
    pub watch: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            list_response: Duration::from_secs(120),
            list_silence: Duration::from_secs(60),
            watch_response: Duration::from_secs(30),
            watch_silence: Duration::from_secs(150),
            stream_silence: Duration::from_secs(15),
            watch: Duration::from_secs(300),
        }
    }
}

/// A collection on the server: what is listed and watched.
#[derive(Clone)]
pub(crate) struct Collection {
    pub(crate) client: Client,
    pub(crate) resource: ApiResource,
    pub(crate) scope: Scope,
    pub(crate) selectors: Selectors,
    pub(crate) metadata_only: bool,
    pub(crate) keep_managed_fields: bool,
    pub(crate) timeouts: Timeouts,
}

/// Which objects of a kind are followed, in Kubernetes' grammar; the server evaluates it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Selectors {
    /// A label selector, such as `env in (dev,test),!legacy`.
    pub(crate) labels: Option<String>,
    /// A field selector, such as `metadata.name=example`.
    pub(crate) fields: Option<String>,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The first, of a list that is not older than this version, or of the newest.
    First { not_older_than: Option<String> },
    /// The one that the page before it named.
    Next { token: String },
}

/// Where a watch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start<'a> {
    /// With the whole state, not older than this version, or the newest.
    InitialEvents { not_older_than: Option<&'a str> },
    /// After this version.
    After(&'a str),
    /// With the whole state, without a recognisable end.
    Anywhere,
}

impl Collection {
    /// What an error says was tried.
    pub(crate) fn operation(&self, verb: &'static str) -> Operation {
        let namespace = match &self.scope {
            Scope::All => None,
            Scope::Namespace(namespace) => Some(namespace.to_string()),
        };
        Operation { verb, kind: self.resource.kind.clone(), namespace, name: None, subresource: None }
    }

    /// The resource as people and roles name it: `networks.samplecrd.k8s.io`.
    pub(crate) fn resource_name(&self) -> String {
        GroupResource::new(&*self.resource.group, &*self.resource.plural).to_string()
    }

    /// Reads one page of a list.
    pub(crate) async fn list(&self, page: &Page, limit: u32) -> Result<Bytes> {
        let operation = self.operation("list");
        let Timeouts { list_response, list_silence, .. } = self.timeouts;
        let exchange = self.exchange(&operation, self.list_call(page, limit), None);
        let response = within(list_response, &operation, exchange).await??;
        let (mut body, mut chunks) = (response.into_body(), Vec::new());
        while let Some(frame) = within(list_silence, &operation, body.frame()).await? {
            let frame = frame.map_err(|error| Error::new(operation.clone(), Cause::Kube(error), None))?;
            chunks.extend(frame.into_data().ok());
        }
        Ok(match chunks.len() {
            1 => chunks.remove(0),
            _ => chunks.concat().into(),
        })
    }

    /// Opens a watch.
    pub(crate) async fn watch(&self, start: Start<'_>) -> Result<Watch> {
        let operation = self.operation("watch");
        let Timeouts { watch_response, watch_silence, watch, .. } = self.timeouts;
        let timeout = jittered(watch.min(LONGEST_WATCH), 1.0);
        let deadline = Instant::now() + timeout + WATCH_GRACE;
        // A server that compresses a watch does so for a list that is streamed (Kubernetes 1.37).
        let encoding = if matches!(start, Start::InitialEvents { .. }) { "gzip" } else { "identity" };
        let exchange = self.exchange(&operation, self.watch_call(&start, timeout), Some(encoding));
        let response = within(watch_response, &operation, exchange).await??;
        Ok(Watch::new(response, operation, deadline, watch_silence))
    }

    async fn exchange(
        &self,
        operation: &Operation,
        call: Result<Call, InvalidRequest>,
        watch_encoding: Option<&'static str>,
    ) -> Result<Response<Body>> {
        let invalid = |error| Error::new(operation.clone(), Cause::InvalidRequest(error), None);
        let mut request: Request<Bytes> = call.and_then(Call::build).map_err(invalid)?;
        if !self.keep_managed_fields
            && let Some(accept) = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok())
            && let Ok(accept) = HeaderValue::try_from(format!("{accept}{WITHOUT_MANAGED_FIELDS}"))
        {
            request.headers_mut().insert(header::ACCEPT, accept);
        }
        if let Some(encoding) = watch_encoding {
            request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static(encoding));
            request.extensions_mut().insert(LongResponse);
        }
        let body = body_sent_once().await;
        send(&self.client, request.map(|_| body))
            .await
            .map_err(|refusal| refusal.into_error(operation.clone()))
    }

    fn call(&self, accept: &'static str) -> Result<Call, InvalidRequest> {
        check_resource(&self.resource)?;
        let namespace = match &self.scope {
            Scope::All => None,
            Scope::Namespace(namespace) => {
                check_namespace(namespace)?;
                Some(&**namespace)
            }
        };
        let mut call = Call::new(Method::GET, DynamicObject::url_path(&self.resource, namespace));
        call.accept = accept;
        call.query.push_some("labelSelector", self.selectors.labels.as_deref());
        call.query.push_some("fieldSelector", self.selectors.fields.as_deref());
        Ok(call)
    }

    fn list_call(&self, page: &Page, limit: u32) -> Result<Call, InvalidRequest> {
        let mut call = self.call(if self.metadata_only { METADATA_LIST } else { JSON })?;
        if limit > 0 {
            call.query.push("limit", &limit.to_string());
        }
        match page {
            Page::Next { token } => call.query.push("continue", token),
            Page::First { not_older_than: Some(version) } => {
                call.query.push("resourceVersion", version);
                call.query.push("resourceVersionMatch", "NotOlderThan");
            }
            Page::First { not_older_than: None } => {}
        }
        Ok(call)
    }

    fn watch_call(&self, start: &Start<'_>, timeout: Duration) -> Result<Call, InvalidRequest> {
        let mut call = self.call(if self.metadata_only { METADATA } else { JSON })?;
        call.query.push("watch", "true");
        call.query.push("allowWatchBookmarks", "true");
        call.query.push("timeoutSeconds", &timeout.as_secs().to_string());
        match start {
            Start::InitialEvents { not_older_than } => {
                call.query.push("sendInitialEvents", "true");
                call.query.push("resourceVersionMatch", "NotOlderThan");
                call.query.push_some("resourceVersion", *not_older_than);
            }
            Start::After(version) => call.query.push("resourceVersion", version),
            Start::Anywhere => {}
        }
        Ok(call)
    }
}

/// An empty body that cannot be sent twice.
///
/// kube's retry layer repeats a request if it can copy its body, which it can for every body made from
/// bytes. It cannot copy the body of a response, so an empty one of those is used. kube has no other
/// public way to make one.
async fn body_sent_once() -> Body {
    let nothing =
        service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())) });
    match Client::new(nothing, "").send(Request::new(Body::empty())).await {
        Ok(response) => response.into_body(),
        // The service above cannot fail; should it ever, a request that may be repeated still works.
        Err(_) => Body::empty(),
    }
}

/// Fails if the server does not answer in time.
async fn within<T>(limit: Duration, operation: &Operation, answer: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(limit, answer)
        .await
        .map_err(|_| Error::new(operation.clone(), Cause::Timeout(limit), None))
}
