use serde_json::json;

use super::*;

fn entry(manager: &str, operation: &str, time: Option<&str>) -> Value {
    let mut entry = json!({
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": { "f:data": {} },
    });
    if let Some(time) = time {
        entry["time"] = json!(time);
    }
    entry
}

fn object(entries: Vec<Value>) -> Value {
    json!({ "metadata": { "name": "x", "managedFields": entries } })
}

#[test]
fn entries_are_sorted_with_appliers_first_and_then_by_time_and_manager() {
    let managed = ManagedFields::of(&object(vec![
        entry("u2", "Update", Some("2026-01-02T00:00:00Z")),
        entry("b", "Apply", Some("2026-01-03T00:00:00Z")),
        entry("u1", "Update", Some("2026-01-02T00:00:00Z")),
        entry("a", "Apply", Some("2026-01-04T00:00:00Z")),
        entry("c", "Apply", None),
    ]))
    .expect("the entries are valid");
    let names: Vec<_> = managed.entries().iter().map(|entry| entry.manager.as_str()).collect();
    assert_eq!(names, ["c", "b", "a", "u1", "u2"]);
}

#[test]
fn entries_survive_a_round_trip_through_an_object() {
    let original = object(vec![
        json!({
            "manager": "kubectl",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": "2026-01-02T03:04:05Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": { "f:status": { ".": {}, "f:x": {} } },
            "subresource": "status",
        }),
        entry("kubelet", "Update", None),
    ]);
    let managed = ManagedFields::of(&original).expect("the entries are valid");
    let mut copy = json!({ "metadata": { "name": "x", "managedFields": ["gone"] } });
    managed.write_to(&mut copy);
    assert_eq!(copy, original);
}

#[test]
fn an_empty_list_of_entries_is_not_written() {
    let mut value = object(vec![entry("a", "Apply", None)]);
    ManagedFields::default().write_to(&mut value);
    assert_eq!(value, json!({ "metadata": { "name": "x" } }));
    let mut bare = json!({ "kind": "X" });
    ManagedFields::default().write_to(&mut bare);
    assert_eq!(bare, json!({ "kind": "X" }));
}

#[test]
fn a_malformed_entry_is_named_by_its_position() {
    for (broken, message) in [
        (json!({ "manager": "a" }), "metadata.managedFields[1]: missing field `operation`"),
        (
            json!({ "operation": "Patch", "apiVersion": "v1", "fieldsType": "FieldsV1" }),
            "metadata.managedFields[1]: unknown variant `Patch`, expected `Apply` or `Update`",
        ),
        (
            json!({ "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV2" }),
            "metadata.managedFields[1]: unknown variant `FieldsV2`, expected `FieldsV1`",
        ),
        (
            json!({ "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": { "x": {} } }),
            "metadata.managedFields[1]: fieldsV1: `x` is not a path element: it must begin with `f:`, `k:`, \
             `v:` or `i:`",
        ),
    ] {
        let error = ManagedFields::of(&object(vec![entry("a", "Apply", None), broken])).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = ManagedFields::of(&json!({ "metadata": { "managedFields": {} } })).unwrap_err();
    assert_eq!(error.to_string(), "metadata.managedFields must be a list");
}

#[test]
fn an_applier_is_one_manager_in_all_versions_and_an_updater_is_not() {
    let entry = |operation, version| ManagedFieldsEntry::new("m", operation, version, FieldSet::new());
    assert!(entry(Operation::Apply, "v1").is_same_manager(&entry(Operation::Apply, "v2")));
    assert!(!entry(Operation::Update, "v1").is_same_manager(&entry(Operation::Update, "v2")));
    assert!(!entry(Operation::Update, "v1").is_same_manager(&entry(Operation::Apply, "v1")));
    assert_eq!(entry(Operation::Apply, "v1").identity(), r#"{"manager":"m","operation":"Apply"}"#);
    assert_eq!(
        entry(Operation::Update, "v1").identity(),
        r#"{"manager":"m","operation":"Update","apiVersion":"v1"}"#
    );
}

#[test]
fn the_entry_of_an_applier_is_found_by_manager_and_subresource() {
    let mut status = ManagedFieldsEntry::new("m", Operation::Apply, "v2", FieldSet::new());
    status.subresource = "status".to_owned();
    let managed = ManagedFields::new(vec![
        ManagedFieldsEntry::new("m", Operation::Update, "v1", FieldSet::new()),
        ManagedFieldsEntry::new("m", Operation::Apply, "v3", FieldSet::new()),
        status,
    ]);
    assert_eq!(managed.applied("m", "").map(|entry| entry.api_version.as_str()), Some("v3"));
    assert_eq!(managed.applied("m", "status").map(|entry| entry.api_version.as_str()), Some("v2"));
    assert_eq!(managed.applied("m", "scale"), None);
    assert_eq!(managed.applied("n", ""), None);
}
