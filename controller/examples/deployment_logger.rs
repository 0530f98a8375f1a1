//! The smallest controller: it logs every Deployment that is added, updated or deleted.
//!
//! It shows the whole path of an event. The factory owns one informer of Deployments; the informer's handler
//! queues the key of each object that changes; two workers take keys, and read the objects from the cache.
//!
//! A key says that something changed, not what. However many changes happen before a worker takes the key, the
//! worker sees only the last state: it is level-triggered. What happened is the difference between that state and
//! the one that was logged last, so this program needs nothing but the cache to tell an update from a new object.

use std::{
    collections::HashMap,
    convert::Infallible,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use clap::Parser;
use genclient_runtime::{
    Action, Event, ObjectKey, WorkQueue,
    cli::{self, ClusterArgs, ControllerArgs, Failure, LogArgs, Shutdown},
    control_loop::ControlLoop,
    k8s_openapi::api::apps::v1::Deployment,
};
use kubernetes_client::{
    clientset::Clientset, informers::SharedInformerFactory, listers::apps::v1::DeploymentLister,
};
use tracing::{debug, info};

/// Logs every Deployment that is added, updated or deleted.
///
/// It only reads: it needs the verbs list and watch of deployments. The first SIGINT or SIGTERM ends it with 0.
#[derive(Parser)]
#[command(name = "deployment_logger", max_term_width = 100)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    controller: ControllerArgs,

    /// The period after which the handler is called with every object again, at least 1s; 0s for never. An
    /// unchanged object is not queued; -v logs it.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = cli::duration)]
    resync: Duration,

    #[command(flatten)]
    log: LogArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    args.log.init(&[env!("CARGO_CRATE_NAME")]);
    cli::run(|shutdown| run(args, shutdown)).await
}

async fn run(args: Args, shutdown: Shutdown) -> Result<(), Failure> {
    let clientset = Clientset::new(args.cluster.connect().await?);
    let factory = SharedInformerFactory::builder(clientset)
        .namespaces(args.controller.namespaces)
        .resync(args.resync)
        .try_build()?;
    let deployments = factory.apps().v1().deployments();

    let queue = WorkQueue::new("deployments");
    let keys = queue.clone();
    deployments.informer().add_event_handler(move |event: &Event<Deployment>| {
        if event.is_resync() {
            debug!(key = %event.key(), "resynced: unchanged, and not queued");
        } else {
            // A queue refuses keys only while the program ends.
            let _ = keys.add(event.key());
        }
    });

    let logger = Arc::new(Logger { deployments: deployments.lister(), logged: Mutex::default() });
    let sync = move |key: ObjectKey| {
        let logger = logger.clone();
        async move { logger.sync(&key) }
    };
    ControlLoop::new("deployment", queue)
        .factory(factory.factory())
        .run(args.controller.workers, sync, shutdown)
        .await?;
    Ok(())
}

/// Logs the difference between what is and what was logged.
struct Logger {
    deployments: DeploymentLister,
    /// The last state of each object that was logged.
    logged: Mutex<HashMap<ObjectKey, Arc<Deployment>>>,
}

impl Logger {
    /// Logs what has happened to the object with this key.
    fn sync(&self, key: &ObjectKey) -> Result<Action, Infallible> {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let now = self.deployments.deployments(namespace).get(&key.name);
        let before = {
            let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
            match &now {
                Some(now) => logged.insert(key.clone(), now.clone()),
                None => logged.remove(key),
            }
        };
        match (before, now) {
            (None, Some(now)) => log("added", key, &now),
            (Some(before), Some(now)) if before.metadata.uid != now.metadata.uid => {
                // It was deleted and created again under its name, faster than a worker could look.
                log("deleted", key, &before);
                log("added", key, &now);
            }
            (Some(before), Some(now))
                if before.metadata.resource_version != now.metadata.resource_version =>
            {
                log("updated", key, &now);
            }
            (Some(_), Some(_)) => debug!(%key, "logged already"),
            (Some(before), None) => log("deleted", key, &before),
            (None, None) => debug!(%key, "came and went unseen"),
        }
        Ok(Action::await_change())
    }
}

fn log(what: &str, key: &ObjectKey, deployment: &Deployment) {
    let version = deployment.metadata.resource_version.as_deref();
    let wanted = deployment.spec.replicas;
    let available =
        deployment.status.as_ref().and_then(|status| status.available_replicas).unwrap_or_default();
    info!(%key, version, wanted, available, "deployment {what}");
}
