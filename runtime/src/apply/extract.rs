//! What a manager has applied to an object, as an apply configuration.

use genclient_merge::{
    FieldPath, FieldSet, ManagedFields, PathElement, extract as merge, managed::ManagedFieldsError,
};
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::ApplyConfiguration;
use crate::client::ApiObject;

/// Why what a manager has applied cannot be extracted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The object has no `metadata.managedFields`.
    #[error(
        "the object has no metadata.managedFields, so it does not show what has been applied; informers drop \
         them unless their factory is built with `keep_managed_fields(true)`, and a `get` returns them"
    )]
    NoManagedFields,
    /// An entry of `metadata.managedFields` is malformed.
    #[error(transparent)]
    ManagedFields(ManagedFieldsError),
    /// The object does not serialize to JSON.
    #[error("the object does not serialize: {0}")]
    Object(#[source] serde_json::Error),
    /// What the manager has applied does not decode into the configuration.
    #[error("what has been applied does not decode at {path}: {source}")]
    Decode {
        /// The path of the wrong field, or `.` if the whole is wrong.
        path: String,
        /// What is wrong with it.
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

/// Returns what a manager has applied to an object.
///
/// The result has the name and the namespace of the object and those fields that the manager owns, so it can
/// be changed and applied again: fields that stay keep their values, and fields of other managers are not
/// touched. If the manager has not applied anything, the result only has the name and the namespace.
///
/// The server does not store some empty values of its own kinds, such as a `false` that is the default. They
/// are not in the result, and applying it without them changes nothing.
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
/// malformed, or if the configuration would not hold just what was applied: a field that one of the types
/// lacks would be lost, and one that they cannot leave out would be taken from its owner.
pub fn extract<A>(object: &A::Object, field_manager: &str) -> Result<A, ExtractError>
where
    A: ApplyConfiguration + DeserializeOwned,
{
    extract_from(object, field_manager, "")
}

/// Returns what a manager has applied to the status of an object, by
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

/// The object as JSON, with its version and kind, which not every type writes.
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

/// Puts back the owned fields that the type `K` did not write because they are empty, and collects those
/// that it dropped when it was decoded.
fn restore<K: ApiObject>(object: &mut Value, owned: &FieldSet, lost: &mut Vec<FieldPath>) {
    for path in owned.iter() {
        while let Some((parent, name, depth)) = first_absent(object, &path) {
            match Absent::of::<K>(object, &parent, name) {
                Absent::Empty(value) => {
                    if let Some(Value::Object(fields)) = object.pointer_mut(&parent) {
                        fields.insert(name.to_owned(), value);
                    }
                }
                Absent::NotStored => break,
                Absent::Unknown => {
                    let path: FieldPath = path.elements()[..depth].iter().cloned().collect();
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
    /// The type would write every value, so the server has not stored it.
    NotStored,
    /// The type does not know the field, or leaves out more than one value.
    Unknown,
}

impl Absent {
    fn of<K: ApiObject>(object: &Value, parent: &str, name: &str) -> Self {
        let fate = |probe: &Value| fate_of::<K>(object, parent, name, probe.clone());
        let empty = [json!({}), json!([]), json!(false), json!(0), json!("")];
        let mut dropped = empty.into_iter().filter(|probe| fate(probe) == Fate::Dropped);
        let is_known = K::deserialize(object).is_ok()
            && [json!(true), json!([])].iter().any(|probe| fate(probe) != Fate::Dropped);
        match (is_known, dropped.next(), dropped.next()) {
            (true, None, _) => Self::NotStored,
            (true, Some(value), None) => Self::Empty(value),
            // A struct can also be read from a list.
            (true, Some(value @ Value::Object(_)), Some(Value::Array(_))) => Self::Empty(value),
            _ => Self::Unknown,
        }
    }
}

/// Finds the first field of a path that the object does not have: the JSON pointer of the value that lacks
/// it, its name, and the number of elements up to it.
///
/// Items of lists are never dropped by a type, so a path to an item that is gone has none.
fn first_absent<'p>(object: &Value, path: &'p FieldPath) -> Option<(String, &'p str, usize)> {
    let (mut value, mut pointer) = (object, String::new());
    for (depth, element) in path.elements().iter().enumerate() {
        match element {
            PathElement::Field(name) => match value.as_object()?.get(name) {
                None => return Some((pointer, name, depth + 1)),
                Some(below) => {
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    value = below;
                }
            },
            item => {
                let index = position(value.as_array()?, item)?;
                pointer.push_str(&format!("/{index}"));
                value = value.get(index)?;
            }
        }
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

/// What becomes of a value that a type reads and writes.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Refused,
    Kept,
    Dropped,
}

/// Tries a value of a field.
fn fate_of<K: ApiObject>(object: &Value, parent: &str, name: &str, probe: Value) -> Fate {
    let mut probed = object.clone();
    let Some(Value::Object(fields)) = probed.pointer_mut(parent) else { return Fate::Refused };
    fields.insert(name.to_owned(), probe);
    let Ok(decoded) = serde_json::from_value::<K>(probed) else { return Fate::Refused };
    let written = serde_json::to_value(decoded).unwrap_or(Value::Null);
    match written.pointer(parent).is_some_and(|parent| parent.get(name).is_some()) {
        true => Fate::Kept,
        false => Fate::Dropped,
    }
}
