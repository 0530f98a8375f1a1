mod apply;
mod update;

use serde_json::json;

use super::*;

const VERSION: &str = "samplecrd.k8s.io/v1";

fn schema() -> Schema {
    let port = json!({
        "type": "object",
        "properties": {
            "port": { "type": "integer" },
            "protocol": { "type": "string", "default": "TCP" },
            "name": { "type": "string" },
        },
    });
    Schema::from_crd(&json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "cidr": { "type": "string" },
                    "gateway": { "type": "string" },
                    "routes": { "type": "array", "items": { "type": "string" } },
                    "zones": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
                    "ports": {
                        "type": "array",
                        "items": port,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "protocol"],
                    },
                    "selector": {
                        "type": "object",
                        "additionalProperties": { "type": "string" },
                        "x-kubernetes-map-type": "atomic",
                    },
                    "options": { "type": "object", "properties": { "a": { "type": "string" } } },
                },
            },
            "status": { "type": "object", "properties": { "phase": { "type": "string" } } },
        },
    }))
    .expect("the schema is valid")
}

fn network(spec: Value) -> Value {
    json!({ "apiVersion": VERSION, "kind": "Network", "metadata": { "name": "n" }, "spec": spec })
}

fn writer(manager: &str) -> Writer {
    Writer::new(manager, VERSION)
}

#[track_caller]
fn apply(manager: &str, live: Option<&Value>, spec: Value) -> Value {
    writer(manager).apply(live, &network(spec), &schema()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn update(manager: &str, live: Option<&Value>, spec: Value) -> Value {
    writer(manager).update(live, &network(spec), &schema()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn conflict(manager: &str, live: &Value, spec: Value) -> String {
    writer(manager).apply(Some(live), &network(spec), &schema()).unwrap_err().to_string()
}

/// The fields of each manager, below `.spec`.
fn owners(object: &Value) -> Value {
    let managed = ManagedFields::of(object).expect("the entries are valid");
    let fields = |entry: &ManagedFieldsEntry| entry.fields.to_json()["f:spec"].clone();
    managed.entries().iter().map(|entry| (entry.manager.clone(), fields(entry))).collect::<Map<_, _>>().into()
}
