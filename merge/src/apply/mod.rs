//! Server-side apply, and the ownership of fields.
//!
//! A [`Writer`] writes an object as the API server would: [`Writer::apply`] merges a configuration, and
//! [`Writer::update`] takes the object that any other write has made. Both return the object with its new
//! `metadata.managedFields`.
//!
//! * A manager owns the fields that it has applied. Two managers may own a field if they applied the same value.
//! * To apply another value to a field that belongs to somebody else is a conflict, unless it is forced. Other
//!   writes take the fields that they change.
//! * A field that a manager does not apply any more is removed, unless somebody else owns it.
//! * Lists with keys and sets are merged item by item; atomic values as a whole. The order of a list is that of
//!   the configuration.
//!
//! Entries of other versions of the kind are read as if their fields were those of the version that is written.
//! The API server converts the object to the version of each entry.
//!
//! The API server has defaults, admission and validation between a write and the store; none of them is here.
//! Neither is the migration from `kubectl apply` without server-side apply, by the annotation
//! `kubectl.kubernetes.io/last-applied-configuration`.

mod cap;
mod conflict;
mod updater;

use serde_json::{Map, Value};

pub use conflict::{Conflict, Conflicts};

use crate::{
    fields::FieldSet,
    json,
    managed::{ManagedFields, ManagedFieldsEntry, ManagedFieldsError, Operation},
    path::FieldPath,
    schema::Schema,
    typed::{self, Duplicates, ValidationError},
};
use updater::Updater;

/// The manager that owns what was there before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The name of a manager that has none.
const UNKNOWN_MANAGER: &str = "unknown";

/// A manager that writes an object in one version.
///
/// ```
/// use genclient_merge::{Schema, Writer};
/// use serde_json::json;
///
/// let config = json!({
///     "apiVersion": "v1",
///     "kind": "ConfigMap",
///     "metadata": { "name": "example" },
///     "data": { "key": "value" },
/// });
/// let writer = Writer::new("controller", "v1").at("2026-01-02T03:04:05Z");
/// let object = writer.apply(None, &config, &Schema::deduced())?;
/// assert_eq!(
///     object["metadata"]["managedFields"][0]["fieldsV1"],
///     json!({ "f:data": { ".": {}, "f:key": {} } })
/// );
/// # Ok::<(), genclient_merge::ApplyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Writer {
    manager: String,
    api_version: String,
    subresource: String,
    time: Option<String>,
    force: bool,
    reset: FieldSet,
}

/// Why an object cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Other managers own fields that the configuration changes.
    #[error(transparent)]
    Conflict(#[from] Conflicts),
    /// The configuration is of another version than the writer.
    #[error(
        "Incorrect version specified in apply patch. Specified patch version: {found}, expected: {expected}"
    )]
    Version {
        /// The version of the configuration.
        found: String,
        /// The version of the writer.
        expected: String,
    },
    /// The configuration has managed fields.
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsInConfiguration,
    /// The managed fields of the live object cannot be read.
    #[error("failed to decode managed fields: {0}")]
    ManagedFields(#[from] ManagedFieldsError),
    /// What is written does not fit the schema.
    #[error("{}", list(.0))]
    Invalid(Vec<ValidationError>),
    /// The live object does not fit the schema.
    #[error("the live object does not fit the schema: {}", list(.0))]
    InvalidLive(Vec<ValidationError>),
}

fn list(errors: &[ValidationError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl Writer {
    /// Creates a writer that does not force and does not tell the time.
    ///
    /// The version is the `apiVersion` of the objects that it writes. An empty name stands for an unknown manager.
    pub fn new(manager: impl Into<String>, api_version: impl Into<String>) -> Self {
        let mut manager = manager.into();
        if manager.is_empty() {
            UNKNOWN_MANAGER.clone_into(&mut manager);
        }
        Self {
            manager,
            api_version: api_version.into(),
            subresource: String::new(),
            time: None,
            force: false,
            reset: FieldSet::new(),
        }
    }

    /// Writes through a subresource, such as `status`. What the manager owns there is separate.
    #[must_use]
    pub fn subresource(self, subresource: impl Into<String>) -> Self {
        Self { subresource: subresource.into(), ..self }
    }

    /// Sets the time of the write, in RFC 3339 and UTC to the second: `2026-01-02T03:04:05Z`.
    #[must_use]
    pub fn at(self, time: impl Into<String>) -> Self {
        Self { time: Some(time.into()), ..self }
    }

    /// Takes fields that belong to other managers, instead of reporting a conflict.
    #[must_use]
    pub fn force(self, force: bool) -> Self {
        Self { force, ..self }
    }

    /// Sets the fields that the write does not change, such as `.status` of a kind whose status is a subresource.
    ///
    /// The writer never owns them, and nobody loses them. It is up to the caller to put the old values back.
    #[must_use]
    pub fn reset_fields(self, fields: FieldSet) -> Self {
        Self { reset: fields, ..self }
    }

    /// Applies a configuration to the live object, or creates it if there is none.
    ///
    /// If nothing changes, the time of the manager's entry stays. An object that has no managed fields yet gets
    /// them: what it has belongs to the manager `before-first-apply`.
    pub fn apply(&self, live: Option<&Value>, config: &Value, schema: &Schema) -> Result<Value, ApplyError> {
        self.check_config(config)?;
        typed::validate(config, schema, Duplicates::Refused).map_err(ApplyError::Invalid)?;
        let (live, mut managers) = match live {
            Some(live) => (without_managed_fields(live), self.managers(ManagedFields::of(live)?, schema)),
            None => (new_object(config), Vec::new()),
        };
        typed::validate(&live, schema, Duplicates::Allowed).map_err(ApplyError::InvalidLive)?;
        let updater = Updater { schema, reset: &self.reset };
        if managers.is_empty() {
            let mut before = self.entry(Operation::Update);
            BEFORE_FIRST_APPLY.clone_into(&mut before.manager);
            before.fields = stripped(updater.update(&new_object(config), &live, &mut Vec::new()));
            managers.extend(Some(before).filter(|before| !before.fields.is_empty()));
        }

        let mut own = self.entry(Operation::Apply);
        let last = managers.iter().position(|entry| entry.is_same_manager(&own));
        let last = last.map(|at| managers.remove(at));
        let last_fields = last.as_ref().map(|last| &last.fields);
        let (object, fields) = updater.apply(&live, config, last_fields, &mut managers, self.force)?;

        let is_changed = !json::equal(&object, &live);
        let mut object = if is_changed { object } else { live };
        if is_changed {
            typed::drop_nulls(&mut object, schema);
        } else {
            own.time = last.and_then(|last| last.time);
        }
        own.fields = stripped(fields);
        managers.extend(Some(own).filter(|own| !own.fields.is_empty()));
        ManagedFields::new(managers).write_to(&mut object);
        Ok(object)
    }

    /// Takes the object that a write other than apply has made of the live object, and returns it with its managed
    /// fields. Without a live object, it is created.
    ///
    /// The writer owns what has changed. The managed fields that `new` has count, as on the API server, except for
    /// a subresource: without any, those of the live object stay, and an empty list resets them. An object that has
    /// none gets none by an update.
    pub fn update(&self, live: Option<&Value>, new: &Value, schema: &Schema) -> Result<Value, ApplyError> {
        let managed = self.managed_fields(live, new);
        let mut object = without_managed_fields(new);
        if live.is_some() && managed.entries().is_empty() {
            return Ok(object);
        }
        let live = live.map_or_else(|| new_object(new), without_managed_fields);
        typed::validate(&object, schema, Duplicates::Allowed).map_err(ApplyError::Invalid)?;
        typed::validate(&live, schema, Duplicates::Allowed).map_err(ApplyError::InvalidLive)?;

        let mut managers = self.managers(managed, schema);
        let updater = Updater { schema, reset: &self.reset };
        let fields = stripped(updater.update(&live, &object, &mut managers));
        if !fields.is_empty() {
            let mut own = self.entry(Operation::Update);
            own.fields = fields;
            if let Some(at) = managers.iter().position(|entry| entry.is_same_manager(&own)) {
                own.fields = own.fields.union(&managers.remove(at).fields);
            }
            managers.push(own);
        }
        ManagedFields::new(cap::cap_update_managers(managers)).write_to(&mut object);
        Ok(object)
    }

    fn check_config(&self, config: &Value) -> Result<(), ApplyError> {
        if config.pointer("/metadata/managedFields").is_some_and(|managed| !managed.is_null()) {
            return Err(ApplyError::ManagedFieldsInConfiguration);
        }
        let found = config.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        if found != self.api_version {
            return Err(ApplyError::Version { found: found.to_owned(), expected: self.api_version.clone() });
        }
        Ok(())
    }

    /// Returns the managed fields from which an update starts.
    fn managed_fields(&self, live: Option<&Value>, new: &Value) -> ManagedFields {
        let of_live = || live.and_then(|live| ManagedFields::of(live).ok()).unwrap_or_default();
        if !self.subresource.is_empty() {
            return of_live();
        }
        let requested = new.pointer("/metadata/managedFields").and_then(Value::as_array);
        let is_reset = requested.is_some_and(|entries| match entries.as_slice() {
            [] => true,
            [only] => only.as_object().is_some_and(Map::is_empty),
            _ => false,
        });
        if is_reset {
            return ManagedFields::default();
        }
        match ManagedFields::of(new) {
            Ok(managed) if !managed.entries().is_empty() => managed,
            _ => of_live(),
        }
    }

    /// Returns the entries as they are under the schema.
    fn managers(&self, managed: ManagedFields, schema: &Schema) -> Vec<ManagedFieldsEntry> {
        let reconcile = |entry: ManagedFieldsEntry| ManagedFieldsEntry {
            fields: typed::reconcile(&entry.fields, schema),
            ..entry
        };
        managed.into_entries().into_iter().map(reconcile).collect()
    }

    /// Creates the entry of the writer, without fields.
    fn entry(&self, operation: Operation) -> ManagedFieldsEntry {
        let mut entry = ManagedFieldsEntry::new(&self.manager, operation, &self.api_version, FieldSet::new());
        entry.subresource.clone_from(&self.subresource);
        entry.time.clone_from(&self.time);
        entry
    }
}

/// Returns the object before its creation: it has a version and a kind.
fn new_object(object: &Value) -> Value {
    let fields = ["apiVersion", "kind"].into_iter();
    let fields = fields.filter_map(|name| Some((name.to_owned(), object.get(name)?.clone())));
    Value::Object(fields.collect())
}

fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    ManagedFields::default().write_to(&mut object);
    object
}

/// Removes the fields that nobody owns: what names the object, and what the server alone writes.
fn stripped(fields: FieldSet) -> FieldSet {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let paths = ["apiVersion", "kind", "metadata"].map(|name| FieldPath::of_fields([name])).into_iter();
    let paths = paths.chain(metadata.map(|name| FieldPath::of_fields(["metadata", name])));
    fields.difference(&paths.collect())
}

#[cfg(test)]
mod tests;
