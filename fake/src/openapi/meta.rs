//! The kinds of `meta.k8s.io` and `autoscaling` that every document refers to.

use serde_json::{Map, Value, json};

use super::reference;

pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
pub(super) const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const OWNER_REFERENCE: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";
const MANAGED_FIELDS_ENTRY: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry";
const FIELDS_V1: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";

/// The schemas that every document has.
pub(super) fn schemas() -> Map<String, Value> {
    let text = || json!({ "type": "string" });
    let flag = || json!({ "type": "boolean" });
    let integer = || json!({ "type": "integer", "format": "int64" });
    let texts = || json!({ "type": "object", "additionalProperties": { "type": "string", "default": "" } });
    let list = |item: &str, keys: &[&str]| {
        let mut list = json!({ "type": "array", "items": { "allOf": [reference(item)], "default": {} } });
        if keys.is_empty() {
            list["x-kubernetes-list-type"] = "atomic".into();
        } else {
            list["x-kubernetes-list-type"] = "map".into();
            list["x-kubernetes-list-map-keys"] = json!(keys);
            list["x-kubernetes-patch-merge-key"] = json!(keys[0]);
            list["x-kubernetes-patch-strategy"] = "merge".into();
        }
        list
    };
    let schemas = json!({
        OBJECT_META: {
            "description": "What every object has: its name, and what clients and the server note about it.",
            "type": "object",
            "properties": {
                "annotations": texts(),
                "creationTimestamp": reference(TIME),
                "deletionGracePeriodSeconds": integer(),
                "deletionTimestamp": reference(TIME),
                "finalizers": {
                    "type": "array",
                    "items": { "type": "string", "default": "" },
                    "x-kubernetes-list-type": "set",
                    "x-kubernetes-patch-strategy": "merge",
                },
                "generateName": text(),
                "generation": integer(),
                "labels": texts(),
                "managedFields": list(MANAGED_FIELDS_ENTRY, &[]),
                "name": text(),
                "namespace": text(),
                "ownerReferences": list(OWNER_REFERENCE, &["uid"]),
                "resourceVersion": text(),
                "selfLink": text(),
                "uid": text(),
            },
        },
        LIST_META: {
            "description": "What every list has.",
            "type": "object",
            "properties": {
                "continue": text(),
                "remainingItemCount": integer(),
                "resourceVersion": text(),
                "selfLink": text(),
            },
        },
        OWNER_REFERENCE: {
            "description": "The object that this one belongs to.",
            "type": "object",
            "required": ["apiVersion", "kind", "name", "uid"],
            "properties": {
                "apiVersion": text(),
                "blockOwnerDeletion": flag(),
                "controller": flag(),
                "kind": text(),
                "name": text(),
                "uid": text(),
            },
            "x-kubernetes-map-type": "atomic",
        },
        MANAGED_FIELDS_ENTRY: {
            "description": "The fields that one manager has written.",
            "type": "object",
            "properties": {
                "apiVersion": text(),
                "fieldsType": text(),
                "fieldsV1": reference(FIELDS_V1),
                "manager": text(),
                "operation": text(),
                "subresource": text(),
                "time": reference(TIME),
            },
        },
        FIELDS_V1: { "description": "A set of fields.", "type": "object" },
        TIME: { "description": "A time as RFC 3339 writes it.", "type": "string", "format": "date-time" },
        PATCH: { "description": "The body of a patch.", "type": "object" },
    });
    into_map(schemas)
}

/// The schemas of the subresource `scale`.
pub(super) fn scale() -> Map<String, Value> {
    let replicas = || json!({ "type": "integer", "format": "int32" });
    let text = || json!({ "type": "string" });
    into_map(json!({
        SCALE: {
            "description": "How many replicas there should be, and are.",
            "type": "object",
            "properties": {
                "apiVersion": text(),
                "kind": text(),
                "metadata": reference(OBJECT_META),
                "spec": { "type": "object", "properties": { "replicas": replicas() } },
                "status": { "type": "object", "properties": { "replicas": replicas(), "selector": text() } },
            },
            "x-kubernetes-group-version-kind": [{ "group": "autoscaling", "version": "v1", "kind": "Scale" }],
        },
    }))
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
