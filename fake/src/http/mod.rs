//! The server over HTTP on loopback, for clients in other processes: kubectl, client-go, kube-rs.
//!
//! This module needs the feature `http`. [`Server::serve`] starts listening:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use genclient_fake::Server;
//!
//! let server = Server::new();
//! let serving = server.serve("127.0.0.1:0".parse()?).await?;
//! let kubeconfig = serving.write_temporary_kubeconfig()?;
//! println!("kubectl --kubeconfig {} get namespaces", kubeconfig.path().display());
//! serving.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! * The server listens on loopback only, and answers only requests whose `Host` is an address of loopback or
//!   `localhost`.
//! * [`Server::serve`] speaks HTTPS with a certificate of its own, and answers only requests with its bearer token.
//!   Both are new for every start; clients find them in the kubeconfig. Without the token a client reads `/healthz`,
//!   `/livez`, `/readyz` and `/version`, as on a real API server.
//! * A request from a web page of another site is refused, also without tokens ([`Server::serve_insecure`]).
//! * An answer is that of [`Server::handle`], over HTTP/1.1. The events of a watch are chunks, sent as they happen.
//! * A body of more than 3 MiB is refused with 413 and is never held in memory.
//! * A watch ends when its client disconnects; [`Server::open_watches`] counts the rest.
//! * A client that does not send the head of a request within 30 seconds, or its body within 60, or that does not
//!   read for 60 seconds what it was sent, loses its connection.
//! * [`Serving::shutdown`] ends the watches as a timeout does, lets requests finish for two seconds, and leaves no
//!   task behind.
//!
//! # The access log
//! Every request is an event of `tracing` with the level `DEBUG`: method, path, code, duration and user agent. A
//! watch is logged when it begins and when it ends.

mod access;
mod connection;
mod kubeconfig;
mod response;
mod stream;
mod tls;

use std::{
    fmt, io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use connection::Front;
pub use kubeconfig::KubeconfigFile;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::Server;
use access::Access;

/// How long a shutdown waits for requests that are being answered.
const GRACE: Duration = Duration::from_secs(2);

/// A server that listens; made by [`Server::serve`].
///
/// When it is dropped, it stops listening and its connections are closed at once. The [`Server`] and its objects
/// stay, and can be served again.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    credentials: Option<Credentials>,
    tasks: TaskTracker,
    stop: Stop,
}

/// What a client needs beside the address.
struct Credentials {
    token: String,
    /// The certificate of the server's authority, as PEM.
    authority: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// How the tasks of a server learn that it ends.
#[derive(Clone, Debug, Default)]
struct Stop {
    /// No new connections and requests; watches end.
    gently: CancellationToken,
    /// Connections are closed.
    at_once: CancellationToken,
}

impl Server {
    /// Serves this server over HTTPS, to clients that have the token in its [kubeconfig](Serving::kubeconfig). Port 0
    /// is any free port; [`Serving::address`] tells which.
    ///
    /// # Errors
    ///
    /// Fails if the address is not one of loopback, and if the server cannot listen there, for example because
    /// another program does.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime, and in one without I/O or time.
    pub async fn serve(&self, address: SocketAddr) -> io::Result<Serving> {
        let (tls, authority) = tls::certificate().map_err(io::Error::other)?;
        let token = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
        self.listen(address, Some((tls.into(), Credentials { token, authority }))).await
    }

    /// Serves this server over plain HTTP, without a token: every user and every program of this machine can read and
    /// write everything. A web page still cannot.
    ///
    /// # Errors
    ///
    /// As [`Server::serve`].
    ///
    /// # Panics
    ///
    /// As [`Server::serve`].
    pub async fn serve_insecure(&self, address: SocketAddr) -> io::Result<Serving> {
        self.listen(address, None).await
    }

    async fn listen(
        &self,
        address: SocketAddr,
        secured: Option<(TlsAcceptor, Credentials)>,
    ) -> io::Result<Serving> {
        if !address.ip().is_loopback() {
            let why = format!(
                "{} is not an address of loopback: this server is for clients on its own machine, so it listens \
                 on {} or {} only",
                address.ip(),
                Ipv4Addr::LOCALHOST,
                Ipv6Addr::LOCALHOST
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => "; another program listens there",
                io::ErrorKind::PermissionDenied => "; ports below 1024 may need privileges",
                _ => "",
            };
            io::Error::new(error.kind(), format!("cannot listen on {address}: {error}{hint}"))
        })?;
        let address = listener.local_addr()?;
        let (tasks, stop) = (TaskTracker::new(), Stop::default());
        let (tls, credentials) = secured.unzip();
        let access = Access::new(credentials.as_ref().map(|credentials| credentials.token.clone()));
        let front = Front { server: self.clone(), access, tls, stop: stop.clone() };
        tasks.spawn(connection::accept(front, listener, tasks.clone()));
        tasks.close();
        tracing::info!(%address, "serving");
        Ok(Serving { address, credentials, tasks, stop })
    }
}

impl Serving {
    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the server, such as `https://127.0.0.1:8001`.
    pub fn url(&self) -> String {
        let scheme = if self.credentials.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the bearer token that a request must have, or `None` if none is needed.
    pub fn token(&self) -> Option<&str> {
        self.credentials.as_ref().map(|credentials| credentials.token.as_str())
    }

    /// Returns a kubeconfig for this server, as the text of a YAML file. It holds the token of the server.
    pub fn kubeconfig(&self) -> String {
        let (authority, user) = match &self.credentials {
            Some(Credentials { token, authority }) => (
                format!("    certificate-authority-data: {}\n", BASE64_STANDARD.encode(authority)),
                format!("\n    token: {token}"),
            ),
            None => (String::new(), " {}".to_owned()),
        };
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             current-context: fake\n\
             clusters:\n\
             - name: fake\n\
             \x20 cluster:\n\
             \x20   server: {}\n\
             {authority}\
             contexts:\n\
             - name: fake\n\
             \x20 context:\n\
             \x20   cluster: fake\n\
             \x20   namespace: default\n\
             \x20   user: fake\n\
             users:\n\
             - name: fake\n\
             \x20 user:{user}\n",
            self.url()
        )
    }

    /// Stops listening, ends all watches, and waits shortly for requests that are being answered.
    pub async fn shutdown(self) {
        self.stop.gently.cancel();
        if tokio::time::timeout(GRACE, self.tasks.wait()).await.is_err() {
            tracing::debug!(connections = self.tasks.len(), "closing connections that did not end");
            self.stop.at_once.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.gently.cancel();
        self.stop.at_once.cancel();
    }
}
