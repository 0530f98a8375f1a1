use serde_json::json;

use super::*;

fn set(value: Value) -> FieldSet {
    FieldSet::from_json(&value).unwrap_or_else(|error| panic!("{value}: {error}"))
}

#[test]
fn leaves_are_taken_as_a_whole_and_the_rest_is_left() {
    let object = json!({
        "spec": { "a": 1, "b": { "c": [1, { "d": 2 }], "e": 3 }, "f": null },
        "status": { "x": 1 },
    });
    let owned = set(json!({ "f:spec": { "f:b": { "f:c": {} }, "f:f": {}, "f:gone": {} } }));
    assert_eq!(
        super::fields(&object, &owned),
        json!({ "spec": { "b": { "c": [1, { "d": 2 }] }, "f": null } })
    );
    assert_eq!(super::fields(&object, &FieldSet::new()), json!({}));
}

#[test]
fn items_keep_their_order_and_enough_of_their_keys() {
    let object = json!({
        "ports": [
            { "port": 443, "protocol": "TCP", "name": "https" },
            { "port": 80, "protocol": "UDP", "name": "dns" },
            { "port": 80, "protocol": "TCP", "name": "http" },
        ],
        "finalizers": ["c", "a", "b"],
        "rows": [{ "x": 1 }, { "x": 2 }],
    });
    let owned = set(json!({
        "f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": { "f:name": {} },
            "k:{\"port\":443,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} },
        },
        "f:finalizers": { "v:\"b\"": {}, "v:\"c\"": {}, "v:\"z\"": {} },
        "f:rows": { "i:1": {} },
    }));
    assert_eq!(
        super::fields(&object, &owned),
        json!({
            "ports": [{ "port": 443 }, { "port": 80, "protocol": "TCP", "name": "http" }],
            "finalizers": ["c", "b"],
            "rows": [{ "x": 2 }],
        })
    );
}

#[test]
fn an_item_may_lack_a_key_field_that_has_a_default() {
    let object = json!({ "ports": [{ "port": 80, "protocol": "UDP" }, { "port": 80, "name": "http" }] });
    let owned = set(json!({ "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { "f:name": {} } } }));
    assert_eq!(super::fields(&object, &owned), json!({ "ports": [{ "port": 80, "name": "http" }] }));
}

#[test]
fn an_item_has_the_key_with_the_most_fields() {
    let object = json!({ "l": [{ "a": 1, "b": 2, "x": 0, "y": 0 }] });
    let owned = set(json!({ "f:l": { "k:{\"a\":1}": { "f:x": {} }, "k:{\"a\":1,\"b\":2}": { "f:y": {} } } }));
    assert_eq!(super::fields(&object, &owned), json!({ "l": [{ "a": 1, "b": 2, "y": 0 }] }));
}

#[test]
fn an_owned_container_stays_when_all_that_was_owned_in_it_is_gone() {
    let object = json!({ "labels": { "other": "x" }, "spec": { "other": 1 } });
    let owned = set(json!({ "f:labels": { ".": {}, "f:mine": {} }, "f:spec": { "f:mine": {} } }));
    assert_eq!(super::fields(&object, &owned), json!({ "labels": {} }));
}

fn network(managed: Value) -> Value {
    json!({
        "apiVersion": "samplecrd.k8s.io/v1",
        "kind": "Network",
        "metadata": { "name": "n", "namespace": "d", "uid": "u", "labels": { "a": "1", "b": "2" }, "managedFields": managed },
        "spec": { "cidr": "10.0.0.0/8", "selector": { "x": "1" } },
        "status": { "phase": "Ready" },
    })
}

fn entry(manager: &str, operation: &str, subresource: &str, fields: Value) -> Value {
    json!({
        "manager": manager,
        "operation": operation,
        "apiVersion": "samplecrd.k8s.io/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "subresource": subresource,
    })
}

#[test]
fn what_was_applied_has_the_name_of_the_object() {
    let object = network(json!([
        entry(
            "me",
            "Apply",
            "",
            json!({ "f:metadata": { "f:labels": { "f:a": {} } }, "f:spec": { "f:cidr": {} } })
        ),
        entry("me", "Apply", "status", json!({ "f:status": { "f:phase": {} } })),
        entry("me", "Update", "", json!({ "f:spec": { "f:selector": {} } })),
    ]));
    let identity = json!({ "name": "n", "namespace": "d" });
    assert_eq!(
        applied(&object, "me", "").expect("there is an entry"),
        json!({
            "apiVersion": "samplecrd.k8s.io/v1",
            "kind": "Network",
            "metadata": { "name": "n", "namespace": "d", "labels": { "a": "1" } },
            "spec": { "cidr": "10.0.0.0/8" },
        })
    );
    let status = applied(&object, "me", "status").expect("there is an entry");
    assert_eq!(status["status"], json!({ "phase": "Ready" }));
    assert_eq!(status["metadata"], identity);
    assert_eq!(status.get("spec"), None);
}

#[test]
fn a_manager_that_has_applied_nothing_has_the_name_only() {
    let object = network(json!([entry("other", "Apply", "", json!({ "f:spec": { "f:cidr": {} } }))]));
    assert_eq!(
        applied(&object, "me", "").expect("there are managed fields"),
        json!({
            "apiVersion": "samplecrd.k8s.io/v1",
            "kind": "Network",
            "metadata": { "name": "n", "namespace": "d" },
        })
    );
}

#[test]
fn an_object_without_managed_fields_is_an_error_that_names_the_likely_cause() {
    for managed in [json!(null), json!([])] {
        let error = applied(&network(managed), "me", "").unwrap_err();
        assert!(matches!(error, ManagedFieldsError::Absent));
        assert!(error.to_string().contains("a cache that drops them"), "{error}");
    }
}

#[test]
fn an_empty_object_of_the_manager_does_not_take_the_fields_of_others() {
    let object = network(json!([
        entry("me", "Apply", "", json!({ "f:spec": { "f:selector": {}, "f:cidr": {} } })),
        entry("other", "Apply", "", json!({ "f:spec": { "f:selector": { "f:x": {} } } })),
    ]));
    let mine = applied(&object, "me", "").expect("there is an entry");
    assert_eq!(mine["spec"], json!({ "cidr": "10.0.0.0/8", "selector": {} }));
}
