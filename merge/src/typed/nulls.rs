//! Nulls that stand for the absence of a value.

use serde_json::Value;

use super::Shape;
use crate::schema::{Schema, TypeId};

/// Removes the fields that are null but whose type does not have null as a value. The API server does so
/// whenever it decodes an object.
pub(crate) fn drop_nulls(value: &mut Value, schema: &Schema) {
    drop_below(value, schema, schema.root());
}

fn drop_below(value: &mut Value, schema: &Schema, id: TypeId) {
    match (Shape::of(schema.get(id), Some(value)), value) {
        (Some(Shape::Map(map)), Value::Object(members)) => {
            members.retain(|name, member| {
                let Some(id) = map.type_of(name) else { return true };
                drop_below(member, schema, id);
                !member.is_null() || schema.get(id).nullable
            });
        }
        (Some(Shape::List(list)), Value::Array(items)) => {
            for item in items {
                drop_below(item, schema, list.items);
            }
        }
        _ => {}
    }
}
