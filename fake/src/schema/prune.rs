//! The removal of what a schema does not know, and of nulls that it does not allow.

use serde_json::Value;

use super::{embedded, model::Schema};

/// What every Kubernetes object has, and no schema needs to name.
pub(super) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes the unknown fields of a value, and returns their paths in order.
pub(super) fn prune(value: &mut Value, schema: &Schema, is_root: bool) -> Vec<String> {
    let mut pruner = Pruner { paths: Vec::new() };
    pruner.prune(value, Some(schema), is_root || schema.embedded, "");
    pruner.paths.sort_unstable();
    let mut paths = pruner.paths;
    paths.extend(embedded::prune_metadata(value, schema));
    paths
}

struct Pruner {
    paths: Vec<String>,
}

fn append(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

impl Pruner {
    fn prune(&mut self, value: &mut Value, schema: Option<&Schema>, is_resource: bool, at: &str) {
        if let Some(schema) = schema.filter(|schema| schema.keeps_unknown()) {
            return self.descend(value, schema, is_resource, at);
        }
        match value {
            Value::Object(fields) => {
                let paths = &mut self.paths;
                fields.retain(|name, _| {
                    let is_meta = META_FIELDS.contains(&name.as_str());
                    let known = schema.is_some_and(|schema| {
                        is_resource && is_meta
                            || schema.properties.contains_key(name)
                            || schema.additional.is_some()
                    });
                    let is_silent = is_meta && at.is_empty();
                    if !known && !is_silent {
                        paths.push(append(at, name));
                    }
                    known
                });
                let Some(schema) = schema else { return };
                for (name, value) in fields.iter_mut() {
                    if is_resource && META_FIELDS.contains(&name.as_str()) {
                        continue;
                    }
                    let schema = schema.field(name);
                    self.prune(
                        value,
                        schema,
                        schema.is_some_and(|schema| schema.embedded),
                        &append(at, name),
                    );
                }
            }
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                for (i, item) in items.iter_mut().enumerate() {
                    self.prune(
                        item,
                        schema,
                        schema.is_some_and(|schema| schema.embedded),
                        &format!("{at}[{i}]"),
                    );
                }
            }
            _ => {}
        }
    }

    /// Below `x-kubernetes-preserve-unknown-fields` only what the schema names is pruned.
    fn descend(&mut self, value: &mut Value, schema: &Schema, is_resource: bool, at: &str) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    if is_resource && META_FIELDS.contains(&name.as_str()) {
                        continue;
                    }
                    if schema.properties.contains_key(name) || schema.additional.is_some() {
                        let schema = schema.field(name);
                        self.prune(
                            value,
                            schema,
                            schema.is_some_and(|schema| schema.embedded),
                            &append(at, name),
                        );
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else { return };
                for (i, item) in items.iter_mut().enumerate() {
                    self.descend(item, schema, schema.embedded, &format!("{at}[{i}]"));
                }
            }
            _ => {}
        }
    }
}

/// Removes the nulls of fields that are not nullable and have no default. Those with a default are given it later.
pub(super) fn prune_nulls(value: &mut Value, schema: Option<&Schema>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let schema = schema.and_then(|schema| schema.field(name));
                let refused = schema.is_some_and(|schema| !schema.nullable && schema.default.is_none());
                if value.is_null() && refused {
                    return false;
                }
                if schema.is_some() {
                    prune_nulls(value, schema);
                }
                true
            });
        }
        Value::Array(items) => {
            let Some(schema) = schema.and_then(|schema| schema.items.as_deref()) else { return };
            for item in items {
                prune_nulls(item, Some(schema));
            }
        }
        _ => {}
    }
}
