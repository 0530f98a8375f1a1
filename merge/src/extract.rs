//! The part of an object that a manager has applied.
//!
//! The result is what the manager would have to apply to leave everything as it is. No schema is needed: the set
//! of fields says which lists have keys.

use serde_json::{Map, Value};

use crate::{
    fields::FieldSet,
    json,
    managed::{ManagedFields, ManagedFieldsError},
    path::{ItemKey, PathElement},
};

/// Returns the part of an object that consists of the fields of a set.
///
/// An item of a list is found by its key fields, which it keeps, or by its value, and the items keep their order.
/// A field that has no other field of the set below it is taken as a whole. A field that the object does not
/// have is left out.
///
/// ```
/// use genclient_merge::{FieldSet, extract};
/// use serde_json::json;
///
/// let object = json!({
///     "spec": {
///         "replicas": 3,
///         "containers": [{ "name": "a", "image": "x" }, { "name": "b", "image": "y", "tty": true }],
///     },
/// });
/// let fields = FieldSet::from_json(&json!({
///     "f:spec": { "f:containers": { "k:{\"name\":\"b\"}": { ".": {}, "f:name": {}, "f:image": {} } } },
/// }))?;
/// assert_eq!(extract(&object, &fields), json!({ "spec": { "containers": [{ "name": "b", "image": "y" }] } }));
/// # Ok::<(), genclient_merge::fields::FieldsError>(())
/// ```
pub fn extract(object: &Value, fields: &FieldSet) -> Value {
    take(object, fields, &FieldSet::new()).unwrap_or_else(|| Value::Object(Map::new()))
}

/// Returns what a manager has applied to an object, or to a subresource of it (empty for the object itself).
///
/// The result has the version, kind, name and namespace of the object, so it can be applied as it is. If the
/// manager has not applied anything, these are all that it has.
///
/// An empty object that the manager has applied stays empty if other managers own fields in it.
///
/// # Errors
/// If the object has no `metadata.managedFields` at all, which says nothing about what has been applied, or if an
/// entry is malformed.
pub fn extract_applied(object: &Value, manager: &str, subresource: &str) -> Result<Value, ManagedFieldsError> {
    let managed = ManagedFields::of(object)?;
    if managed.entries().is_empty() {
        return Err(ManagedFieldsError::Absent);
    }
    let mut applied = match managed.applied(manager, subresource) {
        Some(entry) => {
            let others = managed.entries().iter().filter(|other| *other != entry);
            let others = others.fold(FieldSet::new(), |all, other| all.union(&other.fields));
            take(object, &entry.fields, &others)
        }
        None => None,
    }
    .unwrap_or_else(|| Value::Object(Map::new()));
    copy_identity(object, &mut applied);
    Ok(applied)
}

/// Returns the part of a value that is in `fields`. `others` are the fields that other managers own.
fn take(value: &Value, fields: &FieldSet, others: &FieldSet) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let mut taken = Map::new();
            for (name, member) in members {
                let element = PathElement::field(name);
                if let Some(member) = take_element(member, &element, fields, others) {
                    taken.insert(name.clone(), member);
                }
            }
            (!taken.is_empty()).then_some(Value::Object(taken))
        }
        Value::Array(items) => {
            let taken: Vec<_> =
                items.iter().enumerate().filter_map(|(at, item)| take_item(item, at, fields, others)).collect();
            (!taken.is_empty()).then_some(Value::Array(taken))
        }
        _ => None,
    }
}

fn take_element(
    value: &Value,
    element: &PathElement,
    fields: &FieldSet,
    others: &FieldSet,
) -> Option<Value> {
    let none = FieldSet::new();
    let (is_member, below) = (fields.has(element), fields.below(element));
    let others_below = others.below(element);
    match (below, value) {
        (Some(below), Value::Object(_) | Value::Array(_)) => {
            take(value, below, others_below.unwrap_or(&none)).or_else(|| is_member.then(|| empty(value)))
        }
        // What was owned in detail has become a scalar.
        (Some(_), _) => is_member.then(|| value.clone()),
        (None, _) if is_member && others_below.is_some() => Some(empty(value)),
        (None, _) => is_member.then(|| value.clone()),
    }
}

fn empty(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        other => other.clone(),
    }
}

fn take_item(item: &Value, at: usize, fields: &FieldSet, others: &FieldSet) -> Option<Value> {
    let element = match item {
        Value::Object(members) => key_of(members, fields)
            .map(|key| PathElement::Key(key.clone()))
            .unwrap_or(PathElement::Index(at)),
        Value::Array(_) => PathElement::Index(at),
        scalar => {
            let by_value = PathElement::value(scalar.clone());
            if fields.has(&by_value) { by_value } else { PathElement::Index(at) }
        }
    };
    let mut taken = take_element(item, &element, fields, others)?;
    if let (PathElement::Key(key), Value::Object(taken)) = (&element, &mut taken) {
        for (name, _) in key.fields() {
            if let Some(value) = item.get(name) {
                taken.insert(name.to_owned(), value.clone());
            }
        }
    }
    Some(taken)
}

/// Returns the key of the set that the item has.
///
/// Of several keys, the one with the most fields counts. An item may lack a key field that has a default.
fn key_of<'f>(item: &Map<String, Value>, fields: &'f FieldSet) -> Option<&'f ItemKey> {
    let keys = fields.nodes().filter_map(|(element, ..)| match element {
        PathElement::Key(key) => Some(key),
        _ => None,
    });
    let matching = keys.filter_map(|key| {
        let mut present = 0;
        for (name, value) in key.fields() {
            match item.get(name) {
                Some(actual) if json::equal(actual, value) => present += 1,
                Some(_) => return None,
                None => {}
            }
        }
        let is_complete = present == key.fields().len();
        (present > 0).then_some(((is_complete, present), key))
    });
    matching.max_by_key(|(rank, _)| *rank).map(|(_, key)| key)
}

/// Copies what an applied configuration needs to name its object.
fn copy_identity(object: &Value, applied: &mut Value) {
    for (pointer, name) in [("", "apiVersion"), ("", "kind"), ("/metadata", "name"), ("/metadata", "namespace")]
    {
        let Some(value) = object.pointer(pointer).and_then(|parent| parent.get(name)) else { continue };
        let Value::Object(root) = &mut *applied else { return };
        let parent = match pointer {
            "" => root,
            _ => match root.entry("metadata").or_insert_with(|| Value::Object(Map::new())) {
                Value::Object(metadata) => metadata,
                _ => continue,
            },
        };
        parent.insert(name.to_owned(), value.clone());
    }
}

#[cfg(test)]
mod tests;
