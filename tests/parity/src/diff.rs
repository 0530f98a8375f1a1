//! Compares answers field by field.

use std::fmt;

use serde_json::Value;

/// A field that is not equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where it is, such as `body.items[0].metadata.name`.
    pub field: String,
    /// The value of the first server.
    pub left: Option<Value>,
    /// The value of the second server.
    pub right: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| match value {
            Some(value) => value.to_string(),
            None => String::from("(absent)"),
        };
        write!(f, "{}\n      - {}\n      + {}", self.field, shown(&self.left), shown(&self.right))
    }
}

/// The fields in which two answers differ.
pub fn diff(left: &Value, right: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(String::new(), Some(left), Some(right), &mut found);
    found
}

fn walk(field: String, left: Option<&Value>, right: Option<&Value>, found: &mut Vec<Difference>) {
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let added = right.keys().filter(|key| !left.contains_key(*key));
            for key in left.keys().chain(added) {
                let dot = if field.is_empty() { "" } else { "." };
                walk(format!("{field}{dot}{key}"), left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for place in 0..left.len().max(right.len()) {
                walk(format!("{field}[{place}]"), left.get(place), right.get(place), found);
            }
        }
        (left, right) if left == right => (),
        (left, right) => {
            found.push(Difference { field, left: left.cloned(), right: right.cloned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_field_is_named() {
        let found = diff(&json!({"a": [1, {"b": 2}], "c": 3}), &json!({"a": [1, {"b": 4}], "d": 5}));
        let fields: Vec<_> = found.iter().map(|difference| difference.field.as_str()).collect();
        assert_eq!(fields, ["a[1].b", "c", "d"]);
        assert_eq!(found[1].right, None);
    }
}
