//! How the values of Kubernetes' own kinds look: the types of fields, and what the server does not write.

use genclient_merge::schema::{ScalarShape, Shape};
use serde_json::{Map, Value};

use super::{document::Location, type_name};
use crate::kinds::Kind;

/// Returns the first value that has not the type of its field, as Go words it.
pub(super) fn mismatch(value: &Value, shape: Shape<'_>, owner: &str, path: &Location<'_>) -> Option<String> {
    let wrong = |wanted: &str| {
        let found = match value {
            Value::Number(number) if wanted == "int32" => format!("number {number}"),
            other => type_name(other).to_owned(),
        };
        let path = path.to_string();
        let owner = struct_of(owner, &path);
        if path == "metadata" && wanted == "struct" {
            return Some(format!(
                "json: cannot unmarshal {found} into Go struct field {owner}.metadata of type v1.ObjectMeta"
            ));
        }
        if path.is_empty() {
            return Some(format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"));
        }
        // The bytes of a secret, and others that are texts in JSON.
        Some(format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}"))
    };
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            if !shape.is_object() {
                return wrong(wanted(shape));
            }
            fields.iter().find_map(|(key, value)| {
                let field = shape.field(key)?;
                if shape.is_map() {
                    return mismatch(value, field, owner, path);
                }
                mismatch(value, field, owner, &Location::Field(path, key))
            })
        }
        Value::Array(items) => match shape.items() {
            Some(shape) => items.iter().find_map(|item| mismatch(item, shape, owner, path)),
            None => wrong(wanted(shape)),
        },
        scalar => match (shape.scalar(), scalar) {
            // Only the schemas of definitions have numbers that are not whole.
            (Some(ScalarShape::Number), Value::Number(number))
                if number.is_f64() && owner != "CustomResourceDefinition" =>
            {
                wrong(wanted(shape))
            }
            (Some(ScalarShape::Any), _)
            | (Some(ScalarShape::String), Value::String(_))
            | (Some(ScalarShape::Number), Value::Number(_))
            | (Some(ScalarShape::Boolean), Value::Bool(_)) => None,
            _ => wrong(wanted(shape)),
        },
    }
}

/// Names the Go struct that has the field at a path, as well as it can be told.
fn struct_of(kind: &str, path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["metadata", _, ..] => "ObjectMeta".to_owned(),
        ["spec", _] => format!("{kind}Spec"),
        ["status", _] => format!("{kind}Status"),
        ["spec", "template", "spec", _] => "PodSpec".to_owned(),
        [.., "containers" | "initContainers", _] => "Container".to_owned(),
        _ => kind.to_owned(),
    }
}

/// Names the Go type of a shape, as well as it can be told.
fn wanted(shape: Shape<'_>) -> &'static str {
    match shape.scalar() {
        Some(ScalarShape::String | ScalarShape::Any) => "string",
        Some(ScalarShape::Number) => "int32",
        Some(ScalarShape::Boolean) => "bool",
        None if shape.is_map() => "map[string]string",
        None if shape.items().and_then(Shape::scalar) == Some(ScalarShape::String) => "[]string",
        None if shape.items().is_some() => "[]interface {}",
        None => "struct",
    }
}

/// Returns whether nothing is known of a value.
fn is_any(shape: Shape<'_>) -> bool {
    shape.scalar() == Some(ScalarShape::Any) && shape.is_object()
}

/// Returns whether a value is a map with values of a known type. An object without any fields is none.
fn is_typed_map(shape: Shape<'_>) -> bool {
    shape.is_map() && shape.field("").is_some_and(|value| !is_any(value))
}

/// Returns the path of a list that a kind has even if it is empty, and that its writer owns then.
pub(super) fn kept_list(kind: &Kind) -> Option<&'static str> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => Some("/rules"),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Some("/spec/versions"),
        _ => None,
    }
}

/// Removes nulls, empty lists and empty maps, and adds the parts that the server always writes.
pub(super) fn complete(value: &mut Value, shape: Shape<'_>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| match shape.field(key) {
                Some(field) if !is_any(field) => match value {
                    // In a map of texts, it is an empty one.
                    Value::Null if shape.is_map() && field.scalar() == Some(ScalarShape::String) => {
                        *value = "".into();
                        true
                    }
                    Value::Null => false,
                    Value::Array(items) => !items.is_empty() || field.items().is_none(),
                    Value::Object(entries) => !entries.is_empty() || !is_typed_map(field),
                    _ => true,
                },
                _ => true,
            });
            for (name, default) in shape.defaults() {
                if !fields.contains_key(name) {
                    fields.insert(name.to_owned(), default.clone());
                }
            }
            for (key, value) in fields.iter_mut() {
                if let Some(shape) = shape.field(key).filter(|shape| !is_any(*shape)) {
                    complete(value, shape);
                }
            }
        }
        Value::Array(items) => {
            if let Some(shape) = shape.items() {
                items.iter_mut().for_each(|item| complete(item, shape));
            }
        }
        Value::Null if shape.is_object() => *value = Map::new().into(),
        _ => {}
    }
}
