//! Decodes lists and watches.
//!
//! - An object that does not decode interrupts neither its stream nor the rest of its list. It becomes
//!   an [`InvalidObject`] with its key, uid, resource version and the path of the wrong field. This
//!   includes an object that is nested too deeply for the JSON parser and a type whose `Deserialize`
//!   panics.
//! - A valid object is parsed once. Only an object that does not decode is parsed again.
//! - The managedFields of the metadata are skipped unless they are asked for.
//! - A BOOKMARK is read as metadata and an ERROR as a status, whatever the type is.

mod event;
mod list;
mod slim;

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
};

pub(crate) use event::{Decoded, decode_event};
pub(crate) use list::{ListPage, decode_list, peek_token};
use serde::{
    Deserialize,
    de::{DeserializeOwned, DeserializeSeed, Deserializer},
};
use serde_json::value::RawValue;
use slim::Slim;

use crate::{clip::clip, delta::InvalidObject, object::ObjectKey, panics};

/// The error of an invalid object is cut to this many bytes. A parser's message can quote a value of
/// any length.
const ERROR_LENGTH: usize = 512;

/// Text that is not JSON, or not an event or a list at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Utf8(#[from] std::str::Utf8Error),
}

impl Unreadable {
    /// The same as a JSON error, which is how the crate's error carries it.
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
        match self.keep_managed_fields {
            true => K::deserialize(deserializer),
            false => K::deserialize(Slim::new(deserializer)),
        }
    }
}

/// Runs a parser. `None` means that the text does not decode or that the type's `Deserialize` panicked: a
/// second pass, object by object, finds the object at fault. Text that ends too early is an error.
///
/// The JSON parser calls nesting beyond its limit a syntax error, so the kind of the error does not
/// distinguish an odd object from a broken stream. The second pass does: it skips values of any depth.
fn first_look<T>(parse: impl FnOnce() -> Result<T, serde_json::Error>) -> Result<Option<T>, Unreadable> {
    match catch_unwind(AssertUnwindSafe(parse)) {
        Ok(Ok(parsed)) => Ok(Some(parsed)),
        Ok(Err(error)) if error.is_eof() => Err(error.into()),
        Ok(Err(_)) | Err(_) => Ok(None),
    }
}

/// Decodes one object, or says which object it is and what is wrong with it.
fn decode_object<K: DeserializeOwned>(text: &str, seed: ObjectSeed<K>) -> Result<K, InvalidObject> {
    let mut track = serde_path_to_error::Track::new();
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        let mut json = serde_json::Deserializer::from_str(text);
        seed.deserialize(serde_path_to_error::Deserializer::new(&mut json, &mut track))
    }));
    let error = match parsed {
        Ok(Ok(object)) => return Ok(object),
        Ok(Err(error)) => format!("{}: {error}", track.path()),
        Err(panic) => format!("decoding the object panicked: {}", panics::message(&*panic)),
    };
    let Identity { name, namespace, uid, resource_version } = Identity::of(text);
    let key = ObjectKey { namespace: namespace.filter(|namespace| !namespace.is_empty()), name };
    Err(InvalidObject { uid, resource_version, ..InvalidObject::new(key, clip(error, ERROR_LENGTH)) })
}

/// The metadata that can be read from an object even if the rest is wrong.
#[derive(Default)]
struct Identity {
    name: String,
    namespace: Option<String>,
    uid: String,
    resource_version: String,
}

impl Identity {
    /// Each field is read for itself, so that one of another shape does not cost the others: an
    /// object that loses its name would be taken for deleted.
    fn of(text: &str) -> Self {
        #[derive(Deserialize)]
        struct Object<'a> {
            #[serde(borrow)]
            metadata: &'a RawValue,
        }

        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata<'a> {
            #[serde(borrow)]
            name: Option<&'a RawValue>,
            #[serde(borrow)]
            namespace: Option<&'a RawValue>,
            #[serde(borrow)]
            uid: Option<&'a RawValue>,
            #[serde(borrow)]
            resource_version: Option<&'a RawValue>,
        }

        let string = |field: Option<&RawValue>| {
            field
                .and_then(|field| serde_json::from_str::<Cow<'_, str>>(field.get()).ok())
                .map(Cow::into_owned)
        };
        let metadata = serde_json::from_str::<Object<'_>>(text)
            .and_then(|object| serde_json::from_str::<Metadata<'_>>(object.metadata.get()));
        match metadata {
            Ok(metadata) => Self {
                name: string(metadata.name).unwrap_or_default(),
                namespace: string(metadata.namespace),
                uid: string(metadata.uid).unwrap_or_default(),
                resource_version: string(metadata.resource_version).unwrap_or_default(),
            },
            Err(_) => Self::default(),
        }
    }
}
