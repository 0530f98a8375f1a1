//! The path of a field in an object.
//!
//! A path is printed as the API server prints it in its messages:
//! `.spec.template.spec.containers[name="app"].image`.

use std::{cmp::Ordering, fmt};

use serde_json::Value;

use crate::json;

/// One step of a [`FieldPath`].
///
/// Elements are ordered as the API server orders them when it writes `FieldsV1`: fields, keys, values,
/// indexes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PathElement {
    /// A field of an object, by name.
    Field(String),
    /// An item of a list, by the values of its key fields.
    Key(ItemKey),
    /// An item of a set, by its value.
    Value(ItemValue),
    /// An item of a list, by its position.
    Index(usize),
}

/// The key of an item in a list: the names of the key fields, sorted, and their values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemKey(Vec<(String, ItemValue)>);

/// A value that identifies an item of a list.
///
/// Values are ordered, and numbers are compared by value: `1` equals `1.0`.
#[derive(Clone, Debug)]
pub struct ItemValue(Value);

impl PathElement {
    /// Returns the element for a field of an object.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// Returns the element for the item of a list whose key fields have these values.
    pub fn key<N: Into<String>, V: Into<Value>>(fields: impl IntoIterator<Item = (N, V)>) -> Self {
        Self::Key(ItemKey::new(fields))
    }

    /// Returns the element for an item of a set.
    pub fn value(value: impl Into<Value>) -> Self {
        Self::Value(ItemValue(value.into()))
    }
}

impl ItemKey {
    /// Creates a key from names and values, in any order. Of two values for one name, the last one counts.
    pub fn new<N: Into<String>, V: Into<Value>>(fields: impl IntoIterator<Item = (N, V)>) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (name.into(), ItemValue(value.into())));
        let sorted: std::collections::BTreeMap<_, _> = fields.collect();
        Self(sorted.into_iter().collect())
    }

    /// Returns the names of the key fields and their values, sorted by name.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &value.0))
    }
}

impl ItemValue {
    /// Returns the value.
    pub fn get(&self) -> &Value {
        &self.0
    }
}

impl Ord for ItemValue {
    fn cmp(&self, other: &Self) -> Ordering {
        json::compare(&self.0, &other.0)
    }
}

impl PartialOrd for ItemValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ItemValue {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ItemValue {}

impl From<Value> for ItemValue {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(key) => {
                let mut text = String::new();
                for (index, (name, value)) in key.fields().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(name);
                    text.push('=');
                    json::write_display(value, &mut text);
                }
                write!(f, "[{text}]")
            }
            Self::Value(value) => {
                let mut text = String::new();
                json::write_display(&value.0, &mut text);
                write!(f, "[={text}]")
            }
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The path of a field, from the root of an object.
///
/// ```
/// use genclient_merge::{FieldPath, PathElement};
///
/// let mut path = FieldPath::of_fields(["spec", "template", "spec", "containers"]);
/// path.push(PathElement::key([("name", "app")]));
/// path.push(PathElement::field("image"));
/// assert_eq!(path.to_string(), r#".spec.template.spec.containers[name="app"].image"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(Vec<PathElement>);

impl FieldPath {
    /// Returns the path of the root, which has no elements.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Returns the path that leads through fields of objects only.
    pub fn of_fields<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        names.into_iter().map(PathElement::field).collect()
    }

    /// Returns the elements of the path.
    pub fn elements(&self) -> &[PathElement] {
        &self.0
    }

    /// Appends an element.
    pub fn push(&mut self, element: PathElement) {
        self.0.push(element);
    }

    /// Removes the last element and returns it, or `None` at the root.
    pub fn pop(&mut self) -> Option<PathElement> {
        self.0.pop()
    }
}

impl FromIterator<PathElement> for FieldPath {
    fn from_iter<I: IntoIterator<Item = PathElement>>(elements: I) -> Self {
        Self(elements.into_iter().collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_are_ordered_as_the_server_writes_them() {
        let ordered = [
            PathElement::field("a"),
            PathElement::field("b"),
            PathElement::key([("name", "a")]),
            PathElement::key([("name", "a"), ("port", "x")]),
            PathElement::key([("name", "b")]),
            PathElement::key([("port", 80)]),
            PathElement::key([("port", 443)]),
            PathElement::value(2),
            PathElement::value(10),
            PathElement::value("a"),
            PathElement::value(true),
            PathElement::Index(2),
            PathElement::Index(10),
        ];
        for (i, left) in ordered.iter().enumerate() {
            for (j, right) in ordered.iter().enumerate() {
                assert_eq!(left.cmp(right), i.cmp(&j), "{left} and {right}");
            }
        }
    }

    #[test]
    fn a_key_is_sorted_by_name() {
        let key = PathElement::key([("protocol", json!("TCP")), ("containerPort", json!(80))]);
        assert_eq!(key.to_string(), r#"[containerPort=80,protocol="TCP"]"#);
        assert_eq!(key, PathElement::key([("containerPort", json!(80.0)), ("protocol", json!("TCP"))]));
    }

    #[test]
    fn a_path_prints_every_kind_of_element() {
        let path: FieldPath = [
            PathElement::field("metadata"),
            PathElement::field("finalizers"),
            PathElement::value("a/\"b\""),
            PathElement::Index(3),
            PathElement::value(1.5),
        ]
        .into_iter()
        .collect();
        assert_eq!(path.to_string(), r#".metadata.finalizers[="a/\"b\""][3][=1.5]"#);
        assert_eq!(FieldPath::root().to_string(), "");
    }
}
