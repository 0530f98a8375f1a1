//! Reads JSON with a memory for what is lost on the way: fields that are there twice, and fields that nobody
//! knows. Both are reported in the order of the document.

use std::fmt;

use genclient_merge::schema::{ScalarShape, Shape};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Where a value is. It is written out only for messages.
#[derive(Clone, Copy)]
pub(super) enum Location<'l> {
    Root,
    Field(&'l Location<'l>, &'l str),
    Item(&'l Location<'l>, usize),
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(above, name) => write!(f, "{above}.{name}"),
            Self::Item(above, index) => write!(f, "{above}[{index}]"),
        }
    }
}

/// Reads a value.
pub(super) struct Document<'d> {
    /// What is known of the value. Without it, every field is known.
    pub(super) shape: Option<Shape<'d>>,
    pub(super) path: Location<'d>,
    pub(super) problems: &'d mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // Go does not tell 1.0 from 1, except in a field that holds whole numbers only. All of Kubernetes' own do, but
        // those of schemas.
        let is_whole = self.shape.is_some_and(|shape| shape.scalar() == Some(ScalarShape::Number))
            && !self.path.to_string().starts_with("spec.versions");
        #[allow(clippy::cast_possible_truncation, reason = "the number is whole and small")]
        if !is_whole && value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
            return Ok((value as i64).into());
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let shape = self.shape.and_then(Shape::items);
        let mut list = Vec::new();
        loop {
            let path = Location::Item(&self.path, list.len());
            let seed = Document { shape, path, problems: &mut *self.problems };
            match items.next_element_seed(seed)? {
                Some(item) => list.push(item),
                None => return Ok(list.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = Location::Field(&self.path, &key);
            let known =
                self.shape.filter(|shape| shape.is_object()).is_none_or(|shape| shape.field(&key).is_some());
            if !known {
                self.problems.push(format!("unknown field {:?}", path.to_string()));
                entries.next_value::<serde::de::IgnoredAny>()?;
                continue;
            }
            if object.contains_key(&key) {
                self.problems.push(format!("duplicate field {:?}", path.to_string()));
            }
            let shape = self.shape.and_then(|shape| shape.field(&key));
            let value = entries.next_value_seed(Document { shape, path, problems: &mut *self.problems })?;
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

/// Removes the fields that the shape does not know, and reports them.
pub(super) fn prune(value: &mut Value, shape: Shape<'_>, path: &Location<'_>, problems: &mut Vec<String>) {
    match value {
        Value::Object(fields) if shape.is_object() => fields.retain(|key, value| {
            let path = Location::Field(path, key);
            match shape.field(key) {
                Some(shape) => {
                    prune(value, shape, &path, problems);
                    true
                }
                // A directive of a strategic merge patch.
                None if key.starts_with('$') => true,
                None => {
                    problems.push(format!("unknown field {:?}", path.to_string()));
                    false
                }
            }
        }),
        Value::Array(items) => {
            if let Some(shape) = shape.items() {
                for (index, item) in items.iter_mut().enumerate() {
                    prune(item, shape, &Location::Item(path, index), problems);
                }
            }
        }
        _ => {}
    }
}
