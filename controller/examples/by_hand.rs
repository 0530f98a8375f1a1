//! The controller of [`smallest`] without `Controller` and `Manager`: what they do for it, written out.
//!
//! Informers, queue and control loop are wired by hand, which leaves every step open to change. What is missing here is
//! the lease, and the guarantees about the controller's own writes.

use std::{sync::Arc, time::Duration};

use genclient_runtime::{
    Action, Client, Error, InformerFactory, ObjectKey, RestClient, SharedInformer, TypedClient, WorkQueue,
    client, conditions, control_loop::ControlLoop, enqueue, k8s_openapi::api::apps::v1::Deployment,
};

use self::smallest::{App, deployment};

#[path = "smallest.rs"]
#[allow(dead_code, reason = "only its types are used")]
mod smallest;

const FINALIZER: &str = "example.com/app";

async fn cleanup(app: &App) -> Result<(), Error> {
    tracing::info!(app = app.metadata.name, "cleaning up outside of the cluster");
    Ok(())
}

// The controller begins here.
struct Context {
    client: RestClient,
    apps: SharedInformer<App>,
    deployments: SharedInformer<Deployment>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt::init();
    let client = client::try_default().await?;
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    control(client, stop).await
}

pub(crate) async fn control(
    client: Client,
    stop: impl Future<Output = ()>,
) -> Result<(), Box<dyn std::error::Error>> {
    let factory = InformerFactory::builder(client.clone()).try_build()?;
    let (apps, deployments) = (factory.informer::<App>(), factory.informer::<Deployment>());
    let queue = WorkQueue::new("apps");
    apps.add_event_handler(enqueue::changed(&queue));
    deployments.add_event_handler(enqueue::controller::<App, _>(&queue));
    let client = RestClient::new(client).field_manager("app-controller");
    let context = Arc::new(Context { client, apps, deployments });
    let reconcile = move |key: ObjectKey| {
        let context = context.clone();
        async move { context.reconcile(key).await }
    };
    ControlLoop::new("app", queue).factory(&factory).run(2, reconcile, stop).await?;
    Ok(())
}

impl Context {
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let Some(app) = self.apps.store().get(&key) else { return Ok(Action::await_change()) };
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let apps = TypedClient::<App>::namespaced(self.client.clone(), namespace);
        let has = app.metadata.finalizers.iter().flatten().any(|name| name == FINALIZER);
        if app.metadata.deletion_timestamp.is_some() {
            if has {
                cleanup(&app).await?;
                let remove = |app: &mut App| {
                    app.metadata.finalizers.get_or_insert_default().retain(|name| name != FINALIZER)
                };
                match apps.update_with(&key.name, remove).from(app).await {
                    Err(error) if !error.is_not_found() => return Err(error),
                    _ => {}
                }
            }
            return Ok(Action::await_change());
        }
        if !has {
            let add = |app: &mut App| app.metadata.finalizers.get_or_insert_default().push(FINALIZER.into());
            apps.update_with(&key.name, add).from(app).await?;
            return Ok(Action::await_change());
        }
        let deployments = TypedClient::<Deployment>::namespaced(self.client.clone(), namespace);
        deployments.apply_untyped(&deployment(&app)).force().await?;
        let found = self.deployments.store().get(&key);
        let ready = found.and_then(|found| found.status.as_ref()?.available_replicas).unwrap_or(0);
        let report = |app: &mut App| {
            let condition = conditions::new("Ready", ready > 0, "Counted", "", app.metadata.generation);
            let status = app.status.get_or_insert_default();
            status.ready = ready;
            conditions::set(&mut status.conditions, condition);
        };
        apps.update_status_with(&key.name, report).from(app).await?;
        Ok(Action::requeue(Duration::from_secs(300)))
    }
}
