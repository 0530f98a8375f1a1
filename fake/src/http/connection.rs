//! Connections and their requests.

use std::{
    io,
    pin::pin,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::Body;
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::{
    Dropped, Server,
    body::ResponseBody,
    server::{MAX_BODY, refuse, too_large},
    status::Failure,
};

use super::{Stop, access::Access, response::Served, stream::Stalling};

/// How long a client may take for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// How much of a body that is too large is read, so that the client gets the answer in place of a broken connection.
const DISCARDED: usize = 16 * MAX_BODY;

/// What all connections of a server share.
#[derive(Clone)]
pub(super) struct Front {
    pub(super) server: Server,
    pub(super) access: Access,
    /// `None` serves plain HTTP.
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) stop: Stop,
}

/// Accepts connections until the server stops.
pub(super) async fn accept(front: Front, listener: TcpListener, tasks: TaskTracker) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = front.stop.gently.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                tasks.spawn(connection(front.clone(), stream));
            }
            Err(error) => {
                // A connection that ended already, or too many open files, which may pass.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(front: Front, stream: TcpStream) {
    // Events are small, and are to arrive at once.
    let _ = stream.set_nodelay(true);
    let Some(tls) = &front.tls else { return converse(&front, Stalling::new(stream)).await };
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(HEAD_TIMEOUT, shake_hands(tls, stream)) => shaken,
        () = front.stop.gently.cancelled() => return,
    };
    match shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(stream) => converse(&front, stream).await,
        Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
    }
}

async fn shake_hands(
    tls: &TlsAcceptor,
    mut stream: TcpStream,
) -> io::Result<impl AsyncRead + AsyncWrite + Unpin + Send + use<>> {
    // The first byte of a handshake is 22; that of a request is a letter.
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
        let answer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
        stream.write_all(answer.as_bytes()).await?;
        return Err(io::Error::other("the client speaks plain HTTP"));
    }
    tls.accept(Stalling::new(stream)).await
}

/// Answers the requests of a connection.
async fn converse(front: &Front, stream: impl AsyncRead + AsyncWrite + Unpin) {
    let stop = &front.stop;
    let service = service_fn(|request| answer(front, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
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

async fn answer(front: &Front, request: Request<Incoming>) -> Result<Response<Served>, Dropped> {
    let start = Instant::now();
    let (parts, body) = request.into_parts();
    let (method, uri) = (parts.method.clone(), parts.uri.clone());
    let agent = parts.headers.get(header::USER_AGENT).cloned();
    let response = match front.access.check(&parts) {
        Ok(()) => match read(body).await {
            Ok(body) => front.server.handle(Request::from_parts(parts, body)).await?,
            Err(response) => *response,
        },
        Err(failure) => refuse(&failure),
    };
    let agent = agent.as_ref().and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let (code, watch) = (response.status().as_u16(), response.body().is_watch());
    tracing::debug!(%method, %uri, code, watch, duration = ?start.elapsed(), agent, "request");
    Ok(response.map(|body| Served::new(body, front.stop.gently.clone(), format!("{method} {uri}"), start)))
}

/// Reads the body of a request, or returns the answer to one that cannot be read.
async fn read(body: Incoming) -> Result<Bytes, Box<Response<ResponseBody>>> {
    let read = tokio::time::timeout(BODY_TIMEOUT, limited(body)).await;
    match read {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => Err(Box::new(refuse(&too_large()))),
        // The client has probably disconnected; the answer is best effort.
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
