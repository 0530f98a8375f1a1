//! Sets of fields that were written under another version of the schema.

use crate::{
    fields::FieldSet,
    path::PathElement,
    schema::{List, ListSharing, Map, Scalar, Schema, TypeId},
};

/// Returns the set as it is under this schema: who owned a part of a value that is now shared as a whole owns
/// the whole.
pub(crate) fn reconcile(fields: &FieldSet, schema: &Schema) -> FieldSet {
    let mut walker = Walker { schema, path: Vec::new(), atomic: FieldSet::new() };
    walker.value(Some(fields), false, schema.root());
    if walker.atomic.is_empty() {
        return fields.clone();
    }
    fields.difference_below(&walker.atomic).union(&walker.atomic)
}

struct Walker<'s> {
    schema: &'s Schema,
    path: Vec<PathElement>,
    /// The atomic values of which a part is owned.
    atomic: FieldSet,
}

impl Walker<'_> {
    /// `is_leaf` says that the value is in the set, and nothing below it.
    fn value(&mut self, below: Option<&FieldSet>, is_leaf: bool, id: TypeId) {
        let value = self.schema.get(id);
        match (&value.map, value.scalar, &value.list) {
            (Some(map), _, _) => self.map(below, is_leaf, map),
            (None, Some(_), _) => {}
            (None, None, Some(list)) => self.list(below, is_leaf, list),
            (None, None, None) => {}
        }
    }

    fn map(&mut self, below: Option<&FieldSet>, is_leaf: bool, map: &Map) {
        if self.is_free_form(map) {
            return;
        }
        let Some(below) = below else { return };
        if map.atomic && !is_leaf {
            return self.atomic.insert_elements(&self.path);
        }
        for (element, member, below) in below.nodes() {
            let id = match element {
                PathElement::Field(name) => map.type_of(name),
                _ => map.others,
            };
            if let Some(id) = id {
                self.descend(element, member, below, id);
            }
        }
    }

    fn list(&mut self, below: Option<&FieldSet>, is_leaf: bool, list: &List) {
        if list.sharing == ListSharing::Atomic && !is_leaf {
            return self.atomic.insert_elements(&self.path);
        }
        for (element, member, below) in below.into_iter().flat_map(FieldSet::nodes) {
            self.descend(element, member, below, list.items);
        }
    }

    fn descend(&mut self, element: &PathElement, member: bool, below: &FieldSet, id: TypeId) {
        self.path.push(element.clone());
        self.value((!below.is_empty()).then_some(below), member && below.is_empty(), id);
        self.path.pop();
    }

    /// Returns whether the schema says nothing of the object. How such objects are shared does not change.
    fn is_free_form(&self, map: &Map) -> bool {
        map.fields.is_empty()
            && map
                .others
                .is_some_and(|id| id == TypeId::DEDUCED || self.schema.get(id).scalar == Some(Scalar::Any))
    }
}
