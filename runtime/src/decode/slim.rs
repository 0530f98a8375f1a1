//! A deserializer that skips `metadata.managedFields`.
//!
//! `managedFields` are nested maps of field ownership, often larger in memory than the rest of the object.
//! A deserializer wrapped in [`Slim`] skips their bytes, and the type never sees the field. An absent field
//! decodes as `None`, so writing such an object back does not change the ownership on the server.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
    value::{BorrowedStrDeserializer, StringDeserializer},
};

/// The position of the deserializer in the object.
#[derive(Clone, Copy)]
enum Position {
    Object,
    Metadata,
}

impl Position {
    /// Whether the value of this key is skipped.
    fn skips(self, key: &str) -> bool {
        matches!(self, Self::Metadata) && key == "managedFields"
    }

    /// The position of the value of this key, or `None` if nothing in it is skipped.
    fn below(self, key: &str) -> Option<Self> {
        match self {
            Self::Object if key == "metadata" => Some(Self::Metadata),
            _ => None,
        }
    }
}

/// Wraps the deserializer of an object and skips `metadata.managedFields`.
pub(crate) struct Slim<D> {
    inner: D,
    position: Position,
}

impl<D> Slim<D> {
    pub(crate) fn new(inner: D) -> Self {
        Self { inner, position: Position::Object }
    }
}

macro_rules! forward {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
                self.inner.$method(SlimVisitor { inner: visitor, position: self.position })
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Slim<D> {
    type Error = D::Error;

    forward! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit deserialize_seq
        deserialize_map deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.inner.deserialize_unit_struct(name, SlimVisitor { inner: visitor, position: self.position })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.inner.deserialize_newtype_struct(name, SlimVisitor { inner: visitor, position: self.position })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Self::Error> {
        self.inner.deserialize_tuple(len, SlimVisitor { inner: visitor, position: self.position })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.inner.deserialize_tuple_struct(
            name,
            len,
            SlimVisitor { inner: visitor, position: self.position },
        )
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.inner.deserialize_struct(name, fields, SlimVisitor { inner: visitor, position: self.position })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.inner.deserialize_enum(name, variants, SlimVisitor { inner: visitor, position: self.position })
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Passes a map without the skipped entries to the inner visitor.
struct SlimVisitor<V> {
    inner: V,
    position: Position,
}

macro_rules! visit {
    ($($method:ident: $type:ty,)*) => {
        $(
            fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
                self.inner.$method(value)
            }
        )*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for SlimVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool: bool, visit_i8: i8, visit_i16: i16, visit_i32: i32, visit_i64: i64, visit_i128: i128,
        visit_u8: u8, visit_u16: u16, visit_u32: u32, visit_u64: u64, visit_u128: u128, visit_f32: f32,
        visit_f64: f64, visit_char: char, visit_str: &str, visit_borrowed_str: &'de str,
        visit_string: String, visit_bytes: &[u8], visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>,
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Slim { inner: deserializer, position: self.position })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Slim { inner: deserializer, position: self.position })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(sequence)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(SlimMap { inner: map, position: self.position, below: None })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(data)
    }
}

/// A map without the skipped entries.
struct SlimMap<A> {
    inner: A,
    position: Position,
    /// The position of the value of the last key.
    below: Option<Position>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for SlimMap<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        loop {
            let Some(key) = self.inner.next_key_seed(KeySeed)? else { return Ok(None) };
            if self.position.skips(key.as_str()) {
                self.inner.next_value::<IgnoredAny>()?;
                continue;
            }
            self.below = self.position.below(key.as_str());
            return match key {
                Key::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
                Key::Owned(key) => seed.deserialize(StringDeserializer::new(key)),
            }
            .map(Some);
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.below.take() {
            Some(position) => self.inner.next_value_seed(SlimSeed { inner: seed, position }),
            None => self.inner.next_value_seed(seed),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// A seed whose value is deserialized without the skipped entries.
struct SlimSeed<S> {
    inner: S,
    position: Position,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for SlimSeed<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Slim { inner: deserializer, position: self.position })
    }
}

/// A key of a map, borrowed from the input if it has no escapes.
enum Key<'de> {
    Borrowed(&'de str),
    Owned(String),
}

impl Key<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(key) => key,
            Self::Owned(key) => key,
        }
    }
}

struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key<'de>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Key<'de>, E> {
        Ok(Key::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key<'de>, E> {
        Ok(Key::Owned(key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{DynamicObject, PartialObjectMeta};
    use serde::{Deserialize, de::DeserializeOwned};
    use serde_json::{Value, json};

    use super::*;

    fn slim<K: DeserializeOwned>(text: &str) -> K {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let object = K::deserialize(Slim::new(&mut deserializer)).expect("it decodes");
        deserializer.end().expect("all of it was read");
        object
    }

    fn example() -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "example", "labels": {"managedFields": "a label"},
                "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:data": {}}}],
                "uid": "1",
            },
            "managedFields": "of the object itself",
            "data": {"metadata": "a", "managedFields": "b"},
        })
    }

    #[test]
    fn only_the_managed_fields_of_the_object_are_skipped() {
        let mut expected = example();
        expected["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(slim::<Value>(&example().to_string()), expected);
    }

    #[test]
    fn every_kind_of_type_decodes_without_managed_fields() {
        let text = example().to_string();
        let typed: ConfigMap = slim(&text);
        assert_eq!(typed.metadata.managed_fields, None);
        assert_eq!(typed.metadata.uid.as_deref(), Some("1"));
        assert_eq!(typed.data.unwrap()["managedFields"], "b");
        assert_eq!(slim::<DynamicObject>(&text).metadata.managed_fields, None);
        assert_eq!(slim::<PartialObjectMeta<ConfigMap>>(&text).metadata.managed_fields, None);

        #[derive(Deserialize)]
        struct Wrapped(Option<ConfigMap>);
        assert_eq!(slim::<Wrapped>(&text).0.unwrap().metadata.managed_fields, None);
    }

    #[test]
    fn an_escaped_field_name_is_recognized() {
        let object: Value = slim(r#"{"met\u0061data":{"managed\u0046ields":[1],"n\u0061me":"x"}}"#);
        assert_eq!(object, json!({"metadata": {"name": "x"}}));
    }
}
