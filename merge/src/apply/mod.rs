//! Server-side apply, and the ownership of fields.
//!
//! A [`Writer`] writes an object as the API server would: [`Writer::apply`] merges a configuration, and
//! [`Writer::update`] takes the object that any other write has made. Both return the object with its new
//! `metadata.managedFields`.
//!
//! * A manager owns the fields that it applies. Several managers can own a field if they apply the same
//!   value.
//! * Applying a different value to a field that another manager owns is a conflict, unless the apply is
//!   forced. Other writes take over the fields that they change.
//! * A field that a manager no longer applies is removed, unless another manager owns it.
//! * Sets and lists with keys are merged item by item, and atomic values as a whole. The items of the
//!   configuration keep its order.
//!
//! Entries of other versions of the kind are read as if they referred to the version that is written. The API
//! server converts the object to the version of each entry instead.
//!
//! Defaults, admission and validation are not part of this module, nor is the migration of objects that have
//! the annotation `kubectl.kubernetes.io/last-applied-configuration`.

mod cap;
mod conflict;
mod updater;

use std::sync::LazyLock;

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
    blank: Option<Value>,
    keeps_nulls: bool,
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
    /// The configuration does not fit the schema.
    #[error("failed to create typed patch object ({object}): {}", list(.errors))]
    InvalidConfiguration {
        /// The namespace, the name and the kind of the object.
        object: String,
        /// What does not fit.
        errors: Vec<ValidationError>,
    },
    /// The new object of an update does not fit the schema.
    #[error("failed to create typed new object ({object}): {}", list(.errors))]
    InvalidNew {
        /// The namespace, the name and the kind of the object.
        object: String,
        /// What does not fit.
        errors: Vec<ValidationError>,
    },
    /// The live object does not fit the schema.
    #[error("failed to create typed live object ({object}): {}", list(.errors))]
    InvalidLive {
        /// The namespace, the name and the kind of the object.
        object: String,
        /// What does not fit.
        errors: Vec<ValidationError>,
    },
}

/// Prints errors in the format of the API server.
fn list(errors: &[ValidationError]) -> String {
    match errors {
        [error] => error.to_string(),
        _ => errors.iter().fold("errors:".to_owned(), |list, error| format!("{list}\n  {error}")),
    }
}

/// Names an object in the format of the API server: `namespace/name; group/version, Kind=kind`.
fn description(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let version = text("/apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    let (namespace, name, kind) = (text("/metadata/namespace"), text("/metadata/name"), text("/kind"));
    format!("{namespace}/{name}; {slash}{version}, Kind={kind}")
}

impl Writer {
    /// Creates a writer for objects with this `apiVersion`. It reports conflicts and records no time.
    ///
    /// A manager without a name is called `unknown`.
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
            blank: None,
            keeps_nulls: false,
        }
    }

    /// Writes through a subresource, such as `status`. Each subresource has its own entry in the managed
    /// fields.
    #[must_use]
    pub fn subresource(self, subresource: impl Into<String>) -> Self {
        Self { subresource: subresource.into(), ..self }
    }

    /// Sets the time of the write, in RFC 3339 and UTC to the second: `2026-01-02T03:04:05Z`.
    #[must_use]
    pub fn at(self, time: impl Into<String>) -> Self {
        Self { time: Some(time.into()), ..self }
    }

    /// Sets whether an apply takes over fields that other managers own, instead of reporting conflicts.
    #[must_use]
    pub fn force(self, force: bool) -> Self {
        Self { force, ..self }
    }

    /// Sets the fields whose owners the write does not change, with all that is below them. An example is
    /// `.status` of a kind whose status is a subresource.
    ///
    /// The caller has to restore the old values of these fields.
    #[must_use]
    pub fn reset_fields(self, fields: FieldSet) -> Self {
        Self { reset: fields, ..self }
    }

    /// Sets how an object looks before its creation, for updates that create one. Nobody owns the existence of
    /// what it has.
    ///
    /// The API server compares a new object of its own kinds with an empty one, which has all parts that are
    /// always written: `{ "metadata": {}, "spec": { "containers": null }, "status": {} }`. Custom resources
    /// have none.
    #[must_use]
    pub fn blank(self, object: Value) -> Self {
        Self { blank: Some(object), ..self }
    }

    /// Leaves the nulls of an applied configuration in the object, even where the schema does not know null. The API
    /// server does so with custom resources, whose validation refuses the nulls.
    #[must_use]
    pub fn keep_nulls(self) -> Self {
        Self { keeps_nulls: true, ..self }
    }

    /// Applies a configuration to the live object, or creates the object if there is none.
    ///
    /// If the object does not change, the time of the manager's entry stays the same. If the live object has
    /// no managed fields, all that it contains is first assigned to the manager `before-first-apply`.
    pub fn apply(&self, live: Option<&Value>, config: &Value, schema: &Schema) -> Result<Value, ApplyError> {
        self.check_config(config)?;
        typed::validate(config, schema, Duplicates::Refused)
            .map_err(|errors| ApplyError::InvalidConfiguration { object: description(config), errors })?;
        let (live, mut managers) = match live {
            Some(live) => (without_managed_fields(live), self.managers(ManagedFields::of(live)?, schema)),
            None => (new_object(config), Vec::new()),
        };
        check_live(&live, schema)?;
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
        if is_changed && !self.keeps_nulls {
            typed::drop_nulls(&mut object, schema);
        } else if !is_changed {
            own.time = last.and_then(|last| last.time);
        }
        own.fields = stripped(fields);
        managers.extend(Some(own).filter(|own| !own.fields.is_empty()));
        ManagedFields::new(managers).write_to(&mut object);
        Ok(object)
    }

    /// Assigns the owners after a write other than apply, which turned the live object into `new` or created
    /// it. The result is `new` with its managed fields.
    ///
    /// The writer owns what it has changed. A write may also replace the managed fields: those in `new` are
    /// used if there are any, except for a subresource, and an empty list removes them all. An object without
    /// managed fields stays without them until it is applied.
    ///
    /// # Errors
    /// If `new` or the live object does not fit the schema. The API server stores such an object without
    /// managed fields.
    pub fn update(&self, live: Option<&Value>, new: &Value, schema: &Schema) -> Result<Value, ApplyError> {
        let managed = self.managed_fields(live, new);
        let mut object = without_managed_fields(new);
        if live.is_some() && managed.entries().is_empty() {
            return Ok(object);
        }
        let live = match (live, &self.blank) {
            (Some(live), _) => without_managed_fields(live),
            (None, Some(blank)) => blank.clone(),
            (None, None) => new_object(new),
        };
        typed::validate(&object, schema, Duplicates::Allowed)
            .map_err(|errors| ApplyError::InvalidNew { object: description(&object), errors })?;
        check_live(&live, schema)?;

        let mut managers = self.managers(managed, schema);
        let updater = Updater { schema, reset: &self.reset };
        let fields = stripped(updater.update(&live, &object, &mut managers));
        if !fields.is_empty() {
            let mut own = self.entry(Operation::Update);
            own.fields = fields;
            if let Some(at) = managers.iter().position(|entry| entry.is_same_manager(&own)) {
                own.fields.extend_from(managers.remove(at).fields);
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

fn check_live(live: &Value, schema: &Schema) -> Result<(), ApplyError> {
    typed::validate(live, schema, Duplicates::Allowed)
        .map_err(|errors| ApplyError::InvalidLive { object: description(live), errors })
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
fn stripped(mut fields: FieldSet) -> FieldSet {
    static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
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
        paths.chain(metadata.map(|name| FieldPath::of_fields(["metadata", name]))).collect()
    });
    fields.subtract(&UNOWNED);
    fields
}

#[cfg(test)]
mod tests;
