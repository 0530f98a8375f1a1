//! Connections that notice when their peer is gone.

use std::{net::IpAddr, time::Duration};

use http::{HeaderMap, HeaderValue, Request, Response, Uri, header};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::{legacy::connect::HttpConnector, proxy::matcher::Matcher};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt as _, DynBody, retry::RetryPolicy},
};
use tower::{BoxError, ServiceBuilder, ServiceExt as _, retry::RetryLayer, util::BoxService};
use tower_http::{classify::ServerErrorsFailureClass, trace::TraceLayer};
use tracing::{Span, field::Empty};

use super::transport::{ResponseBody, Transport};
use crate::error::Result;

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
/// Otherwise it is the client that [`kube::Client::try_from`] makes: authentication, TLS, proxies, headers,
/// timeouts, retries and spans are those of the configuration, with these exceptions:
///
/// - Only streamed lists are compressed, and only those of a remote server.
/// - [`Client::valid_until`] is always `None`.
/// - Connections through a proxy are kube's own, without keep-alive and with kube's log lines.
/// - `NO_PROXY` is compared with the address of the cluster. kube compares it with that of the proxy.
/// - A failed attempt is logged at `DEBUG`, because the caller gets it as an error.
///
/// If the program contains several crypto providers of rustls and has installed none of them as its default,
/// `ring` becomes the default.
///
/// # Errors
///
/// Returns an error if the credentials or the certificates of the configuration cannot be read.
///
/// # Panics
///
/// Panics outside of a tokio runtime.
pub fn connect(config: Config) -> Result<Client> {
    Ok(builder(config)?.build())
}

/// The service behind a client that can still be wrapped in layers.
type Service = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Returns the builder of the client that [`connect`] makes, to add [tower] layers to it.
///
/// ```no_run
/// # fn example(config: kube::Config) -> genclient_runtime::Result<()> {
/// use genclient_runtime::client;
///
/// let log = |request: http::Request<kube::client::Body>| {
///     println!("{} {}", request.method(), request.uri());
///     request
/// };
/// let layer = tower::util::MapRequestLayer::new(log);
/// let client = client::builder(config)?.with_layer(&layer).build();
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Returns an error if the credentials or the certificates of the configuration cannot be read.
///
/// # Panics
///
/// The client panics outside of a tokio runtime.
pub fn builder(config: Config) -> Result<ClientBuilder<Service>> {
    // Otherwise rustls panics if it has a choice. An error means that a default was installed meanwhile.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    if config.proxy_url.is_some() && !is_excluded_from_proxy(&config) {
        return Ok(ClientBuilder::try_from(config)?);
    }
    let is_local = is_loopback(&config.cluster_url);
    let mut connector =
        TimeoutConnector::new(config.rustls_https_connector_with_connector(http_connector())?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);

    // The layers, their order and the fields of the span are kube's.
    let trace = TraceLayer::new_for_http()
        .make_span_with(|request: &Request<Body>| {
            tracing::debug_span!(
                "HTTP",
                http.method = %request.method(),
                http.url = %request.uri(),
                http.status_code = Empty,
                otel.name = request.extensions().get::<&'static str>().unwrap_or(&"HTTP"),
                otel.kind = "client",
                otel.status_code = Empty,
            )
        })
        .on_request(|_: &Request<Body>, _: &Span| tracing::debug!("requesting"))
        .on_response(|response: &Response<ResponseBody<_>>, _: Duration, span: &Span| {
            let status = response.status();
            span.record("http.status_code", status.as_u16());
            if status.is_client_error() || status.is_server_error() {
                span.record("otel.status_code", "ERROR");
            }
        })
        .on_body_chunk(())
        .on_eos(|_: Option<&HeaderMap>, _: Duration, _: &Span| tracing::debug!("stream closed"))
        .on_failure(|failure: ServerErrorsFailureClass, _: Duration, span: &Span| {
            span.record("otel.status_code", "ERROR");
            tracing::debug!(%failure, "the request failed");
        });
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .layer(trace)
        .map_request(move |mut request: Request<Body>| {
            // Compression to a server on this machine costs more than it saves.
            if is_local && let Some(encoding) = request.headers_mut().get_mut(header::ACCEPT_ENCODING) {
                *encoding = HeaderValue::from_static("identity");
            }
            request
        })
        .service(Transport::new(connector))
        .map_response(|response| response.map(|body| Box::new(body) as Box<DynBody>));
    Ok(ClientBuilder::new(BoxService::new(service), config.default_namespace))
}

/// Returns whether the proxy is that of the environment, which excludes the cluster from it.
fn is_excluded_from_proxy(config: &Config) -> bool {
    let variable = |name: &str| {
        let values = [name.to_owned(), name.to_ascii_lowercase()].into_iter().filter_map(std::env::var_os);
        values.filter_map(|value| value.into_string().ok()).find(|value| !value.is_empty())
    };
    let proxy = variable("HTTPS_PROXY").and_then(|proxy| proxy.parse().ok());
    let Some(excluded) = variable("NO_PROXY").filter(|_| config.proxy_url == proxy) else { return false };
    Matcher::builder().all("http://proxy").no(excluded).build().intercept(&config.cluster_url).is_none()
}

/// Returns whether a server is on this machine, by its address.
fn is_loopback(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
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
    use socket2::SockRef;
    use tokio::net::TcpListener;

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
}
