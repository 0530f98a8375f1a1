//! The manager: what the controllers of a program share, and the order in which it starts and stops.
//!
//! A manager has one client, one informer per kind, one event recorder and one shutdown token. With a
//! [lease](Builder::lease) several replicas of the program can run, and one of them reconciles.
//!
//! ```no_run
//! use genclient_runtime::{Controller, Manager};
//! # use genclient_runtime::{Action, Error};
//! # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! # use std::sync::Arc;
//! # async fn config_map(_: Arc<ConfigMap>, _: Arc<Manager>) -> Result<Action, Error> { Ok(Action::await_change()) }
//! # async fn secret(_: Arc<Secret>, _: Arc<Manager>) -> Result<Action, Error> { Ok(Action::await_change()) }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let manager = Manager::builder("example-controller").lease("default/example-controller").connect().await?;
//! Controller::new(&manager).run(config_map);
//! Controller::new(&manager).run(secret);
//! manager.run().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! - **Standby replicas are warm.** A replica fills its caches before it tries to lead, and keeps them current while
//!   it waits. Its queues stay empty. When it wins the lease it queues the keys of all objects, as after a restart.
//! - **Only a leader reconciles.** Workers and tasks start after the lease is won. Once it is lost, they are not polled
//!   any more, are cancelled and awaited, and the replica waits to lead again. Writes through [`Manager::client`] are
//!   refused from the moment at which another replica could lead; see [`leader`](crate::leader). If the API server
//!   prefers another replica, the lease is released only after the longest time that a cancelled request can be under
//!   way.
//! - **A shutdown is orderly and bounded.** The queues refuse keys, and running keys may finish. Then the last
//!   events are sent, the lease is released, and the informers stop. The lease is not released if a key, or a request
//!   through [`Manager::client`], had to be cancelled, because the request may still be under way. Each step has a
//!   [deadline](Builder::drain_deadline), and the defaults add up to 29 seconds: Kubernetes kills a pod after 30.
//! - **No part ends unnoticed.** If an informer, a task or a worker ends before the shutdown, the manager shuts
//!   down and returns an error that names the part.
//! - **Dropping [`run`](Manager::run) stops everything that it started**, at any point.
//!
//! # Several clusters
//! A manager serves one cluster. A program with several clusters creates a manager for each, at any time, and can give
//! all of them one shutdown token. Each has separate queues and workers, so a slow or unreachable cluster does not delay
//! the others. The context of a reconciliation names the cluster of the object:
//!
//! ```no_run
//! use futures::future::try_join_all;
//! use genclient_runtime::{Action, Controller, Error, Manager, client};
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # use kube::{Config, config::KubeConfigOptions};
//! # use std::sync::Arc;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut managers = Vec::new();
//! for cluster in ["east", "west"] {
//!     let context = KubeConfigOptions { context: Some(cluster.to_owned()), ..KubeConfigOptions::default() };
//!     let client = client::connect(Config::from_kubeconfig(&context).await?)?;
//!     let manager = Manager::builder("copier").cluster(cluster).build(client)?;
//!     Controller::new(&manager).run(copy);
//!     managers.push(manager);
//! }
//! try_join_all(managers.iter().map(Manager::run)).await?;
//! # Ok(())
//! # }
//!
//! async fn copy(config_map: Arc<ConfigMap>, manager: Arc<Manager>) -> Result<Action, Error> {
//!     println!("{:?} in {:?}", config_map.metadata.name, manager.cluster());
//!     Ok(Action::await_change())
//! }
//! ```

mod builder;
mod run;

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use self::builder::{Builder, ManagerError};
use crate::{
    client::RestClient, control_loop::Ended, controller::Runner, events::EventRecorder,
    factory::InformerFactory, leader::Elector, lister::Lister, object::Watched,
};

/// Runs controllers; see [the module](self). Cheap to clone.
#[derive(Clone)]
pub struct Manager {
    inner: Arc<Inner>,
}

struct Inner {
    name: Arc<str>,
    cluster: Option<Arc<str>>,
    client: RestClient,
    factory: InformerFactory,
    events: EventRecorder,
    elector: Option<Elector>,
    shutdown: CancellationToken,
    deadlines: Deadlines,
    parts: Mutex<Parts>,
    /// Why the manager has to end.
    fault: watch::Sender<Option<Ended>>,
}

/// What a manager runs.
#[derive(Default)]
struct Parts {
    controllers: Vec<Arc<Runner>>,
    tasks: Vec<(Arc<str>, StartTask)>,
    has_started: bool,
}

/// Creates the future of a task, once for each time that the replica leads.
type StartTask = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// How long each step of a shutdown may take.
#[derive(Clone, Copy)]
struct Deadlines {
    drain: Duration,
    flush: Duration,
    release: Duration,
    stop: Duration,
}

impl Manager {
    /// Returns a builder. The name is that of the program, such as `app-controller`: it is the reporter of events
    /// and the field manager of writes.
    pub fn builder(name: impl Into<Arc<str>>) -> Builder {
        Builder::new(name.into())
    }

    /// Returns the name of the manager.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the name of the cluster, if the manager was given one.
    pub fn cluster(&self) -> Option<&Arc<str>> {
        self.inner.cluster.as_ref()
    }

    /// Returns the client for reconciliations. With a lease it refuses writes while this replica does not lead.
    pub fn client(&self) -> &RestClient {
        &self.inner.client
    }

    /// Returns the factory of the informers that the controllers share.
    pub fn factory(&self) -> &InformerFactory {
        &self.inner.factory
    }

    /// Returns the lister of a kind, and adds its informer to the manager.
    ///
    /// Call it before the manager runs. It then waits for the cache before it reconciles anything; an informer that
    /// is added later is started, and its cache is empty at first.
    pub fn lister<K: Watched>(&self) -> Lister<K> {
        let lister = self.inner.factory.informer::<K>().lister();
        if self.inner.parts.lock().has_started {
            self.inner.factory.start();
        }
        lister
    }

    /// Returns the recorder of events about objects.
    pub fn events(&self) -> &EventRecorder {
        &self.inner.events
    }

    /// Returns the elector, if the manager has a lease: whether this replica leads, in which term, and who leads
    /// otherwise.
    pub fn elector(&self) -> Option<&Elector> {
        self.inner.elector.as_ref()
    }

    /// Returns a token whose cancellation shuts the manager down.
    pub fn shutdown_token(&self) -> &CancellationToken {
        &self.inner.shutdown
    }

    /// Adds a task that runs while this replica leads. It starts with the workers and is cancelled with them. If it
    /// ends before that, the manager ends with an error that shows the name, for example `the search for orphans`.
    pub fn add_task<F, R>(&self, name: impl Into<Arc<str>>, task: F)
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let name = name.into();
        let mut parts = self.inner.parts.lock();
        if parts.has_started {
            drop(parts);
            return fail(&self.inner.fault, Ended::late(&name));
        }
        parts.tasks.push((name, Arc::new(move || Box::pin(task()))));
    }

    /// Adds a controller.
    pub(crate) fn register(&self, controller: Runner) {
        let name = controller.name().clone();
        let mut parts = self.inner.parts.lock();
        let fault = if parts.has_started {
            Ended::late(&format!("the controller {name}"))
        } else if parts.controllers.iter().any(|other| *other.name() == name) {
            let reason = "another controller of the manager has this name; set a different one with `named`";
            Ended::new(format!("the controller {name}"), reason)
        } else {
            parts.controllers.push(Arc::new(controller));
            return;
        };
        drop(parts);
        fail(&self.inner.fault, fault);
    }
}

/// Ends the manager, now or when it is run.
fn fail(fault: &watch::Sender<Option<Ended>>, ended: Ended) {
    fault.send_if_modified(|first| {
        let is_first = first.is_none();
        first.get_or_insert(ended);
        is_first
    });
}

impl Ended {
    fn late(part: &str) -> Self {
        Self::new(part, "it was added after the manager had started; add it before `run`")
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager").field("name", &self.inner.name).finish_non_exhaustive()
    }
}
