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
    pub(crate) fn without(mut self, fields: &FieldSet) -> Self {
        for set in [&mut self.removed, &mut self.modified, &mut self.added] {
            set.subtract_below(fields);
        }
        self
    }
}

/// The difference of two values: that of what is below them, and whether they differ themselves.
#[derive(Default)]
struct Changes {
    below: Comparison,
    removed: bool,
    modified: bool,
    added: bool,
}

impl Changes {
    /// Notes a value that only one side has.
    fn note_presence(&mut self, left: Option<&Value>, right: Option<&Value>) {
        self.added |= left.is_none() && right.is_some();
        self.removed |= left.is_some() && right.is_none();
    }

    /// Adds the difference of what a path element leads to. The element is made only if there is one.
    fn add(&mut self, element: impl FnOnce() -> PathElement, changes: Changes) {
        let Changes { below: Comparison { removed, modified, added }, .. } = changes;
        let parts = [
            (&mut self.below.removed, changes.removed, removed),
            (&mut self.below.modified, changes.modified, modified),
            (&mut self.below.added, changes.added, added),
        ];
        let mut parts = parts.into_iter().filter(|(_, member, below)| *member || !below.is_empty());
        let Some((set, member, below)) = parts.next() else { return };
        let element = element();
        for (set, member, below) in parts {
            set.add_node(element.clone(), member, below);
        }
        set.add_node(element, member, below);
    }
}

/// Compares two valid values.
pub(crate) fn compare(left: &Value, right: &Value, schema: &Schema) -> Comparison {
    // The root is never a member.
    Walker { schema }.values(Some(left), Some(right), schema.root()).below
}

#[derive(Clone, Copy)]
struct Walker<'s> {
    schema: &'s Schema,
}

impl Walker<'_> {
    fn values(self, left: Option<&Value>, right: Option<&Value>, id: TypeId) -> Changes {
        let mut changes = Changes::default();
        let (other, shape) = shapes(self.schema.get(id), left, right);
        if let Some(other) = other {
            self.handle(left, right, other, &mut changes);
        }
        let is_leaf = shape.is_none_or(|shape| self.handle(left, right, shape, &mut changes));
        if !is_leaf {
            changes.note_presence(left, right);
        }
        changes
    }

    /// Compares by a shape and returns whether the values are a leaf.
    fn handle(
        self,
        left: Option<&Value>,
        right: Option<&Value>,
        shape: Shape<'_>,
        changes: &mut Changes,
    ) -> bool {
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
        match (shape, left, right) {
            (_, Some(left), Some(right)) if is_leaf => changes.modified |= !json::equal(left, right),
            _ if is_leaf => changes.note_presence(left, right),
            (Shape::Map(map), ..) => self.maps(as_map(left), as_map(right), map, changes),
            (Shape::List(list), ..) => self.lists(as_list(left), as_list(right), list, changes),
            (Shape::Scalar(_), ..) => {}
        }
        is_leaf
    }

    fn maps(
        self,
        left: Option<&serde_json::Map<String, Value>>,
        right: Option<&serde_json::Map<String, Value>>,
        map: &Map,
        changes: &mut Changes,
    ) {
        let only_right =
            right.into_iter().flatten().filter(|(name, _)| left.is_none_or(|left| !left.contains_key(*name)));
        let both = left
            .into_iter()
            .flatten()
            .map(|(name, value)| (name, Some(value), right.and_then(|right| right.get(name))));
        for (name, left, right) in both.chain(only_right.map(|(name, value)| (name, None, Some(value)))) {
            let Some(id) = map.type_of(name) else { continue };
            changes.add(|| PathElement::field(name), self.values(left, right, id));
        }
    }

    fn lists(self, left: Option<&[Value]>, right: Option<&[Value]>, list: &List, changes: &mut Changes) {
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
            changes.add(|| element, self.items(&left, &right, list.items));
        }
    }

    /// Compares the items with one key. Several items with one key are compared as a whole.
    fn items(self, left: &[&Value], right: &[&Value], id: TypeId) -> Changes {
        match (left, right) {
            ([] | [_], [] | [_]) => self.values(left.first().copied(), right.first().copied(), id),
            ([] | [_], _) => {
                let single = left.first().map(|single| self.values(Some(single), None, id));
                Changes { added: true, ..single.unwrap_or_default() }
            }
            (_, [] | [_]) => {
                let single = right.first().map(|single| self.values(None, Some(single), id));
                Changes { removed: true, ..single.unwrap_or_default() }
            }
            _ => {
                let is_same = left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| json::equal(left, right));
                Changes { modified: !is_same, ..Changes::default() }
            }
        }
    }
}
