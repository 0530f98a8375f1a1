//! Serves an admission webhook over TLS.
//!
//! # Guarantees
//! - **Every review gets an answer with its uid.** A request that is no review of the kind is answered with 400.
//! - **A slow or silent peer costs a connection and nothing else.** A handshake, and the head of a request, may take
//!   ten seconds; a body is at most 8 MiB.
//! - **At the shutdown running reviews are answered**, for at most five seconds.
//!
//! `GET /readyz` answers with 200, or with 503 and the reason.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use genclient_runtime::kube::Resource;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
use rustls::ServerConfig;
use serde::de::DeserializeOwned;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tracing::debug;

/// How long a handshake, or the head of a request, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long running reviews may take after the shutdown began.
const DRAIN: Duration = Duration::from_secs(5);
/// The longest body. The API server itself takes objects of up to 3 MiB.
const BODY_LIMIT: usize = 8 << 20;
/// The pause after a connection that could not be accepted, for example because there are too many.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What decides about objects.
pub trait Webhook: Send + Sync + 'static {
    /// The kind of the objects.
    type Object: Resource + DeserializeOwned + Send;

    /// Decides about one object.
    fn review(&self, request: &AdmissionRequest<Self::Object>) -> AdmissionResponse;

    /// Returns why no reviews should be sent here, if there is a reason.
    fn not_ready(&self) -> Option<String>;
}

/// Serves a webhook, at every path but `/readyz`, until `shutdown` is set.
pub async fn serve<W: Webhook>(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    webhook: Arc<W>,
    mut shutdown: watch::Receiver<bool>,
) {
    let acceptor = TlsAcceptor::from(tls);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_one(stream, acceptor.clone(), webhook.clone(), shutdown.clone()));
                }
                Err(error) => {
                    debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = is_set(&mut shutdown) => break,
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    // What is not finished by then is cancelled.
    let _ = timeout(DRAIN, drained).await;
}

async fn serve_one<W: Webhook>(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    webhook: Arc<W>,
    mut shutdown: watch::Receiver<bool>,
) {
    let stream = match timeout(PATIENCE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return debug!(%error, "a TLS handshake failed"),
        Err(_) => return debug!("a TLS handshake took too long"),
    };
    let service = service_fn(move |request| answer(webhook.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = is_set(&mut shutdown) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection failed");
    }
}

/// Waits until the shutdown is set, or nobody can set it any more.
async fn is_set(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|now| *now).await;
}

async fn answer<W: Webhook>(
    webhook: Arc<W>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, http::Error> {
    if request.uri().path() == "/readyz" {
        let (status, text) = match webhook.not_ready() {
            None => (StatusCode::OK, "ok".to_owned()),
            Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason),
        };
        return Response::builder().status(status).body(Full::new(text.into()));
    }
    if request.method() != Method::POST {
        return Response::builder().status(StatusCode::METHOD_NOT_ALLOWED).body(Full::default());
    }
    match review(&*webhook, request.into_body()).await {
        Ok(json) => {
            Response::builder().header("content-type", "application/json").body(Full::new(json.into()))
        }
        Err(error) => {
            Response::builder().status(StatusCode::BAD_REQUEST).body(Full::new(error.to_string().into()))
        }
    }
}

async fn review<W: Webhook>(
    webhook: &W,
    body: Incoming,
) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let body = Limited::new(body, BODY_LIMIT).collect().await?.to_bytes();
    let review: AdmissionReview<W::Object> = serde_json::from_slice(&body)?;
    let request: AdmissionRequest<W::Object> = review.try_into()?;
    Ok(serde_json::to_vec(&webhook.review(&request).into_review())?)
}
