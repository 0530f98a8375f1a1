//! The configuration of a manager.

use std::{fmt, sync::Arc, time::Duration};

use kube::runtime::events::Reporter;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Deadlines, Inner, Manager, Parts};
use crate::{
    client::{self, RestClient},
    error::Error,
    events::EventRecorder,
    factory::{FactoryError, InformerFactory, InformerFactoryBuilder},
    leader::{Elector, ElectorBuilder, ElectorError},
};

/// Configures a [`Manager`].
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    name: Arc<str>,
    cluster: Option<Arc<str>>,
    lease: Option<String>,
    factory: Vec<ConfigureFactory>,
    elector: Vec<ConfigureElector>,
    shutdown: CancellationToken,
    deadlines: Deadlines,
}

type ConfigureFactory = Box<
    dyn FnOnce(InformerFactoryBuilder<InformerFactory>) -> InformerFactoryBuilder<InformerFactory> + Send,
>;
type ConfigureElector = Box<dyn FnOnce(ElectorBuilder) -> ElectorBuilder + Send>;

/// Why a manager cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// There is no configuration of a cluster, or it cannot be used.
    #[error("cannot connect to the cluster: {0}")]
    Connect(#[source] Error),
    /// A setting of the informers is invalid.
    #[error(transparent)]
    Factory(#[from] FactoryError),
    /// A setting of the leader election is invalid.
    #[error(transparent)]
    Elector(#[from] ElectorError),
}

impl Builder {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            cluster: None,
            lease: None,
            factory: Vec::new(),
            elector: Vec::new(),
            shutdown: CancellationToken::new(),
            deadlines: Deadlines {
                drain: Duration::from_secs(21),
                flush: Duration::from_secs(3),
                release: Duration::from_secs(3),
                stop: Duration::from_secs(1),
            },
        }
    }

    /// Names the cluster, in a program that has [several](super#several-clusters). The log, the metrics of informers
    /// and queues, and [`Manager::cluster`] show the name.
    pub fn cluster(mut self, name: impl Into<Arc<str>>) -> Self {
        self.cluster = Some(name.into());
        self
    }

    /// Lets only the replica that holds this Lease reconcile. It is `namespace/name`, or `name` for the namespace of
    /// the client, and is created if it does not exist.
    ///
    /// The program must be allowed to get, create and update leases in the namespace.
    pub fn lease(mut self, lease: impl Into<String>) -> Self {
        self.lease = Some(lease.into());
        self
    }

    /// Changes the settings of the leader election, such as the duration of the lease. Without a
    /// [lease](Self::lease) they have no effect.
    pub fn elector(
        mut self,
        configure: impl FnOnce(ElectorBuilder) -> ElectorBuilder + Send + 'static,
    ) -> Self {
        self.elector.push(Box::new(configure));
        self
    }

    /// Restricts the informers to these namespaces. An empty list means all.
    pub fn namespaces(self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let namespaces: Vec<String> = namespaces.into_iter().map(Into::into).collect();
        self.factory(|factory| factory.namespaces(namespaces))
    }

    /// Changes the settings of the informers, such as list options and transforms.
    pub fn factory(
        mut self,
        configure: impl FnOnce(InformerFactoryBuilder<InformerFactory>) -> InformerFactoryBuilder<InformerFactory>
        + Send
        + 'static,
    ) -> Self {
        self.factory.push(Box::new(configure));
        self
    }

    /// Shuts the manager down when this token is cancelled.
    pub fn shutdown_token(mut self, token: CancellationToken) -> Self {
        self.shutdown = token;
        self
    }

    /// Sets how long running keys may take to finish after the shutdown begins. The default is 21 seconds.
    ///
    /// Keys that are still running then are cancelled at their next await, and logged.
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.deadlines.drain = deadline;
        self
    }

    /// Sets how long the last events may take to be sent. The default is 3 seconds.
    pub fn flush_deadline(mut self, deadline: Duration) -> Self {
        self.deadlines.flush = deadline;
        self
    }

    /// Sets how long the release of the lease may take. The default is 3 seconds. A lease that is not released
    /// expires.
    pub fn release_deadline(mut self, deadline: Duration) -> Self {
        self.deadlines.release = deadline;
        self
    }

    /// Sets how long cancelled keys and tasks may take to end, and at the end event handlers. The default is 1 second.
    ///
    /// Code that blocks its thread cannot be cancelled. The manager logs it and ends without it, but tokio's runtime
    /// waits for the thread when it is dropped, unless it is ended with `Runtime::shutdown_background`.
    pub fn stop_deadline(mut self, deadline: Duration) -> Self {
        self.deadlines.stop = deadline;
        self
    }

    /// Connects to the cluster of the kubeconfig, or of the pod's service account, and builds the manager.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no configuration of a cluster, or if a setting is invalid. It does not wait for
    /// the server to answer.
    pub async fn connect(self) -> Result<Manager, ManagerError> {
        let client = client::try_default().await.map_err(ManagerError::Connect)?;
        self.build(client)
    }

    /// Builds the manager with this client.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is invalid.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn build(self, client: impl Into<RestClient>) -> Result<Manager, ManagerError> {
        let client: RestClient = client.into();
        let connection = client.client().clone();
        let mut factory = InformerFactory::builder(connection.clone());
        if let Some(cluster) = &self.cluster {
            factory = factory.name(cluster.clone());
        }
        let factory =
            self.factory.into_iter().fold(factory, |factory, configure| configure(factory)).try_build()?;
        let elector = match &self.lease {
            None => None,
            Some(lease) => {
                let elector = Elector::builder(connection.clone(), lease);
                Some(
                    self.elector
                        .into_iter()
                        .fold(elector, |elector, configure| configure(elector))
                        .build()?,
                )
            }
        };
        let connection = match &elector {
            None => connection,
            Some(elector) => elector.fence().client(connection),
        };
        let client = client.with_connection(connection.clone()).field_manager_or(&self.name);
        let events = EventRecorder::new(connection, Reporter::from(&*self.name));
        let inner = Inner {
            name: self.name,
            cluster: self.cluster,
            client,
            factory,
            events,
            elector,
            shutdown: self.shutdown,
            deadlines: self.deadlines,
            parts: Mutex::new(Parts::default()),
            fault: watch::Sender::new(None),
        };
        Ok(Manager { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
