//! JSON merge patches, RFC 7386.

use serde_json::{Map, Value};

/// Returns the smallest merge patch that turns `old` into `new`, or `None` if they are equal.
///
/// Objects are compared field by field, at any depth; lists and scalars are replaced as a whole. A field that
/// `new` lacks is null in the patch.
///
/// A merge patch cannot set a field to null: where `new` contains null in an object, the patched value lacks
/// the field. Nulls inside lists are kept.
///
/// ```
/// use genclient_merge::merge_patch;
/// use serde_json::json;
///
/// let old = json!({ "spec": { "cidr": "10.0.0.0/8", "gateway": "10.0.0.1" } });
/// let new = json!({ "spec": { "cidr": "10.0.0.0/16" } });
/// let patch = merge_patch::diff(&old, &new).expect("they differ");
/// assert_eq!(patch, json!({ "spec": { "cidr": "10.0.0.0/16", "gateway": null } }));
/// assert_eq!(merge_patch::apply(&old, &patch), new);
/// ```
pub fn diff(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => diff_objects(old, new).map(Value::Object),
        _ => (old != new).then(|| new.clone()),
    }
}

fn diff_objects(old: &Map<String, Value>, new: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut patch = Map::new();
    for (name, value) in new {
        let changed = match old.get(name) {
            Some(before) => diff(before, value),
            // A null would remove the field that is not there.
            None => (!value.is_null()).then(|| value.clone()),
        };
        if let Some(changed) = changed {
            patch.insert(name.clone(), changed);
        }
    }
    for name in old.keys() {
        if !new.contains_key(name) {
            patch.insert(name.clone(), Value::Null);
        }
    }
    (!patch.is_empty()).then_some(patch)
}

/// Applies a merge patch.
pub fn apply(value: &Value, patch: &Value) -> Value {
    let mut patched = value.clone();
    ::json_patch::merge(&mut patched, patch);
    patched
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_holds_nothing_but_the_changes() {
        for (old, new, patch) in [
            (json!({}), json!({}), None),
            (json!({ "a": { "b": [1, 2] } }), json!({ "a": { "b": [1, 2] } }), None),
            (json!({ "a": 1, "b": 2 }), json!({ "a": 1, "b": 3 }), Some(json!({ "b": 3 }))),
            (json!({ "a": 1 }), json!({}), Some(json!({ "a": null }))),
            (json!({}), json!({ "a": { "b": {} } }), Some(json!({ "a": { "b": {} } }))),
            (
                json!({ "a": { "b": 1, "c": 2 } }),
                json!({ "a": { "c": 2 } }),
                Some(json!({ "a": { "b": null } })),
            ),
            (json!({ "a": { "b": 1 } }), json!({ "a": {} }), Some(json!({ "a": { "b": null } }))),
            (json!({ "a": [1, 2] }), json!({ "a": [1] }), Some(json!({ "a": [1] }))),
            (
                json!({ "a": [{ "b": 1 }] }),
                json!({ "a": [{ "b": null }] }),
                Some(json!({ "a": [{ "b": null }] })),
            ),
            (json!({ "a": { "b": 1 } }), json!({ "a": "x" }), Some(json!({ "a": "x" }))),
            (json!({ "a": "x" }), json!({ "a": {} }), Some(json!({ "a": {} }))),
            (json!([1]), json!({ "a": 1 }), Some(json!({ "a": 1 }))),
            (json!({ "a": 1 }), json!([1]), Some(json!([1]))),
        ] {
            assert_eq!(diff(&old, &new), patch, "{old} to {new}");
            assert_eq!(apply(&old, &patch.unwrap_or_else(|| json!({}))), new, "{old} to {new}");
        }
    }

    #[test]
    fn a_null_in_an_object_is_lost() {
        assert_eq!(diff(&json!({}), &json!({ "a": null })), None);
        let patch = diff(&json!({ "a": 1 }), &json!({ "a": null })).expect("they differ");
        assert_eq!(apply(&json!({ "a": 1 }), &patch), json!({}));
    }
}
