//! The types of CEL, and those that a schema declares.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::super::model::{Additional, Schema};

/// A type of CEL.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// What is only known when a rule runs.
    Dyn,
    /// The type of an expression that has been reported already.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Object(Arc<Object>),
    Optional(Box<Type>),
    /// The type of a type.
    Meta(Box<Type>),
    /// A type of Kubernetes' libraries, such as `net.IP`.
    Opaque(&'static str),
    /// A type that is still to be found out.
    Var(usize),
}

/// The fields that a schema declares, by their escaped names.
#[derive(Debug, PartialEq)]
pub(super) struct Object {
    pub fields: BTreeMap<String, Type>,
}

impl fmt::Display for Type {
    /// As error messages print it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Var(_) => f.write_str("dyn"),
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(_) => f.write_str("object"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Meta(inner) => write!(f, "type({inner})"),
            Self::Opaque(name) => f.write_str(name),
        }
    }
}

/// The type of the values of a schema. There is none for values of unknown structure: no rule can look at them.
pub(super) fn declared(schema: &Schema, is_resource: bool) -> Option<Type> {
    if schema.int_or_string {
        return Some(Type::Dyn);
    }
    Some(match schema.kind.as_str() {
        "array" => Type::List(Box::new(of(schema.items.as_deref()?)?)),
        "object" => {
            if let Some(Additional::Schema(values)) = &schema.additional
                && !is_resource
            {
                return Some(Type::Map(Box::new(Type::Text), Box::new(of(values)?)));
            }
            let mut fields = BTreeMap::new();
            for (name, property) in &schema.properties {
                if let (Some(declared), Some(name)) = (of(property), escape(name)) {
                    fields.insert(name, declared);
                }
            }
            if is_resource {
                let names = ["name", "generateName"].map(|name| (name.to_owned(), Type::Text));
                let metadata = Object { fields: names.into_iter().collect() };
                fields.insert("kind".into(), Type::Text);
                fields.insert("apiVersion".into(), Type::Text);
                fields.insert("metadata".into(), Type::Object(Arc::new(metadata)));
            }
            Type::Object(Arc::new(Object { fields }))
        }
        "string" => match schema.format.as_str() {
            "byte" => Type::Bytes,
            "duration" => Type::Duration,
            "date" | "date-time" => Type::Timestamp,
            _ => Type::Text,
        },
        "boolean" => Type::Bool,
        "number" => Type::Double,
        "integer" => Type::Int,
        _ => return None,
    })
}

fn of(schema: &Schema) -> Option<Type> {
    declared(schema, schema.embedded)
}

const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name of a field as a rule writes it: `foo-bar` is `foo__dash__bar`. Some names cannot be written.
pub(super) fn escape(name: &str) -> Option<String> {
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (piece, length) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            c if c.is_ascii_alphanumeric() || c == '_' => (&rest[..1], 1),
            _ => return None,
        };
        escaped.push_str(piece);
        rest = &rest[length..];
    }
    Some(escaped)
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn names_of_fields_are_escaped_as_the_server_escapes_them() {
        for (name, escaped) in [
            ("plain_name", Some("plain_name")),
            ("foo-bar", Some("foo__dash__bar")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("a__b", Some("a__underscores__b")),
            ("namespace", Some("__namespace__")),
            ("if", Some("__if__")),
            ("1a", None),
            ("a b", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
        }
    }
}
