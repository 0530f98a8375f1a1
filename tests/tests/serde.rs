//! Annotated types on the wire: `apiVersion` and `kind` are constants of the type.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use fixture_apis::{
    core::Parcel,
    fields::{Reference, ReferenceSpec},
    shapes::{Marker, Plain, PlainList, Reported},
};
use genclient_runtime::ObjectMeta;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: Value) -> T {
    let object: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&object).unwrap(), value);
    object
}

#[test]
fn api_version_and_kind_are_written_first() {
    let object = Plain {
        metadata: ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() },
        spec: fixture_apis::common::Spec { size: 3 },
    };
    assert_eq!(
        serde_json::to_string(&object).unwrap(),
        r#"{"apiVersion":"shapes.example.com/v1","kind":"Plain","metadata":{"name":"a"},"spec":{"size":3}}"#
    );
}

#[test]
fn an_object_survives_a_round_trip() {
    let plain: Plain = round_trip(json!({
        "apiVersion": "shapes.example.com/v1", "kind": "Plain", "metadata": {"name": "a"}, "spec": {"size": 3}
    }));
    assert_eq!(plain.spec.size, 3);
    let parcel: Parcel = round_trip(json!({
        "apiVersion": "v1", "kind": "Parcel", "metadata": {}, "spec": {"size": 1}, "status": {"ready": true}
    }));
    assert!(parcel.status.unwrap().ready);
    let _: Marker =
        round_trip(json!({"apiVersion": "shapes.example.com/v1", "kind": "Marker", "metadata": {}}));
}

#[test]
fn api_version_and_kind_may_be_absent() {
    let plain: Plain = serde_json::from_value(json!({"metadata": {}, "spec": {"size": 1}})).unwrap();
    assert_eq!(plain.spec.size, 1);
}

#[test]
fn metadata_and_status_may_be_absent_and_a_missing_status_is_not_written() {
    let object: Reported = serde_json::from_value(json!({"spec": {"size": 1}})).unwrap();
    assert_eq!(object.status, None);
    assert!(serde_json::to_value(&object).unwrap().get("status").is_none());
}

#[test]
fn another_api_version_is_refused_and_both_are_named() {
    let error =
        serde_json::from_value::<Plain>(json!({"apiVersion": "shapes.example.com/v2", "spec": {"size": 1}}))
            .unwrap_err()
            .to_string();
    assert_eq!(error, "expected the apiVersion `shapes.example.com/v1`, found `shapes.example.com/v2`");
}

#[test]
fn another_kind_is_refused_and_both_are_named() {
    let error = serde_json::from_value::<Plain>(json!({"kind": "Marker", "spec": {"size": 1}}))
        .unwrap_err()
        .to_string();
    assert_eq!(error, "expected the kind `Plain`, found `Marker`");
    let error =
        serde_json::from_value::<Plain>(json!({"kind": 1, "spec": {"size": 1}})).unwrap_err().to_string();
    assert_eq!(error, "invalid type: integer `1`, expected the kind `Plain`");
}

#[test]
fn a_list_writes_its_kind_and_reads_items_without_theirs() {
    let list: PlainList = serde_json::from_value(json!({
        "apiVersion": "shapes.example.com/v1", "kind": "PlainList", "metadata": {"resourceVersion": "7"},
        "items": [{"metadata": {"name": "a"}, "spec": {"size": 1}}]
    }))
    .unwrap();
    let value = serde_json::to_value(&list).unwrap();
    assert_eq!(value["kind"], "PlainList");
    assert_eq!(value["items"][0]["kind"], "Plain");
    let error =
        serde_json::from_value::<PlainList>(json!({"kind": "Plain", "items": []})).unwrap_err().to_string();
    assert_eq!(error, "expected the kind `PlainList`, found `Plain`");
}

#[test]
fn fields_of_a_spec_may_be_called_kind_api_version_and_namespace() {
    let reference: Reference = round_trip(json!({
        "apiVersion": "fields.example.com/v1", "kind": "Reference", "metadata": {"name": "a"},
        "spec": {
            "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "b", "name": "c", "metadata": "d", "type": "e"
        },
        "extraData": {"k": "v"}
    }));
    assert_eq!(
        reference.spec,
        ReferenceSpec {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: Some("b".into()),
            name: "c".into(),
            metadata: Some("d".into()),
            r#type: Some("e".into()),
        }
    );
}
