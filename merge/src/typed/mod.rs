//! Values together with their schema: the operations that server-side apply consists of.

mod compare;
mod field_set;
mod merge;
mod named;
mod nulls;
mod reconcile;
mod remove;
mod validate;

use std::fmt;

use serde_json::Value;

pub(crate) use compare::{Comparison, compare};
pub(crate) use field_set::field_set;
pub(crate) use merge::merge;
pub(crate) use named::with_named_fields;
pub(crate) use nulls::drop_nulls;
pub(crate) use reconcile::reconcile;
pub(crate) use remove::remove;
pub(crate) use validate::{Duplicates, validate};

use crate::{
    json::TooDeep,
    path::{FieldPath, ItemKey, PathElement},
    schema::{List, ListSharing, Map, Scalar, Schema, Type},
};

/// A value that does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationError {
    path: FieldPath,
    problem: String,
}

impl ValidationError {
    fn new(path: FieldPath, problem: impl Into<String>) -> Self {
        Self { path, problem: problem.into() }
    }

    /// Returns the path of the value.
    pub fn path(&self) -> &FieldPath {
        &self.path
    }

    /// Returns what is wrong with the value.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.elements().is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "{}: {}", self.path, self.problem)
        }
    }
}

impl std::error::Error for ValidationError {}

impl From<TooDeep> for ValidationError {
    fn from(error: TooDeep) -> Self {
        Self::new(FieldPath::root(), error.to_string())
    }
}

/// The part of a type that applies to a value.
#[derive(Clone, Copy)]
enum Shape<'s> {
    Map(&'s Map),
    Scalar(Scalar),
    List(&'s List),
}

impl<'s> Shape<'s> {
    /// Returns the shape of a value. A null, and a value that the type does not allow, has the first shape
    /// that the type has.
    fn of(schema: &'s Type, value: Option<&Value>) -> Option<Self> {
        let map = schema.map.as_ref().map(Self::Map);
        let scalar = schema.scalar.map(Self::Scalar);
        let list = schema.list.as_ref().map(Self::List);
        let own = match value {
            Some(Value::Object(_)) => map,
            Some(Value::Array(_)) => list,
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => scalar,
            Some(Value::Null) | None => None,
        };
        own.or(map).or(scalar).or(list)
    }

    fn is_same(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Returns the shapes by which two values are to be handled, one of which may be missing. Two values of
/// different shapes are handled by both, and the shape of the right one counts.
fn shapes<'s>(
    schema: &'s Type,
    left: Option<&Value>,
    right: Option<&Value>,
) -> (Option<Shape<'s>>, Option<Shape<'s>>) {
    match (Shape::of(schema, left), Shape::of(schema, right)) {
        (shape, _) if right.is_none() => (None, shape),
        (Some(left_shape), Some(right_shape)) if left.is_some() && !left_shape.is_same(right_shape) => {
            (Some(left_shape), Some(right_shape))
        }
        (_, shape) => (None, shape),
    }
}

/// Returns the path element of an item in a list that is shared item by item.
fn item_element(schema: &Schema, list: &List, item: &Value) -> Result<PathElement, String> {
    match &list.sharing {
        ListSharing::Atomic => Err("the items of an atomic list have no keys".to_owned()),
        ListSharing::Set => match item {
            Value::Null => Err("a set must not contain null".to_owned()),
            Value::Array(_) => Err("a set must not contain lists".to_owned()),
            Value::Object(_) => Err("a set must not contain objects".to_owned()),
            scalar => Ok(PathElement::value(scalar.clone())),
        },
        ListSharing::Map(keys) => item_key(schema, list, keys, item).map(PathElement::Key),
    }
}

fn item_key(schema: &Schema, list: &List, keys: &[String], item: &Value) -> Result<ItemKey, String> {
    let Value::Object(fields) = item else {
        return Err("a list with keys must contain objects only".to_owned());
    };
    let item_type = schema.get(list.items).map.as_ref();
    let default = |key: &String| item_type?.fields.get(key)?.default.as_ref();
    let present: Vec<(&String, &Value)> =
        keys.iter().filter_map(|key| Some((key, fields.get(key).or_else(|| default(key))?))).collect();
    if present.is_empty() {
        let keys: Vec<_> = keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            keys.join(" ")
        ));
    }
    Ok(ItemKey::new(present.into_iter().map(|(key, value)| (key.as_str(), value.clone()))))
}

/// Returns the object or `None`, and counts null and values of other types as none.
fn as_map(value: Option<&Value>) -> Option<&serde_json::Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// Returns the list or `None`, and counts null and values of other types as none.
fn as_list(value: Option<&Value>) -> Option<&[Value]> {
    value.and_then(Value::as_array).map(Vec::as_slice)
}

#[cfg(test)]
mod tests;
