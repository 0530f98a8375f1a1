use serde_json::{Value, json};

use super::*;
use crate::MAX_DEPTH;

fn set(paths: &[&[&str]]) -> FieldSet {
    paths.iter().map(|path| FieldPath::of_fields(path.iter().copied())).collect()
}

fn read(fields: Value) -> FieldSet {
    FieldSet::from_json(&fields).unwrap_or_else(|error| panic!("{fields}: {error}"))
}

fn lines(set: &FieldSet) -> Vec<String> {
    set.iter().map(|path| path.to_string()).collect()
}

#[test]
fn every_kind_of_element_is_read() {
    let fields = read(json!({
        "f:metadata": { "f:finalizers": { ".": {}, "v:\"a\\u003cb\"": {}, "v:3": {} } },
        "f:spec": {
            "f:ports": { "k:{\"protocol\":\"TCP\",\"port\":80}": { ".": {}, "f:port": {} } },
            "f:rows": { "i:2": {} },
        },
    }));
    assert_eq!(
        lines(&fields),
        [
            ".metadata.finalizers",
            ".metadata.finalizers[=3]",
            ".metadata.finalizers[=\"a<b\"]",
            ".spec.ports[port=80,protocol=\"TCP\"]",
            ".spec.ports[port=80,protocol=\"TCP\"].port",
            ".spec.rows[2]",
        ]
    );
}

#[test]
fn a_set_is_written_byte_for_byte_as_the_server_writes_it() {
    for text in [
        r#"{}"#,
        r#"{"f:a":{}}"#,
        r#"{"f:a":{"f:b":{}}}"#,
        r#"{"f:a":{".":{},"f:b":{}},"f:b":{}}"#,
        r#"{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"v:1":{},"v:2.5":{},"v:\"x\"":{},"v:true":{},"i:2":{},"i:10":{}}}"#,
        r#"{"f:l":{"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{}, "f:containerPort":{}}}}"#,
        r#"{"f:s":{"v:\"a\\u003cb\\u0026c\"":{}}}"#,
    ] {
        let fields: FieldSet = serde_json::from_str(text).expect(text);
        assert_eq!(serde_json::to_string(&fields).expect(text), text.replace(' ', ""));
        assert_eq!(fields.to_json(), serde_json::from_str::<Value>(text).expect(text));
    }
}

#[test]
fn elements_are_written_in_the_servers_order_whatever_their_order_was() {
    let fields = read(json!({ "i:1": {}, "v:\"b\"": {}, "v:7": {}, "k:{\"b\":1,\"a\":2}": {}, "f:z": {} }));
    assert_eq!(
        serde_json::to_string(&fields).expect("a set serializes"),
        r#"{"f:z":{},"k:{\"a\":2,\"b\":1}":{},"v:7":{},"v:\"b\"":{},"i:1":{}}"#
    );
}

#[test]
fn an_element_with_nothing_known_below_it_is_a_member() {
    assert_eq!(read(json!({ "f:a": null })), set(&[&["a"]]));
    assert_eq!(read(json!({ "f:a": { "x:future": {} } })), set(&[&["a"]]));
    assert_eq!(read(json!({ "f:a": { "x:future": 1, "f:b": {} } })), set(&[&["a", "b"]]));
    assert_eq!(read(json!({ ".": {} })), FieldSet::new());
    assert_eq!(read(json!(null)), FieldSet::new());
}

#[test]
fn what_is_not_fields_v1_is_refused_with_the_reason_and_the_place() {
    for (fields, message) in [
        (json!([]), "fieldsV1: expected an object, got a list"),
        (json!({ "f:a": 1 }), "fieldsV1/f:a: expected an object, got a number"),
        (json!({ "f:a": { "f:b": "x" } }), "fieldsV1/f:a/f:b: expected an object, got a string"),
        (
            json!({ "": {} }),
            "fieldsV1: `` is not a path element: it must begin with `f:`, `k:`, `v:` or `i:`",
        ),
        (
            json!({ "f:a": { "spec": {} } }),
            "fieldsV1/f:a: `spec` is not a path element: it must begin with `f:`, `k:`, `v:` or `i:`",
        ),
        (json!({ "i:x": {} }), "fieldsV1: `i:x` is not a path element: `x` is not an index"),
        (json!({ "i:-1": {} }), "fieldsV1: `i:-1` is not a path element: `-1` is not an index"),
        (
            json!({ "k:[]": {} }),
            "fieldsV1: `k:[]` is not a path element: the key of an item must be an object, not a list",
        ),
        (
            json!({ "v:": {} }),
            "fieldsV1: `v:` is not a path element: EOF while parsing a value at line 1 column 0",
        ),
    ] {
        assert_eq!(FieldSet::from_json(&fields).unwrap_err().to_string(), message, "{fields}");
    }
}

#[test]
fn fields_that_are_nested_too_deep_are_refused() {
    let nested = |depth| (0..depth).fold(json!({}), |inner, _| json!({ "f:a": inner }));
    assert_eq!(FieldSet::from_json(&nested(MAX_DEPTH)).expect("it is within the limit").len(), 1);
    assert_eq!(FieldSet::from_json(&nested(MAX_DEPTH + 1)), Err(FieldsError::TooDeep));
    let key = format!("v:{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let error = FieldSet::from_json(&json!({ key: {} })).unwrap_err();
    assert!(error.to_string().contains("recursion limit exceeded"), "{error:.100}");
}

#[test]
fn membership_is_exact() {
    let fields = set(&[&["a"], &["b", "c"]]);
    for (path, expected) in [
        (vec!["a"], true),
        (vec!["b", "c"], true),
        (vec!["b"], false),
        (vec!["a", "x"], false),
        (vec![], false),
    ] {
        assert_eq!(fields.contains(&FieldPath::of_fields(path.clone())), expected, "{path:?}");
    }
    assert_eq!(fields.len(), 2);
    assert!(!fields.is_empty());
    assert!(FieldSet::new().is_empty());
}

#[test]
fn the_operations_treat_a_field_and_the_fields_below_it_as_different_members() {
    let left = set(&[&["a"], &["a", "b"], &["c", "d"], &["e"]]);
    let right = set(&[&["a"], &["c"], &["c", "d"], &["f"]]);

    let union = set(&[&["a"], &["a", "b"], &["c"], &["c", "d"], &["e"], &["f"]]);
    assert_eq!(left.union(&right), union);
    assert_eq!(right.union(&left), union);
    assert_eq!(left.intersection(&right), set(&[&["a"], &["c", "d"]]));
    assert_eq!(left.difference(&right), set(&[&["a", "b"], &["e"]]));
    assert_eq!(right.difference(&left), set(&[&["c"], &["f"]]));
    assert_eq!(left.difference(&left), FieldSet::new());
}

#[test]
fn the_difference_below_removes_whole_branches() {
    let fields = set(&[&["a"], &["a", "b"], &["c", "d"], &["c", "e"], &["f"]]);
    assert_eq!(fields.difference_below(&set(&[&["a"], &["c", "d"]])), set(&[&["c", "e"], &["f"]]));
    assert_eq!(fields.difference_below(&set(&[&["a", "b"]])), fields.difference(&set(&[&["a", "b"]])));
    assert_eq!(fields.difference_below(&set(&[&["c"]])), set(&[&["a"], &["a", "b"], &["f"]]));
}

#[test]
fn leaves_have_nothing_below_them() {
    let fields = set(&[&["a"], &["a", "b"], &["c"], &["d", "e", "f"], &["d", "e"]]);
    assert_eq!(fields.leaves(), set(&[&["a", "b"], &["c"], &["d", "e", "f"]]));
}

#[test]
fn paths_are_listed_with_the_members_of_a_level_first() {
    let fields = set(&[&["a", "x"], &["b"], &["c"], &["c", "y"]]);
    assert_eq!(lines(&fields), [".b", ".c", ".a.x", ".c.y"]);
    assert_eq!(fields.to_string(), ".b\n.c\n.a.x\n.c.y");
}

#[test]
#[should_panic(expected = "a path of 129 elements is too long")]
fn a_path_beyond_the_limit_is_not_inserted() {
    FieldSet::new().insert(&FieldPath::of_fields(vec!["a"; MAX_DEPTH + 1]));
}
