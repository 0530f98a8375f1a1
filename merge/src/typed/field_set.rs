//! The fields that a value consists of.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Shape, item_element};
use crate::{
    fields::FieldSet,
    path::PathElement,
    schema::{List, ListSharing, Map, Schema, TypeId},
};

/// Returns the set of fields that the writer of a valid value owns: the leaves, every item of a shared list,
/// every entry of a map whose keys the schema does not name, and every empty object and null.
pub(crate) fn field_set(value: &Value, schema: &Schema) -> FieldSet {
    // The root is never a member.
    Walker { schema }.value(value, schema.root()).1
}

#[derive(Clone, Copy)]
struct Walker<'s> {
    schema: &'s Schema,
}

impl Walker<'_> {
    /// Returns whether the value itself is in the set, and what is below it.
    fn value(self, value: &Value, id: TypeId) -> (bool, FieldSet) {
        match Shape::of(self.schema.get(id), Some(value)) {
            Some(Shape::Map(map)) if !map.atomic => (false, self.map(value, map)),
            Some(Shape::List(list)) if list.sharing != ListSharing::Atomic => (false, self.list(value, list)),
            Some(_) => (true, FieldSet::new()),
            None => (false, FieldSet::new()),
        }
    }

    fn map(self, value: &Value, map: &Map) -> FieldSet {
        let mut set = FieldSet::new();
        for (name, field) in value.as_object().into_iter().flatten() {
            let found = map.type_of(name).map(|id| self.value(field, id));
            let (member, below) = found.unwrap_or_default();
            let is_empty = field.is_null() || field.as_object().is_some_and(serde_json::Map::is_empty);
            set.add_node(
                PathElement::field(name),
                member || is_empty || !map.fields.contains_key(name),
                below,
            );
        }
        set
    }

    fn list(self, value: &Value, list: &List) -> FieldSet {
        let items = value.as_array().into_iter().flatten();
        let elements: Vec<_> =
            items.filter_map(|item| Some((item_element(self.schema, list, item).ok()?, item))).collect();
        let mut counts = BTreeMap::new();
        for (element, _) in &elements {
            *counts.entry(element.clone()).or_insert(0) += 1;
        }
        let mut set = FieldSet::new();
        for (element, item) in elements {
            // Items with one key between them are owned together, without what is below.
            let below = if counts[&element] == 1 { self.value(item, list.items).1 } else { FieldSet::new() };
            set.add_node(element, true, below);
        }
        set
    }
}
