//! `printcolumn(…)`: a column that `kubectl get` shows.

use super::{entry::Entry, json_path::json_path, keys::Keys};
use crate::diag::{Ctxt, Diagnostic};

/// One `printcolumn(…)`.
#[derive(Clone, Debug)]
pub struct PrintColumn {
    /// The column's heading.
    pub name: String,
    /// The column's OpenAPI type.
    pub type_: String,
    /// Where the value is.
    pub json_path: String,
    /// What `kubectl explain` says of it.
    pub description: Option<String>,
    /// The OpenAPI format.
    pub format: Option<String>,
    /// Columns above 0 are shown with `-o wide` only.
    pub priority: Option<i32>,
}

const KEYS: &[&str] = &["name", "type_", "json_path", "description", "format", "priority"];

const TYPES: &[&str] = &["string", "integer", "number", "boolean", "date"];

impl PrintColumn {
    pub(super) fn read(cx: &Ctxt, entry: &Entry) -> Option<Self> {
        let example = "name = \"CIDR\", type_ = \"string\", json_path = \".spec.cidr\"";
        let keys = Keys::read(cx, entry, KEYS, example)?;
        let name = keys.required(cx, "name").and_then(|key| key.string(cx));
        let type_ = keys.required(cx, "type_").and_then(|key| key.string(cx));
        let path = keys.required(cx, "json_path").and_then(|key| key.checked(cx, "JSON path", json_path));
        let priority = keys.optional("priority").and_then(|key| key.int(cx));
        let type_ = type_?;
        if !TYPES.contains(&type_.value.as_str()) {
            cx.error(
                Diagnostic::new(type_.span, format!("a column cannot have the type `{}`", type_.value))
                    .help(format!("the types are {}", TYPES.join(", "))),
            );
            return None;
        }
        Some(Self {
            name: name?.value,
            type_: type_.value,
            json_path: path?.value,
            description: keys.optional_string(cx, "description"),
            format: keys.optional_string(cx, "format"),
            priority,
        })
    }
}
