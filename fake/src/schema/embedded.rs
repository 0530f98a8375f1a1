//! Objects within objects: `x-kubernetes-embedded-resource`.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::{
    cause::{Cause, Shown},
    model::{Additional, Schema},
    path,
};

const TEXTS: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
];
const OTHERS: &[&str] = &["generation", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers"];
const OWNER: &[&str] = &["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
const MANAGED: &[&str] =
    &["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

/// Removes from the metadata of embedded objects what an `ObjectMeta` does not have, and returns the paths in order.
pub(super) fn prune_metadata(value: &mut Value, schema: &Schema) -> Vec<String> {
    let mut paths = Vec::new();
    prune(value, schema, false, "", &mut paths);
    paths.sort_unstable();
    paths
}

fn prune(value: &mut Value, schema: &Schema, embedded: bool, at: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if embedded && let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                prune_object_meta(metadata, &path::child(at, "metadata"), paths);
            }
            for (name, value) in fields.iter_mut() {
                if let Some(schema) = schema.properties.get(name) {
                    prune(value, schema, schema.embedded, &path::child(at, name), paths);
                } else if let Some(schema) = schema.additional.as_ref().and_then(Additional::schema) {
                    prune(value, schema, schema.embedded, &path::key(at, name), paths);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for (i, item) in items.iter_mut().enumerate() {
                prune(item, schema, schema.embedded, &path::index(at, i), paths);
            }
        }
        _ => {}
    }
}

fn prune_object_meta(metadata: &mut Map<String, Value>, at: &str, paths: &mut Vec<String>) {
    retain(metadata, &[TEXTS, OTHERS, &["ownerReferences", "managedFields"]].concat(), at, paths);
    for (list, known) in [("ownerReferences", OWNER), ("managedFields", MANAGED)] {
        let Some(Value::Array(items)) = metadata.get_mut(list) else { continue };
        for (i, item) in items.iter_mut().enumerate() {
            if let Value::Object(item) = item {
                retain(item, known, &path::index(&path::child(at, list), i), paths);
            }
        }
    }
    // The server writes the metadata anew, without what is empty.
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Number(number) => number.as_i64() != Some(0),
        Value::Bool(_) => true,
    });
}

fn retain(fields: &mut Map<String, Value>, known: &[&str], at: &str, paths: &mut Vec<String>) {
    fields.retain(|name, _| {
        let known = known.contains(&name.as_str());
        if !known {
            paths.push(path::child(at, name));
        }
        known
    });
}

/// Reports what is wrong with the type and the metadata of embedded objects.
pub(super) fn validate(value: &Value, schema: &Schema, embedded: bool, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(value, schema, embedded, at, &mut causes);
    causes
}

fn walk(value: &Value, schema: &Schema, embedded: bool, at: &str, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(fields) => {
            if embedded {
                check(fields, at, causes);
            }
            for (name, value) in fields {
                if let Some(schema) = schema.properties.get(name) {
                    walk(value, schema, schema.embedded, &path::child(at, name), causes);
                } else if let Some(schema) = schema.additional.as_ref().and_then(Additional::schema) {
                    walk(value, schema, schema.embedded, &path::key(at, name), causes);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for (i, item) in items.iter().enumerate() {
                walk(item, schema, schema.embedded, &path::index(at, i), causes);
            }
        }
        _ => {}
    }
}

static LABEL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[a-z]([-a-z0-9]*[a-z0-9])?$").expect("a constant expression"));

pub(crate) const LABEL_RULE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                          alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or \
                          'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

fn check(fields: &Map<String, Value>, at: &str, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"] {
        if !fields.contains_key(name) {
            causes.push(Cause::required(path::child(at, name), ""));
        }
    }
    for (name, value) in fields {
        let field = path::child(at, name);
        match (name.as_str(), value) {
            ("apiVersion" | "kind", Value::String(text)) if text.is_empty() => {
                causes.push(Cause::invalid(field, Shown::Value(value), "must not be empty"));
            }
            ("apiVersion", Value::String(text)) if text != "/" && text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                causes.push(Cause::invalid(field, Shown::Value(value), &detail));
            }
            ("kind", Value::String(text)) => {
                let mut errors = Vec::new();
                if text.len() > 63 {
                    errors.push("must be no more than 63 bytes");
                }
                if !LABEL.is_match(&text.to_lowercase()) {
                    errors.push(LABEL_RULE);
                }
                if !errors.is_empty() {
                    let detail =
                        format!("may have mixed case, but should otherwise match: {}", errors.join(","));
                    causes.push(Cause::invalid(field, Shown::Value(value), &detail));
                }
            }
            ("apiVersion", Value::String(_)) => {}
            ("apiVersion" | "kind", _) => {
                causes.push(Cause::invalid(field, Shown::Value(value), "must be a string"))
            }
            ("metadata", Value::Object(metadata)) => check_name(metadata, &field, causes),
            ("metadata", Value::Null) => {}
            ("metadata", _) => causes.push(Cause::invalid(field, Shown::Value(value), "must be an object")),
            _ => {}
        }
    }
}

fn check_name(metadata: &Map<String, Value>, at: &str, causes: &mut Vec<Cause>) {
    let Some(Value::String(name)) = metadata.get("name") else { return };
    let mut wrong = |detail: String| {
        causes.push(Cause::invalid(path::child(at, "name"), Shown::Text(name), &detail));
    };
    if name == "." || name == ".." {
        return wrong(format!("may not be '{name}'"));
    }
    for part in ["/", "%"] {
        if name.contains(part) {
            wrong(format!("may not contain '{part}'"));
        }
    }
}
