//! HTTP/1 connections: a pool for ordinary requests, and one for each watch.
//!
//! hyper polls a pooled connection in a separate task, which hands the body over to its reader chunk by chunk,
//! so each event of a watch wakes two tasks. A watch occupies its connection anyway. It gets one that is
//! polled by the task reading the response, and closed when the response is dropped.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{
    FutureExt as _,
    future::{self, BoxFuture, Either},
};
use http::{HeaderValue, Request, Response, Uri, header, uri::PathAndQuery};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, Connection, SendRequest},
    rt,
};
use hyper_util::{
    client::legacy::{self, connect},
    rt::TokioExecutor,
};
use kube::client::Body;
use tower::{BoxError, Service, ServiceExt as _};

use crate::wire::{LongResponse, SelfPolled};

/// Sends requests over connections that `C` opens.
#[derive(Clone)]
pub(super) struct Transport<C> {
    connector: C,
    pool: legacy::Client<C, Body>,
}

/// An open connection.
pub(super) trait Stream: rt::Read + rt::Write + connect::Connection + Unpin + Send + 'static {}

impl<S: rt::Read + rt::Write + connect::Connection + Unpin + Send + 'static> Stream for S {}

impl<C> Transport<C>
where
    C: connect::Connect + Clone,
{
    pub(super) fn new(connector: C) -> Self {
        let pool = legacy::Builder::new(TokioExecutor::new()).build(connector.clone());
        Self { connector, pool }
    }
}

impl<C> Service<Request<Body>> for Transport<C>
where
    C: connect::Connect
        + Service<Uri, Error = BoxError, Future: Send, Response: Stream>
        + Clone
        + Send
        + Sync
        + 'static,
{
    type Response = Response<ResponseBody<C::Response>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.extensions().get::<LongResponse>().is_some() {
            let connecting = self.connector.clone().oneshot(request.uri().clone());
            return async { send(connecting.await?, request).await }.boxed();
        }
        let response = self.pool.request(request);
        async { Ok(response.await?.map(|body| ResponseBody { body, connection: None })) }.boxed()
    }
}

/// Sends a request over a new connection.
async fn send<S: Stream>(stream: S, request: Request<Body>) -> Result<Response<ResponseBody<S>>, BoxError> {
    let (mut sender, connection) = http1::handshake(stream).await?;
    let mut connection = Box::pin(connection);
    let sending = pin!(sender.send_request(with_path(request)?));
    let mut response = match future::select(sending, &mut connection).await {
        Either::Left((response, _)) => response?,
        Either::Right((end, sending)) => {
            end?;
            sending.await?
        }
    };
    response.extensions_mut().insert(SelfPolled);
    Ok(response.map(|body| ResponseBody { body, connection: Some((connection, sender)) }))
}

/// Moves the server of the URI to the `Host` header, as HTTP/1 wants it.
fn with_path(mut request: Request<Body>) -> Result<Request<Body>, http::Error> {
    let parts = std::mem::take(request.uri_mut()).into_parts();
    if let Some(server) = parts.authority
        && !request.headers().contains_key(header::HOST)
    {
        let host = server.as_str().rsplit_once('@').map_or(server.as_str(), |(_, host)| host);
        request.headers_mut().insert(header::HOST, HeaderValue::from_str(host)?);
    }
    *request.uri_mut() = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/")).into();
    Ok(request)
}

/// The body of a response.
pub(super) struct ResponseBody<S: Stream> {
    body: Incoming,
    /// The connection that the body polls, until it has ended. It ends early if its sender is dropped.
    connection: Option<Driven<S>>,
}

/// A connection, and its sender.
type Driven<S> = (Pin<Box<Connection<S, Body>>>, SendRequest<Body>);

impl<S: Stream> HttpBody for ResponseBody<S> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| Ok(frame?)));
        }
        let mut failure = None;
        if let Some((connection, _)) = &mut self.connection
            && let Poll::Ready(end) = connection.poll_unpin(context)
        {
            self.connection = None;
            failure = end.err();
        }
        // What the connection has just read, also before it failed.
        match (Pin::new(&mut self.body).poll_frame(context), failure) {
            (Poll::Ready(frame), _) => Poll::Ready(frame.map(|frame| Ok(frame?))),
            (Poll::Pending, Some(failure)) => Poll::Ready(Some(Err(failure.into()))),
            (Poll::Pending, None) => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
