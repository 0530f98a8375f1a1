//! The difference of two values, as sets of fields.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Shape, as_list, as_map, item_element, shapes};
use crate::{
    fields::FieldSet,
    json,
    path::PathElement,
    schema::{List, ListSharing, Map, Schema, TypeId},
};

/// The fields in which two values differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// The fields that only the left value has.
    pub(crate) removed: FieldSet,
    /// The fields that both values have, with different content.
    pub(crate) modified: FieldSet,
    /// The fields that only the right value has.
    pub(crate) added: FieldSet,
}

impl Comparison {
    /// Removes fields, with all that is below them.
    pub(crate) fn without(self, fields: &FieldSet) -> Self {
        Self {
            removed: self.removed.difference_below(fields),
            modified: self.modified.difference_below(fields),
            added: self.added.difference_below(fields),
        }
    }
}

/// Compares two valid values.
pub(crate) fn compare(left: &Value, right: &Value, schema: &Schema) -> Comparison {
    let mut walker = Walker { schema, path: Vec::new(), result: Comparison::default() };
    walker.values(Some(left), Some(right), schema.root());
    walker.result
}

struct Walker<'s> {
    schema: &'s Schema,
    path: Vec<PathElement>,
    result: Comparison,
}

impl Walker<'_> {
    fn values(&mut self, left: Option<&Value>, right: Option<&Value>, id: TypeId) {
        let (other, shape) = shapes(self.schema.get(id), left, right);
        if let Some(other) = other {
            self.handle(left, right, other);
        }
        let is_leaf = shape.is_none_or(|shape| self.handle(left, right, shape));
        if !is_leaf {
            self.note_presence(left, right);
        }
    }

    /// Compares by a shape and returns whether the values are a leaf.
    fn handle(&mut self, left: Option<&Value>, right: Option<&Value>, shape: Shape<'_>) -> bool {
        let is_leaf = match shape {
            Shape::Scalar(_) => true,
            Shape::Map(map) => {
                let is_empty = |value| as_map(value).is_none_or(serde_json::Map::is_empty);
                map.atomic || is_empty(left) && is_empty(right)
            }
            Shape::List(list) => {
                let is_empty = |value| as_list(value).is_none_or(<[Value]>::is_empty);
                list.sharing == ListSharing::Atomic || is_empty(left) && is_empty(right)
            }
        };
        match shape {
            _ if is_leaf => self.leaf(left, right),
            Shape::Map(map) => self.maps(as_map(left), as_map(right), map),
            Shape::List(list) => self.lists(as_list(left), as_list(right), list),
            Shape::Scalar(_) => {}
        }
        is_leaf
    }

    fn leaf(&mut self, left: Option<&Value>, right: Option<&Value>) {
        match (left, right) {
            (Some(left), Some(right)) if !json::equal(left, right) => {
                self.result.modified.insert_elements(&self.path);
            }
            _ => self.note_presence(left, right),
        }
    }

    fn note_presence(&mut self, left: Option<&Value>, right: Option<&Value>) {
        match (left, right) {
            (None, Some(_)) => self.result.added.insert_elements(&self.path),
            (Some(_), None) => self.result.removed.insert_elements(&self.path),
            _ => {}
        }
    }

    fn maps(
        &mut self,
        left: Option<&serde_json::Map<String, Value>>,
        right: Option<&serde_json::Map<String, Value>>,
        map: &Map,
    ) {
        let only_right =
            right.into_iter().flatten().filter(|(name, _)| left.is_none_or(|left| !left.contains_key(*name)));
        for (name, _) in left.into_iter().flatten().chain(only_right) {
            let Some(id) = map.type_of(name) else { continue };
            self.path.push(PathElement::field(name));
            self.values(left.and_then(|left| left.get(name)), right.and_then(|right| right.get(name)), id);
            self.path.pop();
        }
    }

    fn lists(&mut self, left: Option<&[Value]>, right: Option<&[Value]>, list: &List) {
        let mut items: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in left.unwrap_or_default() {
            if let Ok(element) = item_element(self.schema, list, item) {
                items.entry(element).or_default().0.push(item);
            }
        }
        for item in right.unwrap_or_default() {
            if let Ok(element) = item_element(self.schema, list, item) {
                items.entry(element).or_default().1.push(item);
            }
        }
        for (element, (left, right)) in items {
            self.path.push(element);
            self.items(&left, &right, list.items);
            self.path.pop();
        }
    }

    /// Compares the items with one key. Several items with one key are compared as a whole.
    fn items(&mut self, left: &[&Value], right: &[&Value], id: TypeId) {
        match (left, right) {
            ([] | [_], [] | [_]) => self.values(left.first().copied(), right.first().copied(), id),
            ([] | [_], _) => {
                if let [single] = left {
                    self.values(Some(single), None, id);
                }
                self.result.added.insert_elements(&self.path);
            }
            (_, [] | [_]) => {
                if let [single] = right {
                    self.values(None, Some(single), id);
                }
                self.result.removed.insert_elements(&self.path);
            }
            _ => {
                let is_same = left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| json::equal(left, right));
                if !is_same {
                    self.result.modified.insert_elements(&self.path);
                }
            }
        }
    }
}
