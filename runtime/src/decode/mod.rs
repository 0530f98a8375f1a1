//! From bytes to objects.
//!
//! - An object that does not decode is told apart from a stream that cannot be read: the first is an
//!   [`InvalidObject`] with its key, uid, version and the path of the field that is wrong; it costs
//!   neither the stream nor the rest of the list.
//! - A sound object is parsed once, from borrowed text. Only what fails is looked at again.
//! - A BOOKMARK is read as metadata and an ERROR as a status, whatever the type is.

mod event;
mod list;
mod slim;

use std::borrow::Cow;

pub(crate) use event::{Decoded, decode_event};
pub(crate) use list::{ListPage, decode_list, peek_token};
use serde::{
    Deserialize,
    de::{DeserializeOwned, DeserializeSeed, Deserializer},
};
use slim::Slim;

use crate::{delta::InvalidObject, object::ObjectKey};

/// Text that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Utf8(#[from] std::str::Utf8Error),
}

impl Unreadable {
    /// The same as an error of JSON, which is how the crate's error carries it.
    pub(crate) fn into_json(self) -> serde_json::Error {
        match self {
            Self::Json(error) => error,
            Self::Utf8(error) => serde::de::Error::custom(error),
        }
    }
}

/// Reads a `K`, with or without its managedFields.
struct ObjectSeed<K> {
    keep_managed_fields: bool,
    object: std::marker::PhantomData<fn() -> K>,
}

impl<K> ObjectSeed<K> {
    fn new(keep_managed_fields: bool) -> Self {
        Self { keep_managed_fields, object: std::marker::PhantomData }
    }
}

impl<K> Clone for ObjectSeed<K> {
    fn clone(&self) -> Self {
        Self::new(self.keep_managed_fields)
    }
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for ObjectSeed<K> {
    type Value = K;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K, D::Error> {
        if self.keep_managed_fields {
            K::deserialize(deserializer)
        } else {
            K::deserialize(Slim::new(deserializer))
        }
    }
}

/// What can be read of an object whatever its type is.
#[derive(Default, Deserialize)]
struct Probe<'a> {
    #[serde(borrow, default)]
    metadata: ProbeMeta<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProbeMeta<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
}

/// Decodes one object, or says which object it is and what is wrong with it.
fn decode_object<K: DeserializeOwned>(text: &str, seed: ObjectSeed<K>) -> Result<K, InvalidObject> {
    let mut track = serde_path_to_error::Track::new();
    let mut json = serde_json::Deserializer::from_str(text);
    seed.deserialize(serde_path_to_error::Deserializer::new(&mut json, &mut track)).map_err(|error| {
        // Even the metadata can be of another shape; then the object has no name that we could tell.
        let meta = serde_json::from_str::<Probe<'_>>(text).unwrap_or_default().metadata;
        let namespace = meta.namespace.map(Cow::into_owned).filter(|namespace| !namespace.is_empty());
        InvalidObject {
            key: ObjectKey { namespace, name: meta.name.into_owned() },
            uid: meta.uid.into_owned(),
            resource_version: meta.resource_version.into_owned(),
            error: format!("{}: {error}", track.path()),
        }
    })
}
