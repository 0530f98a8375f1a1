//! The server as the transport of a kube client.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Request, Response};
use kube::client::Body;
use tower::Service;

use crate::{Dropped, Server, body::ResponseBody};

/// The server as a service, on which a `kube::Client` can be made.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use genclient_fake::Server;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::{Api, Client};
///
/// let client = Client::new(Server::new().service(), "default");
/// let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
/// assert!(config_maps.list(&Default::default()).await?.items.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FakeService {
    server: Server,
}

impl Server {
    /// Returns the server as the transport of a client: `kube::Client::new(server.service(), "default")`.
    pub fn service(&self) -> FakeService {
        FakeService { server: self.clone() }
    }

    /// Returns a client of this server, whose default namespace is `default`.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }
}

impl Service<Request<Body>> for FakeService {
    type Response = Response<ResponseBody>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, kube::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = self.server.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let response = server.handle(Request::from_parts(parts, body)).await;
            response.map_err(|dropped| kube::Error::Service(dropped.into()))
        })
    }
}

/// For servers in front of it, which close the connection after an error.
impl Service<Request<bytes::Bytes>> for FakeService {
    type Response = Response<ResponseBody>;
    type Error = Dropped;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Dropped>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Dropped>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<bytes::Bytes>) -> Self::Future {
        let server = self.server.clone();
        Box::pin(async move { server.handle(request).await })
    }
}
