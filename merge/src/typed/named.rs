//! The fields of objects that a set implies.

use crate::{
    fields::FieldSet,
    path::PathElement,
    schema::{Schema, TypeId},
};

/// Returns the set with every field that the schema names and that has a member below it.
///
/// A set of leaves says nothing of the objects that contain them. With those objects in the set, they are
/// removed together with their last leaf. Entries of maps and items of lists have members of their own.
pub(crate) fn with_named_fields(fields: &FieldSet, schema: &Schema) -> FieldSet {
    extend(fields, schema, Some(schema.root()))
}

fn extend(fields: &FieldSet, schema: &Schema, id: Option<TypeId>) -> FieldSet {
    let value = id.map(|id| schema.get(id));
    let map = value.and_then(|value| value.map.as_ref());
    let list = value.and_then(|value| value.list.as_ref());
    let mut extended = FieldSet::new();
    for (element, member, below) in fields.nodes() {
        let (is_named, id) = match (element, map, list) {
            (PathElement::Field(name), Some(map), _) => (map.fields.contains_key(name), map.type_of(name)),
            (PathElement::Key(_), _, Some(list)) => (false, Some(list.items)),
            _ => (false, None),
        };
        let is_member = member || is_named && !below.is_empty();
        extended.add_node(element.clone(), is_member, extend(below, schema, id));
    }
    extended
}
