//! Messages whose JSON is not that of their fields.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    message,
    wire::{Reader, signed},
};

const SCHEMA: &str = "apiextensions/v1.JSONSchemaProps";

/// Reads a message if it is one of these.
pub(super) fn decode(bytes: &[u8], name: &str, depth: usize) -> Option<Result<Value, String>> {
    Some(match name {
        "meta/v1.Time" => time(bytes, "%Y-%m-%dT%H:%M:%SZ"),
        "meta/v1.MicroTime" => time(bytes, "%Y-%m-%dT%H:%M:%S.%6fZ"),
        "resource.Quantity" => text(bytes),
        "intstr.IntOrString" => int_or_string(bytes),
        "runtime.RawExtension" | "meta/v1.FieldsV1" | "apiextensions/v1.JSON" => raw(bytes),
        "apiextensions/v1.JSONSchemaPropsOrBool" => schema_or_bool(bytes, depth),
        "apiextensions/v1.JSONSchemaPropsOrArray" => schema_or_list(bytes, depth),
        "apiextensions/v1.JSONSchemaPropsOrStringArray" => schema_or_texts(bytes, depth),
        _ => return None,
    })
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// An empty message is no time.
fn time(bytes: &[u8], format: &str) -> Result<Value, String> {
    let (mut seconds, mut nanoseconds) = (0, 0);
    for field in Reader::new(bytes) {
        match field? {
            (1, field) => seconds = signed(field.integer()?),
            (2, field) => nanoseconds = i32::try_from(field.integer()?).map_err(|error| error.to_string())?,
            _ => {}
        }
    }
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let time = Timestamp::new(seconds, nanoseconds).map_err(|error| error.to_string())?;
    Ok(time.strftime(format).to_string().into())
}

fn text(bytes: &[u8]) -> Result<Value, String> {
    let mut text = String::new();
    for field in Reader::new(bytes) {
        if let (1, field) = field? {
            text = field.text()?;
        }
    }
    // A quantity without a text is zero.
    Ok(if text.is_empty() { "0".into() } else { text.into() })
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for field in Reader::new(bytes) {
        match field? {
            (1, field) => is_text = field.integer()? == 1,
            (2, field) => number = signed(field.integer()?),
            (3, field) => text = field.text()?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

/// JSON within protobuf.
fn raw(bytes: &[u8]) -> Result<Value, String> {
    let mut value = Value::Null;
    for field in Reader::new(bytes) {
        if let (1, field) = field? {
            let raw = field.bytes()?;
            if !raw.is_empty() {
                value = serde_json::from_slice(raw).map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(value)
}

fn schema_or_bool(bytes: &[u8], depth: usize) -> Result<Value, String> {
    let (mut allows, mut schema) = (false, None);
    for field in Reader::new(bytes) {
        match field? {
            (1, field) => allows = field.integer()? != 0,
            (2, field) => schema = Some(message(field.bytes()?, SCHEMA, depth + 1)?),
            _ => {}
        }
    }
    Ok(schema.unwrap_or(Value::Bool(allows)))
}

fn schema_or_list(bytes: &[u8], depth: usize) -> Result<Value, String> {
    let (mut one, mut list) = (None, Vec::new());
    for field in Reader::new(bytes) {
        match field? {
            (1, field) => one = Some(message(field.bytes()?, SCHEMA, depth + 1)?),
            (2, field) => list.push(message(field.bytes()?, SCHEMA, depth + 1)?),
            _ => {}
        }
    }
    Ok(if list.is_empty() { one.unwrap_or_default() } else { list.into() })
}

fn schema_or_texts(bytes: &[u8], depth: usize) -> Result<Value, String> {
    let (mut schema, mut texts) = (None, Vec::new());
    for field in Reader::new(bytes) {
        match field? {
            (1, field) => schema = Some(message(field.bytes()?, SCHEMA, depth + 1)?),
            (2, field) => texts.push(field.text()?),
            _ => {}
        }
    }
    Ok(if texts.is_empty() { schema.unwrap_or_default() } else { texts.into() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn special_messages_are_written_as_clients_write_them_in_json() {
        for (name, bytes, wanted) in [
            ("meta/v1.Time", &[0x08, 1][..], json!("1970-01-01T00:00:01Z")),
            ("meta/v1.Time", &[], Value::Null),
            ("meta/v1.MicroTime", &[0x08, 1, 0x10, 0xd0, 0x0f], json!("1970-01-01T00:00:01.000002Z")),
            ("resource.Quantity", b"\x0a\x031Gi", json!("1Gi")),
            ("resource.Quantity", b"", json!("0")),
            ("intstr.IntOrString", &[0x08, 0, 0x10, 80, 0x1a, 0], json!(80)),
            ("intstr.IntOrString", b"\x08\x01\x10\x00\x1a\x0325%", json!("25%")),
            ("runtime.RawExtension", b"\x0a\x07{\"a\":1}", json!({ "a": 1 })),
            ("apiextensions/v1.JSONSchemaPropsOrBool", &[0x08, 1], json!(true)),
            ("apiextensions/v1.JSONSchemaPropsOrBool", b"\x08\x01\x12\x03\x2a\x01x", json!({ "type": "x" })),
            ("apiextensions/v1.JSONSchemaPropsOrArray", b"\x0a\x03\x2a\x01x", json!({ "type": "x" })),
            ("apiextensions/v1.JSONSchemaPropsOrStringArray", b"\x12\x01a\x12\x01b", json!(["a", "b"])),
        ] {
            assert_eq!(decode(bytes, name, 0), Some(Ok(wanted)), "{name}");
        }
        assert!(decode(b"\x0a\x01{", "runtime.RawExtension", 0).unwrap().is_err());
        assert!(decode(&[], "core/v1.Pod", 0).is_none());
    }
}
