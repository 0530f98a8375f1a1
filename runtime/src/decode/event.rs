//! The events of a watch.

use std::fmt;

use kube::core::Status;
use serde::{
    Deserialize,
    de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{ObjectSeed, Unreadable, decode_object, first_look};
use crate::delta::InvalidObject;

/// One event of a watch, with an object of type `T`.
#[derive(Debug)]
pub(crate) enum Decoded<T> {
    Added(T),
    Modified(T),
    Deleted(T),
    Bookmark {
        /// Empty if the server sent none; then the bookmark says nothing.
        resource_version: String,
        /// Whether this bookmark closes the initial events of a streamed list.
        initial_events_end: bool,
    },
    /// The server ends the watch with this status.
    Error(Box<Status>),
    /// An object that does not decode was added or modified.
    Invalid(InvalidObject),
    /// An object that does not decode was deleted.
    InvalidDeleted(InvalidObject),
    /// An event of an unknown type.
    Unknown,
}

impl<T> Decoded<T> {
    /// Whether this is the bookmark that closes the initial events of a streamed list.
    pub(crate) fn closes_list(&self) -> bool {
        matches!(self, Self::Bookmark { initial_events_end: true, .. })
    }
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
enum EventType {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
    #[serde(other)]
    Unknown,
}

impl EventType {
    /// The event of this type with an object.
    fn with<T>(self, object: Result<T, InvalidObject>) -> Decoded<T> {
        match (self, object) {
            (Self::Added, Ok(object)) => Decoded::Added(object),
            (Self::Modified, Ok(object)) => Decoded::Modified(object),
            (Self::Deleted, Ok(object)) => Decoded::Deleted(object),
            (Self::Added | Self::Modified, Err(invalid)) => Decoded::Invalid(invalid),
            (Self::Deleted, Err(invalid)) => Decoded::InvalidDeleted(invalid),
            (Self::Bookmark | Self::Error | Self::Unknown, _) => Decoded::Unknown,
        }
    }
}

/// Decodes one line of a watch, and finishes its object with the function.
///
/// The object is finished where it is decoded: it is hundreds of bytes long, and is moved as rarely as possible.
pub(crate) fn decode_event<K: DeserializeOwned, T>(
    line: &[u8],
    keep_managed_fields: bool,
    finish: impl Fn(K) -> Result<T, InvalidObject>,
) -> Result<Decoded<T>, Unreadable> {
    let seed = ObjectSeed::new(keep_managed_fields);
    match parse(line, seed.clone(), &finish)? {
        Some(event) => Ok(event),
        None => decode_invalid(std::str::from_utf8(line)?, seed, finish),
    }
}

/// Decodes a line in one pass. `None` means that it needs a second look.
fn parse<K: DeserializeOwned, T>(
    line: &[u8],
    seed: ObjectSeed<K>,
    finish: &impl Fn(K) -> Result<T, InvalidObject>,
) -> Result<Option<Decoded<T>>, Unreadable> {
    let line = std::str::from_utf8(line)?;
    first_look(|| {
        let mut json = serde_json::Deserializer::from_str(line);
        let event = Envelope { seed, finish }.deserialize(&mut json)?;
        json.end().map(|()| event)
    })
}

/// Decodes a line that failed to decode a second time, for the key of the object and the error.
fn decode_invalid<K: DeserializeOwned, T>(
    line: &str,
    seed: ObjectSeed<K>,
    finish: impl Fn(K) -> Result<T, InvalidObject>,
) -> Result<Decoded<T>, Unreadable> {
    #[derive(Deserialize)]
    struct Raw<'a> {
        r#type: EventType,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let Raw { r#type, object } = serde_json::from_str(line)?;
    match r#type {
        EventType::Added | EventType::Modified | EventType::Deleted => {
            Ok(r#type.with(decode_object(object.get(), seed).and_then(finish)))
        }
        EventType::Bookmark => Ok(serde_json::from_str::<Bookmark>(object.get())?.into()),
        EventType::Error => Ok(Decoded::Error(serde_json::from_str(object.get())?)),
        EventType::Unknown => Ok(Decoded::Unknown),
    }
}

/// Deserializes `{"type": …, "object": …}` in one pass.
struct Envelope<'f, K, F> {
    seed: ObjectSeed<K>,
    finish: &'f F,
}

impl<'de, K, T, F> DeserializeSeed<'de> for Envelope<'_, K, F>
where
    K: DeserializeOwned,
    F: Fn(K) -> Result<T, InvalidObject>,
{
    type Value = Decoded<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Decoded<T>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    Type,
    Object,
    #[serde(other)]
    Other,
}

impl<'de, K, T, F> Visitor<'de> for Envelope<'_, K, F>
where
    K: DeserializeOwned,
    F: Fn(K) -> Result<T, InvalidObject>,
{
    type Value = Decoded<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a watch event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Decoded<T>, A::Error> {
        let Self { seed, finish } = self;
        let (mut r#type, mut decoded, mut early) = (None, None, None::<&'de RawValue>);
        while let Some(field) = map.next_key::<Field>()? {
            match (field, r#type) {
                (Field::Type, _) => r#type = Some(map.next_value()?),
                (Field::Object, Some(r#type)) => {
                    decoded = Some(map.next_value_seed(Object { r#type, seed: seed.clone(), finish })?);
                }
                // The fields of a JSON object have no order, although every server writes the type first.
                (Field::Object, None) => early = Some(map.next_value()?),
                (Field::Other, _) => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match (decoded, r#type, early) {
            (Some(decoded), _, _) => Ok(decoded),
            (None, Some(r#type), Some(object)) => {
                Object { r#type, seed, finish }.deserialize(object).map_err(A::Error::custom)
            }
            (None, None, _) => Err(A::Error::missing_field("type")),
            (None, Some(_), None) => Err(A::Error::missing_field("object")),
        }
    }
}

/// Deserializes the object of an event as the type of the event demands.
struct Object<'f, K, F> {
    r#type: EventType,
    seed: ObjectSeed<K>,
    finish: &'f F,
}

impl<'de, K, T, F> DeserializeSeed<'de> for Object<'_, K, F>
where
    K: DeserializeOwned,
    F: Fn(K) -> Result<T, InvalidObject>,
{
    type Value = Decoded<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Decoded<T>, D::Error> {
        match self.r#type {
            EventType::Added | EventType::Modified | EventType::Deleted => {
                self.seed.deserialize(deserializer).map(|object| self.r#type.with((self.finish)(object)))
            }
            EventType::Bookmark => Bookmark::deserialize(deserializer).map(Decoded::from),
            EventType::Error => Status::deserialize(deserializer).map(Box::new).map(Decoded::Error),
            EventType::Unknown => IgnoredAny::deserialize(deserializer).map(|_| Decoded::Unknown),
        }
    }
}

/// The fields of a bookmark that are read.
#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: Option<String>,
    annotations: Option<BookmarkAnnotations>,
}

#[derive(Deserialize)]
struct BookmarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    initial_events_end: Option<String>,
}

impl<K> From<Bookmark> for Decoded<K> {
    fn from(bookmark: Bookmark) -> Self {
        let annotations = bookmark.metadata.annotations;
        Self::Bookmark {
            resource_version: bookmark.metadata.resource_version.unwrap_or_default(),
            initial_events_end: annotations
                .and_then(|annotations| annotations.initial_events_end)
                .is_some_and(|value| value == "true"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;
    use crate::object::ObjectKey;

    fn decode(line: impl ToString) -> Result<Decoded<ConfigMap>, Unreadable> {
        decode_event(line.to_string().as_bytes(), false, Ok)
    }

    fn decode_as<K: DeserializeOwned>(line: &str) -> Decoded<K> {
        decode_event(line.as_bytes(), false, Ok).unwrap()
    }

    fn config_map(data: serde_json::Value) -> serde_json::Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "default", "name": "example", "uid": "u", "resourceVersion": "7"},
            "data": data,
        })
    }

    #[test]
    fn each_type_of_event_is_decoded() {
        let object = config_map(json!({"a": "b"}));
        let event = |r#type: &str| decode(json!({"type": r#type, "object": object})).unwrap();
        assert!(matches!(event("ADDED"), Decoded::Added(added) if added.data.is_some()));
        assert!(matches!(event("MODIFIED"), Decoded::Modified(_)));
        assert!(matches!(event("DELETED"), Decoded::Deleted(_)));
        assert!(matches!(event("SOMETHING NEW"), Decoded::Unknown));
    }

    #[test]
    fn a_bookmark_is_read_as_metadata_whatever_the_type_is() {
        let line = json!({"type": "BOOKMARK", "object": {
            "kind": "ConfigMap", "data": 7, "metadata": {"resourceVersion": "12",
                "annotations": {"k8s.io/initial-events-end": "true", "other": "x"}}}});
        let Decoded::Bookmark { resource_version, initial_events_end } = decode(line).unwrap() else {
            panic!("not a bookmark")
        };
        assert_eq!((resource_version.as_str(), initial_events_end), ("12", true));
        let plain = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}});
        assert!(matches!(decode(plain).unwrap(), Decoded::Bookmark { initial_events_end: false, .. }));
    }

    #[test]
    fn an_error_is_read_as_a_status_whatever_the_type_is() {
        let line = json!({"type": "ERROR", "object": {
            "kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}});
        assert!(matches!(decode(line).unwrap(), Decoded::Error(status) if status.code == 410));
    }

    #[test]
    fn an_object_that_does_not_decode_has_its_key_and_the_path_of_the_wrong_field() {
        let object = config_map(json!({"port": 80}));
        let Decoded::Invalid(invalid) = decode(json!({"type": "MODIFIED", "object": object})).unwrap() else {
            panic!("not invalid")
        };
        assert_eq!(invalid.key, ObjectKey::namespaced("default", "example"));
        assert_eq!((invalid.uid.as_str(), invalid.resource_version.as_str()), ("u", "7"));
        assert!(invalid.error.starts_with("data.port: invalid type: integer"), "{}", invalid.error);
        let deleted = decode(json!({"type": "DELETED", "object": object})).unwrap();
        assert!(matches!(deleted, Decoded::InvalidDeleted(_)));
    }

    #[test]
    fn the_object_may_come_before_the_type() {
        let line = format!(r#"{{"object":{},"type":"ADDED"}}"#, config_map(json!({})));
        assert!(matches!(decode(line).unwrap(), Decoded::Added(_)));
        let wrong = format!(r#"{{"object":{},"type":"ADDED"}}"#, config_map(json!({"port": 80})));
        assert!(matches!(decode(wrong).unwrap(), Decoded::Invalid(_)));
    }

    #[test]
    fn a_line_that_is_not_an_event_is_unreadable() {
        for line in
            ["", "{", "garbage", "[]", "{}", r#"{"type":"ADDED"}"#, r#"{"type":"BOOKMARK","object":1}"#]
        {
            assert!(decode(line).is_err(), "{line}");
        }
        assert!(decode_event::<ConfigMap, _>(b"\xff\xfe", false, Ok).is_err());
        let twice = json!({"type": "ADDED", "object": config_map(json!({}))});
        assert!(decode(format!("{twice}{twice}")).is_err());
    }

    /// An event as servers write it, with the type first.
    fn typed(r#type: &str, object: &str) -> String {
        format!(r#"{{"type":"{}","object":{object}}}"#, r#type)
    }

    /// A JSON value with this many levels.
    fn nested(levels: usize) -> String {
        format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
    }

    #[derive(Debug, serde::Deserialize)]
    struct Free {
        metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
        spec: serde_json::Value,
    }

    #[test]
    fn an_object_that_is_nested_too_deeply_is_invalid_and_has_its_key() {
        let object = |levels| {
            format!(
                r#"{{"metadata":{{"namespace":"n","name":"deep","uid":"u","resourceVersion":"7"}},"spec":{}}}"#,
                nested(levels)
            )
        };
        for line in
            [typed("ADDED", &object(5_000)), format!(r#"{{"object":{},"type":"MODIFIED"}}"#, object(5_000))]
        {
            let Decoded::Invalid(invalid) = decode_as::<Free>(&line) else { panic!("not invalid") };
            assert_eq!(
                (&*invalid.key.to_string(), &*invalid.uid, &*invalid.resource_version),
                ("n/deep", "u", "7")
            );
            assert!(invalid.error.contains("recursion limit"), "{}", invalid.error);
        }
        let gone = typed("DELETED", &object(5_000));
        assert!(matches!(decode_as::<Free>(&gone), Decoded::InvalidDeleted(_)));
        let Decoded::Added(read) = decode_as::<Free>(&typed("ADDED", &object(100))) else {
            panic!("a hundred levels are read")
        };
        assert!(read.spec.is_object() && read.metadata.name.is_some());
        // A type without the deeply nested field decodes the object.
        let slim = typed("ADDED", &object(5_000));
        assert!(matches!(decode_as::<ConfigMap>(&slim), Decoded::Added(_)));
    }

    #[test]
    fn only_the_managed_fields_of_the_metadata_are_skipped() {
        let own = r#""managedFields":[{"manager":"x"}]"#;
        for (object, skipped) in [
            (format!(r#"{{"metadata":{{"name":"a",{own},"uid":"u"}},"spec":{{}}}}"#), true),
            (format!(r#"{{"metadata":{{"name":"a"}},"spec":{{{own}}}}}"#), false),
            (format!(r#"{{"metadata":{{"name":"a","annotations":{{{own}}}}}}}"#), false),
            (format!(r#"{{{own},"metadata":{{"name":"a"}}}}"#), false),
        ] {
            for line in [typed("ADDED", &object), format!(r#"{{"object":{object},"type":"ADDED"}}"#)] {
                let Decoded::Added(read) = decode_as::<serde_json::Value>(&line) else { panic!("{line}") };
                assert_eq!(!read.to_string().contains("managedFields"), skipped, "{line}");
            }
        }
    }

    #[test]
    fn a_wrong_field_of_the_metadata_does_not_hide_the_name() {
        for odd in ["null", "7", "{}", "[1]"] {
            let object = format!(
                r#"{{"metadata":{{"name":"b","namespace":"n","uid":{odd},"resourceVersion":"3"}},"data":7}}"#
            );
            let Decoded::Invalid(invalid) = decode(typed("ADDED", &object)).unwrap() else {
                panic!("not invalid")
            };
            assert_eq!((&*invalid.key.to_string(), &*invalid.resource_version), ("n/b", "3"), "{odd}");
        }
    }

    #[test]
    fn an_object_whose_deserialize_panics_is_invalid() {
        #[derive(Debug)]
        struct Panics;

        impl<'de> Deserialize<'de> for Panics {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                panic!("no such luck")
            }
        }

        let line = typed("ADDED", &config_map(json!({})).to_string());
        let Decoded::Invalid(invalid) = decode_as::<Panics>(&line) else { panic!("not invalid") };
        assert_eq!(invalid.key, ObjectKey::namespaced("default", "example"));
        assert_eq!(invalid.error, "decoding the object panicked: no such luck");
    }

    #[test]
    fn a_valid_object_is_parsed_once_and_only_one_that_does_not_decode_again() {
        static PARSED: AtomicUsize = AtomicUsize::new(0);

        #[derive(Debug)]
        struct Counted;

        impl<'de> Deserialize<'de> for Counted {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                PARSED.fetch_add(1, Ordering::Relaxed);
                ConfigMap::deserialize(deserializer).map(|_| Self)
            }
        }

        let good = config_map(json!({"a": "b"}));
        let mut with_managed_fields = good.clone();
        with_managed_fields["metadata"]["managedFields"] = json!([{"manager": "x".repeat(100)}]);
        let bad = config_map(json!({"a": 7}));
        for (object, parsed) in [(good, 1), (with_managed_fields, 1), (bad, 2)] {
            PARSED.store(0, Ordering::Relaxed);
            let line = typed("ADDED", &object.to_string());
            decode_as::<Counted>(&line);
            assert_eq!(PARSED.load(Ordering::Relaxed), parsed);
        }
    }

    #[test]
    fn a_long_error_is_truncated() {
        let line =
            typed("ADDED", &format!(r#"{{"metadata":{{"name":"a"}},"data":"{}"}}"#, "ü".repeat(2_000)));
        let Decoded::Invalid(invalid) = decode(line).unwrap() else { panic!("not invalid") };
        assert!(invalid.error.len() < 600 && invalid.error.ends_with('…'), "{}", invalid.error);
    }
}
