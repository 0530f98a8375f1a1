//! The smallest program on an informer: it logs the Pods that are added and updated, and which of them are marked.
//!
//! It shows that an informer needs no queue and no workers if all that happens to an event is done at once. The
//! handler is a closure; it is called with one event after the other, in the order of each object's changes, and
//! with every Pod that exists at the start. What can fail, and must then be tried again, belongs into a queue, as
//! the other examples have it.

use std::process::ExitCode;

use clap::Parser;
use genclient_runtime::{
    Event,
    cli::{self, ClusterArgs, Failure, LogArgs, Shutdown},
    k8s_openapi::api::core::v1::Pod,
};
use kubernetes_client::{clientset::Clientset, informers::SharedInformerFactory};
use tracing::info;

/// The annotation of a good Pod: its name and its value.
const ANNOTATION: (&str, &str) = ("app", "bjzdgt.com");
/// The label that is looked for, with any value.
const LABEL: &str = "test";

/// Logs the Pods that are added and updated, and says which of them have the annotation `app: bjzdgt.com` and which
/// the label `test`.
///
/// It only reads: it needs the verbs list and watch of pods. The first SIGINT or SIGTERM ends it with 0.
#[derive(Parser)]
#[command(name = "pod_watch", max_term_width = 100)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// A namespace to watch; may be given several times; by default all namespaces are watched.
    #[arg(long = "namespace", value_name = "NAME")]
    namespaces: Vec<String>,

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
    let factory = SharedInformerFactory::builder(clientset).namespaces(args.namespaces).try_build()?;
    factory.core().v1().pods().informer().add_event_handler(|event: &Event<Pod>| match event {
        Event::Added { object, .. } => log("added", event, object),
        Event::Updated { new, .. } => log("updated", event, new),
        Event::Deleted { .. } => {}
    });
    factory.start();
    tokio::select! {
        () = shutdown => {}
        ended = factory.factory().informer_ended() => return Err(format!("{ended} ended: {}", ended.reason).into()),
    }
    factory.shutdown().await;
    Ok(())
}

fn log(what: &str, event: &Event<Pod>, pod: &Pod) {
    let key = event.key();
    info!(%key, "pod {what}");
    let (name, value) = ANNOTATION;
    if pod.metadata.annotations.as_ref().and_then(|all| all.get(name)).is_some_and(|found| found == value) {
        info!(%key, "this pod is a good pod");
    }
    if let Some(value) = pod.metadata.labels.as_ref().and_then(|all| all.get(LABEL)) {
        info!(%key, value, "it has the label {LABEL}");
    }
}
