//! The custom resources that scenarios share, in the group [`GROUP`].
//!
//! | kind | scope | what it has |
//! | --- | --- | --- |
//! | Widget | namespaced | a schema with every kind of rule, status, scale, columns, selectable fields |
//! | Gadget | namespaced | neither status nor scale; unknown fields are kept |
//! | Zone | cluster | status |
//! | Ticket | namespaced | versions v1 (stored) and v1beta1, not converted |

use serde_json::{Value, json};

use crate::{
    Target,
    scenario::{create, established, served},
};

/// The group of the shared kinds.
pub const GROUP: &str = "parity.example.com";

/// The path of definitions.
pub const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The path of the scenario's widgets.
pub const WIDGETS: &str = "/apis/parity.example.com/v1/namespaces/{ns}/widgets";

/// The path of the scenario's gadgets.
pub const GADGETS: &str = "/apis/parity.example.com/v1/namespaces/{ns}/gadgets";

/// The path of zones. Their names begin with `{id}`, so that scenarios do not disturb each other.
pub const ZONES: &str = "/apis/parity.example.com/v1/zones";

/// The path of the scenario's tickets, in the version that is stored.
pub const TICKETS: &str = "/apis/parity.example.com/v1/namespaces/{ns}/tickets";

/// The path of the scenario's tickets in the other version.
pub const TICKETS_BETA: &str = "/apis/parity.example.com/v1beta1/namespaces/{ns}/tickets";

/// The path of the scenario's config maps.
pub const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

/// Creates the definitions, and waits until they are served.
pub(crate) async fn install(target: &Target) {
    let definitions = [widget_definition(), gadget_definition(), zone_definition(), ticket_definition()];
    for definition in &definitions {
        let answer = target.ask(create(CRDS, definition.clone())).await;
        let status = answer["status"].as_u64();
        assert!(matches!(status, Some(201 | 409)), "{} refuses a definition: {answer:#}", target.name);
    }
    for definition in &definitions {
        let name = definition["metadata"]["name"].as_str().expect("a definition has a name");
        let answer = target.ask(established(name)).await;
        assert_eq!(answer["status"], 200, "{} has the definition: {answer:#}", target.name);
        let plural = definition["spec"]["names"]["plural"].as_str().expect("a definition has a plural");
        for version in definition["spec"]["versions"].as_array().expect("a definition has versions") {
            let version = version["name"].as_str().expect("a version has a name");
            let answer = target.ask(served(format!("/apis/{GROUP}/{version}/{plural}"))).await;
            assert_eq!(answer["status"], 200, "{} serves {name}: {answer:#}", target.name);
        }
    }
}

/// A definition with one version, `v1`, and this schema for everything but the metadata.
pub fn definition(group: &str, kind: &str, scope: &str, properties: Value) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
            }],
        },
    })
}

fn widget_definition() -> Value {
    let mut definition = definition(
        GROUP,
        "Widget",
        "Namespaced",
        json!({
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100},
                    "color": {"type": "string", "enum": ["red", "green", "blue"]},
                    "shape": {"type": "string", "default": "round"},
                    "title": {"type": "string", "maxLength": 20, "minLength": 2, "pattern": "^[a-z]+$"},
                    "weight": {"type": "number", "multipleOf": 0.5},
                    "active": {"type": "boolean"},
                    "port": {"x-kubernetes-int-or-string": true},
                    "note": {"type": "string", "nullable": true},
                    "due": {"type": "string", "format": "date-time"},
                    "replicas": {"type": "integer"},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "args": {"type": "array", "items": {"type": "string"}, "maxItems": 4},
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string"},
                                "number": {"type": "integer"},
                                "protocol": {"type": "string", "default": "TCP"},
                            },
                        },
                    },
                    "options": {"type": "object", "additionalProperties": {"type": "string"}},
                    "atomic": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    },
                    "nested": {
                        "type": "object",
                        "required": ["key"],
                        "properties": {
                            "key": {"type": "string"},
                            "depth": {"type": "integer", "default": 1},
                        },
                    },
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "low": {"type": "integer"},
                    "high": {"type": "integer"},
                    "fixed": {
                        "type": "string",
                        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
                    },
                },
                "x-kubernetes-validations": [{
                    "rule": "!has(self.low) || !has(self.high) || self.low <= self.high",
                    "message": "low must not be above high",
                }],
            },
            "status": {
                "type": "object",
                "properties": {
                    "phase": {"type": "string"},
                    "replicas": {"type": "integer"},
                    "selector": {"type": "string"},
                    "observed": {"type": "integer"},
                    "conditions": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["type"],
                        "items": {
                            "type": "object",
                            "required": ["type", "status"],
                            "properties": {
                                "type": {"type": "string"},
                                "status": {"type": "string"},
                                "reason": {"type": "string"},
                            },
                        },
                    },
                },
            },
        }),
    );
    definition["spec"]["names"]["shortNames"] = json!(["wd"]);
    definition["spec"]["names"]["categories"] = json!(["all", "parts"]);
    let version = &mut definition["spec"]["versions"][0];
    version["subresources"] = json!({
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    });
    version["selectableFields"] = json!([{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}]);
    version["additionalPrinterColumns"] = json!([
        {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large it is."},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    definition
}

fn gadget_definition() -> Value {
    let mut definition = definition(GROUP, "Gadget", "Namespaced", json!({}));
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
    });
    definition
}

fn zone_definition() -> Value {
    let mut definition = definition(
        GROUP,
        "Zone",
        "Cluster",
        json!({
            "spec": {"type": "object", "properties": {"domain": {"type": "string"}}},
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        }),
    );
    definition["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    definition
}

fn ticket_definition() -> Value {
    let properties = json!({
        "spec": {"type": "object", "properties": {"subject": {"type": "string"}, "old": {"type": "string"}}},
    });
    let mut definition = definition(GROUP, "Ticket", "Namespaced", properties.clone());
    let beta = json!({
        "name": "v1beta1",
        "served": true,
        "storage": false,
        "deprecated": true,
        "deprecationWarning": "tickets are v1 now",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    });
    definition["spec"]["versions"].as_array_mut().expect("a list").push(beta);
    definition
}

/// A config map with this data.
pub fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A config map with this label.
pub fn labelled(name: &str, key: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {key: value}}})
}

/// A widget.
pub fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

/// A gadget.
pub fn gadget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "parity.example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec})
}

/// A zone.
pub fn zone(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "parity.example.com/v1", "kind": "Zone", "metadata": {"name": name}, "spec": spec})
}

/// A ticket of this version.
pub fn ticket(version: &str, name: &str, spec: Value) -> Value {
    let api_version = format!("{GROUP}/{version}");
    json!({"apiVersion": api_version, "kind": "Ticket", "metadata": {"name": name}, "spec": spec})
}

/// The object with more metadata (a JSON merge patch).
pub fn with_metadata(mut object: Value, metadata: Value) -> Value {
    let fields = metadata.as_object().expect("metadata is an object");
    for (key, value) in fields {
        object["metadata"][key] = value.clone();
    }
    object
}
