//! The entries of `metadata.managedFields`: who owns which fields of an object.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Map, Value};

use crate::fields::FieldSet;

/// How a manager wrote the fields that it owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write: create, update, or a patch that is not an apply.
    Update,
}

/// One entry of `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub struct ManagedFieldsEntry {
    /// The name of the manager.
    pub manager: String,
    /// How the manager wrote the fields.
    pub operation: Operation,
    /// The version of the object that the paths of the fields refer to.
    pub api_version: String,
    /// The time of the last change by the manager, in RFC 3339 and UTC.
    pub time: Option<String>,
    /// The fields that the manager owns.
    pub fields: FieldSet,
    /// The subresource through which the fields were written, or an empty string for the object itself.
    pub subresource: String,
}

/// An entry as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default)]
    manager: String,
    operation: Operation,
    api_version: String,
    time: Option<String>,
    fields_type: FieldsType,
    #[serde(default, rename = "fieldsV1")]
    fields: FieldSet,
    #[serde(default)]
    subresource: String,
}

/// An entry is written with its fields in the order of the API server.
impl Serialize for ManagedFieldsEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts = [self.manager.is_empty(), self.time.is_none(), self.subresource.is_empty()];
        let length = 7 - texts.into_iter().filter(|is_absent| *is_absent).count();
        let mut entry = serializer.serialize_struct("ManagedFieldsEntry", length)?;
        if !self.manager.is_empty() {
            entry.serialize_field("manager", &self.manager)?;
        }
        entry.serialize_field("operation", &self.operation)?;
        entry.serialize_field("apiVersion", &self.api_version)?;
        if let Some(time) = &self.time {
            entry.serialize_field("time", time)?;
        }
        entry.serialize_field("fieldsType", &FieldsType::FieldsV1)?;
        entry.serialize_field("fieldsV1", &self.fields)?;
        if !self.subresource.is_empty() {
            entry.serialize_field("subresource", &self.subresource)?;
        }
        entry.end()
    }
}

/// The formats of sets of fields.
#[derive(Serialize, Deserialize)]
enum FieldsType {
    FieldsV1,
}

impl From<Wire> for ManagedFieldsEntry {
    fn from(wire: Wire) -> Self {
        let Wire {
            manager,
            operation,
            api_version,
            time,
            fields_type: FieldsType::FieldsV1,
            fields,
            subresource,
        } = wire;
        Self { manager, operation, api_version, time, fields, subresource }
    }
}

/// What tells an entry apart from others. The order of the fields is that of an entry.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'e> {
    #[serde(skip_serializing_if = "str::is_empty")]
    manager: &'e str,
    operation: Operation,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'e str,
    #[serde(skip_serializing_if = "str::is_empty")]
    subresource: &'e str,
}

impl ManagedFieldsEntry {
    /// Creates an entry without a time and without a subresource.
    pub fn new(
        manager: impl Into<String>,
        operation: Operation,
        api_version: impl Into<String>,
        fields: FieldSet,
    ) -> Self {
        Self {
            manager: manager.into(),
            operation,
            api_version: api_version.into(),
            time: None,
            fields,
            subresource: String::new(),
        }
    }

    /// Returns the text by which the API server tells entries apart and sorts them in messages.
    pub(crate) fn identity(&self) -> String {
        let is_update = self.operation == Operation::Update;
        let identity = Identity {
            manager: &self.manager,
            operation: self.operation,
            // An applier is the same one in every version.
            api_version: if is_update { &self.api_version } else { "" },
            subresource: &self.subresource,
        };
        serde_json::to_string(&identity).expect("strings serialize")
    }

    /// Returns whether both entries are those of one manager.
    pub(crate) fn is_same_manager(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }
}

/// The entries of `metadata.managedFields`, in the order of the API server: appliers before others, then by
/// time, manager, version and subresource.
///
/// ```
/// use genclient_merge::{ManagedFields, Operation};
/// use serde_json::json;
///
/// let object = json!({
///     "metadata": {
///         "managedFields": [{
///             "manager": "kubectl",
///             "operation": "Apply",
///             "apiVersion": "samplecrd.k8s.io/v1",
///             "fieldsType": "FieldsV1",
///             "fieldsV1": { "f:spec": { "f:cidr": {} } },
///         }],
///     },
/// });
/// let managed = ManagedFields::of(&object)?;
/// assert_eq!(managed.entries()[0].operation, Operation::Apply);
/// # Ok::<(), genclient_merge::managed::ManagedFieldsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedFields {
    entries: Vec<ManagedFieldsEntry>,
}

/// Why `metadata.managedFields` cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagedFieldsError {
    /// The object has no `metadata.managedFields`.
    #[error(
        "the object has no managedFields; it may come from a cache that drops them, or from a server that does \
         not track them"
    )]
    Absent,
    /// An entry is malformed.
    #[error("metadata.managedFields[{index}]: {source}")]
    Entry {
        /// The position of the entry.
        index: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The value is not a list.
    #[error("metadata.managedFields must be a list")]
    NotAList,
}

impl ManagedFields {
    /// Reads the entries of an object. An object without any has an empty list.
    pub fn of(object: &Value) -> Result<Self, ManagedFieldsError> {
        let entries = match object.pointer("/metadata/managedFields") {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Array(entries)) => entries,
            Some(_) => return Err(ManagedFieldsError::NotAList),
        };
        let read = |(index, entry)| {
            ManagedFieldsEntry::deserialize(entry)
                .map_err(|source| ManagedFieldsError::Entry { index, source })
        };
        let entries = entries.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self::new(entries))
    }

    /// Creates a list from entries in any order.
    pub fn new(entries: Vec<ManagedFieldsEntry>) -> Self {
        let mut managed = Self { entries };
        managed.sort();
        managed
    }

    fn sort(&mut self) {
        self.entries.sort_by(|left, right| {
            left.operation
                .cmp(&right.operation)
                .then_with(|| left.time.cmp(&right.time))
                .then_with(|| left.manager.cmp(&right.manager))
                .then_with(|| left.api_version.cmp(&right.api_version))
                .then_with(|| left.subresource.cmp(&right.subresource))
        });
    }

    /// Returns the entries.
    pub fn entries(&self) -> &[ManagedFieldsEntry] {
        &self.entries
    }

    /// Consumes the list and returns the entries.
    pub fn into_entries(self) -> Vec<ManagedFieldsEntry> {
        self.entries
    }

    /// Returns the entry of a manager that applied the object, or one of its subresources.
    pub fn applied(&self, manager: &str, subresource: &str) -> Option<&ManagedFieldsEntry> {
        self.entries.iter().find(|entry| {
            entry.manager == manager
                && entry.operation == Operation::Apply
                && entry.subresource == subresource
        })
    }

    /// Replaces the entries of an object. Without entries, the object has no `metadata.managedFields`.
    ///
    /// A value that is not an object, or has metadata that is not one, stays as it is.
    pub fn write_to(&self, object: &mut Value) {
        let Value::Object(object) = object else { return };
        if self.entries.is_empty() {
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.remove("managedFields");
            }
            return;
        }
        let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(metadata) = metadata {
            let entries = serde_json::to_value(&self.entries).expect("entries are JSON");
            metadata.insert("managedFields".to_owned(), entries);
        }
    }
}

#[cfg(test)]
mod tests;
