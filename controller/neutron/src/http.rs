//! An HTTP client for JSON requests with a deadline.

use std::{fmt, io, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::{Error, ErrorKind};

/// The largest answer that is read.
const MAX_BODY: usize = 16 << 20;
/// The default deadline of a request. A server whose database hangs never answers.
const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// An HTTP client for JSON. Clones share their connections.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
    user_agent: fn() -> String,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// Returns the id that the server gave the request.
    pub fn request_id(&self) -> Option<String> {
        let id = self.headers.get("x-openstack-request-id")?;
        Some(String::from_utf8_lossy(id.as_bytes()).into_owned())
    }

    /// Decodes the body.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| self.not_understood(&error))
    }

    /// Returns the error of an answer that does not decode.
    pub fn not_understood(&self, why: &dyn fmt::Display) -> Error {
        let message = format!("the answer ({}) could not be understood: {why}", self.status);
        self.error(ErrorKind::Protocol, message)
    }

    /// Returns an error with the request id and the `Retry-After` of the answer.
    pub fn error(&self, kind: ErrorKind, message: String) -> Error {
        Error { kind, message, request_id: self.request_id(), retry_after: self.retry_after() }
    }

    /// Returns how long the server asks to wait. A date is ignored, because clocks differ.
    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
    }
}

impl Http {
    /// Returns a client that trusts the system's authorities and those in `ca_file`.
    pub fn new(ca_file: Option<&Path>) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        // System certificates that cannot be read are not trusted.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(file) = ca_file {
            for certificate in CertificateDer::pem_file_iter(file).map_err(io::Error::other)? {
                roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
            }
        }
        let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self {
            client,
            timeout: TIMEOUT,
            user_agent: || concat!("neutron-client/", env!("CARGO_PKG_VERSION")).to_owned(),
        })
    }

    /// Sets the deadline of each request.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets the function that names the program in each request.
    pub fn with_user_agent(self, user_agent: fn() -> String) -> Self {
        Self { user_agent, ..self }
    }

    /// Sends a request and waits for the whole answer.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Answer, Error> {
        let invalid = |error: &dyn fmt::Display| {
            Error::new(ErrorKind::Rejected, format!("{method} {url} cannot be sent: {error}"))
        };
        let uri: Uri = url.parse().map_err(|error| invalid(&error))?;
        let mut request = Request::builder()
            .method(&method)
            .uri(uri)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, (self.user_agent)());
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        let request = request.body(Full::new(body)).map_err(|error| invalid(&error))?;
        let unavailable = |problem: String| {
            Error::new(ErrorKind::Unavailable, format!("{method} {url} got no answer: {problem}"))
        };
        let exchange = async {
            let answer = self.client.request(request).await.map_err(|error| unavailable(chain(&error)))?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, MAX_BODY).collect().await;
            let body = body.map_err(|error| unavailable(error.to_string()))?.to_bytes();
            Ok(Answer { status: head.status, headers: head.headers, body })
        };
        timeout(self.timeout, exchange)
            .await
            .unwrap_or_else(|_| Err(unavailable(format!("none within {:?}", self.timeout))))
    }
}

/// Returns the message of an error with those of its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
