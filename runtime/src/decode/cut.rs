//! Cuts the `managedFields` out of an event before it is parsed.
//!
//! They are half of a small object, and a parser that skips them still looks at every token. Where an array
//! ends can be found much faster. Nothing is parsed here, so what is cut is the first array of that name,
//! which may be another part of the object: the parser checks, by the address of the name, that the cut field
//! was that of the metadata, and the whole line is parsed if it was not.

use std::sync::LazyLock;

use memchr::{memchr, memchr_iter, memchr2, memchr3, memmem::Finder};

/// The name of the field and the beginning of its value, as servers write them.
const NAME: &str = r#""managedFields":["#;

/// The value in place of one that was cut out.
const PLACEHOLDER: &[u8] = b"0";

/// A shorter array is parsed: cutting it out would take as long.
const SHORT: usize = 64;

static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(NAME));

/// Memory for a line from which a field was cut out.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Vec<u8>);

/// Returns the line with a placeholder instead of the first array that is called `managedFields`, and the
/// address of that name. `None` if there is nothing to gain.
pub(super) fn managed_fields<'s>(line: &[u8], scratch: &'s mut Scratch) -> Option<(&'s [u8], usize)> {
    let name = FINDER.find(line)?;
    let (before, array) = line.split_at(name + NAME.len() - 1);
    let length = array_length(array).filter(|length| *length >= SHORT)?;
    let text = &mut scratch.0;
    text.clear();
    text.reserve(line.len());
    text.extend_from_slice(before);
    text.extend_from_slice(PLACEHOLDER);
    text.extend_from_slice(&array[length..]);
    let first_letter = text[name + 1..].as_ptr().addr();
    Some((text, first_letter))
}

/// The length of the JSON array that the text begins with.
fn array_length(text: &[u8]) -> Option<usize> {
    // Nearly always the first closing bracket is the right one: there is no other array inside, and the
    // quotes before it are those of complete strings.
    let close = memchr(b']', text)?;
    let inside = text.get(1..close)?;
    if memchr2(b'[', b'\\', inside).is_none() && memchr_iter(b'"', inside).count().is_multiple_of(2) {
        return Some(close + 1);
    }
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        at += memchr3(b'"', b'[', b']', &text[at..])?;
        match text[at] {
            b'[' => depth += 1,
            b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => at += string_length(&text[at..])? - 1,
        }
        at += 1;
    }
}

/// The length of the JSON string that the text begins with, including its quotes.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use genclient_tally::Tally;
    use proptest::{prelude::*, test_runner::TestRunner};
    use serde_json::{Value, json};

    use super::*;

    fn cut(line: &str) -> Option<String> {
        let mut scratch = Scratch::default();
        let (short, address) = managed_fields(line.as_bytes(), &mut scratch)?;
        let name = short.as_ptr().addr()..address;
        assert!(short[name.len()..].starts_with(b"managedFields"));
        Some(String::from_utf8(short.to_vec()).unwrap())
    }

    #[test]
    fn the_first_array_called_managed_fields_is_cut_out() {
        let fields = format!(r#"[{{"manager":"{}"}}]"#, "x".repeat(SHORT));
        let line = |value: &str| format!(r#"{{"a":1,"managedFields":{value},"b":{{"managedFields":[1]}}}}"#);
        assert_eq!(cut(&line(&fields)).unwrap(), line("0"));
        assert_eq!(cut(&line("[1]")), None, "too short to gain anything");
        assert_eq!(cut(&line(&fields)[..SHORT]), None, "it does not end");
        assert_eq!(cut(r#"{"managedFields":{}}"#), None);
    }

    #[test]
    fn brackets_quotes_and_backslashes_in_strings_do_not_end_an_array() {
        for text in [
            r#"[]"#,
            r#"["]"]"#,
            r#"["\"]"]"#,
            r#"["\\"]"#,
            r#"[["]"],[[]]]"#,
            r#"["[",{"k:{\"a\":\"]\"}":{}}]"#,
            r#"["\u005d"]"#,
        ] {
            assert!(serde_json::from_str::<Value>(text).is_ok());
            assert_eq!(array_length(format!("{text},[\"]\"]]").as_bytes()), Some(text.len()), "{text}");
            for end in 0..text.len() {
                assert_eq!(array_length(&text.as_bytes()[..end]), None, "{text} up to {end}");
            }
        }
    }

    /// Any JSON value whose texts have these characters.
    fn value(text: &'static str) -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(json!(null)), any::<i32>().prop_map(Value::from), text.prop_map(Value::from)];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((text, inner), 0..6)
                    .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    #[test]
    fn the_end_of_any_array_is_found() {
        let tally = Tally::new();
        let of_hard_texts = prop::collection::vec(value(r#"[\[\]{}"\\:,ab]{0,6}"#), 0..6);
        // Like managed fields: the first bracket that closes is the end.
        let of_easy_texts = prop::collection::vec(value("[{}:,ab]{0,6}"), 0..3);
        let arrays = (prop_oneof![of_hard_texts, of_easy_texts], r#"[\[\]{}"\\:,ab]{0,9}"#);
        let tried =
            TestRunner::new(ProptestConfig::with_source_file(file!())).run(&arrays, |(items, rest)| {
                let array = Value::from(items).to_string();
                let inside = &array[1..array.len() - 1];
                tally.add("with a bracket inside", usize::from(inside.contains(['[', ']'])));
                tally.add("with a backslash inside", usize::from(inside.contains('\\')));
                tally.add(
                    "with strings only",
                    usize::from(inside.contains('"') && !inside.contains(['[', '\\'])),
                );
                tally.add("followed by a bracket", usize::from(rest.contains(']')));
                prop_assert_eq!(array_length(format!("{array}{rest}").as_bytes()), Some(array.len()));
                Ok(())
            });
        tried.unwrap_or_else(|error| panic!("{error}"));
        tally.require(&[
            ("with a bracket inside", 40),
            ("with a backslash inside", 20),
            ("with strings only", 2),
            ("followed by a bracket", 12),
        ]);
    }
}
