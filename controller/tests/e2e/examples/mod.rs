//! The examples as users run them, against a real API server.

mod app_service;
mod deployment_logger;
mod deployment_network;
mod pod_watch;
mod programs;
mod sidecar_injector;

use serde_json::{Value, json};

use crate::support::{Cluster, eventually};

/// A Pod with these annotations and labels.
fn pod(name: &str, annotations: Value, labels: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "annotations": annotations, "labels": labels },
        "spec": { "containers": [{ "name": "main", "image": "busybox" }] },
    })
}

/// Applies an object in a namespace. A new namespace takes no Pods before its service account is there.
async fn apply(cluster: &Cluster<'_>, object: &Value) {
    let args = ["--namespace", &cluster.namespace, "apply", "-f", "-"];
    let text = object.to_string();
    let applied =
        async || cluster.env.kubectl_with_input(&args, &text).await.map_err(|error| error.to_string());
    eventually("the object is applied", applied, Result::is_ok).await.unwrap();
}
