//! Writing into JSON values of any shape.

use serde_json::{Map, Value};

/// Returns the value at a path such as `.spec.replicas`. What is not an object on the way becomes one.
pub(crate) fn at<'v>(value: &'v mut Value, path: &str) -> &'v mut Value {
    let mut at = value;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        at = object(at).entry(part).or_insert(Value::Null);
    }
    at
}

/// Sets the value at a path.
pub(crate) fn set(value: &mut Value, path: &str, new: impl Into<Value>) {
    *at(value, path) = new.into();
}

/// Removes the value at a path.
pub(crate) fn remove(value: &mut Value, path: &str) {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let parent =
        parent.split('.').filter(|part| !part.is_empty()).try_fold(value, |value, part| value.get_mut(part));
    if let Some(fields) = parent.and_then(Value::as_object_mut) {
        fields.remove(name);
    }
}

/// Sets the value at a path if there is none.
pub(crate) fn set_default(value: &mut Value, path: &str, new: impl Into<Value>) {
    let at = at(value, path);
    if at.is_null() {
        *at = new.into();
    }
}

/// Returns the fields of an object, which becomes one if it is none.
pub(crate) fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Map::new().into();
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("the value was made an object"),
    }
}
