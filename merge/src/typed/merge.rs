//! Merging a partial value into another one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::{Shape, as_list, as_map, item_element, shapes};
use crate::{
    path::PathElement,
    schema::{List, ListSharing, Map, Schema, TypeId},
};

/// Merges the right value into the left one. Both are valid, and no key occurs twice in a list of the right
/// one.
///
/// Nothing of the left value is removed. Where both have a leaf, the right one counts. The items of a shared
/// list keep their order, and those of the right value have the order that they have there.
pub(crate) fn merge(left: &Value, right: &Value, schema: &Schema) -> Value {
    Merger { schema }.values(Some(left), Some(right), schema.root()).unwrap_or(Value::Null)
}

#[derive(Clone, Copy)]
struct Merger<'s> {
    schema: &'s Schema,
}

impl Merger<'_> {
    fn values(self, left: Option<&Value>, right: Option<&Value>, id: TypeId) -> Option<Value> {
        let (_, shape) = shapes(self.schema.get(id), left, right);
        match shape? {
            Shape::Map(map) if !map.atomic => self.maps(left, right, map),
            Shape::List(list) if list.sharing != ListSharing::Atomic => self.lists(left, right, list),
            _ => leaf(left, right),
        }
    }

    fn maps(self, left: Option<&Value>, right: Option<&Value>, map: &Map) -> Option<Value> {
        let (left_map, right_map) = (as_map(left), as_map(right));
        let is_empty = |map: Option<&serde_json::Map<_, _>>| map.is_none_or(serde_json::Map::is_empty);
        if is_empty(left_map) && is_empty(right_map) {
            return leaf(left, right);
        }
        let mut merged = serde_json::Map::new();
        for (name, value) in left_map.into_iter().flatten() {
            let other = right_map.and_then(|right| right.get(name));
            if let Some(value) = self.field(Some(value), other, map.type_of(name)) {
                merged.insert(name.clone(), value);
            }
        }
        for (name, value) in right_map.into_iter().flatten() {
            if left_map.is_none_or(|left| !left.contains_key(name))
                && let Some(value) = self.field(None, Some(value), map.type_of(name))
            {
                merged.insert(name.clone(), value);
            }
        }
        (!merged.is_empty()).then_some(Value::Object(merged))
    }

    fn field(self, left: Option<&Value>, right: Option<&Value>, id: Option<TypeId>) -> Option<Value> {
        match id {
            Some(id) => self.values(left, right, id),
            None => leaf(left, right),
        }
    }

    fn lists(self, left: Option<&Value>, right: Option<&Value>, list: &List) -> Option<Value> {
        let (left_items, right_items) =
            (as_list(left).unwrap_or_default(), as_list(right).unwrap_or_default());
        if left_items.is_empty() && right_items.is_empty() {
            return leaf(left, right);
        }
        let merged = self.items(&self.index(list, left_items), &self.index(list, right_items), list);
        (!merged.is_empty()).then_some(Value::Array(merged))
    }

    fn index<'v>(self, list: &List, items: &'v [Value]) -> Vec<(PathElement, &'v Value)> {
        let element = |item| item_element(self.schema, list, item).ok();
        items.iter().filter_map(|item| Some((element(item)?, item))).collect()
    }

    /// Interleaves the items of both lists. Items that only the left list has stay where they are in relation
    /// to the items of both.
    fn items(
        self,
        left: &[(PathElement, &Value)],
        right: &[(PathElement, &Value)],
        list: &List,
    ) -> Vec<Value> {
        let in_right: BTreeSet<&PathElement> = right.iter().map(|(element, _)| element).collect();
        // An item that occurs twice on the left is not merged but replaced.
        let mut in_left: BTreeMap<&PathElement, Option<&Value>> = BTreeMap::new();
        for (element, item) in left {
            in_left.entry(element).and_modify(|item| *item = None).or_insert(Some(item));
        }
        let mut shared: VecDeque<&PathElement> = right
            .iter()
            .map(|(element, _)| element)
            .filter(|element| in_left.contains_key(element))
            .collect();

        let mut merged = Vec::new();
        let mut done: BTreeSet<&PathElement> = BTreeSet::new();
        let (mut left_rest, mut right_rest) = (left, right);
        while !left_rest.is_empty() || !right_rest.is_empty() {
            if let ([(left_element, _), left_after @ ..], [(right_element, right_item), right_after @ ..]) =
                (left_rest, right_rest)
            {
                if left_element == right_element {
                    merged.extend(self.item(&in_left, right_element, right_item, list));
                    done.insert(right_element);
                    (left_rest, right_rest) = (left_after, right_after);
                    shared.pop_front();
                    continue;
                }
                let is_out_of_turn = shared.front().is_some_and(|next| *next != left_element);
                if in_right.contains(left_element) && is_out_of_turn {
                    left_rest = left_after;
                    continue;
                }
            }
            if let [(element, item), after @ ..] = left_rest {
                if !in_right.contains(element) {
                    merged.extend(self.values(Some(item), None, list.items));
                    left_rest = after;
                    continue;
                }
                if done.contains(element) {
                    left_rest = after;
                }
            }
            if let [(element, item), after @ ..] = right_rest {
                merged.extend(self.item(&in_left, element, item, list));
                done.insert(element);
                right_rest = after;
                if shared.front() == Some(&element) {
                    shared.pop_front();
                }
            }
        }
        merged
    }

    fn item(
        self,
        in_left: &BTreeMap<&PathElement, Option<&Value>>,
        element: &PathElement,
        right: &Value,
        list: &List,
    ) -> Option<Value> {
        self.values(in_left.get(element).copied().flatten(), Some(right), list.items)
    }
}

/// The rule for leaves: the right value counts if there is one.
fn leaf(left: Option<&Value>, right: Option<&Value>) -> Option<Value> {
    right.or(left).cloned()
}
