//! The defaults that a schema gives to absent fields.

use serde_json::Value;

use super::model::{Additional, Schema};

/// Sets the defaults of a value, those within defaults included.
pub(super) fn apply(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let absent = fields.get(name).is_none_or(|value| value.is_null() && !property.nullable);
                if absent {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    apply(value, property);
                } else if let Some(schema) = schema.additional.as_ref().and_then(Additional::schema) {
                    replace_null(value, schema);
                    apply(value, schema);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for item in items {
                replace_null(item, schema);
                apply(item, schema);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: &Schema) {
    if value.is_null() && !schema.nullable {
        *value = schema.default.clone().unwrap_or_default();
    }
}
