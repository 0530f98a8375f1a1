//! The `FieldsV1` format.
//!
//! Each element of a path is a key of a JSON object: `f:name` for a field, `k:{"name":"app"}` for the key of
//! an item, `v:"value"` for the value of an item, `i:0` for an index. The value is an object with what is
//! below, and in it the key `.` says that the element is a member as well. An element whose object is empty
//! is a member.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

use super::FieldSet;
use crate::{
    json::{self, MAX_DEPTH},
    path::{ItemKey, PathElement},
};

/// Why a value is not in the `FieldsV1` format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldsError {
    /// A value is not an object.
    #[error("{at}: expected an object, got {found}")]
    NotAnObject {
        /// Where the value is, as the keys that lead there.
        at: String,
        /// The type of the value.
        found: &'static str,
    },
    /// A key has no type, such as `f:`.
    #[error("{at}: `{key}` is not a path element: it must begin with `f:`, `k:`, `v:` or `i:`")]
    NoType {
        /// The keys that lead to the object.
        at: String,
        /// The key.
        key: String,
    },
    /// What follows `k:`, `v:` or `i:` has the wrong format.
    #[error("{at}: `{key}` is not a path element: {reason}")]
    Malformed {
        /// The keys that lead to the object.
        at: String,
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The fields are nested too deep.
    #[error("the fields are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

impl FieldSet {
    /// Reads a set in the `FieldsV1` format.
    ///
    /// As on the API server, elements of an unknown type, such as `x:…`, are ignored.
    pub fn from_json(fields: &Value) -> Result<Self, FieldsError> {
        let mut at = Vec::new();
        read(fields, &mut at).map(|(set, _)| set)
    }

    /// Writes the set in the `FieldsV1` format.
    ///
    /// `serde_json`'s map sorts the keys as text, unless its feature `preserve_order` is on. To get the bytes
    /// of the API server, serialize the set itself.
    pub fn to_json(&self) -> Value {
        self.to_json_with(false)
    }

    fn to_json_with(&self, member: bool) -> Value {
        let mut map = Map::new();
        if member && !self.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (element, member, below) in self.nodes() {
            map.insert(write_element(element), below.to_json_with(member));
        }
        Value::Object(map)
    }
}

/// Returns the set, and whether the element above it is a member.
fn read<'v>(fields: &'v Value, at: &mut Vec<&'v str>) -> Result<(FieldSet, bool), FieldsError> {
    if at.len() > MAX_DEPTH {
        return Err(FieldsError::TooDeep);
    }
    let map = match fields {
        Value::Object(map) => map,
        // The server takes null for an empty object.
        Value::Null => return Ok((FieldSet::new(), true)),
        other => {
            return Err(FieldsError::NotAnObject { at: location(at), found: json::type_name(other) });
        }
    };
    let mut set = FieldSet::new();
    let mut member = false;
    for (key, value) in map {
        if key == "." {
            member = true;
            continue;
        }
        let Some(element) = read_element(key, at)? else { continue };
        at.push(key);
        let (below, element_is_member) = read(value, at)?;
        at.pop();
        set.add_node(element, element_is_member, below);
    }
    member |= set.is_empty();
    Ok((set, member))
}

/// Returns the element, or `None` if it is of an unknown type.
fn read_element(key: &str, at: &[&str]) -> Result<Option<PathElement>, FieldsError> {
    let no_type = || FieldsError::NoType { at: location(at), key: key.to_owned() };
    let malformed = |reason: String| FieldsError::Malformed { at: location(at), key: key.to_owned(), reason };

    let mut characters = key.chars();
    let kind = characters.next().ok_or_else(no_type)?;
    let rest = characters.as_str().strip_prefix(':').ok_or_else(no_type)?;
    Ok(Some(match kind {
        'f' => PathElement::field(rest),
        'k' => match serde_json::from_str(rest).map_err(|error| malformed(error.to_string()))? {
            Value::Object(fields) => PathElement::Key(ItemKey::new(fields)),
            other => {
                let found = json::type_name(&other);
                return Err(malformed(format!("the key of an item must be an object, not {found}")));
            }
        },
        'v' => {
            let value: Value = serde_json::from_str(rest).map_err(|error| malformed(error.to_string()))?;
            PathElement::value(value)
        }
        'i' => PathElement::Index(rest.parse().map_err(|_| malformed(format!("`{rest}` is not an index")))?),
        _ => return Ok(None),
    }))
}

fn location(at: &[&str]) -> String {
    if at.is_empty() { "fieldsV1".to_owned() } else { format!("fieldsV1/{}", at.join("/")) }
}

fn write_element(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => ["f:", name].concat(),
        PathElement::Key(key) => {
            let mut text = "k:{".to_owned();
            for (index, (name, value)) in key.fields().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                json::write_json_string(name, false, &mut text);
                text.push(':');
                json::write_json(value, &mut text);
            }
            text.push('}');
            text
        }
        PathElement::Value(value) => {
            let mut text = "v:".to_owned();
            json::write_json(value.get(), &mut text);
            text
        }
        PathElement::Index(index) => format!("i:{index}"),
    }
}

/// Serializes the set in the `FieldsV1` format, with the elements in the order of the API server.
impl Serialize for FieldSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Below { set: self, member: false }.serialize(serializer)
    }
}

/// An object of the format: the set below an element, and whether the element is a member.
struct Below<'s> {
    set: &'s FieldSet,
    member: bool,
}

impl Serialize for Below<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let itself = (self.member && !self.set.is_empty())
            .then(|| (".".to_owned(), Below { set: &EMPTY, member: false }));
        let nodes =
            self.set.nodes().map(|(element, member, set)| (write_element(element), Below { set, member }));
        serializer.collect_map(itself.into_iter().chain(nodes))
    }
}

static EMPTY: FieldSet = FieldSet::new();

/// Deserializes the set from the `FieldsV1` format.
impl<'de> Deserialize<'de> for FieldSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Value::deserialize(deserializer)?;
        Self::from_json(&fields).map_err(D::Error::custom)
    }
}
