//! The requests of the typed client, and how it handles the responses.

mod answers;
mod apply;
mod connect;
mod dynamic;
mod extract;
mod limits;
mod pages;
mod requests;
#[path = "../support/mod.rs"]
mod support;
mod update_with;
mod watch;

use genclient_runtime::TypedClient;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;
use support::*;

/// A client in namespace `default` of this server.
fn served_by(handler: impl Handler) -> (TypedClient<ConfigMap>, Log) {
    let (client, log) = in_process(handler);
    (TypedClient::namespaced(client, "default"), log)
}

/// A client in namespace `default` whose server answers everything with `answer`.
fn answering(answer: Value) -> (TypedClient<ConfigMap>, Log) {
    served_by(move |_: Received| Answer::json(answer.clone()))
}

fn object(name: &str) -> ConfigMap {
    serde_json::from_value(config_map(name, 5)).expect("it is a ConfigMap")
}
