//! One reason why a value is refused, in the words of kube-apiserver.

use std::fmt::{self, Write as _};

use serde_json::{Number, Value};

/// One entry of a `Status`' `details.causes`.
///
/// ```
/// use genclient_fake::schema::StructuralSchema;
/// use serde_json::json;
///
/// let schema = StructuralSchema::new(&json!({
///     "type": "object",
///     "properties": { "replicas": { "type": "integer", "minimum": 0 } },
/// }))?;
/// let causes = schema.validate(&json!({ "replicas": -1 }), None);
/// assert_eq!(causes[0].field, "replicas");
/// assert_eq!(causes[0].reason, "FieldValueInvalid");
/// assert_eq!(
///     causes[0].message,
///     "Invalid value: -1: replicas in body should be greater than or equal to 0"
/// );
/// # Ok::<(), genclient_fake::schema::SchemaErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// Why, for programs: `FieldValueInvalid`, `FieldValueRequired` and so on.
    pub reason: &'static str,
    /// Why, for people: what is wrong with the value.
    pub message: String,
    /// Where: the path of the field, such as `spec.ports[0].name`.
    pub field: String,
}

impl fmt::Display for Cause {
    /// As the server prints it in a `Status`' `message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// The value that a cause shows, if it shows one.
pub(crate) enum Shown<'a> {
    Value(&'a Value),
    Text(&'a str),
    /// What is JSON already.
    Json(&'a str),
    Omitted,
}

impl<'a> From<&'a str> for Shown<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl Cause {
    fn new(reason: &'static str, field: impl Into<String>, head: String, detail: &str) -> Self {
        let message = if detail.is_empty() { head } else { format!("{head}: {detail}") };
        Self { reason, message, field: field.into() }
    }

    pub(super) fn invalid(field: impl Into<String>, shown: Shown<'_>, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, head("Invalid value", shown), detail)
    }

    /// A value that the field cannot have. `value` is printed as Go prints it.
    pub(crate) fn invalid_printed(
        field: impl Into<String>,
        value: impl fmt::Display,
        detail: impl AsRef<str>,
    ) -> Self {
        Self::invalid(field, Shown::Json(&value.to_string()), detail.as_ref())
    }

    pub(super) fn type_invalid(field: impl Into<String>, shown: Shown<'_>, detail: &str) -> Self {
        Self::new("FieldValueTypeInvalid", field, head("Invalid value", shown), detail)
    }

    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueRequired", field, "Required value".into(), detail)
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, "Forbidden".into(), detail)
    }

    pub(super) fn duplicate(field: impl Into<String>, shown: Shown<'_>) -> Self {
        Self::new("FieldValueDuplicate", field, head("Duplicate value", shown), "")
    }

    pub(crate) fn not_supported<'a, S: AsRef<str>>(
        field: impl Into<String>,
        shown: impl Into<Shown<'a>>,
        supported: impl IntoIterator<Item = S>,
    ) -> Self {
        let values: Vec<_> = supported.into_iter().map(|value| quote(value.as_ref())).collect();
        let detail = if values.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", values.join(", "))
        };
        Self::new("FieldValueNotSupported", field, head("Unsupported value", shown.into()), &detail)
    }

    pub(super) fn too_long(field: impl Into<String>, max: i64) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {unit}");
        Self::new("FieldValueTooLong", field, "Too long".into(), &detail)
    }

    pub(super) fn too_many(field: impl Into<String>, actual: usize, max: i64) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        Self::new("FieldValueTooMany", field, format!("Too many: {actual}"), &detail)
    }

    /// Whether the rules in CEL are skipped because of this cause: they count on types, sizes and required fields.
    pub(super) fn blocks_rules(&self) -> bool {
        matches!(
            self.reason,
            "FieldValueNotSupported"
                | "FieldValueRequired"
                | "FieldValueTooLong"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
        )
    }
}

fn head(what: &str, shown: Shown<'_>) -> String {
    match shown {
        Shown::Omitted => what.to_owned(),
        Shown::Json(text) => format!("{what}: {text}"),
        Shown::Text(text) => format!("{what}: {}", quote(text)),
        Shown::Value(Value::String(text)) => format!("{what}: {}", quote(text)),
        Shown::Value(Value::Number(number)) => format!("{what}: {}", number_text(number)),
        Shown::Value(value) => format!("{what}: {}", json(value)),
    }
}

/// A number as Go's `%v` prints it.
pub(super) fn number_text(number: &Number) -> String {
    match number.as_i64() {
        Some(integer) => integer.to_string(),
        None => float_text(number.as_f64().unwrap_or_default()),
    }
}

/// A float as Go's `%v` prints it: the shortest digits, with an exponent below 1e-4 and from 1e21 on.
pub(super) fn float_text(float: f64) -> String {
    if float.is_nan() {
        return "NaN".into();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    if float == 0.0 {
        return if float.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return format!("{float}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A string as Go's `%q` prints it.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(quoted, "\\x{:02x}", c as u32);
            }
            c if c.is_control() || (c.is_whitespace() && c != ' ') || c == '\u{feff}' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A value as Go's `json.Marshal` writes it: keys in order, and `<`, `>` and `&` escaped.
pub(super) fn json(value: &Value) -> String {
    let mut text = String::new();
    write_json(value, &mut text);
    text
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<_> = fields.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json_text(key, out);
                out.push(':');
                write_json(&fields[key], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_json_text(text, out),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::Bool(_) | Value::Null => {
            let _ = write!(out, "{value}");
        }
    }
}

fn write_json_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        for (float, text) in [
            (1.0, "1"),
            (0.5, "0.5"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
        ] {
            assert_eq!(float_text(float), text);
        }
    }

    #[test]
    fn values_are_shown_as_go_shows_them() {
        assert_eq!(quote("a\"b\n\u{1}é"), r#""a\"b\n\x01é""#);
        assert_eq!(json(&json!({ "b": "<1>", "a": [1, null] })), r#"{"a":[1,null],"b":"\u003c1\u003e"}"#);
    }
}
