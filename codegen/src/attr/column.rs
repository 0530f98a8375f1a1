//! `printcolumn(…)`: a column that `kubectl get` shows.

use super::{
    entry::{Entry, Spanned},
    json_path::COLUMN_PATH,
    keys::Keys,
};
use crate::diag::{Ctxt, Diagnostic};

/// One `printcolumn(…)`.
#[derive(Clone, Debug)]
pub struct PrintColumn {
    /// The column's heading.
    pub name: Spanned<String>,
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

const FORMATS: &[&str] = &["int32", "int64", "float", "double", "byte", "date", "date-time", "password"];

impl PrintColumn {
    /// Reads one `printcolumn(…)`; `others` are those in front of it.
    pub(super) fn read(cx: &Ctxt, entry: &Entry, others: &[Self]) -> Option<Self> {
        let example = "name = \"CIDR\", type_ = \"string\", json_path = \".spec.cidr\"";
        let keys = Keys::read(cx, entry, KEYS, example)?;
        let name = keys.required(cx, "name").and_then(|key| heading(cx, key, others));
        let type_ = keys.required(cx, "type_").and_then(|key| one_of(cx, key, "type", TYPES));
        let path = keys.required(cx, "json_path").and_then(|key| key.checked(cx, &COLUMN_PATH));
        let format = match keys.optional("format") {
            Some(key) => one_of(cx, key, "format", FORMATS).map(Some),
            None => Some(None),
        };
        let priority = keys.optional("priority").and_then(|key| key.int(cx));
        let description = keys.optional_string(cx, "description");
        Some(Self {
            name: name?,
            type_: type_?,
            json_path: path?.value,
            description,
            format: format?,
            priority,
        })
    }
}

/// The heading of a column, which no other column has.
fn heading(cx: &Ctxt, key: &Entry, others: &[PrintColumn]) -> Option<Spanned<String>> {
    let name = key.string(cx)?;
    if name.value.is_empty() {
        cx.error(
            Diagnostic::new(name.span, "a column needs a heading").help("write one, as in `name = \"CIDR\"`"),
        );
        return None;
    }
    if let Some(first) = others.iter().find(|other| other.name.value == name.value) {
        cx.error(
            Diagnostic::new(name.span, format!("two columns are called `{}`", name.value))
                .help("choose another heading for one of them")
                .related(first.name.span, "the first one is here"),
        );
        return None;
    }
    Some(name)
}

/// One of the words that the API server knows.
fn one_of(cx: &Ctxt, key: &Entry, what: &str, known: &[&str]) -> Option<String> {
    let text = key.string(cx)?;
    if !known.contains(&text.value.as_str()) {
        cx.error(
            Diagnostic::new(text.span, format!("a column cannot have the {what} `{}`", text.value))
                .help(format!("the {what}s are {}", known.join(", "))),
        );
        return None;
    }
    Some(text.value)
}
