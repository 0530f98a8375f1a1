//! The order, the equality and the text of JSON values, as the API server has them.

use std::{cmp::Ordering, fmt::Write};

use serde_json::{Map, Number, Value};

/// How deep a value may be nested.
///
/// `serde_json` does not parse deeper values.
pub const MAX_DEPTH: usize = 128;

/// The error for a value that is nested more than [`MAX_DEPTH`] levels deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value is nested more than {MAX_DEPTH} levels deep")]
pub(crate) struct TooDeep;

/// Checks that a value is nested at most [`MAX_DEPTH`] levels deep.
pub(crate) fn check_depth(value: &Value) -> Result<(), TooDeep> {
    let mut rest = vec![(value, 0)];
    while let Some((value, depth)) = rest.pop() {
        if depth > MAX_DEPTH {
            return Err(TooDeep);
        }
        match value {
            Value::Array(items) => rest.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => rest.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether two values are equal. Numbers are compared by value: `1` equals `1.0`.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    compare(left, right).is_eq()
}

/// Orders two values: numbers, strings, booleans, lists, objects, null.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => compare_lists(left, right),
        (Value::Object(left), Value::Object(right)) => compare_maps(left, right),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (as_integer(left), as_integer(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => as_float(left).total_cmp(&as_float(right)),
    }
}

/// Returns the integer that the number is, also if it is written as `1.0`.
///
/// Zero has one representation only: `-0.0` is the integer 0.
fn as_integer(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let float = as_float(number);
    // Beyond 2^100 every comparison with an integer of the API is decided by the magnitude alone.
    #[allow(clippy::cast_possible_truncation, reason = "the float is an integer within the range of i128")]
    (float.fract() == 0.0 && float.abs() < 2f64.powi(100)).then_some(float as i128)
}

fn as_float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

fn compare_lists(left: &[Value], right: &[Value]) -> Ordering {
    for (left, right) in left.iter().zip(right) {
        let order = compare(left, right);
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

fn compare_maps(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let (left, right) = (sorted(left), sorted(right));
    for ((left_name, left), (right_name, right)) in left.iter().zip(&right) {
        let order = left_name.cmp(right_name).then_with(|| compare(left, right));
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

/// The members of a map by name. A `Map` keeps the order of insertion if `preserve_order` is on.
fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = map.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    members
}

/// Writes a value as the API server writes it inside a path element: compact JSON, in which `<`, `>` and `&`
/// are escaped.
pub(crate) fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => write_number(number, out, 1e-6, 1e21),
        Value::String(text) => write_json_string(text, true, out),
        Value::Array(items) => write_items(items, write_json, out),
        Value::Object(map) => {
            out.push('{');
            for (index, (name, item)) in sorted(map).into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json_string(name, true, out);
                out.push(':');
                write_json(item, out);
            }
            out.push('}');
        }
    }
}

/// Writes the items of an array between brackets, each with `write`.
fn write_items(items: &[Value], write: fn(&Value, &mut String), out: &mut String) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

/// Writes a JSON string with the escapes of the API server.
pub(crate) fn write_json_string(text: &str, escape_html: bool, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if escape_html => push_escape(character, out),
            _ if character < ' ' => push_escape(character, out),
            _ => out.push(character),
        }
    }
    out.push('"');
}

fn push_escape(character: char, out: &mut String) {
    // Writing to a String does not fail.
    let _ = write!(out, "\\u{:04x}", u32::from(character));
}

/// Writes a value as the API server prints it in messages, such as `"app"` or `80`.
pub(crate) fn write_display(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => write_number(number, out, 1e-4, 1e6),
        Value::String(text) => write_quoted(text, out),
        Value::Array(items) => write_items(items, write_display, out),
        Value::Object(map) => {
            for (name, item) in sorted(map) {
                out.push_str(name);
                out.push('=');
                write_display(item, out);
            }
        }
    }
}

/// Writes a string in quotes, with Go's escapes.
pub(crate) fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if character.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(character));
            }
            _ if character.is_ascii() || is_printable(character) => out.push(character),
            _ if u32::from(character) > 0xffff => {
                let _ = write!(out, "\\U{:08x}", u32::from(character));
            }
            _ => push_escape(character, out),
        }
    }
    out.push('"');
}

/// Returns whether a character outside of ASCII is visible, such as a letter or a mark.
fn is_printable(character: char) -> bool {
    // After another character, only invisible ones are escaped.
    ['a', character].iter().collect::<String>().escape_debug().count() == 2
}

/// Writes a number. A float has an exponent if it is below `smallest`, or not below `largest`.
fn write_number(number: &Number, out: &mut String, smallest: f64, largest: f64) {
    if number.is_i64() || number.is_u64() {
        let _ = write!(out, "{number}");
        return;
    }
    let float = as_float(number);
    let magnitude = float.abs();
    if magnitude != 0.0 && (magnitude < smallest || magnitude >= largest) {
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        let _ = write!(out, "{mantissa}e{sign}{digits:0>2}");
    } else {
        let _ = write!(out, "{float}");
    }
}

/// Names the type of a value, for messages.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_ordered_by_type_and_then_by_content() {
        let ordered = [
            json!(-1.5),
            json!(-1),
            json!(0),
            json!(0.5),
            json!(1),
            json!(9_007_199_254_740_993_i64),
            json!(9_007_199_254_740_994_i64),
            json!(1e300),
            json!(""),
            json!("a"),
            json!("ab"),
            json!("b"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 1, "b": 0}),
            json!({"a": 2}),
            json!({"b": 0}),
            json!(null),
        ];
        for (i, left) in ordered.iter().enumerate() {
            for (j, right) in ordered.iter().enumerate() {
                assert_eq!(compare(left, right), i.cmp(&j), "{left} and {right}");
            }
        }
    }

    #[test]
    fn a_number_is_its_value_not_its_notation() {
        assert!(equal(&json!(1), &json!(1.0)));
        assert!(equal(&json!(0), &json!(-0.0)));
        assert!(equal(&json!([{"a": 2.0}]), &json!([{"a": 2}])));
        assert!(!equal(&json!(1), &json!("1")));
        assert!(!equal(&json!(null), &json!(false)));
    }

    #[test]
    fn values_are_written_as_go_writes_them() {
        for (value, expected) in [
            (json!("a<b>&\"\\\n\u{8}\u{2028}é"), r#""a\u003cb\u003e\u0026\"\\\n\u0008\u2028é""#),
            (json!(1.0), "1"),
            (json!(1.5), "1.5"),
            (json!(1e21), "1e+21"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(0.00001), "0.00001"),
            (json!(-3), "-3"),
            (json!({"b": [true, null], "a": "<"}), r#"{"a":"\u003c","b":[true,null]}"#),
        ] {
            let mut text = String::new();
            write_json(&value, &mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn values_are_printed_as_go_prints_them() {
        for (value, expected) in [
            (json!("a<b>\"\\\n\u{7}\u{1}\u{85}é"), r#""a<b>\"\\\n\a\x01\u0085é""#),
            (
                json!("\u{a0}\u{2028}\u{301}日\u{1f600}\u{e0001}"),
                "\"\\u00a0\\u2028\u{301}日\u{1f600}\\U000e0001\"",
            ),
            (json!(1.0), "1"),
            (json!(0.00001), "1e-05"),
            (json!(999_999.5), "999999.5"),
            (json!(1_234_567.5), "1.2345675e+06"),
            (json!(1_234_567), "1234567"),
            (json!(true), "true"),
            (json!(null), "null"),
            (json!([1, "x"]), r#"[1,"x"]"#),
        ] {
            let mut text = String::new();
            write_display(&value, &mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_value_is_too_deep_one_level_below_the_limit() {
        let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(check_depth(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(check_depth(&nested(MAX_DEPTH + 1)), Err(TooDeep));
    }
}
