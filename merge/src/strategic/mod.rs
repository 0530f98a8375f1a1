//! Strategic merge patches: merge patches that know which lists have keys.
//!
//! A list whose field has the patch strategy `merge` is merged item by item, by its merge key if the items
//! are objects. Other lists are replaced. A patch may contain directives:
//!
//! | directive | meaning |
//! | --- | --- |
//! | `$patch: delete` | in an item: remove the item with this merge key; in an object: remove all fields |
//! | `$patch: replace` | as an item: the other items replace the list; in an object: its fields replace it |
//! | `$deleteFromPrimitiveList/field` | remove these values from the list `field` |
//! | `$setElementOrder/field` | put the items of the list `field` into this order |
//! | `$retainKeys` | remove all fields of the object except these |
//!
//! The API server accepts strategic merge patches for built-in kinds only, not for custom resources.

mod apply;
mod diff;
mod order;

use serde_json::{Map, Value};

use crate::{
    json::{self, MAX_DEPTH},
    path::FieldPath,
    schema::{PatchRules, PatchStrategy, Schema, TypeId},
};

const PATCH: &str = "$patch";
const DELETE: &str = "delete";
const REPLACE: &str = "replace";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// Why there is no patch, or why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", location(.path))]
pub struct StrategicError {
    path: FieldPath,
    problem: StrategicProblem,
}

impl StrategicError {
    /// Returns the path of the field.
    pub fn path(&self) -> &FieldPath {
        &self.path
    }

    /// Returns what is wrong.
    pub fn problem(&self) -> &StrategicProblem {
        &self.problem
    }
}

/// What is wrong with a strategic merge patch, or with the objects that it is made from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrategicProblem {
    /// The value or the patch is not an object.
    #[error("expected an object, got {0}")]
    NotAnObject(&'static str),
    /// The schema does not have the field.
    #[error("field not declared in schema")]
    UnknownField,
    /// The schema has the field with another type.
    #[error("the schema has no {0} here")]
    WrongType(&'static str),
    /// An item of a list lacks the merge key.
    #[error("an item lacks the merge key `{0}`")]
    NoMergeKey(String),
    /// The items of a list are objects, but the schema has no merge key.
    #[error("a list of objects without a merge key cannot be merged")]
    NoMergeKeyInSchema,
    /// The items of a list are not all objects, or not all scalars of one type.
    #[error("the items of a list that is merged must all have one type, and must not be lists or null")]
    MixedItems,
    /// Items with one merge key stand apart in the new list. The API server puts them side by side.
    #[error("items with the same `{0}` stand apart, which a strategic merge patch cannot express")]
    ScatteredKey(String),
    /// The patch sets the order of a list that has no items, which the API server does not accept.
    #[error("there are no items to put into order")]
    NothingToOrder,
    /// A directive has a value that it cannot have.
    #[error("malformed directive `{directive}`: {reason}")]
    Directive {
        /// The directive.
        directive: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The value or the patch is nested too deep.
    #[error("the value is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

fn location(path: &FieldPath) -> String {
    if path.elements().is_empty() { String::new() } else { format!("{path}: ") }
}

type Result<T> = std::result::Result<T, StrategicError>;

/// Returns the strategic merge patch that turns `old` into `new`, or `None` if they are equal.
///
/// `$patch: replace` is used for a list in which a merge key occurs twice, such as the ports 53/TCP and
/// 53/UDP of a service. They must stand side by side in `new`. Like a merge patch, a strategic merge patch
/// cannot set a field to null. The values of a list of scalars that is merged must be unique.
///
/// ```
/// use genclient_merge::{Schema, strategic};
/// use serde_json::json;
///
/// let document = json!({ "components": { "schemas": { "Pod": {
///     "type": "object",
///     "properties": { "containers": {
///         "type": "array",
///         "items": { "type": "object" },
///         "x-kubernetes-patch-merge-key": "name",
///         "x-kubernetes-patch-strategy": "merge",
///     } },
/// } } } });
/// let schema = Schema::from_open_api(&document, "Pod")?;
///
/// let old = json!({ "containers": [{ "name": "a", "image": "x" }, { "name": "b", "image": "y" }] });
/// let new = json!({ "containers": [{ "name": "a", "image": "z" }] });
/// let patch = strategic::diff(&old, &new, &schema)?.expect("they differ");
/// assert_eq!(patch, json!({
///     "containers": [{ "name": "a", "image": "z" }, { "name": "b", "$patch": "delete" }],
///     "$setElementOrder/containers": [{ "name": "a" }],
/// }));
/// assert_eq!(strategic::apply(&old, &patch, &schema)?, new);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diff(old: &Value, new: &Value, schema: &Schema) -> Result<Option<Value>> {
    let patch = diff::Differ::new(schema).objects(root(old)?, root(new)?, schema.root(), false)?;
    Ok((!patch.is_empty()).then_some(Value::Object(patch)))
}

/// Applies a strategic merge patch.
pub fn apply(value: &Value, patch: &Value, schema: &Schema) -> Result<Value> {
    let (value, patch) = (root(value)?.clone(), root(patch)?.clone());
    apply::Patcher::new(schema).objects(value, patch, schema.root()).map(Value::Object)
}

fn root(value: &Value) -> Result<&Map<String, Value>> {
    let error = |problem| StrategicError { path: FieldPath::root(), problem };
    json::check_depth(value).map_err(|_| error(StrategicProblem::TooDeep))?;
    value.as_object().ok_or_else(|| error(StrategicProblem::NotAnObject(json::type_name(value))))
}

/// What the schema says of a field.
struct FieldRules<'s> {
    rules: &'s PatchRules,
    schema: TypeId,
}

static NO_RULES: PatchRules =
    PatchRules { strategy: PatchStrategy::Unset, merge_key: None, retain_keys: false };

/// Finds a field of an object type.
fn field<'s>(
    schema: &'s Schema,
    object: TypeId,
    name: &str,
) -> std::result::Result<FieldRules<'s>, StrategicProblem> {
    let map = schema.get(object).map.as_ref().ok_or(StrategicProblem::WrongType("object"))?;
    match map.fields.get(name) {
        Some(field) => Ok(FieldRules { rules: &field.patch, schema: field.schema }),
        None => {
            let schema = map.others.ok_or(StrategicProblem::UnknownField)?;
            Ok(FieldRules { rules: &NO_RULES, schema })
        }
    }
}

/// Returns the type of the items of a list type.
fn items(schema: &Schema, list: TypeId) -> std::result::Result<TypeId, StrategicProblem> {
    schema.get(list).list.as_ref().map(|list| list.items).ok_or(StrategicProblem::WrongType("list"))
}

/// What the items of a list are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Object,
    Scalar,
}

/// Returns what the items of all lists are, or `None` if there are none.
fn item_kind(lists: &[&[Value]]) -> std::result::Result<Option<ItemKind>, StrategicProblem> {
    let mut items = lists.iter().copied().flatten();
    let Some(first) = items.next() else { return Ok(None) };
    let kind = match first {
        Value::Object(_) => ItemKind::Object,
        Value::Array(_) | Value::Null => return Err(StrategicProblem::MixedItems),
        _ => ItemKind::Scalar,
    };
    let of_first = std::mem::discriminant(first);
    if items.all(|item| std::mem::discriminant(item) == of_first) {
        Ok(Some(kind))
    } else {
        Err(StrategicProblem::MixedItems)
    }
}

/// Returns the value of the merge key of an item.
fn key_of<'v>(item: &'v Value, key: &str) -> std::result::Result<&'v Value, StrategicProblem> {
    item.get(key).ok_or_else(|| StrategicProblem::NoMergeKey(key.to_owned()))
}

#[cfg(test)]
mod tests;
