//! Decodes manifests into the types of a clientset.
//!
//! A generated crate has an enum of its types. This module contains the code that all such enums share.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A type of a clientset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownType {
    /// The group and version.
    pub api_version: &'static str,
    /// The kind.
    pub kind: &'static str,
}

impl KnownType {
    /// Creates a known type from its names.
    pub const fn new(api_version: &'static str, kind: &'static str) -> Self {
        Self { api_version, kind }
    }

    /// Returns the group, version and kind of a type.
    pub const fn of<K: k8s_openapi::Resource>() -> Self {
        Self { api_version: K::API_VERSION, kind: K::KIND }
    }
}

/// The enum of all types of a clientset.
pub trait KnownObject: Sized {
    /// The types, in the order of the enum's variants.
    const KNOWN_TYPES: &'static [KnownType];

    /// Decodes a value into a known type.
    fn from_value(known_type: &KnownType, value: Value) -> Result<Self, DecodeError>;

    /// Serializes the object into a value.
    fn to_value(&self) -> Result<Value, DecodeError>;
}

/// Why a manifest could not be decoded or encoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The manifest is neither YAML nor JSON.
    #[error("the manifest does not parse: {0}")]
    Parse(#[source] Box<serde_saphyr::Error>),
    /// A document is not an object, or has no `apiVersion` or `kind`.
    #[error("document {document} has no {field}")]
    Untyped {
        /// The number of the document, starting at 1.
        document: usize,
        /// The missing field.
        field: &'static str,
    },
    /// A document has a type that is not in the clientset.
    #[error("unknown kind {kind} of {api_version}; the known kinds are {}", known(.known_types))]
    Unknown {
        /// The document's `apiVersion`.
        api_version: String,
        /// The document's `kind`.
        kind: String,
        /// The types of the clientset.
        known_types: &'static [KnownType],
    },
    /// A document does not decode into its type.
    #[error("document {document}: {source}")]
    Document {
        /// The number of the document, starting at 1.
        document: usize,
        /// The error in the document.
        source: Box<DecodeError>,
    },
    /// A value does not decode into its type. The error contains the path of the field.
    #[error("{0}")]
    Value(#[source] Box<serde_path_to_error::Error<serde_json::Error>>),
    /// An object does not serialize.
    #[error("the object does not serialize: {0}")]
    Encode(String),
}

impl DecodeError {
    /// Returns the error for a type that is not in the clientset.
    pub fn unknown<O: KnownObject>(api_version: &str, kind: &str) -> Self {
        Self::Unknown {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            known_types: O::KNOWN_TYPES,
        }
    }
}

fn known(types: &[KnownType]) -> String {
    types
        .iter()
        .map(|known| format!("{} of {}", known.kind, known.api_version))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Decodes a YAML or JSON manifest of one or more documents.
///
/// Empty documents are skipped, and a `v1` `List` is replaced by its items.
pub fn decode<O: KnownObject>(manifest: &str) -> Result<Vec<O>, DecodeError> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(manifest).map_err(|error| DecodeError::Parse(Box::new(error)))?;
    let mut objects = Vec::new();
    for (index, value) in documents.into_iter().enumerate() {
        if !value.is_null() {
            decode_document(index + 1, value, &mut objects)?;
        }
    }
    Ok(objects)
}

fn decode_document<O: KnownObject>(
    document: usize,
    mut value: Value,
    objects: &mut Vec<O>,
) -> Result<(), DecodeError> {
    let field = |field: &'static str| match value.get(field).and_then(Value::as_str) {
        Some(text) => Ok(text.to_owned()),
        None => Err(DecodeError::Untyped { document, field }),
    };
    let (api_version, kind) = (field("apiVersion")?, field("kind")?);
    let in_document = |error| DecodeError::Document { document, source: Box::new(error) };
    let known_type =
        O::KNOWN_TYPES.iter().find(|known| known.api_version == api_version && known.kind == kind);
    if let Some(known_type) = known_type {
        objects.push(O::from_value(known_type, value).map_err(in_document)?);
        return Ok(());
    }
    if (api_version.as_str(), kind.as_str()) == ("v1", "List")
        && let Some(Value::Array(items)) = value.get_mut("items").map(Value::take)
    {
        return items.into_iter().try_for_each(|item| decode_document(document, item, objects));
    }
    Err(in_document(DecodeError::unknown::<O>(&api_version, &kind)))
}

/// Encodes objects as a YAML manifest with one document per object.
pub fn encode<O: KnownObject>(objects: &[O]) -> Result<String, DecodeError> {
    let mut manifest = String::new();
    for object in objects {
        if !manifest.is_empty() {
            manifest.push_str("---\n");
        }
        let text = serde_saphyr::to_string(&object.to_value()?)
            .map_err(|error| DecodeError::Encode(error.to_string()))?;
        manifest.push_str(&text);
        if !manifest.ends_with('\n') {
            manifest.push('\n');
        }
    }
    Ok(manifest)
}

/// Decodes one value. Called by generated code.
#[doc(hidden)]
pub fn from_value<K: DeserializeOwned>(value: Value) -> Result<Box<K>, DecodeError> {
    serde_path_to_error::deserialize(value).map(Box::new).map_err(|error| DecodeError::Value(Box::new(error)))
}

/// Serializes one object. Called by generated code.
#[doc(hidden)]
pub fn to_value<K: Serialize>(object: &K) -> Result<Value, DecodeError> {
    serde_json::to_value(object).map_err(|error| DecodeError::Encode(error.to_string()))
}
