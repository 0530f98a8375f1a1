//! Lists whose items must differ: `x-kubernetes-list-type` `set` and `map`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    cause::{Cause, Shown, json},
    model::{Additional, Schema},
    path,
};

/// Reports the items that are in a set twice, and the items of a map that have the same keys.
pub(super) fn validate(value: &Value, schema: &Schema, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(value, schema, at, &mut causes);
    causes
}

fn walk(value: &Value, schema: &Schema, at: &str, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(fields) => {
            let additional = schema.additional.as_ref().and_then(Additional::schema);
            for (name, value) in fields {
                if let Some(schema) = additional {
                    walk(value, schema, &path::key(at, name), causes);
                }
                if let Some(schema) = schema.properties.get(name) {
                    walk(value, schema, &path::child(at, name), causes);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type.as_deref() {
                Some("set") => {
                    for i in repeated(items) {
                        causes.push(Cause::duplicate(path::index(at, i), Shown::Value(&items[i])));
                    }
                }
                Some("map") => map(items, schema, at, causes),
                _ => {}
            }
            if let Some(schema) = schema.items.as_deref() {
                for (i, item) in items.iter().enumerate() {
                    walk(item, schema, &path::index(at, i), causes);
                }
            }
        }
        _ => {}
    }
}

fn map(items: &[Value], schema: &Schema, at: &str, causes: &mut Vec<Cause>) {
    if let Some(i) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
        let detail = "must be an object for an array of list-type map";
        causes.push(Cause::invalid(path::index(at, i), Shown::Value(&items[i]), detail));
        return;
    }
    let keys: Vec<Value> = items.iter().map(|item| Value::Object(keys_of(item, schema))).collect();
    for i in repeated(&keys) {
        causes.push(Cause::duplicate(path::index(at, i), Shown::Value(&keys[i])));
    }
}

/// The fields of an item by which it is identified.
fn keys_of(item: &Value, schema: &Schema) -> Map<String, Value> {
    (schema.list_map_keys.iter()).filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect()
}

/// The second occurrence of every value that occurs more than once.
fn repeated(items: &[Value]) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(items.len());
    let mut indices = Vec::new();
    for (i, item) in items.iter().enumerate() {
        // 1 and 1.0 are one number to a reader, but the server compares an integer with a float and finds them unequal.
        let is_float = item.as_f64().is_some() && item.as_i64().is_none();
        let times = seen.entry(format!("{}{}", if is_float { "f" } else { "" }, json(item))).or_default();
        *times += 1;
        if *times == 2 {
            indices.push(i);
        }
    }
    indices
}

/// The item of an old list that has the same keys as an item of the new one, where lists are maps.
pub(super) fn correlated<'a>(item: &Value, old: &'a [Value], schema: &Schema) -> Option<&'a Value> {
    if schema.list_type.as_deref() != Some("map") {
        return None;
    }
    let scalar_keys = |item: &Value| -> Option<Map<String, Value>> {
        let keys = keys_of(item, schema);
        let scalar = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
        (!keys.is_empty() && keys.len() == schema.list_map_keys.len() && keys.values().all(scalar))
            .then_some(keys)
    };
    let keys = scalar_keys(item)?;
    old.iter().find(|old| scalar_keys(old).as_ref() == Some(&keys))
}
