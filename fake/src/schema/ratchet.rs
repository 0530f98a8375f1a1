//! What an update may leave as it was.
//!
//! A value that an update does not change is not refused, even if the schema that the object was created with has
//! become stricter since. For this the new value is walked together with the old one.

use serde_json::Value;

use super::{lists, model::Schema};

/// A value, and the one that it replaces.
#[derive(Clone, Copy)]
pub(super) struct Correlation<'a> {
    pub new: &'a Value,
    pub old: &'a Value,
    pub schema: &'a Schema,
}

impl<'a> Correlation<'a> {
    /// The same for a field of an object, if both values have it and the schema knows it.
    pub fn key(&self, name: &str) -> Option<Self> {
        let (new, old) = (self.new.get(name)?, self.old.get(name)?);
        Some(Self { new, old, schema: self.schema.field(name)? })
    }

    /// The same for an item of a list. Only the items of maps can be found again.
    pub fn index(&self, index: usize) -> Option<Self> {
        let new = self.new.get(index)?;
        let old = lists::correlated(new, self.old.as_array()?, self.schema)?;
        Some(Self { new, old, schema: self.schema.items.as_deref()? })
    }

    /// Whether the update leaves the value as it was.
    pub fn unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Value::Null, old) => old.is_null(),
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                for i in 0..new.len() {
                    match self.index(i) {
                        Some(item) if item.unchanged() => {}
                        Some(_) => return false,
                        None => return self.schema.list_type.as_deref() != Some("map") && new == old,
                    }
                }
                true
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new.keys().all(|name| self.key(name).is_some_and(|field| field.unchanged()))
            }
            (new, old) => new == old,
        }
    }
}
