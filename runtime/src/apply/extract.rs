//! Extracting an apply configuration from an object.

use std::cell::LazyCell;

use genclient_merge::{
    FieldPath, FieldSet, ManagedFields, PathElement, Schema, extract as merge, managed::ManagedFieldsError,
};
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::ApplyConfiguration;
use crate::object::ApiObject;

/// Why extracting an apply configuration failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The object has no `metadata.managedFields`.
    #[error(
        "the object has no metadata.managedFields, which record the applied fields; informers drop them \
         unless their factory is built with `keep_managed_fields(true)`, and a `get` returns them"
    )]
    NoManagedFields,
    /// An entry of `metadata.managedFields` is malformed.
    #[error(transparent)]
    ManagedFields(ManagedFieldsError),
    /// The object does not serialize to JSON.
    #[error("the object does not serialize: {0}")]
    Object(#[source] serde_json::Error),
    /// The applied fields do not decode into the configuration.
    #[error("the applied fields do not decode at {path}: {source}")]
    Decode {
        /// The path of the invalid field, or `.` for the whole configuration.
        path: String,
        /// The error of the field.
        source: serde_json::Error,
    },
    /// The manager has applied fields that the Rust types do not have. Applying the configuration would
    /// remove them from the object.
    #[error("these applied fields are unknown to the Rust types and would be removed: {}", fields.join(", "))]
    Lost {
        /// The paths of the fields.
        fields: Vec<String>,
    },
    /// The Rust types write fields that the manager has not applied, because they cannot leave them out.
    /// Applying the configuration would take them from their owners.
    #[error("the Rust types add fields that were not applied: {}", fields.join(", "))]
    Added {
        /// The paths of the fields.
        fields: Vec<String>,
    },
}

impl From<ManagedFieldsError> for ExtractError {
    fn from(error: ManagedFieldsError) -> Self {
        match error {
            ManagedFieldsError::Absent => Self::NoManagedFields,
            other => Self::ManagedFields(other),
        }
    }
}

/// Returns the configuration that a manager has applied to an object.
///
/// The result has the name and the namespace of the object and the fields that the manager owns, so it can
/// be changed and applied again without affecting the fields of other managers. If the manager has not
/// applied anything, the result only has the name and the namespace.
///
/// The server does not store some zero values of its own kinds, such as `hostNetwork: false` or `args: []`,
/// although the manager owns the fields. The result has them again, because an apply without them would
/// give up the ownership. Such a field is left out if its type has several zero values, as an `IntOrString`
/// has: applying the result then gives up its ownership, but does not change its value.
///
/// ```no_run
/// # use genclient_runtime::{RestClient, TypedClient, apply::{ApplyConfiguration, extract}};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use serde::{Serialize, de::DeserializeOwned};
/// # async fn example<ConfigMapApply>(
/// #     config_maps: TypedClient<ConfigMap>,
/// #     change: impl Fn(&mut ConfigMapApply),
/// # ) -> Result<(), Box<dyn std::error::Error>>
/// # where ConfigMapApply: ApplyConfiguration<Object = ConfigMap> + DeserializeOwned {
/// let object = config_maps.get("example").await?;
/// let mut config: ConfigMapApply = extract(&object, "example-controller")?;
/// change(&mut config);
/// config_maps.apply(&config).field_manager("example-controller").await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the object has no `metadata.managedFields`, as one from the cache of an informer that does not
/// [keep](crate::factory::InformerFactoryBuilder::keep_managed_fields) them, if an entry of them is
/// malformed, or if the configuration would differ from the applied one: a field that one of the types lacks
/// would be lost, and one that they cannot leave out would be taken from its owner.
pub fn extract<A>(object: &A::Object, field_manager: &str) -> Result<A, ExtractError>
where
    A: ApplyConfiguration + DeserializeOwned,
{
    extract_from(object, field_manager, "")
}

/// Returns the configuration that a manager has applied to the status of an object by
/// [`apply_status`](crate::TypedClient::apply_status).
///
/// # Errors
/// As for [`extract`].
pub fn extract_status<A>(object: &A::Object, field_manager: &str) -> Result<A, ExtractError>
where
    A: ApplyConfiguration + DeserializeOwned,
{
    extract_from(object, field_manager, "status")
}

fn extract_from<A>(object: &A::Object, manager: &str, subresource: &str) -> Result<A, ExtractError>
where
    A: ApplyConfiguration + DeserializeOwned,
{
    let mut object = whole(object).map_err(ExtractError::Object)?;
    let mut lost = Vec::new();
    if let Some(entry) = ManagedFields::of(&object)?.applied(manager, subresource) {
        restore::<A::Object>(&mut object, &entry.fields.leaves(), &mut lost);
    }
    let applied = merge::applied(&object, manager, subresource)?;
    let config: A = serde_path_to_error::deserialize(&applied).map_err(|error| ExtractError::Decode {
        path: error.path().to_string(),
        source: error.into_inner(),
    })?;
    let kept = serde_json::to_value(&config).map_err(ExtractError::Object)?;
    missing(&applied, &kept, &mut FieldPath::root(), &mut lost);
    let mut added = Vec::new();
    missing(&kept, &applied, &mut FieldPath::root(), &mut added);
    let fields = |paths: &[FieldPath]| paths.iter().map(ToString::to_string).collect();
    match (&lost[..], &added[..]) {
        ([], []) => Ok(config),
        ([], added) => Err(ExtractError::Added { fields: fields(added) }),
        (lost, _) => Err(ExtractError::Lost { fields: fields(lost) }),
    }
}

/// Returns the object as JSON, with its version and kind, which not every type writes.
fn whole<K: ApiObject + Resource<DynamicType = ()>>(object: &K) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(object)?;
    if let Value::Object(fields) = &mut value {
        fields.entry("apiVersion").or_insert_with(|| K::api_version(&()).into());
        fields.entry("kind").or_insert_with(|| K::kind(&()).into());
    }
    Ok(value)
}

/// Collects the fields of `before` that `after` lacks. Their values are not compared: a quantity, for
/// example, may be written in several ways. A null counts as an absent field.
fn missing(before: &Value, after: &Value, path: &mut FieldPath, lost: &mut Vec<FieldPath>) {
    let mut compare = |element: PathElement, before: &Value, after: Option<&Value>| {
        path.push(element);
        match after {
            Some(after) => missing(before, after, path, lost),
            None => lost.push(path.clone()),
        }
        path.pop();
    };
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before.iter().filter(|(_, value)| !value.is_null()) {
                compare(PathElement::field(name), value, after.get(name));
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (index, value) in before.iter().enumerate() {
                compare(PathElement::Index(index), value, after.get(index));
            }
        }
        _ => {}
    }
}

/// Restores the owned fields that the object lacks because they are empty, and collects the owned fields
/// that the type `K` does not have.
fn restore<K>(object: &mut Value, owned: &FieldSet, lost: &mut Vec<FieldPath>)
where
    K: ApiObject + Resource<DynamicType = ()>,
{
    // The server writes its own kinds, and the metadata of all kinds, without some zero values.
    let is_built_in = LazyCell::new(|| Schema::kubernetes(&K::api_version(&()), &K::kind(&())).is_some());
    for path in owned.iter() {
        while let Some((parent, name)) = first_absent(object, &path) {
            let is_typed = || parent.first() == Some(&Step::Field("metadata")) || *is_built_in;
            match Absent::of::<K>(object, &parent, name) {
                Absent::Empty(value) => insert(object, &parent, name, value),
                Absent::NotStored(Some(zero)) if is_typed() => insert(object, &parent, name, zero),
                Absent::NotStored(_) => break,
                Absent::Unknown => {
                    let path: FieldPath = path.elements()[..=parent.len()].iter().cloned().collect();
                    if !lost.contains(&path) {
                        lost.push(path);
                    }
                    break;
                }
            }
        }
    }
}

/// Why an object lacks a field that is owned.
enum Absent {
    /// The type leaves this value out when it is written.
    Empty(Value),
    /// The type would write every value, so the server has not stored it. Has the zero value of the field,
    /// unless there are several.
    NotStored(Option<Value>),
    /// The type does not know the field, or leaves out more than one value.
    Unknown,
}

impl Absent {
    /// Tries values of a field in an excerpt of the object, because each trial decodes it.
    fn of<K: ApiObject>(object: &Value, parent: &[Step<'_>], name: &str) -> Self {
        let in_excerpt = parent.iter().map(|step| match step {
            Step::Item(_) => Step::Item(0),
            field => *field,
        });
        let mut probe = Probe { object: excerpt(object, parent), parent: in_excerpt.collect(), name };
        if K::deserialize(&probe.object).is_err() {
            // A type may refuse an empty list.
            probe = Probe { object: object.clone(), parent: parent.to_vec(), name };
            if K::deserialize(&probe.object).is_err() {
                return Self::Unknown;
            }
        }
        let zeros = [json!({}), json!([]), json!(false), json!(0), json!("")];
        let fates = zeros.map(|zero| (probe.fate_of::<K>(zero.clone()), zero));
        let with = |fate| fates.iter().filter(move |(other, _)| *other == fate).map(|(_, zero)| zero);
        if with(Fate::Dropped).count() == fates.len() && probe.fate_of::<K>(json!(true)) == Fate::Dropped {
            return Self::Unknown;
        }
        match (with(Fate::Dropped).count(), only(with(Fate::Dropped))) {
            (0, _) => Self::NotStored(only(with(Fate::Kept))),
            (_, Some(value)) => Self::Empty(value),
            (_, None) => Self::Unknown,
        }
    }
}

/// Returns the only value. An empty object and an empty list count as one value, the object: a struct can
/// also be read from a list.
fn only<'v>(mut values: impl Iterator<Item = &'v Value>) -> Option<Value> {
    match (values.next(), values.next(), values.next()) {
        (Some(value), None, None) => Some(value.clone()),
        (Some(value @ Value::Object(_)), Some(Value::Array(_)), None) => Some(value.clone()),
        _ => None,
    }
}

/// A step from a value to a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step<'p> {
    Field(&'p str),
    Item(usize),
}

/// Returns the part of a value that has these steps, or `None` if there is none.
fn part<'v>(value: &'v mut Value, steps: &[Step<'_>]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Field(name) => value.get_mut(*name),
        Step::Item(index) => value.get_mut(*index),
    })
}

fn insert(object: &mut Value, parent: &[Step<'_>], name: &str, value: Value) {
    if let Some(Value::Object(fields)) = part(object, parent) {
        fields.insert(name.to_owned(), value);
    }
}

/// Copies a value without the items of its lists, except those on the way.
fn excerpt(value: &Value, way: &[Step<'_>]) -> Value {
    match (value, way.split_first()) {
        (Value::Array(items), Some((Step::Item(index), way))) => {
            items.get(*index).map(|item| excerpt(item, way)).into_iter().collect()
        }
        (Value::Array(_), _) => json!([]),
        (Value::Object(fields), step) => {
            let copied = fields.iter().map(|(name, field)| match step {
                Some((Step::Field(next), way)) if name == next => (name.clone(), excerpt(field, way)),
                _ => (name.clone(), excerpt(field, &[])),
            });
            Value::Object(copied.collect())
        }
        (scalar, _) => scalar.clone(),
    }
}

/// Finds the first field of a path that the object does not have: the steps to the value that lacks it, and
/// its name.
///
/// A type never drops items of lists, so a path to an absent item has no such field.
fn first_absent<'p>(object: &Value, path: &'p FieldPath) -> Option<(Vec<Step<'p>>, &'p str)> {
    let (mut value, mut steps) = (object, Vec::new());
    for element in path.elements() {
        value = match element {
            PathElement::Field(name) => {
                let Some(below) = value.as_object()?.get(name) else { return Some((steps, name)) };
                steps.push(Step::Field(name));
                below
            }
            item => {
                let items = value.as_array()?;
                let index = position(items, item)?;
                steps.push(Step::Item(index));
                items.get(index)?
            }
        };
    }
    None
}

fn position(items: &[Value], element: &PathElement) -> Option<usize> {
    match element {
        PathElement::Key(key) => {
            // An item may lack a key field that has a default.
            let fits = |or_lacks: bool| {
                items.iter().position(|item| {
                    key.fields().all(|(name, value)| item.get(name).map_or(or_lacks, |found| found == value))
                })
            };
            fits(false).or_else(|| fits(true))
        }
        PathElement::Value(value) => items.iter().position(|item| item == value.get()),
        PathElement::Index(index) => Some(*index),
        _ => None,
    }
}

/// What happens to a value that a type reads and writes.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Refused,
    Kept,
    Dropped,
}

/// An object that lacks a field.
struct Probe<'p> {
    object: Value,
    parent: Vec<Step<'p>>,
    name: &'p str,
}

impl Probe<'_> {
    /// Tries a value of the field.
    fn fate_of<K: ApiObject>(&self, value: Value) -> Fate {
        let mut probed = self.object.clone();
        insert(&mut probed, &self.parent, self.name, value);
        let Ok(decoded) = serde_json::from_value::<K>(probed) else { return Fate::Refused };
        let mut written = serde_json::to_value(decoded).unwrap_or(Value::Null);
        match part(&mut written, &self.parent).is_some_and(|parent| parent.get(self.name).is_some()) {
            true => Fate::Kept,
            false => Fate::Dropped,
        }
    }
}
