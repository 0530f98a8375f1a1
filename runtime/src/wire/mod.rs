//! Lists and watches on the wire, under the reflector and under the typed client's watch.
//!
//! - These requests are never retried underneath us. kube's default configuration repeats what is
//!   answered with 429, 503 or 504 up to 15 times, the opening of a watch included; whoever keeps a
//!   cache fresh must see each refusal, honour its `Retry-After`, and say what it waits for.
//! - Watches ask for `Accept-Encoding: identity`: compression delays small events, and servers that
//!   compress event by event are not understood by every decompressor.
//! - A watch has an end on our side too, a little after the server's, so that a connection that died
//!   without a word is noticed.

mod call;
mod lines;

use std::{
    borrow::Cow,
    convert::Infallible,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Empty};
use kube::{
    Client,
    client::Body,
    core::{ApiResource, DynamicObject, Resource as _},
};
use rand::RngExt as _;
use tokio::time::Instant;
use tower::service_fn;

use crate::{
    delta::Scope,
    error::{Cause, Error, InvalidRequest, Operation, Result},
};
pub(crate) use call::{
    Call, JSON, METADATA, METADATA_LIST, Query, Refusal, check_namespace, decode, fetch, send,
};
use lines::Lines;

/// How much longer than the server we wait for the end of a watch.
const WATCH_GRACE: Duration = Duration::from_secs(30);

/// A watch that the server ends sooner is not normal.
pub(crate) const SHORT_WATCH: Duration = Duration::from_secs(1);

/// How long the server is asked to keep a watch: 5 to 10 minutes, at random, so that many watches
/// that began together do not all end together.
pub(crate) fn watch_timeout() -> Duration {
    Duration::from_secs(rand::rng().random_range(300..=600))
}

/// How long the server may take for a page of a list.
const LIST_LIMIT: Duration = Duration::from_secs(120);

/// How many bytes are gathered into one batch at most, if they are at hand.
const BATCH_BYTES: usize = 256 << 10;

/// A collection on the server: what is listed and watched.
#[derive(Clone)]
pub(crate) struct Collection {
    pub(crate) client: Client,
    pub(crate) resource: ApiResource,
    pub(crate) scope: Scope,
    pub(crate) selectors: Selectors,
    pub(crate) metadata_only: bool,
}

/// Which objects of a kind are followed, in Kubernetes' grammar; the server evaluates it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selectors {
    /// A label selector, such as `env in (dev,test),!legacy`.
    pub labels: Option<String>,
    /// A field selector, such as `metadata.name=example`.
    pub fields: Option<String>,
}

/// Which page of a list is meant.
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
    /// With the whole state, told without an end that could be recognised.
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
    pub(crate) fn resource_name(&self) -> Cow<'_, str> {
        if self.resource.group.is_empty() {
            Cow::Borrowed(&self.resource.plural)
        } else {
            Cow::Owned(format!("{}.{}", self.resource.plural, self.resource.group))
        }
    }

    /// Reads one page of a list.
    pub(crate) async fn list(&self, page: &Page, limit: u32) -> Result<Bytes> {
        let operation = self.operation("list");
        let call = self.list_call(page, limit);
        let exchange = async {
            let response = self.exchange(&operation, call, false).await?;
            let body = response.into_body().collect().await;
            body.map(|body| body.to_bytes())
                .map_err(|error| Refusal { error, retry_after: None }.into_error(operation.clone()))
        };
        match tokio::time::timeout(LIST_LIMIT, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::new(operation.clone(), Cause::Timeout(LIST_LIMIT), None)),
        }
    }

    /// Opens a watch that the server ends after `timeout`.
    pub(crate) async fn watch(&self, start: Start<'_>, timeout: Duration) -> Result<Watch> {
        let operation = self.operation("watch");
        let deadline = Instant::now() + timeout + WATCH_GRACE;
        let exchange = self.exchange(&operation, self.watch_call(&start, timeout), true);
        match tokio::time::timeout_at(deadline, exchange).await {
            Ok(response) => {
                let body = response?.into_body();
                let (lines, gathered) = (Lines::default(), Vec::new());
                Ok(Watch { body, lines, gathered, gathered_bytes: 0, deadline, operation, end: None })
            }
            Err(_) => Err(Error::new(operation, Cause::Timeout(timeout + WATCH_GRACE), None)),
        }
    }

    async fn exchange(
        &self,
        operation: &Operation,
        call: Result<Call, InvalidRequest>,
        identity: bool,
    ) -> Result<Response<Body>> {
        let invalid = |error| Error::new(operation.clone(), Cause::InvalidRequest(error), None);
        let mut request: Request<Bytes> = call.and_then(Call::build).map_err(invalid)?;
        if identity {
            request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let body = body_sent_once().await;
        send(&self.client, request.map(|_| body))
            .await
            .map_err(|refusal| refusal.into_error(operation.clone()))
    }

    fn call(&self, accept: &'static str) -> Result<Call, InvalidRequest> {
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

/// An empty body that is sent once.
///
/// kube's retry layer repeats only requests whose body it can copy, and it can copy every body that is
/// made from bytes. It cannot copy the body of a response, so an empty one of those is taken.
async fn body_sent_once() -> Body {
    let nothing =
        service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())) });
    match Client::new(nothing, "").send(Request::new(Body::empty())).await {
        Ok(response) => response.into_body(),
        // The service above cannot fail; should it ever, a request that may be repeated still works.
        Err(_) => Body::empty(),
    }
}

/// An open watch.
pub(crate) struct Watch {
    body: Body,
    lines: Lines,
    /// The lines that came whole and were not given yet.
    gathered: Vec<Bytes>,
    /// How many bytes came since lines were given last.
    gathered_bytes: usize,
    deadline: Instant,
    operation: Operation,
    /// How the body ended, once it has.
    end: Option<End>,
}

enum End {
    Regular,
    Cut(Box<Cause>),
}

impl Watch {
    /// The next lines: all that are at hand, and at least one. `None` is the regular end, and the
    /// only answer after an error. What came whole before a cut is given before the cut is told.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<Bytes>>> {
        self.gather(false).await;
        let lines = self.take();
        if !lines.is_empty() {
            return Some(Ok(lines));
        }
        match self.end.replace(End::Regular) {
            Some(End::Cut(cause)) => Some(Err(Error::new(self.operation.clone(), *cause, None))),
            Some(End::Regular) | None => None,
        }
    }

    /// Gathers lines until a whole batch is there, or the watch has ended.
    pub(crate) async fn fill(&mut self) {
        self.gather(true).await;
    }

    /// Whether [`fill`](Self::fill) has nothing to do.
    pub(crate) fn is_full(&self) -> bool {
        self.end.is_some() || !self.gathered.is_empty() && self.gathered_bytes >= BATCH_BYTES
    }

    /// A whole batch of lines, or the last ones, if they have been gathered.
    pub(crate) fn take_batch(&mut self) -> Option<Vec<Bytes>> {
        (self.is_full() && !self.gathered.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> Vec<Bytes> {
        self.gathered_bytes = 0;
        std::mem::take(&mut self.gathered)
    }

    /// Waits for at least one line, and takes what else is at hand, or, if it `fills`, what comes,
    /// until there is enough for one batch. Nothing is lost where it is dropped before.
    async fn gather(&mut self, fills: bool) {
        let deadline = self.deadline;
        let gathering = async {
            loop {
                let before = self.gathered_bytes;
                poll_fn(|context| self.poll_gather(fills, context)).await;
                if fills || self.is_full() || self.gathered_bytes == before {
                    return;
                }
                // The connection hands over one piece after the other, and reads on only when it gets
                // its turn to run. It is given one before it is believed that nothing more is at hand:
                // whoever decodes and applies many lines at once is several times faster than line by
                // line.
                tokio::task::yield_now().await;
            }
        };
        if tokio::time::timeout_at(deadline, gathering).await.is_err() {
            // The server had its time to end the watch, and whether the connection lives is not known.
            self.end = Some(End::Regular);
        }
    }

    fn poll_gather(&mut self, fills: bool, context: &mut Context<'_>) -> Poll<()> {
        while !self.is_full() {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending if fills || self.gathered.is_empty() => return Poll::Pending,
                Poll::Pending => break,
                Poll::Ready(None) => self.end = Some(End::Regular),
                Poll::Ready(Some(Err(error))) => self.end = Some(End::cut(error)),
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers say nothing of objects.
                    let Ok(chunk) = frame.into_data() else { continue };
                    self.gathered_bytes += chunk.len();
                    if let Err(error) = self.lines.push(&chunk, &mut self.gathered) {
                        let error = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
                        self.end = Some(End::cut(kube::Error::ReadEvents(error)));
                    }
                }
            }
        }
        Poll::Ready(())
    }
}

impl End {
    fn cut(error: kube::Error) -> Self {
        Self::Cut(Box::new(Cause::Kube(error)))
    }
}
