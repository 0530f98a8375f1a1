//! The scheme of the generated client: manifests of several documents into known types and back.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use fixture_client::clientset::scheme::{Object, decode, encode};
use genclient_runtime::scheme::{DecodeError, KnownObject};

const MANIFEST: &str = "\
# A comment in front.
apiVersion: shapes.example.com/v1
kind: Plain
metadata: {name: a, namespace: default}
spec: {size: 1}
---
---
{\"apiVersion\": \"v1\", \"kind\": \"Parcel\", \"metadata\": {\"name\": \"b\"}, \"spec\": {\"size\": 2}}
---
apiVersion: versions.example.com/v1beta1
kind: Gauge
metadata: {name: c}
spec: {size: 3}
";

#[test]
fn a_manifest_of_several_documents_decodes_into_its_types() {
    let objects = decode(MANIFEST).unwrap();
    assert!(matches!(
        &objects[..],
        [Object::ShapesV1Plain(plain), Object::CoreV1Parcel(parcel), Object::VersionsV1beta1Gauge(gauge)]
            if plain.spec.size == 1 && parcel.spec.size == 2 && gauge.spec.size == 3
    ));
}

#[test]
fn a_json_manifest_decodes_too() {
    let objects =
        decode(r#"{"apiVersion": "names.example.com/v1", "kind": "List", "spec": {"size": 4}}"#).unwrap();
    assert!(matches!(&objects[..], [Object::NamesV1List(list)] if list.spec.size == 4));
}

#[test]
fn a_list_of_anything_is_as_good_as_its_items() {
    let objects = decode(
        "apiVersion: v1\nkind: List\nitems:\n\
         - {apiVersion: v1, kind: Parcel, spec: {size: 1}}\n\
         - {apiVersion: shapes.example.com/v1, kind: Marker}\n",
    )
    .unwrap();
    assert!(matches!(&objects[..], [Object::CoreV1Parcel(_), Object::ShapesV1Marker(_)]));
}

#[test]
fn a_typed_list_is_known_as_well() {
    let objects = decode("apiVersion: shapes.example.com/v1\nkind: PlainList\nitems: []\n").unwrap();
    assert!(matches!(&objects[..], [Object::ShapesV1PlainList(list)] if list.items.is_empty()));
}

#[test]
fn what_was_encoded_decodes_to_the_same() {
    let text = encode(&decode(MANIFEST).unwrap()).unwrap();
    assert_eq!(text.matches("---\n").count(), 2);
    assert_eq!(encode(&decode(&text).unwrap()).unwrap(), text);
    assert!(
        text.contains("kind: Gauge\n") && text.contains("apiVersion: versions.example.com/v1beta1\n"),
        "{text}"
    );
}

#[test]
fn an_unknown_kind_is_an_error_that_names_it_and_its_document() {
    let error = decode(&format!("{MANIFEST}---\napiVersion: apps/v1\nkind: Deployment\n")).unwrap_err();
    // The empty document between the others does not count.
    let message = error.to_string();
    assert!(
        message.starts_with("document 4: unknown kind Deployment of apps/v1; the known kinds are "),
        "{message}"
    );
    assert!(message.contains("Plain of shapes.example.com/v1"), "{message}");
}

#[test]
fn a_known_kind_of_another_version_is_unknown() {
    let error = decode("apiVersion: shapes.example.com/v2\nkind: Plain\n").unwrap_err();
    assert!(matches!(error, DecodeError::Document { document: 1, .. }), "{error}");
}

#[test]
fn a_document_without_a_type_is_an_error_that_names_the_field() {
    assert_eq!(decode("kind: Plain\n").unwrap_err().to_string(), "document 1 has no apiVersion");
    assert_eq!(decode("apiVersion: v1\n").unwrap_err().to_string(), "document 1 has no kind");
    assert_eq!(decode("just text\n").unwrap_err().to_string(), "document 1 has no apiVersion");
}

#[test]
fn a_field_that_does_not_fit_is_named_with_its_path() {
    let error = decode("apiVersion: v1\nkind: Parcel\nspec: {size: large}\n").unwrap_err().to_string();
    assert_eq!(error, "document 1: spec.size: invalid type: string \"large\", expected i32");
}

#[test]
fn every_kind_and_list_of_the_fixtures_is_known_once() {
    let mut names: Vec<_> = Object::KNOWN_TYPES.iter().map(|known| (known.api_version, known.kind)).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(names.contains(&("nested.example.com/v2", "ByPathList")));
    assert!(names.contains(&("v1", "ParcelList")));
    assert!(!names.iter().any(|(_, kind)| *kind == "Bystander"));
}
