//! Removing fields from a value.

use serde_json::Value;

use super::{Shape, item_element};
use crate::{
    fields::FieldSet,
    path::PathElement,
    schema::{List, ListSharing, Map, Schema, TypeId},
};

/// Removes the fields of a set from a valid value. A field goes with all that is below it.
///
/// An object or a list that loses its last member becomes null.
pub(crate) fn remove(value: &Value, fields: &FieldSet, schema: &Schema) -> Value {
    Remover { schema }.value(value, fields, schema.root())
}

#[derive(Clone, Copy)]
struct Remover<'s> {
    schema: &'s Schema,
}

impl Remover<'_> {
    fn value(self, value: &Value, fields: &FieldSet, id: TypeId) -> Value {
        match Shape::of(self.schema.get(id), Some(value)) {
            Some(Shape::Map(map)) if !map.atomic => self.map(value, fields, map),
            Some(Shape::List(list)) if list.sharing != ListSharing::Atomic => self.list(value, fields, list),
            Some(Shape::Scalar(_)) | None => value.clone(),
            // A field below an atomic value cannot go alone.
            Some(Shape::Map(_) | Shape::List(_)) => Value::Null,
        }
    }

    fn map(self, value: &Value, fields: &FieldSet, map: &Map) -> Value {
        let Value::Object(members) = value else { return Value::Null };
        let mut rest = serde_json::Map::new();
        for (name, member) in members {
            let element = PathElement::field(name);
            if fields.has(&element) {
                continue;
            }
            let member = match (fields.below(&element), map.type_of(name)) {
                (Some(below), Some(id)) => self.value(member, below, id),
                _ => member.clone(),
            };
            rest.insert(name.clone(), member);
        }
        if rest.is_empty() { Value::Null } else { Value::Object(rest) }
    }

    fn list(self, value: &Value, fields: &FieldSet, list: &List) -> Value {
        let Value::Array(items) = value else { return Value::Null };
        let mut rest = Vec::new();
        for item in items {
            let Ok(element) = item_element(self.schema, list, item) else {
                rest.push(item.clone());
                continue;
            };
            if fields.has(&element) {
                continue;
            }
            rest.push(match fields.below(&element) {
                Some(below) => self.value(item, below, list.items),
                None => item.clone(),
            });
        }
        if rest.is_empty() { Value::Null } else { Value::Array(rest) }
    }
}
