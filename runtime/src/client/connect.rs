//! Connections that notice when their peer is gone.

use std::time::Duration;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt as _, retry::RetryPolicy},
};
use tower::{BoxError, ServiceBuilder, ServiceExt as _, retry::RetryLayer};
use tower_http::trace::TraceLayer;

use crate::{
    error::Result,
    wire::{DriverSpawner, OwnConnection, Stream},
};

/// After this much silence the kernel probes whether the peer is still there …
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
/// … this often …
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// … and this many times, before it closes the connection: 15 s + 3 × 10 s = 45 s.
const KEEPALIVE_PROBES: u32 = 3;
/// How long sent bytes may stay unacknowledged. On Linux it replaces the number of probes too, so
/// an idle connection to a dead peer is closed after 35 s.
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Connects to the cluster that `config` describes, and notices within 45 seconds when a connection
/// is dead.
///
/// A peer that crashes, or a firewall that forgets a connection, closes nothing: without further
/// measures a request then waits for its timeout and a watch for minutes. The connections of this
/// client have TCP keep-alive (a probe after 15 s of silence, then every 10 s, closed after 3 without
/// an answer) and, on Linux, a TCP user timeout of 30 s for bytes that are not acknowledged.
///
/// The task that reads a watch of this client drives its connection too, and lets it rest while the events of
/// a busy server gather. That saves most of the wake-ups of a watch. The connection of a watch is closed after it.
///
/// Otherwise it is the client that [`kube::Client::try_from`] makes: authentication, TLS, headers,
/// timeouts and retries are those of the configuration, with three exceptions:
///
/// - Answers are never compressed.
/// - [`Client::valid_until`] is always `None`.
/// - A configuration with a proxy is left to kube entirely, so its connections have no keep-alive.
///
/// # Errors
///
/// Returns an error if the credentials or the certificates of the configuration cannot be read.
///
/// # Panics
///
/// Panics outside of a tokio runtime, and if the program contains several crypto providers of rustls
/// and has not installed one of them as its default.
pub fn connect(config: Config) -> Result<Client> {
    if config.proxy_url.is_some() {
        return Ok(Client::try_from(config)?);
    }
    let tcp = http_connector().map_response(Stream::new);
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(tcp)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let http = hyper_util::client::legacy::Builder::new(DriverSpawner).build::<_, Body>(connector);

    // The layers and their order are kube's.
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .layer(TraceLayer::new_for_http())
        .map_err(BoxError::from)
        .service_fn(move |request| {
            let http = http.clone();
            OwnConnection::send(request, async move |request| http.request(request).await)
        });
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}

/// Connects to the cluster of the environment, with [`connect`].
///
/// The configuration is that of the kubeconfig, or of the pod's service account.
///
/// # Errors
///
/// Returns an error if there is no configuration, or if it cannot be used.
pub async fn try_default() -> Result<Client> {
    connect(Config::infer().await.map_err(kube::Error::InferConfig)?)
}

fn http_connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_keepalive(Some(KEEPALIVE_IDLE));
    connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(USER_TIMEOUT));
    connector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ConnectionHandle;
    use http::Request;
    use socket2::SockRef;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    #[tokio::test]
    async fn the_kernel_is_told_to_give_up_a_connection_whose_peer_is_gone_within_45_seconds() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", server.local_addr().unwrap()).parse().unwrap();
        let connection = http_connector().oneshot(url).await.unwrap();
        let socket = SockRef::from(connection.inner());
        assert!(socket.keepalive().unwrap());
        let (idle, interval) =
            (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        let probes = socket.tcp_keepalive_retries().unwrap();
        assert_eq!(idle + interval * probes, Duration::from_secs(45));
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(30)));
    }

    #[tokio::test]
    async fn the_reader_of_a_response_can_borrow_its_connection() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", server.local_addr().unwrap()).parse().unwrap();
        let answer = async || {
            let (mut connection, _) = server.accept().await.unwrap();
            let _ = connection.read(&mut [0; 1024]).await.unwrap();
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n").await.unwrap();
            connection
        };
        let client = connect(Config::new(url)).unwrap();
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(OwnConnection);
        let (response, _open) = tokio::join!(client.send(request), answer());
        assert!(response.unwrap().extensions().get().and_then(ConnectionHandle::borrow).is_some());
        let (response, _open) = tokio::join!(client.send(Request::new(Body::empty())), answer());
        assert!(
            response.unwrap().extensions().get::<ConnectionHandle>().is_none(),
            "a connection that another request may use cannot be borrowed"
        );
    }
}
