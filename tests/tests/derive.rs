//! What the derives make of serde's and schemars' attributes, and of names that could be their own.
//!
//! That the fixtures compile shows most of it: their crate knows the runtime as `rt` and denies the
//! lints that the code of a derive is most likely to trip.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use std::{fmt::Debug, process::Command};

use fixture_derive::{
    attributes::{Defaulted, Documented, Flat, Made, Shouting, ShoutingList, Skipping, Spec},
    hidden, names, prelude,
    raw::{Raw, RawList},
};
use genclient_runtime::CustomResourceExt;
use k8s_openapi::Resource;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

fn round_trip<T: Serialize + DeserializeOwned + Debug>(value: Value) -> T {
    let object: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&object).unwrap(), value);
    object
}

fn schema(crd: impl Serialize) -> Value {
    serde_json::to_value(crd).unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

#[test]
fn a_predicate_gets_a_reference_to_the_field_itself() {
    let object = Skipping { weight: 7, height: 11, ..Skipping::default() };
    assert_eq!(
        serde_json::to_string(&object).unwrap(),
        r#"{"apiVersion":"attributes.example.com/v1","kind":"Skipping"}"#
    );
    let _: Skipping = round_trip(json!({
        "apiVersion": "attributes.example.com/v1", "kind": "Skipping",
        "metadata": {"name": "a"}, "spec": {"size": 1}, "paused": true, "weight": 8, "Self": 9
    }));
}

#[test]
fn a_default_of_the_struct_fills_what_is_absent() {
    assert_eq!(serde_json::from_value::<Defaulted>(json!({})).unwrap(), Defaulted::default());
    let object: Defaulted = serde_json::from_value(json!({"spec": {"size": 1}})).unwrap();
    assert_eq!((object.spec.size, object.status), (1, Some(Spec { size: 4 })));
    assert_eq!(serde_json::from_value::<Made>(json!({"metadata": {}})).unwrap().spec.size, 5);
    assert_eq!(schema(Defaulted::crd())["properties"]["spec"]["default"], json!({"size": 3}));
    assert_eq!(schema(Made::crd())["properties"]["spec"]["default"], json!({"size": 5}));
}

#[test]
fn unknown_fields_are_denied_where_the_struct_says_so() {
    let error = serde_json::from_value::<Made>(json!({"kind": "Made", "sice": {}})).unwrap_err().to_string();
    assert_eq!(error, "unknown field `sice`, expected one of `apiVersion`, `kind`, `metadata`, `spec`");
    let error = serde_json::from_value::<Made>(json!(1)).unwrap_err().to_string();
    assert_eq!(error, "invalid type: integer `1`, expected something made");
}

#[test]
fn the_fields_that_the_api_server_knows_keep_their_names() {
    let _: Shouting = round_trip(json!({
        "apiVersion": "attributes.example.com/v1", "kind": "Shouting", "metadata": {"name": "a"},
        "SPEC": {"size": 1}, "TWO-WORDS": 2, "status": {"size": 3}
    }));
    let list: ShoutingList = round_trip(json!({
        "apiVersion": "attributes.example.com/v1", "kind": "ShoutingList", "metadata": {},
        "items": [{
            "apiVersion": "attributes.example.com/v1", "kind": "Shouting", "metadata": {},
            "SPEC": {"size": 1}, "TWO-WORDS": 2
        }]
    }));
    assert_eq!(list.items.len(), 1);
    let schema = schema(Shouting::crd());
    let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["SPEC", "TWICE", "TWO-WORDS", "status"]);
}

#[test]
fn attributes_of_schemars_reach_the_schema() {
    let schema = schema(Shouting::crd());
    assert_eq!(schema["properties"]["TWO-WORDS"]["minimum"], json!(1.0));
    assert_eq!(schema["properties"]["TWO-WORDS"]["title"], "Two");
    assert_eq!(<Shouting as schemars::JsonSchema>::schema_name(), "Loud");
    assert_eq!(<Flat as schemars::JsonSchema>::schema_name(), "Flat");
}

#[test]
fn flattened_fields_stand_beside_api_version_and_kind() {
    let object: Flat = round_trip(json!({
        "apiVersion": "attributes.example.com/v1", "kind": "Flat", "metadata": {}, "size": 1, "more": [2]
    }));
    assert_eq!((object.spec.size, object.rest.len()), (1, 1));
}

#[test]
fn no_name_of_the_users_is_one_of_the_derives() {
    let _: names::Mirror = round_trip(json!({
        "apiVersion": "names.example.com/v1", "kind": "Mirror", "metadata": {}, "spec": {"size": 1},
        "object": 1, "serializer": 2, "deserializer": 3, "generator": 4
    }));
    let _: names::D = round_trip(json!({
        "apiVersion": "names.example.com/v1", "kind": "D", "metadata": {}, "spec": {"size": 1}
    }));
    let leaf = json!({"apiVersion": "names.example.com/v1", "kind": "Tree", "metadata": {}});
    let tree: names::Tree = round_trip(json!({
        "apiVersion": "names.example.com/v1", "kind": "Tree", "metadata": {}, "branches": [leaf], "largest": leaf
    }));
    assert_eq!(tree.branches.len(), 1);
    let _: prelude::Option = round_trip(json!({
        "apiVersion": "prelude.example.com/v1", "kind": "Option", "metadata": {}, "spec": {"size": 1},
        "result": {"size": 2}, "status": {"size": 3}
    }));
    assert_eq!(schema(names::Resource::crd())["properties"]["spec"]["required"], json!(["size"]));
}

#[test]
fn raw_identifiers_are_the_fields_that_they_name() {
    let raw: Raw = round_trip(json!({
        "apiVersion": "raw.example.com/v1", "kind": "Raw", "metadata": {}, "spec": {"size": 1},
        "status": {"size": 2}, "type": 3
    }));
    assert_eq!(kube::ResourceExt::name_any(&raw), "");
    let list = RawList { metadata: Default::default(), items: vec![raw] };
    assert_eq!(serde_json::to_value(&list).unwrap()["items"][0]["type"], 3);
    let crd = serde_json::to_value(Raw::crd()).unwrap();
    assert_eq!(crd["spec"]["versions"][0]["subresources"], json!({"status": {}}));
    assert!(schema(Raw::crd())["properties"].get("metadata").is_none());
}

#[test]
fn a_module_can_share_the_version_that_its_parent_shares() {
    assert_eq!(hidden::Nested::API_VERSION, "outer.example.com/v1");
    assert_eq!(hidden::Lowest::API_VERSION, "hidden.example.com/v1");
}

#[test]
fn documentation_reaches_the_schema_and_its_examples_run_once() {
    let schema = schema(Documented::crd());
    let description = schema["description"].as_str().unwrap();
    assert!(
        description.starts_with("Has examples in its documentation, which run once.\n\n```"),
        "{description}"
    );
    let description = schema["properties"]["spec"]["description"].as_str().unwrap();
    assert!(description.starts_with("What it should be."), "{description}");

    let mut run = Command::new(env!("CARGO"));
    run.args(["test", "--quiet", "--doc", "-p", "fixture-derive", "-p", "genclient-testenv", "--", "--list"]);
    let run = genclient_tally::nested_build(
        "derive: cargo test --doc",
        run.current_dir(env!("CARGO_MANIFEST_DIR")),
    );
    let listed = String::from_utf8(run.stdout).unwrap();
    // The other package is there for its dependencies' features; its own examples do not count.
    let mut tests: Vec<_> = listed
        .lines()
        .filter(|line| line.contains("fixtures/derive"))
        .filter_map(|line| line.split_once(" - "))
        .map(|(_, test)| test)
        .collect();
    tests.sort_unstable();
    let names: Vec<_> = tests.iter().map(|test| test.split(" (line").next().unwrap()).collect();
    assert_eq!(names, ["attributes::Documented", "attributes::Documented::spec"], "{listed}");
}
