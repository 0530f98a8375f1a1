//! A scripted server without a network, for tests on a paused clock.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use tower::service_fn;

use super::{Answer, Handler, Log, Piece, Received};

type ResponseBody = UnsyncBoxBody<Bytes, std::io::Error>;

/// A client whose server is `handler`, and the log of its requests.
pub fn in_process(handler: impl Handler) -> (kube::Client, Log) {
    let (handler, log) = (Arc::new(handler), Log::default());
    let requests = log.clone();
    let service = service_fn(move |request: Request<Body>| {
        let (handler, log) = (Arc::clone(&handler), requests.clone());
        async move {
            let (parts, body) = request.into_parts();
            let headers = parts
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()));
            let body = body.collect().await.expect("the body of a request is complete").to_bytes();
            let target = parts.uri.path_and_query().expect("a request has a path").as_str();
            let received = Received::new(parts.method.as_str(), target, headers, body);
            log.push(received.clone());
            respond(handler(received)).await
        }
    });
    (kube::Client::new(service, "default"), log)
}

async fn respond(answer: Answer) -> Result<Response<ResponseBody>, std::io::Error> {
    match answer {
        Answer::Whole { status, headers, body } => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            let body = http_body_util::Full::new(body).map_err(|never: Infallible| match never {});
            Ok(response.body(body.boxed_unsync()).expect("the parts make a response"))
        }
        Answer::Stream { pieces, .. } => {
            let pieces = futures::stream::unfold(pieces, |mut pieces| async {
                let piece = match pieces.recv().await? {
                    Piece::Bytes(bytes) => Ok(Frame::data(bytes)),
                    Piece::Cut => Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
                };
                Some((piece, pieces))
            });
            Ok(Response::new(StreamBody::new(pieces.boxed()).boxed_unsync()))
        }
        Answer::Refuse => Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)),
        Answer::Silence => std::future::pending().await,
    }
}
