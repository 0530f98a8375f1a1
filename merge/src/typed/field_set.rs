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
    let mut walker = Walker { schema, path: Vec::new(), set: FieldSet::new() };
    walker.value(value, schema.root());
    walker.set
}

struct Walker<'s> {
    schema: &'s Schema,
    path: Vec<PathElement>,
    set: FieldSet,
}

impl Walker<'_> {
    fn value(&mut self, value: &Value, id: TypeId) {
        match Shape::of(self.schema.get(id), Some(value)) {
            Some(Shape::Map(map)) if map.atomic => self.insert(),
            Some(Shape::Map(map)) => self.map(value, map),
            Some(Shape::List(list)) if list.sharing == ListSharing::Atomic => self.insert(),
            Some(Shape::List(list)) => self.list(value, list),
            Some(Shape::Scalar(_)) => self.insert(),
            None => {}
        }
    }

    fn map(&mut self, value: &Value, map: &Map) {
        let Value::Object(fields) = value else { return };
        for (name, field) in fields {
            self.path.push(PathElement::field(name));
            if let Some(id) = map.type_of(name) {
                self.value(field, id);
            }
            let is_empty = field.is_null() || field.as_object().is_some_and(serde_json::Map::is_empty);
            if is_empty || !map.fields.contains_key(name) {
                self.insert();
            }
            self.path.pop();
        }
    }

    fn list(&mut self, value: &Value, list: &List) {
        let Value::Array(items) = value else { return };
        let elements: Vec<_> = items
            .iter()
            .filter_map(|item| Some((item_element(self.schema, list, item).ok()?, item)))
            .collect();
        let mut counts = BTreeMap::new();
        for (element, _) in &elements {
            *counts.entry(element.clone()).or_insert(0) += 1;
        }
        for (element, item) in elements {
            let is_unique = counts[&element] == 1;
            self.path.push(element);
            // Items with one key between them are owned together, without what is below.
            if is_unique {
                self.value(item, list.items);
            }
            self.insert();
            self.path.pop();
        }
    }

    fn insert(&mut self) {
        self.set.insert_elements(&self.path);
    }
}
