//! What a schema says of one value.

use serde_json::Value;

use super::{Map, Scalar, Schema, Type, TypeId};

/// What a schema says of one value, for those who read values by it.
///
/// ```
/// use genclient_merge::{Schema, schema::ScalarShape};
/// use serde_json::json;
///
/// let schema = Schema::from_crd(&json!({
///     "type": "object",
///     "properties": { "spec": { "type": "object", "properties": { "cidr": { "type": "string" } } } },
/// }))?;
/// let spec = schema.shape().field("spec").expect("there is such a field");
/// assert_eq!(spec.field("cidr").and_then(|cidr| cidr.scalar()), Some(ScalarShape::String));
/// assert!(spec.field("gateway").is_none());
/// # Ok::<(), genclient_merge::schema::SchemaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shape<'s> {
    schema: &'s Schema,
    id: TypeId,
}

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarShape {
    /// A number.
    Number,
    /// A text.
    String,
    /// True or false.
    Boolean,
    /// Any scalar, such as a quantity, or a number or a text.
    Any,
}

impl Schema {
    /// Returns what the schema says of the whole object.
    pub fn shape(&self) -> Shape<'_> {
        Shape { schema: self, id: self.root() }
    }
}

impl<'s> Shape<'s> {
    fn kind(self) -> &'s Type {
        self.schema.get(self.id)
    }

    fn map(self) -> Option<&'s Map> {
        self.kind().map.as_ref()
    }

    /// Returns the type of the value, if it can be a scalar.
    pub fn scalar(self) -> Option<ScalarShape> {
        Some(match self.kind().scalar? {
            Scalar::Number => ScalarShape::Number,
            Scalar::String => ScalarShape::String,
            Scalar::Boolean => ScalarShape::Boolean,
            Scalar::Any => ScalarShape::Any,
        })
    }

    /// Returns whether the value can be an object.
    pub fn is_object(self) -> bool {
        self.map().is_some()
    }

    /// Returns whether the value can be an object with any fields, all of one type.
    pub fn is_map(self) -> bool {
        self.map().is_some_and(|map| map.fields.is_empty() && map.others.is_some())
    }

    /// Returns the shape of the items, if the value can be a list.
    pub fn items(self) -> Option<Self> {
        Some(Self { id: self.kind().list.as_ref()?.items, ..self })
    }

    /// Returns the shape of a field, or `None` if the value cannot have it.
    pub fn field(self, name: &str) -> Option<Self> {
        Some(Self { id: self.map()?.type_of(name)?, ..self })
    }

    /// Returns the shape at a path such as `spec.template`.
    pub fn at(self, path: &str) -> Option<Self> {
        path.split('.').try_fold(self, Self::field)
    }

    /// Returns the fields that have a default, with their defaults.
    pub fn defaults(self) -> impl Iterator<Item = (&'s str, &'s Value)> {
        let fields = self.map().into_iter().flat_map(|map| &map.fields);
        fields.filter_map(|(name, field)| Some((name.as_str(), field.default.as_ref()?)))
    }
}
