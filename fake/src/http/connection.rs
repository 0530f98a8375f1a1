//! Connections and their requests.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::Body;
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use crate::{
    Dropped, Server,
    body::ResponseBody,
    server::{MAX_BODY, refuse, too_large},
    status::Failure,
};

use super::{Stop, host, response::Served, stream::Stalling};

/// How long a client may take for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// How much of a body that is too large is read, so that the client gets the answer in place of a broken connection.
const DISCARDED: usize = 16 * MAX_BODY;

/// Accepts connections until the server stops.
pub(super) async fn accept(server: Server, listener: TcpListener, tasks: TaskTracker, stop: Stop) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.gently.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                tasks.spawn(connection(server.clone(), stream, stop.clone()));
            }
            Err(error) => {
                // A connection that ended already, or too many open files, which may pass.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(server: Server, stream: TcpStream, stop: Stop) {
    // Events are small, and are to arrive at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(&server, request, &stop));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(Stalling::new(stream)), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop.at_once.cancelled() => return,
        () = stop.gently.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = stop.at_once.cancelled() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

async fn answer(
    server: &Server,
    request: Request<Incoming>,
    stop: &Stop,
) -> Result<Response<Served>, Dropped> {
    let start = Instant::now();
    let (parts, body) = request.into_parts();
    let (method, uri) = (parts.method.clone(), parts.uri.clone());
    let agent = parts.headers.get(header::USER_AGENT).cloned();
    let response = if host::is_local(&parts.uri, &parts.headers) {
        match read(body).await {
            Ok(body) => server.handle(Request::from_parts(parts, body)).await?,
            Err(response) => *response,
        }
    } else {
        refuse(&Failure::new(
            403,
            "Forbidden",
            "the Host of the request is no address of loopback: this server answers only on its own machine",
        ))
    };
    let agent = agent.as_ref().and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let (code, watch) = (response.status().as_u16(), response.body().is_watch());
    tracing::debug!(%method, %uri, code, watch, duration = ?start.elapsed(), agent, "request");
    Ok(response.map(|body| Served::new(body, stop.gently.clone(), format!("{method} {uri}"), start)))
}

/// Reads the body of a request, or returns the answer to one that cannot be read.
async fn read(body: Incoming) -> Result<Bytes, Box<Response<ResponseBody>>> {
    let read = tokio::time::timeout(BODY_TIMEOUT, limited(body)).await;
    match read {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => Err(Box::new(refuse(&too_large()))),
        // The client is gone, so it hardly reads this.
        Ok(Err(error)) => {
            let why = format!("the body of the request cannot be read: {error}");
            Err(Box::new(refuse(&Failure::bad_request(why))))
        }
        Err(_) => {
            let why = "the body of the request did not arrive in time";
            Err(Box::new(refuse(&Failure::new(408, "Timeout", why))))
        }
    }
}

/// Reads a body, or returns `None` if it is too large.
async fn limited(mut body: Incoming) -> Result<Option<Bytes>, hyper::Error> {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut whole = Vec::with_capacity(expected.min(MAX_BODY));
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        size += data.len();
        if size <= MAX_BODY {
            whole.extend_from_slice(&data);
        } else if size > DISCARDED {
            break;
        }
    }
    Ok((size <= MAX_BODY).then(|| whole.into()))
}
