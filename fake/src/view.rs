//! The forms in which objects are shown: as they are, as their metadata, as a table.

use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    kinds::Kind,
    request::{Form, Look},
    storage::Object,
};

/// The annotation of the bookmark that tells the end of the initial objects of a watch.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Shows an object.
pub(crate) fn object(value: Value, kind: &Kind, look: Look, now: Timestamp) -> Value {
    match look.form {
        Form::Object | Form::Discovery => value,
        Form::Metadata => partial(&value, look),
        Form::Table => {
            let mut table = crate::table::header(kind, look);
            let version = value["metadata"]["resourceVersion"].clone();
            if !version.is_null() {
                table["metadata"]["resourceVersion"] = version;
            }
            table["rows"] = json!([crate::table::row(kind, value, look, now)]);
            table
        }
    }
}

/// Shows an object that is stored, encoded.
pub(crate) fn stored(shown: &Object, kind: &Kind, look: Look, now: Timestamp) -> Bytes {
    let mut buffer = BytesMut::new();
    match look.form {
        Form::Object | Form::Discovery => shown.write(kind, &mut buffer),
        Form::Metadata | Form::Table => {
            buffer.put_slice(object(shown.value(kind), kind, look, now).to_string().as_bytes());
        }
    }
    buffer.put_u8(b'\n');
    buffer.freeze()
}

/// Shows the metadata of an object.
pub(crate) fn partial(value: &Value, look: Look) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": look.meta, "metadata": value["metadata"] })
}

/// The list of objects, and what the list says of itself.
pub(crate) struct Page<'p> {
    pub(crate) kind: &'p Kind,
    pub(crate) look: Look,
    pub(crate) now: Timestamp,
    pub(crate) version: u64,
    pub(crate) token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl Page<'_> {
    /// Encodes the list.
    pub(crate) fn encode<'o>(&self, objects: impl Iterator<Item = &'o Object>) -> Bytes {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".to_owned(), self.version.to_string().into());
        match &self.token {
            Some(token) => metadata.insert("continue".to_owned(), token.as_str().into()),
            // The server writes lists of custom resources without their types, and so writes what is empty.
            None if self.kind.is_custom() && self.look.form == Form::Object => {
                metadata.insert("continue".to_owned(), "".into())
            }
            None => None,
        };
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".to_owned(), remaining.into());
        }
        let metadata = Value::Object(metadata);
        let kind = self.kind;
        match self.look.form {
            Form::Object | Form::Discovery => {
                let api_version = kind.api_version();
                let mut buffer = BytesMut::with_capacity(1024);
                let head = format!(
                    "{{\"kind\":\"{}\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":[",
                    kind.list_kind
                );
                buffer.put_slice(head.as_bytes());
                for (index, object) in objects.enumerate() {
                    if index > 0 {
                        buffer.put_u8(b',');
                    }
                    object.write_item(kind, &mut buffer);
                }
                buffer.put_slice(b"]}\n");
                buffer.freeze()
            }
            Form::Metadata => {
                let items: Vec<_> = objects.map(|object| partial(&object.value(kind), self.look)).collect();
                let list = json!({
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": self.look.meta,
                    "metadata": metadata,
                    "items": items,
                });
                Bytes::from(list.to_string())
            }
            Form::Table => {
                let mut table = crate::table::header(kind, self.look);
                table["metadata"] = metadata;
                table["rows"] = objects
                    .map(|object| crate::table::row(kind, object.value(kind), self.look, self.now))
                    .collect();
                Bytes::from(table.to_string())
            }
        }
    }
}

/// Encodes the line of a watch in a form other than the object itself.
pub(crate) fn event(event: &str, shown: &Object, kind: &Kind, look: Look, now: Timestamp) -> Bytes {
    line(event, &object(shown.value(kind), kind, look, now))
}

/// Encodes the line of a watch.
pub(crate) fn line(event: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"))
}

/// Encodes a bookmark, which has a version and nothing else.
pub(crate) fn bookmark(kind: &Kind, look: Look, version: u64, initial_end: bool, now: Timestamp) -> Bytes {
    let mut metadata = json!({ "resourceVersion": version.to_string() });
    if initial_end {
        metadata["annotations"] = json!({ INITIAL_EVENTS_END: "true" });
    }
    let value = json!({ "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata });
    line("BOOKMARK", &object(value, kind, look, now))
}
