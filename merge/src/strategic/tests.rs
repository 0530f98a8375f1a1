use serde_json::json;

use super::*;

/// A kind with the lists of a pod, and fields of each strategy.
fn schema() -> Schema {
    let document = json!({ "components": { "schemas": {
        "Kind": {
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "replicas": { "type": "integer" },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "args": { "type": "array", "items": { "type": "string" } },
                "finalizers": {
                    "type": "array",
                    "items": { "type": "string" },
                    "x-kubernetes-patch-strategy": "merge",
                },
                "items": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/Item" },
                    "x-kubernetes-patch-merge-key": "name",
                    "x-kubernetes-patch-strategy": "merge",
                },
                "volumes": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/Item" },
                    "x-kubernetes-patch-merge-key": "name",
                    "x-kubernetes-patch-strategy": "merge,retainKeys",
                },
                "keyless": {
                    "type": "array",
                    "items": { "type": "object" },
                    "x-kubernetes-patch-strategy": "merge",
                },
                "strategy": {
                    "allOf": [{ "$ref": "#/components/schemas/Item" }],
                    "x-kubernetes-patch-strategy": "retainKeys",
                },
                "selector": {
                    "allOf": [{ "$ref": "#/components/schemas/Item" }],
                    "x-kubernetes-patch-strategy": "replace",
                },
            },
        },
        "Item": {
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "value": { "type": "string" },
                "other": { "type": "integer" },
                "items": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/Item" },
                    "x-kubernetes-patch-merge-key": "name",
                    "x-kubernetes-patch-strategy": "merge",
                },
            },
        },
    } } });
    Schema::from_open_api(&document, "Kind").expect("the schema is valid")
}

/// Checks that the difference is the patch, and that the patch leads to the new object.
#[track_caller]
fn check(old: Value, new: Value, patch: Value) {
    let found = diff(&old, &new, &schema()).unwrap_or_else(|error| panic!("{old} to {new}: {error}"));
    assert_eq!(found, Some(patch.clone()), "from {old} to {new}");
    let patched = apply(&old, &patch, &schema()).unwrap_or_else(|error| panic!("{patch}: {error}"));
    assert_eq!(patched, new, "{old} with {patch}");
}

fn item(name: &str) -> Value {
    json!({ "name": name })
}

#[test]
fn equal_objects_have_no_difference() {
    let object = json!({ "replicas": 1, "items": [item("a")], "selector": item("a"), "finalizers": ["a"] });
    assert_eq!(diff(&object, &object, &schema()), Ok(None));
    assert_eq!(apply(&object, &json!({}), &schema()), Ok(object));
}

#[test]
fn fields_are_added_changed_and_removed() {
    check(json!({}), json!({ "name": "a" }), json!({ "name": "a" }));
    check(json!({ "name": "a" }), json!({ "name": "b" }), json!({ "name": "b" }));
    check(json!({ "name": "a", "replicas": 1 }), json!({ "replicas": 1 }), json!({ "name": null }));
    check(
        json!({ "labels": { "a": "1", "b": "2" } }),
        json!({ "labels": { "b": "3", "c": "4" } }),
        json!({ "labels": { "a": null, "b": "3", "c": "4" } }),
    );
    check(json!({ "labels": { "a": "1" } }), json!({ "labels": {} }), json!({ "labels": { "a": null } }));
}

#[test]
fn a_list_without_a_strategy_is_replaced() {
    check(json!({ "args": ["a", "b"] }), json!({ "args": ["b"] }), json!({ "args": ["b"] }));
    check(json!({ "args": ["a"] }), json!({ "args": [] }), json!({ "args": [] }));
}

#[test]
fn a_list_of_scalars_is_merged_by_value() {
    check(
        json!({ "finalizers": ["b", "a"] }),
        json!({ "finalizers": ["c", "b"] }),
        json!({
            "finalizers": ["c"],
            "$deleteFromPrimitiveList/finalizers": ["a"],
            "$setElementOrder/finalizers": ["c", "b"],
        }),
    );
    check(
        json!({ "finalizers": ["a", "b"] }),
        json!({ "finalizers": ["b", "a"] }),
        json!({ "$setElementOrder/finalizers": ["b", "a"] }),
    );
    check(
        json!({ "finalizers": ["b", "a"] }),
        json!({ "finalizers": [] }),
        json!({ "$deleteFromPrimitiveList/finalizers": ["a", "b"] }),
    );
    check(json!({ "finalizers": [] }), json!({ "finalizers": ["a"] }), json!({ "finalizers": ["a"] }));
}

#[test]
fn a_list_of_objects_is_merged_by_its_key() {
    check(
        json!({ "items": [{ "name": "a", "value": "1" }, { "name": "b", "value": "2" }, item("c")] }),
        json!({ "items": [{ "name": "d" }, { "name": "b", "value": "3" }, item("c")] }),
        json!({
            "items": [{ "name": "d" }, { "name": "b", "value": "3" }, { "name": "a", "$patch": "delete" }],
            "$setElementOrder/items": [item("d"), item("b"), item("c")],
        }),
    );
    check(
        json!({ "items": [item("a"), item("b")] }),
        json!({ "items": [item("b"), item("a")] }),
        json!({ "$setElementOrder/items": [item("b"), item("a")] }),
    );
    check(
        json!({ "items": [item("b"), item("a")] }),
        json!({ "items": [] }),
        json!({ "items": [{ "name": "a", "$patch": "delete" }, { "name": "b", "$patch": "delete" }] }),
    );
    check(
        json!({ "items": [{ "name": "a", "items": [item("x"), item("y")] }] }),
        json!({ "items": [{ "name": "a", "items": [item("y"), item("z")] }] }),
        json!({
            "items": [{
                "name": "a",
                "items": [item("z"), { "name": "x", "$patch": "delete" }],
                "$setElementOrder/items": [item("y"), item("z")],
            }],
            "$setElementOrder/items": [item("a")],
        }),
    );
}

#[test]
fn a_list_with_a_key_that_occurs_twice_is_replaced() {
    let dns = |value: &str| json!({ "name": "53", "value": value });
    check(
        json!({ "items": [dns("TCP"), dns("UDP")] }),
        json!({ "items": [dns("UDP"), dns("TCP"), item("80")] }),
        json!({ "items": [{ "$patch": "replace" }, dns("UDP"), dns("TCP"), item("80")] }),
    );
    check(
        json!({ "items": [] }),
        json!({ "items": [dns("TCP"), dns("UDP")] }),
        json!({ "items": [{ "$patch": "replace" }, dns("TCP"), dns("UDP")] }),
    );
    check(
        json!({ "items": [dns("TCP"), dns("UDP")] }),
        json!({ "items": [dns("UDP")] }),
        json!({ "items": [{ "$patch": "replace" }, dns("UDP")] }),
    );
}

#[test]
fn items_with_one_key_stand_side_by_side() {
    let dns = |value: &str| json!({ "name": "53", "value": value });
    let apart = json!({ "items": [dns("TCP"), item("80"), dns("UDP")] });
    let old = json!({ "items": [item("80")] });
    let error = diff(&old, &apart, &schema()).unwrap_err();
    assert_eq!(error.problem(), &StrategicProblem::ScatteredKey("name".to_owned()));
    let patch = json!({ "items": [{ "$patch": "replace" }, dns("TCP"), item("80"), dns("UDP")] });
    assert_eq!(
        apply(&old, &patch, &schema()).unwrap(),
        json!({ "items": [dns("TCP"), dns("UDP"), item("80")] })
    );
}

#[test]
fn retained_keys_are_listed() {
    check(
        json!({ "strategy": { "name": "a", "value": "1" } }),
        json!({ "strategy": { "name": "a", "other": 2 } }),
        json!({ "strategy": { "value": null, "other": 2, "$retainKeys": ["name", "other"] } }),
    );
    check(
        json!({ "volumes": [{ "name": "a", "value": "1" }, item("b")] }),
        json!({ "volumes": [{ "name": "a", "other": 2 }, item("b")] }),
        json!({
            "volumes": [{ "name": "a", "value": null, "other": 2, "$retainKeys": ["name", "other"] }],
            "$setElementOrder/volumes": [item("a"), item("b")],
        }),
    );
    check(
        json!({ "strategy": item("a") }),
        json!({ "strategy": {} }),
        json!({ "strategy": { "name": null } }),
    );
}

#[test]
fn a_field_with_the_strategy_replace_is_replaced() {
    check(
        json!({ "selector": { "name": "a", "value": "1" } }),
        json!({ "selector": { "name": "b" } }),
        json!({ "selector": { "name": "b" } }),
    );
}

/// Checks the result of a patch that no difference consists of.
#[track_caller]
fn applies(old: Value, patch: Value, new: Value) {
    assert_eq!(apply(&old, &patch, &schema()), Ok(new), "{old} with {patch}");
}

#[test]
fn retained_keys_remove_what_the_server_has_on_its_own() {
    applies(
        json!({ "strategy": { "name": "a", "value": "1", "other": 1 } }),
        json!({ "strategy": { "other": 2, "$retainKeys": ["other"] } }),
        json!({ "strategy": { "other": 2 } }),
    );
}

#[test]
fn an_object_is_replaced_or_emptied_by_a_directive() {
    let old = json!({ "labels": { "a": "1", "b": "2" } });
    applies(
        old.clone(),
        json!({ "labels": { "$patch": "replace", "c": "3", "d": null } }),
        json!({ "labels": { "c": "3" } }),
    );
    applies(old.clone(), json!({ "labels": { "$patch": "delete" } }), json!({ "labels": {} }));
    applies(json!({}), json!({ "labels": { "$patch": "delete" } }), json!({}));
    applies(old, json!({ "$patch": "replace", "name": "x" }), json!({ "name": "x" }));
}

#[test]
fn items_of_the_server_keep_their_places() {
    for (live, patch, order, merged) in [
        ("ab", "c", None, "cab"),
        ("ab", "cb", None, "cab"),
        ("abc", "ca", None, "bca"),
        ("abc", "", Some("cb"), "acb"),
        ("abcd", "x", Some("dxa"), "bcdxa"),
        ("ab", "", Some("x"), "ab"),
    ] {
        let list = |text: &str| text.chars().map(|name| item(&name.to_string())).collect::<Vec<_>>();
        let mut change = json!({ "items": list(patch) });
        if patch.is_empty() {
            change = json!({});
        }
        if let Some(order) = order {
            change["$setElementOrder/items"] = json!(list(order));
        }
        let patched = apply(&json!({ "items": list(live) }), &change, &schema())
            .unwrap_or_else(|error| panic!("{live} with {change}: {error}"));
        let names: String = patched["items"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|item| item["name"].as_str())
            .collect();
        assert_eq!(names, merged, "{live} with {change}");
    }
}

#[test]
fn what_is_new_has_neither_directives_nor_nulls() {
    applies(
        json!({ "items": [] }),
        json!({
            "strategy": { "name": "a", "value": null, "$retainKeys": ["name"] },
            "items": [{ "name": "x", "value": null }, { "name": "gone", "$patch": "delete" }],
            "finalizers": ["a"],
            "$setElementOrder/finalizers": ["a"],
            "$deleteFromPrimitiveList/args": ["b"],
            "replicas": null,
        }),
        json!({ "strategy": { "name": "a" }, "items": [{ "name": "x" }], "finalizers": ["a"] }),
    );
}

#[test]
fn directives_below_a_new_item_are_not_carried_out() {
    applies(
        json!({ "items": [] }),
        json!({ "items": [{ "name": "a", "items": [item("x"), { "name": "y", "$patch": "delete" }] }] }),
        json!({ "items": [{ "name": "a", "items": [item("x"), item("y")] }] }),
    );
    applies(
        json!({}),
        json!({ "items": [{ "name": "a", "items": [item("x"), { "name": "y", "$patch": "delete" }] }] }),
        json!({ "items": [{ "name": "a", "items": [item("x")] }] }),
    );
}

#[test]
fn a_value_of_another_type_is_replaced() {
    applies(json!({ "labels": "x" }), json!({ "labels": { "a": "1" } }), json!({ "labels": { "a": "1" } }));
    applies(json!({ "items": null }), json!({ "items": [item("a")] }), json!({ "items": [item("a")] }));
}

#[test]
fn malformed_patches_are_refused_with_the_place() {
    let old = json!({ "items": [item("a")], "finalizers": ["a"], "strategy": item("a"), "keyless": [{}], "volumes": [] });
    for (patch, message) in [
        (json!([]), "expected an object, got a list"),
        (
            json!({ "strategy": { "$patch": "merge" } }),
            ".strategy: malformed directive `$patch`: an object can be deleted or replaced",
        ),
        (
            json!({ "items": [{ "$patch": "merge" }] }),
            ".items: malformed directive `$patch`: an item can be deleted, and a list replaced",
        ),
        (json!({ "items": [{ "$patch": "delete" }] }), ".items: an item lacks the merge key `name`"),
        (json!({ "items": [{ "value": "1" }] }), ".items: an item lacks the merge key `name`"),
        (
            json!({ "items": ["a"] }),
            ".items: the items of a list that is merged must all have one type, and must not be lists or null",
        ),
        (
            json!({ "finalizers": [["a"]] }),
            ".finalizers: the items of a list that is merged must all have one type, and must not be lists or null",
        ),
        (json!({ "keyless": [{}] }), ".keyless: a list of objects without a merge key cannot be merged"),
        (
            json!({ "strategy": { "value": "1", "$retainKeys": ["name"] } }),
            ".strategy: malformed directive `$retainKeys`: the patch has a field that is not among these",
        ),
        (
            json!({ "strategy": { "$retainKeys": "name" } }),
            ".strategy: malformed directive `$retainKeys`: it must be a list",
        ),
        (
            json!({ "$setElementOrder": [] }),
            "malformed directive `$setElementOrder`: it must name a field after a slash",
        ),
        (
            json!({ "$setElementOrder/items": {} }),
            "malformed directive `$setElementOrder/items`: it must be a list",
        ),
        (
            json!({ "items": [item("b"), item("a")], "$setElementOrder/items": [item("a"), item("b")] }),
            ".items: malformed directive `$setElementOrder/items`: the items of the patch do not have this order",
        ),
        (
            json!({ "$deleteFromPrimitiveList/finalizers": "a" }),
            "malformed directive `$deleteFromPrimitiveList/finalizers`: it must be a list",
        ),
        (
            json!({ "$setElementOrder/volumes": [item("a")] }),
            ".volumes: there are no items to put into order",
        ),
        (json!({ "$setElementOrder/gone": ["a"] }), ".gone: field not declared in schema"),
    ] {
        assert_eq!(apply(&old, &patch, &schema()).unwrap_err().to_string(), message, "{patch}");
    }
}

#[test]
fn an_object_that_the_schema_does_not_know_has_no_difference() {
    let unknown = diff(&json!({ "x": { "a": 1 } }), &json!({ "x": { "a": 2 } }), &schema()).unwrap_err();
    assert_eq!(unknown.to_string(), ".x: field not declared in schema");
    let keyless = diff(&json!({ "items": [{}] }), &json!({ "items": [item("a")] }), &schema()).unwrap_err();
    assert_eq!(keyless.problem(), &StrategicProblem::NoMergeKey("name".to_owned()));
    assert_eq!(keyless.path().to_string(), ".items");
    let deep = (0..200).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert_eq!(diff(&deep, &json!({}), &schema()).unwrap_err().problem(), &StrategicProblem::TooDeep);
}
