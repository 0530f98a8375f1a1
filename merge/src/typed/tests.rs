use serde_json::json;

use super::*;
use crate::fields::FieldSet;

/// A kind with every way of sharing.
fn schema() -> Schema {
    let item = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "protocol": { "type": "string", "default": "TCP" },
            "value": { "type": "integer" },
        },
    });
    Schema::from_crd(&json!({
        "type": "object",
        "properties": {
            "number": { "type": "integer" },
            "text": { "type": "string" },
            "any": { "x-kubernetes-int-or-string": true },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "struct": { "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } } },
            "whole": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
            },
            "map": { "type": "object", "additionalProperties": { "type": "string" } },
            "plain": { "type": "array", "items": { "type": "string" } },
            "set": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
            "keyed": {
                "type": "array",
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "protocol"],
            },
            "nullable": { "type": "string", "nullable": true },
        },
    }))
    .expect("the schema is valid")
}

fn fields(value: Value) -> Value {
    field_set(&value, &schema()).to_json()
}

#[test]
fn a_writer_owns_leaves_items_and_entries_of_maps() {
    for (value, expected) in [
        (json!({ "number": 1, "text": null }), json!({ "f:number": {}, "f:text": {} })),
        (json!({ "struct": { "a": "x" } }), json!({ "f:struct": { "f:a": {} } })),
        (json!({ "struct": {} }), json!({ "f:struct": {} })),
        (json!({ "whole": { "a": "x" } }), json!({ "f:whole": {} })),
        (json!({ "map": { "k": "v" } }), json!({ "f:map": { "f:k": {} } })),
        (json!({ "map": {} }), json!({ "f:map": {} })),
        (json!({ "plain": ["a", "b"] }), json!({ "f:plain": {} })),
        (json!({ "plain": [] }), json!({ "f:plain": {} })),
        (json!({ "set": ["b", "a"] }), json!({ "f:set": { "v:\"a\"": {}, "v:\"b\"": {} } })),
        // Nobody owns an empty list that is shared item by item.
        (json!({ "set": [] }), json!({})),
        (
            json!({ "keyed": [{ "name": "n", "value": 1 }] }),
            json!({ "f:keyed": { "k:{\"name\":\"n\",\"protocol\":\"TCP\"}": { ".": {}, "f:name": {}, "f:value": {} } } }),
        ),
        (
            json!({ "keyed": [{ "name": "n", "value": 1 }, { "name": "n", "protocol": "TCP" }] }),
            json!({ "f:keyed": { "k:{\"name\":\"n\",\"protocol\":\"TCP\"}": {} } }),
        ),
        (
            json!({ "free": { "a": { "b": 1 }, "c": [{ "d": 1 }] } }),
            json!({ "f:free": { "f:a": { ".": {}, "f:b": {} }, "f:c": {} } }),
        ),
        (json!({ "any": "x" }), json!({ "f:any": {} })),
    ] {
        assert_eq!(fields(value.clone()), expected, "{value}");
    }
}

#[test]
fn invalid_values_are_named_by_their_path() {
    for (value, message) in [
        (json!({ "number": "1" }), ".number: expected numeric (int or float), got string"),
        (json!({ "text": 1 }), ".text: expected string, got &value.valueUnstructured{Value:1}"),
        (json!({ "struct": [] }), ".struct: expected map, got &{[]}"),
        (json!({ "struct": { "c": 1 } }), ".struct.c: field not declared in schema"),
        (json!({ "whole": { "a": 1 } }), ".whole.a: expected string, got &value.valueUnstructured{Value:1}"),
        (json!({ "set": {} }), ".set: expected list, got &{map[]}"),
        (json!({ "set": [null] }), ".set: element 0: a set must not contain null"),
        (json!({ "set": ["a", "a"] }), ".set: duplicate entries for key [=\"a\"]"),
        (json!({ "keyed": ["a"] }), ".keyed: element 0: a list with keys must contain objects only"),
        (
            json!({ "keyed": [{ "name": "n", "value": "x" }] }),
            ".keyed[name=\"n\",protocol=\"TCP\"].value: expected numeric (int or float), got string",
        ),
        (json!({ "plain": ["a", 1] }), ".plain[1]: expected string, got &value.valueUnstructured{Value:1}"),
        (json!([]), "expected map, got &{[]}"),
    ] {
        let errors = validate(&value, &schema(), Duplicates::Refused).unwrap_err();
        assert_eq!(errors[0].to_string(), message, "{value}");
    }
    for value in [json!({ "set": ["a", "a"], "text": null, "struct": null }), json!({ "any": 1 })] {
        assert_eq!(validate(&value, &schema(), Duplicates::Allowed), Ok(()), "{value}");
    }
    let keys_without_defaults = Schema::from_crd(&json!({ "type": "object", "properties": { "l": {
        "type": "array",
        "items": { "type": "object", "properties": { "a": { "type": "string" }, "x": { "type": "string" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b"],
    } } }))
    .expect("the schema is valid");
    let errors = validate(&json!({ "l": [{ "x": "1" }] }), &keys_without_defaults, Duplicates::Refused);
    assert_eq!(
        errors.unwrap_err()[0].to_string(),
        ".l: element 0: associative list with keys has an element that omits all key fields [\"a\" \"b\"] (and doesn't have default values for any key fields)"
    );
}

#[test]
fn a_value_that_is_nested_too_deep_is_invalid() {
    let deep = (0..200).fold(json!(1), |inner, _| json!({ "a": inner }));
    let errors = validate(&deep, &Schema::deduced(), Duplicates::Allowed).unwrap_err();
    assert_eq!(errors[0].to_string(), "the value is nested more than 128 levels deep");
}

fn lines(set: &FieldSet) -> Vec<String> {
    set.iter().map(|path| path.to_string()).collect()
}

#[test]
fn the_difference_of_two_values_is_told_by_field() {
    let key = "[name=\"n\",protocol=\"TCP\"]";
    let item = |value| json!({ "keyed": [{ "name": "n", "value": value }] });
    let of_item = |rest: &str| format!(".keyed{key}{rest}");
    let text = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    for (left, right, removed, modified, added) in [
        (json!({ "number": 1 }), json!({ "number": 1.0 }), vec![], vec![], vec![]),
        (json!({ "number": 1 }), json!({ "number": 2 }), vec![], text(&[".number"]), vec![]),
        (json!({ "text": "a" }), json!({ "number": 1 }), text(&[".text"]), vec![], text(&[".number"])),
        (json!({}), json!({ "struct": { "a": "x" } }), vec![], vec![], text(&[".struct", ".struct.a"])),
        (json!({ "struct": { "a": "x" } }), json!({ "struct": {} }), text(&[".struct.a"]), vec![], vec![]),
        (json!({ "struct": null }), json!({ "struct": {} }), vec![], text(&[".struct"]), vec![]),
        (
            json!({ "whole": { "a": "x" } }),
            json!({ "whole": { "b": "x" } }),
            vec![],
            text(&[".whole"]),
            vec![],
        ),
        (json!({ "plain": ["a", "b"] }), json!({ "plain": ["b", "a"] }), vec![], text(&[".plain"]), vec![]),
        (json!({ "set": ["a", "b"] }), json!({ "set": ["b", "a"] }), vec![], vec![], vec![]),
        (
            json!({ "set": ["a", "b"] }),
            json!({ "set": ["b", "c"] }),
            text(&[".set[=\"a\"]"]),
            vec![],
            text(&[".set[=\"c\"]"]),
        ),
        (item(1), item(2), vec![], vec![of_item(".value")], vec![]),
        (
            json!({ "keyed": [] }),
            item(1),
            vec![],
            vec![],
            vec![of_item(""), of_item(".name"), of_item(".value")],
        ),
        (json!({ "any": "x" }), json!({ "any": { "y": 1 } }), vec![], text(&[".any"]), text(&[".any.y"])),
    ] {
        let comparison = compare(&left, &right, &schema());
        assert_eq!(lines(&comparison.removed), removed, "removed from {left} to {right}");
        assert_eq!(lines(&comparison.modified), modified, "modified from {left} to {right}");
        assert_eq!(lines(&comparison.added), added, "added from {left} to {right}");
    }
}

#[test]
fn items_that_share_a_key_are_compared_as_a_whole() {
    let list = |values: &[i32]| {
        let items: Vec<_> = values.iter().map(|value| json!({ "name": "n", "value": value })).collect();
        json!({ "keyed": items })
    };
    let path = ".keyed[name=\"n\",protocol=\"TCP\"]";
    let (name, value) = (format!("{path}.name"), format!("{path}.value"));
    let same = compare(&list(&[1, 2]), &list(&[1, 2]), &schema());
    assert_eq!(same, Comparison::default());
    let changed = compare(&list(&[1, 2]), &list(&[2, 1]), &schema());
    assert_eq!(lines(&changed.modified), [path]);
    let resolved = compare(&list(&[1, 2]), &list(&[1]), &schema());
    assert_eq!(lines(&resolved.removed), [path]);
    assert_eq!(lines(&resolved.added), [path, &name, &value]);
    let duplicated = compare(&list(&[1]), &list(&[1, 2]), &schema());
    assert_eq!(lines(&duplicated.removed), [path, &name, &value]);
    assert_eq!(lines(&duplicated.added), [path]);
}

#[test]
fn a_merge_keeps_what_the_right_value_lacks() {
    for (left, right, expected) in [
        (json!({ "number": 1 }), json!({ "text": "a" }), json!({ "number": 1, "text": "a" })),
        (json!({ "number": 1 }), json!({ "number": 2 }), json!({ "number": 2 })),
        (json!({ "number": 1 }), json!({ "number": null }), json!({ "number": null })),
        (
            json!({ "struct": { "a": "x" } }),
            json!({ "struct": { "b": "y" } }),
            json!({ "struct": { "a": "x", "b": "y" } }),
        ),
        (json!({ "struct": { "a": "x" } }), json!({ "struct": {} }), json!({ "struct": { "a": "x" } })),
        (
            json!({ "whole": { "a": "x" } }),
            json!({ "whole": { "b": "y" } }),
            json!({ "whole": { "b": "y" } }),
        ),
        (json!({ "plain": ["a"] }), json!({ "plain": ["b"] }), json!({ "plain": ["b"] })),
        (json!({ "set": ["a"] }), json!({ "set": [] }), json!({ "set": ["a"] })),
        (json!({ "any": { "a": 1 } }), json!({ "any": 1 }), json!({ "any": 1 })),
        (
            json!({ "keyed": [{ "name": "n", "value": 1 }] }),
            json!({ "keyed": [{ "name": "n", "protocol": "TCP" }, { "name": "n", "protocol": "UDP" }] }),
            json!({ "keyed": [
                { "name": "n", "protocol": "TCP", "value": 1 },
                { "name": "n", "protocol": "UDP" },
            ] }),
        ),
    ] {
        assert_eq!(merge(&left, &right, &schema()), expected, "{left} and {right}");
    }
}

#[test]
fn items_that_share_a_key_are_replaced_by_one() {
    let live =
        json!({ "keyed": [{ "name": "n", "value": 1 }, { "name": "m" }, { "name": "n", "value": 2 }] });
    let config = json!({ "keyed": [{ "name": "n" }] });
    assert_eq!(merge(&live, &config, &schema()), json!({ "keyed": [{ "name": "n" }, { "name": "m" }] }));
}

#[test]
fn a_merged_list_has_the_order_of_the_right_one_and_keeps_the_places_of_the_left_one() {
    for (left, right, expected) in [
        ("abc", "", "abc"),
        ("abc", "b", "abc"),
        ("abc", "cba", "cba"),
        ("abc", "x", "abcx"),
        ("abc", "xc", "abxc"),
        ("abcde", "dxb", "acdexb"),
        ("abcd", "dab", "cdab"),
        ("ab", "xaby", "xaby"),
        ("aab", "a", "ab"),
        ("1234", "4321", "4321"),
    ] {
        let list = |text: &str| {
            let items: Vec<_> = text.chars().map(String::from).collect();
            json!({ "set": items })
        };
        let merged = merge(&list(left), &list(right), &schema());
        let merged: String =
            merged["set"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        assert_eq!(merged, expected, "{left} and {right}");
    }
}

#[test]
fn removal_takes_items_and_leaves_the_rest() {
    let value = json!({
        "struct": { "a": "x", "b": "y" },
        "set": ["a", "b"],
        "keyed": [{ "name": "n", "value": 1 }, { "name": "m", "value": 2 }],
        "plain": ["a"],
        "map": { "k": "v" },
    });
    let gone = FieldSet::from_json(&json!({
        "f:struct": { "f:a": {} },
        "f:set": { "v:\"a\"": {} },
        "f:keyed": {
            "k:{\"name\":\"n\",\"protocol\":\"TCP\"}": {},
            "k:{\"name\":\"m\",\"protocol\":\"TCP\"}": { "f:value": {} },
        },
        "f:plain": {},
        "f:map": { "f:k": {} },
    }))
    .expect("the fields are valid");
    assert_eq!(
        remove(&value, &gone, &schema()),
        json!({ "struct": { "b": "y" }, "set": ["b"], "keyed": [{ "name": "m" }], "map": null })
    );
}

#[test]
fn a_part_of_an_atomic_value_cannot_be_removed_alone() {
    let part = FieldSet::from_json(&json!({ "f:plain": { "v:\"a\"": {} }, "f:whole": { "f:a": {} } }));
    let value = json!({ "plain": ["a", "b"], "whole": { "a": "x", "b": "y" }, "number": 1 });
    let rest = remove(&value, &part.expect("the fields are valid"), &schema());
    assert_eq!(rest, json!({ "plain": null, "whole": null, "number": 1 }));
}

#[test]
fn named_fields_are_implied_and_entries_of_maps_are_not() {
    let fields = FieldSet::from_json(&json!({
        "f:struct": { "f:a": {} },
        "f:free": { "f:x": { "f:y": {} } },
        "f:keyed": { "k:{\"name\":\"n\",\"protocol\":\"TCP\"}": { "f:name": {} } },
    }))
    .expect("the fields are valid");
    assert_eq!(
        with_named_fields(&fields, &schema()).to_json(),
        json!({
            "f:struct": { ".": {}, "f:a": {} },
            "f:free": { ".": {}, "f:x": { "f:y": {} } },
            "f:keyed": { ".": {}, "k:{\"name\":\"n\",\"protocol\":\"TCP\"}": { "f:name": {} } },
        })
    );
}

#[test]
fn a_part_of_a_value_that_has_become_atomic_is_the_whole() {
    let fields = FieldSet::from_json(&json!({
        "f:whole": { ".": {}, "f:a": {} },
        "f:plain": { "v:\"a\"": {} },
        "f:struct": { "f:a": {} },
        "f:set": {},
        "f:free": { "f:x": { "f:y": {} } },
    }))
    .expect("the fields are valid");
    assert_eq!(
        reconcile(&fields, &schema()).to_json(),
        json!({
            "f:whole": {},
            "f:plain": {},
            "f:struct": { "f:a": {} },
            "f:set": {},
            "f:free": { "f:x": { "f:y": {} } },
        })
    );
}

#[test]
fn a_null_is_dropped_where_it_is_not_a_value() {
    let mut value = json!({
        "text": null,
        "nullable": null,
        "struct": { "a": null, "b": "x" },
        "keyed": [{ "name": "n", "value": null }],
        "free": { "x": null },
    });
    drop_nulls(&mut value, &schema());
    assert_eq!(
        value,
        json!({ "nullable": null, "struct": { "b": "x" }, "keyed": [{ "name": "n" }], "free": { "x": null } })
    );
}
