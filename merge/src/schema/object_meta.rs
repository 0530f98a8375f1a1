//! The metadata that all objects have.

use serde_json::{Value, json};

/// The name that the API server gives to the definition.
pub(super) const NAME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Returns the part of the definition that says how metadata merges.
///
/// CRDs do not carry it: the API server adds it to each of them.
pub(super) fn definition() -> Value {
    let string = || json!({ "type": "string" });
    let strings = || json!({ "type": "object", "additionalProperties": { "type": "string" } });
    json!({
        "type": "object",
        "properties": {
            "annotations": strings(),
            "creationTimestamp": { "type": "string", "format": "date-time" },
            "deletionGracePeriodSeconds": { "type": "integer" },
            "deletionTimestamp": { "type": "string", "format": "date-time" },
            "finalizers": {
                "type": "array",
                "items": string(),
                "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
            },
            "generateName": string(),
            "generation": { "type": "integer" },
            "labels": strings(),
            "managedFields": {
                "type": "array",
                "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                "x-kubernetes-list-type": "atomic",
            },
            "name": string(),
            "namespace": string(),
            "ownerReferences": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "apiVersion": string(),
                        "blockOwnerDeletion": { "type": "boolean" },
                        "controller": { "type": "boolean" },
                        "kind": string(),
                        "name": string(),
                        "uid": string(),
                    },
                    "x-kubernetes-map-type": "atomic",
                },
                "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-list-type": "map",
                "x-kubernetes-patch-merge-key": "uid",
                "x-kubernetes-patch-strategy": "merge",
            },
            "resourceVersion": string(),
            "selfLink": string(),
            "uid": string(),
        },
    })
}
