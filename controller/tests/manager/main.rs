//! Controllers and managers on an API server in memory, in paused time.
#![allow(clippy::duplicate_mod, reason = "one example uses the types of another one")]

#[path = "../../examples/by_hand.rs"]
#[allow(dead_code, reason = "its `main` is not called")]
mod by_hand;
mod leaders;
mod objects;
mod own_writes;
mod retries;
mod running;
#[path = "../../examples/smallest.rs"]
#[allow(dead_code, reason = "its `main` is not called")]
mod smallest;
mod smallest_on_the_fake;
mod stopping;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use genclient_fake::Server;
use genclient_runtime::{
    Action, Error, Manager, TypedClient,
    control_loop::Ended,
    k8s_openapi::api::core::v1::{ConfigMap, Secret},
    kube::ResourceExt as _,
    manager::Builder,
};
use tokio::task::JoinHandle;

const SECOND: Duration = Duration::from_secs(1);

/// A server, and a manager on it.
struct Test {
    server: Server,
    manager: Manager,
}

/// A manager that runs.
struct Running {
    manager: Manager,
    task: JoinHandle<Result<(), Ended>>,
}

impl Test {
    fn new() -> Self {
        Self::with(|builder| builder)
    }

    fn with(configure: impl FnOnce(Builder) -> Builder) -> Self {
        let server = Server::builder().record_actions().build();
        let manager = configure(Manager::builder("test")).build(server.client()).unwrap();
        Self { server, manager }
    }

    fn config_maps(&self) -> TypedClient<ConfigMap> {
        TypedClient::namespaced(self.server.client(), "default")
    }

    fn secrets(&self) -> TypedClient<Secret> {
        TypedClient::namespaced(self.server.client(), "default")
    }

    fn start(&self) -> Running {
        start(&self.manager)
    }
}

fn start(manager: &Manager) -> Running {
    let running = manager.clone();
    let task = tokio::spawn(async move { running.run_until(std::future::pending()).await });
    Running { manager: manager.clone(), task }
}

impl Running {
    /// Shuts the manager down, which has to end in order.
    async fn stop(self) {
        self.manager.shutdown_token().cancel();
        self.task.await.unwrap().unwrap();
    }

    /// Waits for the error of the manager.
    async fn failed(self) -> Ended {
        self.task.await.unwrap().unwrap_err()
    }
}

/// Waits until the controllers have nothing to do for a while.
async fn settle() {
    tokio::time::sleep(20 * SECOND).await;
}

fn config_map(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some("default".to_owned());
    object
}

/// Sets a value of a ConfigMap.
fn set(key: &'static str, value: impl ToString) -> impl FnMut(&mut ConfigMap) + Send {
    let value = value.to_string();
    move |object| _ = object.data.get_or_insert_default().insert(key.to_owned(), value.clone())
}

/// Counts reconciliations.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl Counter {
    fn count(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    fn get(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// A reconciliation that only counts.
async fn count(_: Arc<ConfigMap>, counter: Arc<Counter>) -> Result<Action, Error> {
    counter.count();
    Ok(Action::await_change())
}
