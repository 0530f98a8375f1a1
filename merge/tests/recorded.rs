//! What the API server's own code made of random writes and patches.
//!
//! `tests/oracle` is the Go program that recorded it, with the modules of Kubernetes 1.36.4:
//! `go run . apply 1 40 < schema.json > ../recorded/apply.json`, and the same with `deduced 1 20`,
//! `patch 1 80` and `fields 1 60`. `RECORDED_APPLY` and so on name other recordings, for a longer run.

use std::{env, fmt, fs};

use genclient_merge::{FieldPath, FieldSet, ManagedFields, ManagedFieldsEntry, Schema, Writer, strategic};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, json};

fn schema() -> Schema {
    let document = serde_json::from_str(include_str!("oracle/schema.json")).expect("the document is JSON");
    Schema::from_open_api(&document, "Example").expect("the schema is valid")
}

fn recording<T: for<'de> Deserialize<'de>>(variable: &str, default: &str) -> T {
    let text = match env::var_os(variable) {
        Some(path) => fs::read_to_string(path).expect("the recording is readable"),
        None => default.to_owned(),
    };
    serde_json::from_str(&text).expect("the recording has the expected format")
}

#[derive(Deserialize)]
struct Writes {
    /// An object that was there before its fields were tracked.
    start: Option<Value>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    operation: String,
    manager: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    force: bool,
    object: Value,
    live: Option<Value>,
    error: Option<String>,
}

/// Returns the object without what the recording does not have: times, and the order that follows from them.
fn comparable(object: &Value) -> (Value, Vec<String>) {
    let managed = ManagedFields::of(object).expect("the entries are valid");
    let timeless = managed.into_entries().into_iter().map(|entry| ManagedFieldsEntry { time: None, ..entry });
    let mut entries: Vec<_> =
        timeless.map(|entry| serde_json::to_string(&entry).expect("an entry is JSON")).collect();
    entries.sort();
    let mut object = object.clone();
    ManagedFields::default().write_to(&mut object);
    object["metadata"]["uid"] = json!("uid");
    (object, entries)
}

#[test]
fn writes_have_the_results_that_the_server_has() {
    let cases: Vec<_> = recording("RECORDED_APPLY", include_str!("recorded/apply.json"));
    let (written, refused) = replay(&cases, &schema());
    assert!(written > 100 && refused > 10, "{written} writes and {refused} conflicts are too few");
}

#[test]
fn writes_without_a_schema_have_the_results_that_the_server_has() {
    let cases: Vec<_> = recording("RECORDED_DEDUCED", include_str!("recorded/deduced.json"));
    let (written, refused) = replay(&cases, &Schema::deduced());
    assert!(written > 50 && refused > 10, "{written} writes and {refused} conflicts are too few");
}

/// Writes each object as it was recorded, and returns how many writes and how many conflicts there were.
fn replay(cases: &[Writes], schema: &Schema) -> (usize, usize) {
    let (mut written, mut refused) = (0, 0);
    for (number, case) in cases.iter().enumerate() {
        let mut live = case.start.clone();
        for (index, step) in case.steps.iter().enumerate() {
            let at = format!("case {number}, step {index}, from {live:?}");
            let reset = if step.subresource.is_empty() { "status" } else { "spec" };
            let writer = Writer::new(&step.manager, "example.com/v1")
                .subresource(&step.subresource)
                .at("2026-01-02T03:04:05Z")
                .force(step.force)
                .reset_fields(FieldSet::from_iter([FieldPath::of_fields([reset])]));
            let result = match step.operation.as_str() {
                "Apply" => writer.apply(live.as_ref(), &step.object, schema),
                _ => writer.update(live.as_ref(), &step.object, schema),
            };
            match (&step.live, result) {
                (Some(expected), Ok(actual)) => {
                    assert_eq!(comparable(&actual), comparable(expected), "{at}");
                    written += 1;
                    live = Some(expected.clone());
                }
                (None, Err(error)) => {
                    assert_eq!(Some(error.to_string()), step.error, "{at}");
                    refused += 1;
                }
                (expected, actual) => {
                    panic!("{at}: expected {expected:?} or {:?}, got {actual:?}", step.error)
                }
            }
        }
    }
    (written, refused)
}

#[derive(Deserialize)]
struct Patched {
    old: Value,
    new: Value,
    patch: Value,
    other: Value,
    merged: Option<Value>,
    error: Option<String>,
}

#[test]
fn patches_have_the_results_that_the_server_has() {
    let cases: Vec<Patched> = recording("RECORDED_PATCH", include_str!("recorded/patch.json"));
    assert!(cases.len() > 50, "{} patches are too few", cases.len());
    for (number, case) in cases.iter().enumerate() {
        let patch = strategic::diff(&case.old, &case.new, &schema());
        let patch = patch.unwrap_or_else(|error| panic!("case {number}: {error}"));
        assert_eq!(patch.unwrap_or_else(|| json!({})), case.patch, "case {number}");
        let merged = strategic::apply(&case.other, &case.patch, &schema());
        assert_eq!(
            merged.as_ref().ok(),
            case.merged.as_ref(),
            "case {number}: {merged:?} or {:?}",
            case.error
        );
        assert_eq!(
            strategic::apply(&case.old, &case.patch, &schema()).as_ref(),
            Ok(&case.new),
            "case {number}"
        );
    }
}

#[derive(Deserialize)]
struct Fields {
    text: String,
    paths: Vec<String>,
}

#[test]
fn sets_have_the_bytes_and_the_paths_that_the_server_writes() {
    let cases: Vec<Fields> = recording("RECORDED_FIELDS", include_str!("recorded/fields.json"));
    assert!(cases.len() > 50, "{} sets are too few", cases.len());
    for case in &cases {
        let set: FieldSet =
            serde_json::from_str(&case.text).unwrap_or_else(|error| panic!("{}: {error}", case.text));
        // Inside of an element the escapes are part of the text. Around it they are up to the serializer.
        let expected: OrderedKeys = serde_json::from_str(&case.text).expect("it is JSON");
        let written = serde_json::to_string(&set).expect("a set serializes");
        let written: OrderedKeys = serde_json::from_str(&written).expect("it is JSON");
        assert_eq!(written, expected);
        let paths: Vec<_> = set.iter().map(|path| path.to_string()).collect();
        assert_eq!(paths, case.paths, "{}", case.text);
    }
}

/// The keys of nested objects, in their order.
#[derive(Debug, PartialEq)]
struct OrderedKeys(Vec<(String, OrderedKeys)>);

impl<'de> Deserialize<'de> for OrderedKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = OrderedKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedKeys, A::Error> {
                let mut keys = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    keys.push(entry);
                }
                Ok(OrderedKeys(keys))
            }
        }

        deserializer.deserialize_map(Keys)
    }
}
