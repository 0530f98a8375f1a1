//! One version of an object, encoded once.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value};

use crate::{
    kinds::{Kind, Nulls},
    metadata,
};

/// One version of an object, as it is stored.
///
/// The object is kept encoded, without `apiVersion` and `kind`: the answers to all readers share the bytes, and a
/// custom resource is served in each of its versions from the same ones.
#[derive(Debug)]
pub(crate) struct Object {
    /// The version, which is `metadata.resourceVersion`.
    pub(crate) version: u64,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) labels: Vec<(String, String)>,
    /// The values of the fields that field selectors of the kind can name, beside the name and the namespace.
    pub(crate) fields: Vec<(String, String)>,
    /// The uids of the owners.
    pub(crate) owners: Vec<String>,
    /// What the object waits for before it goes.
    pub(crate) finalizers: Vec<String>,
    /// Whether some metadata is stored though it is empty.
    has_empty: bool,
    /// The version of the kind in which the object was stored.
    pub(crate) stored_version: Arc<str>,
    /// The schema under which the object was written.
    schema: u64,
    /// Whether the object waits for its finalizers.
    pub(crate) deleting: bool,
    /// The JSON after its opening brace.
    tail: Bytes,
}

/// How an object was written, as far as its JSON does not tell.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The fingerprint of the schema.
    pub(crate) schema: u64,
    /// The version of the kind.
    pub(crate) stored_version: Arc<str>,
}

impl Object {
    /// Encodes an object. What it lacks of its metadata is empty.
    pub(crate) fn new(mut value: Value, kind: &Kind, version: u64) -> Self {
        kind.convert_to_stored(&mut value);
        if let Some(object) = value.as_object_mut() {
            object.remove("apiVersion");
            object.remove("kind");
            let metadata = object.entry("metadata").or_insert_with(|| Map::new().into());
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("resourceVersion".to_owned(), version.to_string().into());
            }
        }
        let encoded = Bytes::from(serde_json::to_vec(&value).unwrap_or_default());
        let written = Written { schema: kind.fingerprint, stored_version: kind.storage_version.clone() };
        Self::of(&value, encoded, version, written, kind.field_values(&value))
    }

    /// Takes an object as it was encoded before. `None` if it is not one, or has another version.
    pub(crate) fn restore(
        encoded: &str,
        version: u64,
        written: Written,
        fields: impl FnOnce(&Value) -> Vec<(String, String)>,
    ) -> Option<Self> {
        let value: Value = serde_json::from_str(encoded).ok()?;
        let found = value.pointer("/metadata/resourceVersion")?.as_str()?;
        let encoded = Bytes::copy_from_slice(encoded.as_bytes());
        let fields = fields(&value);
        (found == version.to_string()).then(|| Self::of(&value, encoded, version, written, fields))
    }

    fn of(
        value: &Value,
        encoded: Bytes,
        version: u64,
        written: Written,
        fields: Vec<(String, String)>,
    ) -> Self {
        let text = |name: &str| value["metadata"][name].as_str().unwrap_or_default().to_owned();
        let labels = value["metadata"]["labels"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, label)| (key.clone(), label.as_str().unwrap_or_default().to_owned()));
        let owners = value["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let owners = owners.filter_map(|owner| Some(owner["uid"].as_str()?.to_owned()));
        Self {
            version,
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            labels: labels.collect(),
            fields,
            owners: owners.collect(),
            finalizers: metadata::finalizers(value),
            has_empty: metadata::has_empty(value),
            stored_version: written.stored_version,
            schema: written.schema,
            deleting: value["metadata"]["deletionTimestamp"].is_string(),
            tail: encoded.slice(1.min(encoded.len())..),
        }
    }

    /// Returns how the object was written.
    pub(crate) fn written(&self) -> Written {
        Written { schema: self.schema, stored_version: self.stored_version.clone() }
    }

    /// Returns the object without its kind and version, as [`Object::restore`] takes it.
    pub(crate) fn encoded(&self) -> String {
        format!("{{{}", String::from_utf8_lossy(&self.tail))
    }

    /// Returns the label with this key.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Returns the object in the version of `kind`.
    pub(crate) fn value(&self, kind: &Kind) -> Value {
        let mut value = self.stored(kind);
        if self.has_empty {
            metadata::drop_empty(&mut value);
        }
        value
    }

    /// Returns the object as it is stored: with metadata that was applied though it is empty, which nobody sees, but
    /// which the next write changes.
    pub(crate) fn stored(&self, kind: &Kind) -> Value {
        let mut buffer = BytesMut::with_capacity(self.tail.len() + kind.prefix.len());
        buffer.put_slice(kind.prefix.as_bytes());
        buffer.put_slice(&self.tail);
        let mut value = serde_json::from_slice(&buffer).unwrap_or_default();
        if let Some(custom) = kind.custom.as_ref().filter(|_| self.schema != kind.fingerprint) {
            // The schema has changed, or the version has another one: what is stored is read by it.
            custom.prune(&mut value, Nulls::Pruned);
            custom.apply_defaults(&mut value);
        }
        kind.convert_from_stored(&mut value);
        value
    }

    /// Appends the JSON of the object.
    pub(crate) fn write(&self, kind: &Kind, buffer: &mut impl BufMut) {
        if self.schema == kind.fingerprint && !kind.is_converted() && !self.has_empty {
            buffer.put_slice(kind.prefix.as_bytes());
            buffer.put_slice(&self.tail);
        } else {
            buffer.put_slice(self.value(kind).to_string().as_bytes());
        }
    }

    /// Appends the JSON of the object as an item of a list: Kubernetes' own kinds have no `apiVersion` and `kind`
    /// there.
    pub(crate) fn write_item(&self, kind: &Kind, buffer: &mut impl BufMut) {
        if kind.is_custom() {
            self.write(kind, buffer);
        } else if kind.is_converted() {
            let mut value = self.value(kind);
            if let Some(object) = value.as_object_mut() {
                object.remove("apiVersion");
                object.remove("kind");
            }
            buffer.put_slice(value.to_string().as_bytes());
        } else {
            buffer.put_u8(b'{');
            buffer.put_slice(&self.tail);
        }
    }
}
