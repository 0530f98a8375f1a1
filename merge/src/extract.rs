//! The part of an object that a manager has applied.
//!
//! A manager that applies the result again changes nothing. No schema is needed: the set of fields says which
//! lists have keys.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    fields::FieldSet,
    json,
    managed::{ManagedFields, ManagedFieldsError},
    path::{ItemKey, PathElement},
};

/// Returns the part of an object that consists of the fields of a set.
///
/// * A field with no other field of the set below it is taken as a whole.
/// * An item of a list is found by its key fields or by its value. The items keep their order.
/// * An item keeps those key fields that are in the set: the others have defaults. If none of them is in the
///   set, it keeps them all.
/// * A field that the object does not have is left out.
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
/// assert_eq!(
///     extract::fields(&object, &fields),
///     json!({ "spec": { "containers": [{ "name": "b", "image": "y" }] } })
/// );
/// # Ok::<(), genclient_merge::fields::FieldsError>(())
/// ```
pub fn fields(object: &Value, fields: &FieldSet) -> Value {
    take(object, fields, &FieldSet::new()).unwrap_or_else(|| Value::Object(Map::new()))
}

/// Returns what a manager has applied to an object, or to a subresource of it (empty for the object itself).
///
/// The result has the version, kind, name and namespace of the object, so it can be applied as it is. If the
/// manager has not applied anything, these are all that it has.
///
/// An empty object that the manager has applied stays empty if other managers own fields in it. If it has got
/// fields that nobody owns, such as defaults, it looks like an atomic object and is taken as a whole.
///
/// # Errors
/// If the object has no `metadata.managedFields` at all, which says nothing about what has been applied, or
/// if an entry is malformed.
pub fn applied(object: &Value, manager: &str, subresource: &str) -> Result<Value, ManagedFieldsError> {
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
            let keys = item_keys(items, fields, others);
            let items = items.iter().zip(keys).enumerate();
            let taken: Vec<_> =
                items.filter_map(|(at, (item, key))| take_item(item, at, key, fields, others)).collect();
            (!taken.is_empty()).then_some(Value::Array(taken))
        }
        _ => None,
    }
}

fn take_element(value: &Value, element: &PathElement, fields: &FieldSet, others: &FieldSet) -> Option<Value> {
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

fn take_item(
    item: &Value,
    at: usize,
    key: Option<&ItemKey>,
    fields: &FieldSet,
    others: &FieldSet,
) -> Option<Value> {
    let element = match (item, key) {
        (_, Some(key)) => PathElement::Key(key.clone()),
        (Value::Object(_) | Value::Array(_), None) => PathElement::Index(at),
        (scalar, None) => {
            let by_value = PathElement::value(scalar.clone());
            if fields.has(&by_value) { by_value } else { PathElement::Index(at) }
        }
    };
    let mut taken = take_element(item, &element, fields, others)?;
    if let (PathElement::Key(key), Value::Object(taken)) = (&element, &mut taken)
        && !key.fields().any(|(name, _)| taken.contains_key(name))
    {
        for (name, _) in key.fields() {
            if let Some(value) = item.get(name) {
                taken.insert(name.to_owned(), value.clone());
            }
        }
    }
    Some(taken)
}

/// Returns the key of each item, of all keys that are owned in the list.
///
/// Of several keys that an item has, the one with the most fields counts. An item may lack key fields that
/// have defaults, if just one of the keys that no other item has fits.
fn item_keys<'f>(items: &[Value], fields: &'f FieldSet, others: &'f FieldSet) -> Vec<Option<&'f ItemKey>> {
    let keys: BTreeSet<&ItemKey> = fields
        .nodes()
        .chain(others.nodes())
        .filter_map(|(element, ..)| match element {
            PathElement::Key(key) => Some(key),
            _ => None,
        })
        .collect();
    let complete = |item: &Value| {
        let fitting = keys.iter().filter(|key| fit(item, key) == Some(key.fields().len()));
        fitting.max_by_key(|key| key.fields().len()).copied()
    };
    let mut found: Vec<_> = items.iter().map(complete).collect();
    let taken: BTreeSet<_> = found.iter().flatten().copied().collect();
    for (item, found) in items.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        let mut fitting = keys.difference(&taken).filter(|key| fit(item, key).is_some_and(|count| count > 0));
        if let (Some(key), None) = (fitting.next(), fitting.next()) {
            *found = Some(key);
        }
    }
    found
}

/// Returns how many fields of a key an item has, or `None` if it has one with another value.
fn fit(item: &Value, key: &ItemKey) -> Option<usize> {
    let fields = key.fields().filter_map(|(name, value)| Some((item.get(name)?, value)));
    fields.map(|(actual, value)| json::equal(actual, value).then_some(1)).sum()
}

/// Copies what an applied configuration needs to name its object.
fn copy_identity(object: &Value, applied: &mut Value) {
    for (pointer, name) in
        [("", "apiVersion"), ("", "kind"), ("/metadata", "name"), ("/metadata", "namespace")]
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
