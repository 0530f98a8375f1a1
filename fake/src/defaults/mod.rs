//! What the server sets in objects of Kubernetes' own kinds.
//!
//! Defaults are set when an object is read, so the writer owns them. What admission and the kind itself set when an
//! object is written belongs to nobody.

mod kinds;
mod pod;
mod service;
mod workloads;

use serde_json::{Value, json};

use crate::{
    json::{at, set, set_default},
    kinds::Kind,
    metadata,
    storage::State,
};

/// Sets the defaults of an object of Kubernetes' own kinds.
pub(crate) fn apply(kind: &Kind, value: &mut Value) {
    shorten_quantities(value);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            pod::spec(at(value, "spec"));
            set_default(value, "spec.enableServiceLinks", true);
            pod::requests(at(value, "spec"));
            pod::status(value);
        }
        ("", "PodTemplate") => pod::spec(at(value, "template.spec")),
        ("", "ReplicationController") => workloads::replication_controller(value),
        ("apps", "Deployment") => workloads::deployment(value),
        ("apps", "ReplicaSet") => workloads::replica_set(value),
        ("apps", "StatefulSet") => workloads::stateful_set(value),
        ("apps", "DaemonSet") => workloads::daemon_set(value),
        ("batch", "Job") => workloads::job(at(value, "spec")),
        ("batch", "CronJob") => workloads::cron_job(value),
        ("", "Service") => service::defaults(value),
        _ => kinds::apply(kind, value),
    }
}

/// Sets what the server sets in a new object, beside its metadata. `state` gives addresses.
pub(crate) fn prepare_create(state: &mut State, kind: &Kind, value: &mut Value, time: &str) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::prepare_create(value),
        ("", "Service") => service::allocate(state, value, None),
        ("batch", "Job") => workloads::label_job(value),
        ("", "PersistentVolumeClaim") => {
            set(value, "status.phase", "Pending");
            add_finalizer(value, "kubernetes.io/pvc-protection");
        }
        ("", "PersistentVolume") => {
            set(value, "status.phase", "Pending");
            set(value, "status.lastPhaseTransitionTime", time);
            add_finalizer(value, "kubernetes.io/pv-protection");
        }
        ("", "Node") => {
            let taints = at(value, "spec.taints");
            let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
            match taints {
                Value::Array(taints) if taints.iter().any(|found| found["key"] == taint["key"]) => {}
                Value::Array(taints) => taints.push(taint),
                other => *other = json!([taint]),
            }
        }
        _ => {}
    }
}

/// Adds the fields that the server writes even if they are empty, and that nobody owns.
pub(crate) fn add_nulls(kind: &Kind, value: &mut Value) {
    let fields: &[&str] = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Event") => &["firstTimestamp", "lastTimestamp", "eventTime"],
        ("events.k8s.io", "Event") => &["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"],
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => &["rules"],
        ("autoscaling", "HorizontalPodAutoscaler") if kind.version == "v2" => &["status.currentMetrics"],
        _ => return,
    };
    for path in fields {
        let field = at(value, path);
        if field.as_array().is_some_and(Vec::is_empty) {
            *field = Value::Null;
        }
    }
}

/// Sets what the server keeps when an object is replaced.
pub(crate) fn prepare_update(state: &mut State, kind: &Kind, old: &Value, new: &mut Value) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::prepare_update(old, new),
        ("", "Service") => service::allocate(state, new, Some(old)),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crate::crds::add_stored_version(new),
        ("", "Namespace") => {
            let name = metadata::text(old, "name").to_owned();
            crate::namespaces::label(new, &name);
        }
        _ => {}
    }
}

fn add_finalizer(value: &mut Value, finalizer: &str) {
    let mut finalizers = metadata::finalizers(value);
    if !finalizers.iter().any(|found| found == finalizer) {
        finalizers.push(finalizer.to_owned());
        metadata::set_finalizers(value, finalizers);
    }
}

/// The fields whose values are quantities.
const QUANTITIES: [&str; 7] = ["limits", "requests", "capacity", "allocatable", "hard", "used", "overhead"];

/// Returns whether some quantity is none.
pub(crate) fn bad_quantity(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| match value {
            Value::Object(entries) if QUANTITIES.contains(&key.as_str()) => entries
                .values()
                .any(|entry| entry.as_str().is_some_and(|text| crate::quantity::canonical(text).is_none())),
            value => bad_quantity(value),
        }),
        Value::Array(items) => items.iter().any(bad_quantity),
        _ => false,
    }
}

/// Writes quantities in their shortest form.
fn shorten_quantities(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if key == "metadata" || key == "data" {
                    continue;
                }
                if QUANTITIES.contains(&key.as_str())
                    && let Value::Object(entries) = value
                {
                    for entry in entries.values_mut() {
                        let text = match &*entry {
                            Value::Number(number) => number.to_string(),
                            Value::String(text) => text.clone(),
                            _ => continue,
                        };
                        *entry = crate::quantity::canonical(&text).unwrap_or(text).into();
                    }
                } else {
                    shorten_quantities(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_quantities),
        _ => {}
    }
}

/// Calls a function for every item of a list.
fn each(value: &mut Value, path: &str, change: impl FnMut(&mut Value)) {
    if let Some(items) =
        value.pointer_mut(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_array_mut)
    {
        items.iter_mut().for_each(change);
    }
}

/// Sets fields that are absent: a path and its default for each.
fn set_defaults(value: &mut Value, defaults: &[(&str, Value)]) {
    for (path, default) in defaults {
        set_default(value, path, default.clone());
    }
}
