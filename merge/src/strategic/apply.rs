//! Applying a patch to an object.

use serde_json::{Map, Value};

use super::{
    DELETE, DELETE_FROM_PRIMITIVE_LIST, FieldRules, ItemKind, PATCH, REPLACE, RETAIN_KEYS, Result,
    SET_ELEMENT_ORDER, StrategicError, StrategicProblem, field, item_kind, items, key_of,
    order::{Identity, arrange},
};
use crate::{
    json::equal,
    path::{FieldPath, PathElement},
    schema::{PatchStrategy, Schema, TypeId},
};

pub(super) struct Patcher<'s> {
    schema: &'s Schema,
    path: FieldPath,
}

impl<'s> Patcher<'s> {
    pub(super) fn new(schema: &'s Schema) -> Self {
        Self { schema, path: FieldPath::root() }
    }

    /// Merges a patch into an object.
    pub(super) fn objects(
        &mut self,
        mut object: Map<String, Value>,
        mut patch: Map<String, Value>,
        id: TypeId,
    ) -> Result<Map<String, Value>> {
        if let Some(directive) = patch.remove(PATCH) {
            return match directive.as_str() {
                Some(REPLACE) => Ok(decoded_object(patch)),
                Some(DELETE) => Ok(Map::new()),
                _ => Err(self.bad_directive(PATCH, "an object can be deleted or replaced")),
            };
        }
        if let Some(retained) = patch.remove(RETAIN_KEYS) {
            self.retain_keys(&mut object, &patch, &retained)?;
        }
        self.ordered_lists(&mut object, &mut patch, id)?;
        let (deletions, members): (Map<_, _>, Map<_, _>) =
            patch.into_iter().partition(|(name, _)| name.starts_with(DELETE_FROM_PRIMITIVE_LIST));
        for (name, change) in members {
            self.path.push(PathElement::field(&name));
            self.member(&mut object, name, change, id)?;
            self.path.pop();
        }
        for (directive, values) in deletions {
            self.delete_values(&mut object, &directive, &values)?;
        }
        Ok(object)
    }

    fn member(
        &mut self,
        object: &mut Map<String, Value>,
        name: String,
        change: Value,
        id: TypeId,
    ) -> Result<()> {
        let merged = match (object.remove(&name), change) {
            (_, Value::Null) => None,
            (Some(Value::Object(old)), Value::Object(change)) => {
                let FieldRules { rules, schema } = self.checked(field(self.schema, id, &name))?;
                Some(Value::Object(if rules.strategy == PatchStrategy::Replace {
                    decoded_object(change)
                } else {
                    self.objects(old, change, schema)?
                }))
            }
            (Some(Value::Array(old)), Value::Array(change)) => {
                let field = self.checked(field(self.schema, id, &name))?;
                Some(Value::Array(self.lists(old, change, &field)?))
            }
            (_, change) => clean(change),
        };
        if let Some(merged) = merged {
            object.insert(name, merged);
        }
        Ok(())
    }

    /// Merges a patch into a list, or replaces the list if that is what its strategy says.
    fn lists(&mut self, list: Vec<Value>, patch: Vec<Value>, field: &FieldRules<'_>) -> Result<Vec<Value>> {
        if field.rules.strategy != PatchStrategy::Merge {
            return Ok(patch.into_iter().map(decoded).collect());
        }
        match self.checked(item_kind(&[&list, &patch]))? {
            None => Ok(list),
            Some(ItemKind::Scalar) => {
                let mut merged: Vec<Value> = Vec::with_capacity(list.len() + patch.len());
                for value in list.iter().chain(&patch) {
                    if !merged.iter().any(|other| equal(other, value)) {
                        merged.push(value.clone());
                    }
                }
                Ok(arrange(merged, &patch, &list, Identity::Value))
            }
            Some(ItemKind::Object) => {
                let Some(key) = &field.rules.merge_key else {
                    return Err(self.error(StrategicProblem::NoMergeKeyInSchema));
                };
                let id = self.checked(items(self.schema, field.schema))?;
                self.keyed_items(list, patch, key, id)
            }
        }
    }

    fn keyed_items(
        &mut self,
        mut list: Vec<Value>,
        patch: Vec<Value>,
        key: &str,
        id: TypeId,
    ) -> Result<Vec<Value>> {
        let mut changes = Vec::new();
        let mut replace = false;
        for item in patch {
            match item.get(PATCH).map(Value::as_str) {
                None => changes.push(item),
                Some(Some(DELETE)) => {
                    let gone = self.checked(key_of(&item, key))?;
                    list.retain(|item| item.get(key).is_none_or(|value| !equal(value, gone)));
                }
                Some(Some(REPLACE)) => replace = true,
                Some(_) => {
                    return Err(self.bad_directive(PATCH, "an item can be deleted, and a list replaced"));
                }
            }
        }
        let identity = Identity::Key(key);
        if replace {
            let items: Vec<Value> = changes.into_iter().map(decoded).collect();
            let order = items.clone();
            // Items with one key end up side by side.
            return Ok(arrange(items, &[], &order, identity));
        }
        self.checked(identity.check(&changes))?;
        let before = list.clone();
        for change in &changes {
            match identity.position(&list, change) {
                Some(at) => {
                    let (Value::Object(old), Value::Object(change)) = (list[at].take(), change.clone())
                    else {
                        return Err(self.error(StrategicProblem::MixedItems));
                    };
                    self.path.push(PathElement::key([(key, change[key].clone())]));
                    list[at] = Value::Object(self.objects(old, change, id)?);
                    self.path.pop();
                }
                None => list.push(decoded(change.clone())),
            }
        }
        self.checked(identity.check(&list))?;
        Ok(arrange(list, &changes, &before, identity))
    }

    /// Merges the lists whose order the patch sets, and takes them out of the patch.
    fn ordered_lists(
        &mut self,
        object: &mut Map<String, Value>,
        patch: &mut Map<String, Value>,
        id: TypeId,
    ) -> Result<()> {
        let directives: Vec<String> =
            patch.keys().filter(|name| name.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
        for directive in directives {
            let name = self.target(&directive, SET_ELEMENT_ORDER)?.to_owned();
            let Some(Value::Array(wanted)) = patch.remove(&directive) else {
                return Err(self.bad_directive(&directive, "it must be a list"));
            };
            self.path.push(PathElement::field(&name));
            let old = self.take_list(object, &name)?;
            let change = self.take_list(patch, &name)?;
            let field = self.checked(field(self.schema, id, &name))?;
            if let Some(ordered) = self.ordered_list(old, change, &wanted, &field, &directive)? {
                object.insert(name, Value::Array(ordered));
            }
            self.path.pop();
        }
        Ok(())
    }

    fn ordered_list(
        &mut self,
        old: Option<Vec<Value>>,
        change: Option<Vec<Value>>,
        wanted: &[Value],
        field: &FieldRules<'_>,
        directive: &str,
    ) -> Result<Option<Vec<Value>>> {
        let identity = match &field.rules.merge_key {
            Some(key) => Identity::Key(key),
            None => Identity::Value,
        };
        self.checked(identity.check(wanted))?;
        self.check_order(change.as_deref().unwrap_or_default(), wanted, identity, directive)?;
        let before = places(old.as_deref(), change.as_deref(), identity);
        let is_empty = before.is_empty() && change.as_ref().is_none_or(Vec::is_empty);
        if is_empty && (old.is_some() || change.is_some()) {
            return Err(self.error(StrategicProblem::NothingToOrder));
        }
        let merged = match (old, change) {
            (None, None) => return Ok(None),
            (Some(old), None) => old,
            (None, Some(change)) => change.into_iter().filter_map(clean).collect(),
            (Some(old), Some(change)) => self.lists(old, change, field)?,
        };
        self.checked(identity.check(&merged))?;
        Ok(Some(arrange(merged, wanted, &before, identity)))
    }

    /// Checks that the items of a patch are among the wanted ones, in the same order.
    fn check_order(
        &self,
        change: &[Value],
        wanted: &[Value],
        identity: Identity<'_>,
        directive: &str,
    ) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let mut rest = wanted;
        for item in change.iter().filter(|item| item.get(PATCH).is_none()) {
            match identity.position(rest, item) {
                Some(at) => rest = &rest[at + 1..],
                None => {
                    return Err(
                        self.bad_directive(directive, "the items of the patch do not have this order")
                    );
                }
            }
        }
        Ok(())
    }

    /// Takes a list out of an object. Anything else there is an error.
    fn take_list(&self, object: &mut Map<String, Value>, name: &str) -> Result<Option<Vec<Value>>> {
        match object.remove(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(_) => Err(self.error(StrategicProblem::WrongType("list"))),
        }
    }

    fn delete_values(&self, object: &mut Map<String, Value>, directive: &str, values: &Value) -> Result<()> {
        let name = self.target(directive, DELETE_FROM_PRIMITIVE_LIST)?;
        let Value::Array(values) = values else {
            return Err(self.bad_directive(directive, "it must be a list"));
        };
        if let Some(Value::Array(list)) = object.get_mut(name) {
            list.retain(|value| !values.iter().any(|gone| equal(gone, value)));
        }
        Ok(())
    }

    /// Removes the fields that are not retained. Those of the patch must be.
    fn retain_keys(
        &self,
        object: &mut Map<String, Value>,
        patch: &Map<String, Value>,
        retained: &Value,
    ) -> Result<()> {
        let Value::Array(retained) = retained else {
            return Err(self.bad_directive(RETAIN_KEYS, "it must be a list"));
        };
        let is_retained = |name: &String| retained.iter().any(|retained| retained == name);
        let is_directive =
            |name: &str| name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER);
        if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !is_retained(name)) {
            return Err(self.bad_directive(RETAIN_KEYS, "the patch has a field that is not among these"));
        }
        object.retain(|name, _| is_retained(name));
        Ok(())
    }

    /// Returns the field that a directive such as `$setElementOrder/field` is about.
    fn target<'d>(&self, directive: &'d str, prefix: &str) -> Result<&'d str> {
        let target = directive.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/'));
        target.ok_or_else(|| self.bad_directive(directive, "it must name a field after a slash"))
    }

    fn bad_directive(&self, directive: &str, reason: &'static str) -> StrategicError {
        self.error(StrategicProblem::Directive { directive: directive.to_owned(), reason })
    }

    fn checked<T>(&self, result: std::result::Result<T, StrategicProblem>) -> Result<T> {
        result.map_err(|problem| self.error(problem))
    }

    fn error(&self, problem: StrategicProblem) -> StrategicError {
        StrategicError { path: self.path.clone(), problem }
    }
}

/// Returns the places that items have before they are put into order: those in the old list, and those of
/// deleted items for new ones. That is how the API server's code comes out, which deletes and appends in
/// place.
fn places(old: Option<&[Value]>, change: Option<&[Value]>, identity: Identity<'_>) -> Vec<Value> {
    let (old, change) = (old.unwrap_or_default(), change.unwrap_or_default());
    let (deletions, changes): (Vec<_>, Vec<_>) =
        change.iter().cloned().partition(|item| item.get(PATCH).and_then(Value::as_str) == Some(DELETE));
    let is_deleted = |item: &&Value| identity.position(&deletions, item).is_some();
    let mut places: Vec<Value> = old.iter().filter(|item| !is_deleted(item)).cloned().collect();
    let is_new = |item: &Value| identity.position(old, item).is_none();
    let room = old.len() - places.len();
    places.extend(changes.into_iter().filter(is_new).take(room));
    places
}

/// Returns a value of a patch as it is where there was none: without nulls in objects, and without what the
/// patch deletes, or `None` if that is the value itself.
fn clean(value: Value) -> Option<Value> {
    match value {
        Value::Object(object) if object.contains_key(PATCH) => None,
        Value::Object(object) => {
            let members = present(object).filter_map(|(name, value)| Some((name, clean(value)?)));
            Some(Value::Object(members.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(clean).collect())),
        other => Some(other),
    }
}

/// Returns a value of a patch as it is where the server takes it unread: nulls and directives are lost when
/// the object is decoded, and what a directive would have deleted stays.
fn decoded(value: Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(decoded_object(object)),
        Value::Array(items) => Value::Array(items.into_iter().map(decoded).collect()),
        other => other,
    }
}

fn decoded_object(object: Map<String, Value>) -> Map<String, Value> {
    present(object).map(|(name, value)| (name, decoded(value))).collect()
}

/// Returns the members that are neither null nor directives.
fn present(object: Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    let is_directive = |name: &str| {
        name == PATCH
            || name == RETAIN_KEYS
            || name.starts_with(SET_ELEMENT_ORDER)
            || name.starts_with(DELETE_FROM_PRIMITIVE_LIST)
    };
    object.into_iter().filter(move |(name, value)| !value.is_null() && !is_directive(name))
}
