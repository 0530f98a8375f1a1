//! A client whose server answers nothing, and the log of what it was asked.

use std::{
    convert::Infallible,
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
};

use futures::Stream;
use kube::client::Body;

/// The requests that were made since the log was last printed.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

/// A client whose every request is logged and answered with `404 Not Found`.
pub fn client() -> (kube::Client, Log) {
    let log = Log::default();
    let requests = log.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let line = format!("{} {}", request.method(), request.uri().path());
        requests.0.lock().unwrap().push(line);
        let status = serde_json::json!({
            "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": "NotFound",
            "message": "nothing is here", "code": 404,
        });
        let response = http::Response::builder().status(404).header("content-type", "application/json");
        let response = response.body(Body::from(status.to_string().into_bytes())).unwrap();
        async { Ok::<_, Infallible>(response) }
    });
    (kube::Client::new(service, "default"), log)
}

/// The smallest object of any kind.
pub fn object<K: serde::de::DeserializeOwned>() -> K {
    serde_json::from_value(serde_json::json!({"metadata": {"name": "obj"}})).unwrap()
}

impl Log {
    /// Polls a stream until it has made a request.
    pub async fn first(&self, stream: impl Stream) {
        let mut stream = pin!(stream);
        std::future::poll_fn(|context| {
            let _ = stream.as_mut().poll_next(context);
            if self.0.lock().unwrap().is_empty() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await
    }

    /// Prints the requests that a call has made.
    pub fn print(&self, krate: &str, code: &str) {
        let requests = std::mem::take(&mut *self.0.lock().unwrap());
        println!("{krate}\t{code}\t{}", requests.join(", "));
    }
}
