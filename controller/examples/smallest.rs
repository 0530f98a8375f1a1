//! The smallest complete controller: two kinds, owners, a finalizer, a status, and one leader among replicas.
//!
//! It keeps a Deployment for each App, and reports in the App's status how many replicas are available.

use std::{sync::Arc, time::Duration};

use genclient_runtime::{
    Action, Controller, Error, GenClient, Manager, ObjectMeta, TypedClient, conditions,
    k8s_openapi::{api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::Condition},
    kube::ResourceExt as _,
    owner,
    schemars::JsonSchema,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

genclient_runtime::group_version!("example.com/v1");

/// App is a program that runs in a number of replicas.
#[derive(Clone, Debug, PartialEq, GenClient)]
pub struct App {
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: AppSpec,
    /// The observed state.
    pub status: Option<AppStatus>,
}

/// AppSpec is the desired state of an App.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppSpec {
    /// The image of the program.
    pub image: String,
    /// The number of replicas.
    pub replicas: i32,
}

/// AppStatus is the observed state of an App.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppStatus {
    /// The number of available replicas.
    pub ready: i32,
    /// The latest observations.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

pub(crate) fn deployment(app: &App) -> Value {
    let (name, labels) = (app.name_any(), json!({ "app": app.name_any() }));
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "namespace": app.namespace(), "ownerReferences": [owner::controller_ref(app)] },
        "spec": {
            "replicas": app.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "app", "image": app.spec.image }] },
            },
        },
    })
}

// The controller begins here.
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt::init();
    let manager = Manager::builder("app-controller").lease("default/app-controller").connect().await?;
    control(&manager);
    Ok(manager.run().await?)
}

pub(crate) fn control(manager: &Manager) {
    Controller::<App>::new(manager).owns::<Deployment>().finalizer("example.com/app", cleanup).run(reconcile);
}

async fn reconcile(app: Arc<App>, manager: Arc<Manager>) -> Result<Action, Error> {
    let namespace = app.namespace().unwrap_or_default();
    let deployments = TypedClient::<Deployment>::namespaced(manager.client(), &namespace);
    let deployment = deployments.apply_untyped(&deployment(&app)).force().await?;
    let ready = deployment.status.and_then(|status| status.available_replicas).unwrap_or(0);
    let report = |app: &mut App| {
        let condition = conditions::new("Ready", ready > 0, "Counted", "", app.metadata.generation);
        let status = app.status.get_or_insert_default();
        status.ready = ready;
        conditions::set(&mut status.conditions, condition);
    };
    let apps = TypedClient::<App>::namespaced(manager.client(), &namespace);
    apps.update_status_with(&app.name_any(), report).from(app).await?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

async fn cleanup(app: Arc<App>, _: Arc<Manager>) -> Result<(), Error> {
    tracing::info!(app = app.name_any(), "cleaning up outside of the cluster");
    Ok(())
}
