//! The counterpart of Kubernetes' sample-controller: one Deployment for each AppService.
//!
//! It shows a controller that owns what it makes:
//! - The Deployment has a controller reference to its AppService. A change of the Deployment queues the AppService,
//!   and the garbage collector deletes it with the AppService.
//! - The controller writes with server-side apply, as a field manager of its own. It owns the replicas, the image, a
//!   few labels with the selector of them, and its reference, and forces these alone; whatever others set in the
//!   Deployment stays.
//! - A Deployment that is not controlled by the AppService is never touched. It is reported in a Warning event and in
//!   the condition `Available` of the status, and once it is gone its name is used. If one appears between the look
//!   into the cache and the first apply, that apply does not force: every field that it would change is a conflict.
//! - A Deployment under an earlier name goes only when the one under the new name is there.
//! - The status is written through its subresource, and only if it changed; conditions of others stay.
//!
//! `reconcile` looks at one AppService at a time; `deployment` says what is applied, and `status` what is reported,
//! both of which are pure. `controller/tests/app_service.rs` tests them on an API server in memory.

mod deployment;
mod reconcile;
mod status;

use std::{process::ExitCode, sync::Arc};

use clap::Parser;
use genclient_runtime::{
    Controller, Manager, ObjectKey,
    cli::{self, ClusterArgs, ControllerArgs, Failure, LogArgs, Shutdown},
    k8s_openapi::api::apps::v1::Deployment,
};
use samplecrd_apis::appcontroller::v1alpha1::AppService;

use self::reconcile::{NAME, Reconciler};

/// Keeps one Deployment for each AppService, with its replicas and its image, and reports in the status how many
/// replicas are available.
///
/// The definition of AppService is generated/samplecrd/crds/appservices.appcontroller.k8s.io.yaml; the controller
/// waits until it is there. The first SIGINT or SIGTERM lets running keys finish and ends it with 0.
#[derive(Parser)]
#[command(name = "app_service", max_term_width = 100)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    controller: ControllerArgs,

    /// The image of an AppService that names none.
    #[arg(long, value_name = "IMAGE", default_value = "nginx:1.29")]
    image: String,

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
    let client = args.cluster.connect().await?;
    let manager = Manager::builder(NAME).namespaces(args.controller.namespaces).build(client)?;
    // A Deployment of somebody else that is in the way of an AppService has the name that it wants.
    let wanted = manager.factory().informer::<AppService>().add_index("deployment", |app: &AppService| {
        let namespace = app.metadata.namespace.clone().unwrap_or_default();
        [ObjectKey::namespaced(namespace, app.spec.deployment_name.clone())]
    })?;
    let reconciler = Arc::new(Reconciler::new(&manager, args.image)?);
    Controller::<AppService>::new(&manager)
        .owns::<Deployment>()
        .watches::<Deployment>(move |deployment| {
            wanted.get(&ObjectKey::of(deployment)).iter().map(|app| ObjectKey::of(&**app)).collect()
        })
        .workers(args.controller.workers)
        .run_keys_with(reconciler, |key, reconciler: Arc<Reconciler>| reconciler.reconcile(key));
    Ok(manager.run_until(shutdown).await?)
}
