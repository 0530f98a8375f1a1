//! Apply configurations: the types of which each one has the fields of another, all of them optional.

use std::collections::BTreeSet;

use super::TypePath;
use crate::names::Name;

/// The type of the apply configurations of a kind, or of a part of kinds.
#[derive(Clone, Debug)]
pub struct ApplyType {
    /// Its name: that of the type whose fields it has, followed by `Apply`.
    pub name: String,
    /// The ident of the group that its module is in.
    pub group: String,
    /// The ident of the version that its module is in.
    pub version: String,
    /// The name of its module.
    pub module: String,
    /// The name of the type whose fields it has.
    pub of: String,
    /// The path of that type, if it can be reached from other crates.
    pub path: Option<TypePath>,
    /// What it has beside its fields, if it is that of a kind.
    pub root: Option<ApplyRoot>,
    /// serde's rule for the keys of its fields.
    pub rename_all: Option<String>,
    /// Its fields, without the metadata of a kind.
    pub fields: Vec<ApplyField>,
    /// Whether the types of all fields can be compared.
    pub comparable: bool,
    /// The names of the groups with a kind that it is a part of.
    pub users: BTreeSet<String>,
}

/// What an apply configuration says of its kind.
#[derive(Clone, Debug)]
pub struct ApplyRoot {
    /// The group and version.
    pub api_version: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether the status can be applied.
    pub status: bool,
}

/// A field of an apply configuration.
#[derive(Clone, Debug)]
pub struct ApplyField {
    /// The field's name.
    pub name: Name,
    /// The key under which it is written.
    pub key: String,
    /// Whether its own fields are written instead of it.
    pub flatten: bool,
    /// Its type, without the `Option` around it.
    pub of: ApplyFieldType,
    /// The field's documentation, a line each.
    pub docs: Vec<String>,
}

/// The type of a field, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyFieldType {
    /// A type as it is. A path of one name is that of a primitive type, or of the prelude.
    Path(TypePath, Vec<ApplyFieldType>),
    /// A tuple.
    Tuple(Vec<ApplyFieldType>),
    /// An array and its length.
    Array(Box<ApplyFieldType>, usize),
    /// The apply configuration of this number.
    Apply(usize),
    /// JSON, for a type that generated code cannot name or cannot read and write.
    Json,
}

impl ApplyFieldType {
    /// A primitive type, or one of the prelude.
    pub(crate) fn known(name: &str, arguments: Vec<Self>) -> Self {
        Self::Path(TypePath(vec![Name::new(name)]), arguments)
    }

    /// The arguments, if it is the standard library's type of this name.
    pub(crate) fn arguments_of(&self, name: &str) -> Option<&[Self]> {
        match self {
            Self::Path(path, arguments) => {
                let of_std = path.0.len() == 1 || path.0.first().is_some_and(|first| first.as_str() == "std");
                (of_std && path.name() == name).then_some(arguments)
            }
            _ => None,
        }
    }

    /// The numbers of the apply configurations in it.
    pub(crate) fn applies(&self) -> Vec<usize> {
        match self {
            Self::Path(_, parts) | Self::Tuple(parts) => parts.iter().flat_map(Self::applies).collect(),
            Self::Array(item, _) => item.applies(),
            Self::Apply(number) => vec![*number],
            Self::Json => Vec::new(),
        }
    }
}
