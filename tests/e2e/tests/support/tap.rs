//! A place on the way to the server where requests are written down, and can be held back.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use genclient_testenv::TestEnv;
use http::Request;
use kube::{
    Client,
    client::{Body, ClientBuilder},
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tower::{Layer, Service};

/// Sees every request of the client that it is put into.
#[derive(Clone)]
pub struct Tap {
    requests: Arc<Mutex<Vec<String>>>,
    open: Arc<watch::Sender<bool>>,
}

impl Tap {
    /// A client of the administrator, and what sees its requests.
    pub fn client(env: &TestEnv) -> (Client, Self) {
        let tap = Self { requests: Arc::default(), open: Arc::new(watch::Sender::new(true)) };
        let builder = ClientBuilder::try_from(env.config()).expect("the configuration makes a client");
        (builder.with_layer(&tap).build(), tap)
    }

    /// The path and query of the requests for a resource, in order.
    pub fn requests_for(&self, plural: &str) -> Vec<String> {
        let requests = self.requests.lock();
        requests
            .iter()
            .filter(|request| request.split('?').next().is_some_and(|path| path.ends_with(plural)))
            .cloned()
            .collect()
    }

    /// Holds every further request back, as a network does that loses packets.
    pub fn close(&self) {
        self.open.send_replace(false);
    }

    /// Lets the requests go on.
    pub fn open(&self) {
        self.open.send_replace(true);
    }
}

impl<S> Layer<S> for Tap {
    type Service = Tapped<S>;

    fn layer(&self, service: S) -> Tapped<S> {
        Tapped { service, tap: self.clone() }
    }
}

/// A service with a tap in front of it.
pub struct Tapped<S> {
    service: S,
    tap: Tap,
}

impl<S> Service<Request<Body>> for Tapped<S>
where
    S: Service<Request<Body>>,
    S::Future: Send + 'static,
    S::Response: Send,
    S::Error: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.tap.requests.lock().push(request.uri().to_string());
        let mut open = self.tap.open.subscribe();
        let response = self.service.call(request);
        Box::pin(async move {
            // The sender is gone when the tap is, and then nobody holds anything back.
            let _ = open.wait_for(|open| *open).await;
            response.await
        })
    }
}
