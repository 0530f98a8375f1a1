//! The difference of two objects.

use serde_json::{Map, Value, json};

use super::{
    DELETE, DELETE_FROM_PRIMITIVE_LIST, FieldRules, ItemKind, PATCH, REPLACE, RETAIN_KEYS, Result,
    SET_ELEMENT_ORDER, StrategicError, StrategicProblem, field, item_kind, items, key_of,
};
use crate::{
    json::{equal, write_display},
    path::{FieldPath, PathElement},
    schema::{PatchStrategy, Schema, TypeId},
};

pub(super) struct Differ<'s> {
    schema: &'s Schema,
    path: FieldPath,
}

impl<'s> Differ<'s> {
    pub(super) fn new(schema: &'s Schema) -> Self {
        Self { schema, path: FieldPath::root() }
    }

    /// Returns the patch between two objects. With `retain_keys` it lists the fields that stay.
    pub(super) fn objects(
        &mut self,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
        id: TypeId,
        retain_keys: bool,
    ) -> Result<Map<String, Value>> {
        let mut patch = Map::new();
        for (name, after) in new {
            self.path.push(PathElement::field(name));
            match old.get(name) {
                Some(before) if before == after => {}
                Some(before) => self.member(name, before, after, id, &mut patch)?,
                None => {
                    patch.insert(name.clone(), after.clone());
                }
            }
            self.path.pop();
        }
        for name in old.keys() {
            if !new.contains_key(name) {
                patch.insert(name.clone(), Value::Null);
            }
        }
        if retain_keys && !patch.is_empty() {
            let mut retained: Vec<&String> =
                new.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect();
            retained.sort_unstable();
            if !retained.is_empty() {
                patch.insert(RETAIN_KEYS.to_owned(), json!(retained));
            }
        }
        Ok(patch)
    }

    /// Adds to the patch what turns one member of an object into another value.
    fn member(
        &mut self,
        name: &str,
        before: &Value,
        after: &Value,
        id: TypeId,
        patch: &mut Map<String, Value>,
    ) -> Result<()> {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => {
                let FieldRules { rules, schema } = self.checked(field(self.schema, id, name))?;
                let changes = if rules.strategy == PatchStrategy::Replace {
                    after.clone()
                } else {
                    self.objects(before, after, schema, rules.retain_keys)?
                };
                patch.insert(name.to_owned(), Value::Object(changes));
            }
            (Value::Array(before), Value::Array(after)) => {
                let field = self.checked(field(self.schema, id, name))?;
                if field.rules.strategy == PatchStrategy::Merge {
                    self.lists(name, before, after, &field, patch)?;
                } else {
                    patch.insert(name.to_owned(), Value::Array(after.clone()));
                }
            }
            _ => {
                patch.insert(name.to_owned(), after.clone());
            }
        }
        Ok(())
    }

    /// Adds to the patch what turns one list that is merged into another one.
    fn lists(
        &mut self,
        name: &str,
        before: &[Value],
        after: &[Value],
        field: &FieldRules<'_>,
        patch: &mut Map<String, Value>,
    ) -> Result<()> {
        let kind = self.checked(item_kind(&[before, after]))?;
        if kind == Some(ItemKind::Scalar) {
            scalars(name, before, after, patch);
            return Ok(());
        }
        let Some(key) = &field.rules.merge_key else {
            return Err(self.error(StrategicProblem::NoMergeKeyInSchema));
        };
        if self.has_duplicates(before, key)? || self.has_duplicates(after, key)? {
            if is_scattered(after, key) {
                return Err(self.error(StrategicProblem::ScatteredKey(key.clone())));
            }
            let mut replacement = vec![json!({ PATCH: REPLACE })];
            replacement.extend(after.iter().cloned());
            patch.insert(name.to_owned(), Value::Array(replacement));
            return Ok(());
        }
        let id = self.checked(items(self.schema, field.schema))?;
        let mut changes = self.changed_items(before, after, key, id, field.rules.retain_keys)?;
        changes.extend(deleted_items(before, after, key));
        if !changes.is_empty() {
            patch.insert(name.to_owned(), Value::Array(changes));
        }
        if !before.is_empty() && !after.is_empty() {
            let order = after.iter().map(|item| json!({ key: item[key] })).collect();
            patch.insert(format!("{SET_ELEMENT_ORDER}/{name}"), Value::Array(order));
        }
        Ok(())
    }

    /// Returns a patch for every item that is new or has changed, in the order of the new list.
    fn changed_items(
        &mut self,
        before: &[Value],
        after: &[Value],
        key: &str,
        id: TypeId,
        retain_keys: bool,
    ) -> Result<Vec<Value>> {
        let mut changes = Vec::new();
        for item in after {
            let old = before.iter().find(|old| equal(&old[key], &item[key]));
            let (Some(Value::Object(old)), Value::Object(new)) = (old, item) else {
                changes.push(item.clone());
                continue;
            };
            self.path.push(PathElement::key([(key, item[key].clone())]));
            let mut change = self.objects(old, new, id, retain_keys)?;
            self.path.pop();
            if !change.is_empty() {
                change.insert(key.to_owned(), item[key].clone());
                changes.push(Value::Object(change));
            }
        }
        Ok(changes)
    }

    /// Returns whether two items have one key. All items must have the key.
    fn has_duplicates(&self, list: &[Value], key: &str) -> Result<bool> {
        let mut keys = Vec::with_capacity(list.len());
        for item in list {
            keys.push(self.checked(key_of(item, key))?);
        }
        Ok(keys.iter().enumerate().any(|(at, key)| keys[..at].iter().any(|other| equal(other, key))))
    }

    fn checked<T>(&self, result: std::result::Result<T, StrategicProblem>) -> Result<T> {
        result.map_err(|problem| self.error(problem))
    }

    fn error(&self, problem: StrategicProblem) -> StrategicError {
        StrategicError { path: self.path.clone(), problem }
    }
}

/// Returns whether items with one key have another item between them.
fn is_scattered(list: &[Value], key: &str) -> bool {
    let keys: Vec<&Value> = list.iter().map(|item| &item[key]).collect();
    let begins_run = |at: &usize| *at == 0 || !equal(keys[at - 1], keys[*at]);
    (0..keys.len()).filter(begins_run).any(|at| keys[..at].iter().any(|other| equal(other, keys[at])))
}

/// Returns a directive for every item that the new list lacks, sorted by key.
fn deleted_items(before: &[Value], after: &[Value], key: &str) -> Vec<Value> {
    let is_gone = |old: &&Value| !after.iter().any(|new| equal(&old[key], &new[key]));
    let mut gone: Vec<&Value> = before.iter().filter(is_gone).map(|item| &item[key]).collect();
    gone.sort_by_cached_key(|value| text(value));
    gone.into_iter().map(|value| json!({ key: value, PATCH: DELETE })).collect()
}

fn scalars(name: &str, before: &[Value], after: &[Value], patch: &mut Map<String, Value>) {
    let only_in = |list: &[Value], other: &[Value]| {
        let mut only: Vec<Value> = Vec::new();
        for value in list {
            if !other.iter().chain(&only).any(|other| equal(other, value)) {
                only.push(value.clone());
            }
        }
        only
    };
    let added = only_in(after, before);
    if !added.is_empty() {
        patch.insert(name.to_owned(), Value::Array(added));
    }
    let mut deleted = only_in(before, after);
    if !deleted.is_empty() {
        deleted.sort_by_cached_key(text);
        patch.insert(format!("{DELETE_FROM_PRIMITIVE_LIST}/{name}"), Value::Array(deleted));
    }
    if !before.is_empty() && !after.is_empty() {
        patch.insert(format!("{SET_ELEMENT_ORDER}/{name}"), Value::Array(after.to_vec()));
    }
}

/// The text by which the API server's clients sort values.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => {
            let mut text = String::new();
            write_display(other, &mut text);
            text
        }
    }
}
