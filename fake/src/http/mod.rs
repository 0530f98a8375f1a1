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
//! println!("kubectl --server {} get namespaces", serving.url());
//! std::fs::write(std::env::temp_dir().join("fake.kubeconfig"), serving.kubeconfig())?;
//! serving.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! * The server listens on loopback only, and answers only requests whose `Host` is an address of loopback or
//!   `localhost`: everybody may do everything here, but no other machine can, and no web page by a name of its own.
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

mod connection;
mod host;
mod kubeconfig;
mod response;
mod stream;

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

pub use kubeconfig::KubeconfigFile;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::Server;

/// How long a shutdown waits for requests that are being answered.
const GRACE: Duration = Duration::from_secs(2);

/// A server that listens; made by [`Server::serve`].
///
/// When it is dropped, it stops listening and its connections are closed at once. The [`Server`] and its objects
/// stay, and can be served again.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    tasks: TaskTracker,
    stop: Stop,
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
    /// Serves this server over HTTP. Port 0 is any free port; [`Serving::address`] tells which.
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
        if !address.ip().is_loopback() {
            let why = format!(
                "{} is not an address of loopback: everybody may do everything on this server, so it listens on \
                 {} or {} only",
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
        tasks.spawn(connection::accept(self.clone(), listener, tasks.clone(), stop.clone()));
        tasks.close();
        tracing::info!(%address, "serving");
        Ok(Serving { address, tasks, stop })
    }
}

impl Serving {
    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the server, such as `http://127.0.0.1:8001`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns a kubeconfig for this server, as the text of a YAML file.
    pub fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             current-context: fake\n\
             clusters:\n\
             - name: fake\n\
             \x20 cluster:\n\
             \x20   server: {}\n\
             contexts:\n\
             - name: fake\n\
             \x20 context:\n\
             \x20   cluster: fake\n\
             \x20   namespace: default\n\
             \x20   user: fake\n\
             users:\n\
             - name: fake\n\
             \x20 user: {{}}\n",
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
