//! Patches, and the difference of two objects as a patch.
//!
//! A patch changes only the fields that it contains. Fields that the Rust type does not have are preserved.
//!
//! ```
//! use genclient_runtime::Patch;
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! let old = ConfigMap { immutable: Some(false), ..ConfigMap::default() };
//! let mut new = old.clone();
//! new.data.get_or_insert_default().insert("colour".into(), "green".into());
//! let patch = Patch::between(&old, &new)?.expect("they differ");
//! assert_eq!(patch.body(), Some(&serde_json::json!({ "data": { "colour": "green" } })));
//! # Ok::<(), genclient_runtime::patch::PatchError>(())
//! ```

use genclient_merge::{Schema, merge_patch, strategic};
use http::{HeaderValue, Method};
use kube::Resource;
use serde::{Serialize, ser::Error as _};
use serde_json::{Map, Value, json};

use crate::{error::InvalidRequest, wire::Call};

/// The metadata fields that only the server sets. They are not compared.
const SET_BY_THE_SERVER: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// A change of parts of an object, for [`TypedClient::patch`](crate::TypedClient::patch).
///
/// | made by | format | lists |
/// | --- | --- | --- |
/// | [`merge`](Self::merge), [`between`](Self::between) | JSON merge patch (RFC 7386) | are replaced as a whole |
/// | [`strategic`](Self::strategic), [`strategic_between`](Self::strategic_between) | strategic merge patch | are merged by the keys of their items; Kubernetes' own kinds only |
/// | [`json`](Self::json) | JSON patch (RFC 6902) | are changed by position |
///
/// Server-side apply is a separate request, [`TypedClient::apply`](crate::TypedClient::apply).
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    format: Format,
    body: Result<Value, Flaw>,
}

/// The formats of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Merge,
    Strategic,
    Json,
}

/// Why a patch cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Flaw {
    Serialize(String),
    NoResourceVersion,
}

/// Why the difference of two objects cannot be expressed as a patch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// An object does not serialize to JSON.
    #[error("the object does not serialize: {0}")]
    Serialize(#[from] serde_json::Error),
    /// The kind has no strategic merge patches.
    #[error("{kind} of {api_version} is not one of Kubernetes' own kinds; use `Patch::between`")]
    NotStrategic {
        /// The `apiVersion` of the kind.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// An object does not fit the schema of its kind.
    #[error(transparent)]
    Strategic(#[from] strategic::StrategicError),
}

impl Patch {
    /// Creates a JSON merge patch: an object with the fields to change. A null removes a field.
    ///
    /// If the value does not serialize, the request fails without being sent.
    pub fn merge(patch: &impl Serialize) -> Self {
        Self::new(Format::Merge, patch)
    }

    /// Creates a strategic merge patch. The server accepts it for Kubernetes' own kinds only.
    ///
    /// If the value does not serialize, the request fails without being sent.
    pub fn strategic(patch: &impl Serialize) -> Self {
        Self::new(Format::Strategic, patch)
    }

    /// Creates a JSON patch: a list of operations, such as a `json_patch::Patch`.
    ///
    /// If the value does not serialize, the request fails without being sent.
    ///
    /// ```
    /// # use genclient_runtime::Patch;
    /// # use serde_json::json;
    /// let patch = Patch::json(&json!([{ "op": "remove", "path": "/spec/gateway" }]));
    /// ```
    pub fn json(operations: &impl Serialize) -> Self {
        Self::new(Format::Json, operations)
    }

    fn new(format: Format, body: &impl Serialize) -> Self {
        let body = serde_json::to_value(body).map_err(|error| Flaw::Serialize(error.to_string()));
        Self { format, body }
    }

    /// Returns the smallest JSON merge patch that turns `old` into `new`, or `None` if nothing changes.
    ///
    /// - Lists are replaced as a whole, including fields of their items that the Rust type does not have.
    /// - A null in an object counts as an absent field, since a merge patch cannot set one. A field that
    ///   becomes null is removed.
    /// - Metadata fields that only the server sets, such as the resource version or `managedFields`, are not
    ///   compared.
    ///
    /// # Errors
    ///
    /// Returns an error if an object does not serialize.
    pub fn between<K: Serialize>(old: &K, new: &K) -> Result<Option<Self>, PatchError> {
        Ok(difference(old, new)?)
    }

    /// Returns the strategic merge patch that turns `old` into `new`, or `None` if nothing changes.
    ///
    /// For a list with keys, such as the containers of a pod, the patch contains only the changed items.
    /// Items that another client added meanwhile are kept. Everything else is compared as by
    /// [`between`](Self::between).
    ///
    /// The schemas of the kinds are those of Kubernetes 1.36.
    ///
    /// # Errors
    ///
    /// Returns an error if the kind is not one of Kubernetes' own, if an object does not serialize or does
    /// not fit the schema, or if the patch cannot express the order of a list: items with the same key must
    /// be adjacent.
    ///
    /// ```
    /// use genclient_runtime::{Patch, patch::PatchError};
    /// use k8s_openapi::api::core::v1::Pod;
    /// use serde_json::json;
    ///
    /// let pod = |containers| serde_json::from_value::<Pod>(json!({ "spec": { "containers": containers } }));
    /// let old = pod(json!([{ "name": "a", "image": "x" }, { "name": "b", "image": "y" }]))?;
    /// let new = pod(json!([{ "name": "a", "image": "x" }, { "name": "b", "image": "z" }]))?;
    /// let patch = Patch::strategic_between(&old, &new)?.expect("they differ");
    /// assert_eq!(patch.body(), Some(&json!({ "spec": {
    ///     "$setElementOrder/containers": [{ "name": "a" }, { "name": "b" }],
    ///     "containers": [{ "name": "b", "image": "z" }],
    /// } })));
    /// # Ok::<(), PatchError>(())
    /// ```
    pub fn strategic_between<K>(old: &K, new: &K) -> Result<Option<Self>, PatchError>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let (api_version, kind) = (K::api_version(&()), K::kind(&()));
        let schema = Schema::kubernetes(&api_version, &kind).ok_or_else(|| PatchError::NotStrategic {
            api_version: api_version.into_owned(),
            kind: kind.into_owned(),
        })?;
        let body = strategic::diff(&comparable(old)?, &comparable(new)?, &schema)?;
        Ok(body.map(|body| Self { format: Format::Strategic, body: Ok(body) }))
    }

    /// Makes the server reject the patch with a [conflict](crate::Error::is_conflict) if the object is not at
    /// the resource version of `object`.
    ///
    /// If `object` has no resource version, the request fails without being sent.
    #[must_use]
    pub fn if_unchanged(mut self, object: &impl Resource) -> Self {
        self.body = self.body.and_then(|mut body| {
            let version = object.meta().resource_version.as_deref().unwrap_or_default();
            if version.is_empty() {
                return Err(Flaw::NoResourceVersion);
            }
            lock(&mut body, version);
            Ok(body)
        });
        self
    }

    /// Returns the patch as JSON, or `None` if it does not serialize.
    pub fn body(&self) -> Option<&Value> {
        self.body.as_ref().ok()
    }

    /// Returns the media type of the format.
    pub fn media_type(&self) -> &'static str {
        match self.format {
            Format::Merge => "application/merge-patch+json",
            Format::Strategic => "application/strategic-merge-patch+json",
            Format::Json => "application/json-patch+json",
        }
    }

    /// Returns the call that sends the patch.
    pub(crate) fn to_call(&self, path: String) -> Result<Call, InvalidRequest> {
        let body = self.body.as_ref().map_err(|flaw| match flaw {
            Flaw::Serialize(message) => InvalidRequest::Body(serde_json::Error::custom(message)),
            Flaw::NoResourceVersion => InvalidRequest::ResourceVersionMissing,
        })?;
        let mut call = Call::new(Method::PATCH, path);
        call.body = body.to_string().into_bytes();
        call.content_type = Some(HeaderValue::from_static(self.media_type()));
        Ok(call)
    }
}

/// The merge patch that turns `old` into `new`; see [`Patch::between`].
pub(crate) fn difference<K: Serialize>(old: &K, new: &K) -> Result<Option<Patch>, serde_json::Error> {
    let body = merge_patch::diff(&comparable(old)?, &comparable(new)?);
    Ok(body.map(|body| Patch { format: Format::Merge, body: Ok(body) }))
}

/// Adds the resource version that the object must have.
fn lock(patch: &mut Value, version: &str) {
    match patch {
        Value::Object(fields) => {
            let metadata = fields.entry("metadata").or_insert(Value::Null);
            match metadata {
                Value::Object(metadata) => {
                    metadata.insert("resourceVersion".to_owned(), version.into());
                }
                _ => *metadata = json!({ "resourceVersion": version }),
            }
        }
        // Not a `test`: the server does not report its failure as a conflict.
        Value::Array(operations) => {
            operations
                .push(json!({ "op": "replace", "path": "/metadata/resourceVersion", "value": version }));
        }
        _ => {}
    }
}

/// Serializes an object for comparison, without nulls and without fields that only the server sets.
fn comparable<K: Serialize>(object: &K) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(object)?;
    if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
        SET_BY_THE_SERVER.iter().for_each(|name| drop(metadata.remove(*name)));
    }
    remove_nulls(&mut value);
    Ok(value)
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => remove_null_fields(fields),
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

fn remove_null_fields(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    fields.values_mut().for_each(remove_nulls);
}

#[cfg(test)]
mod tests;
