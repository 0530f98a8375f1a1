//! Apply configurations on the wire: they are written as the types whose fields they have.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use genclient_runtime::apply::{ApplyConfiguration, ObjectMetaApply};
use golden_apis::parts::{Cabinet, Chest, Wood};
use golden_client::apply::parts::v1::{
    BoardApply, BoltApply, CabinetApply, CabinetSpecApply, ChestApply, DrawerApply, LabelApply, PersonApply,
    RightBoardApply, SizeApply, ThingApply,
};
use kubernetes_client::apply::{
    apps::v1::{DeploymentApply, DeploymentSpecApply},
    core::v1::{
        ConfigMapApply, ContainerApply, ContainerPortApply, NamespaceApply, PodSpecApply,
        PodTemplateSpecApply,
    },
};
use samplecrd_client::apply::{
    appcontroller::v1alpha1::{AppServiceApply, AppServiceStatusApply},
    samplecrd::v1::{NetworkApply, NetworkSpecApply},
};
use serde_json::{Value, json};

fn written(config: &impl ApplyConfiguration) -> Value {
    serde_json::to_value(config).unwrap()
}

#[test]
fn nothing_is_written_but_the_name_and_what_is_set() {
    assert_eq!(
        serde_json::to_string(&NetworkApply::new("example", "default")).unwrap(),
        r#"{"apiVersion":"samplecrd.k8s.io/v1","kind":"Network","metadata":{"name":"example","namespace":"default"}}"#
    );
    let config = NetworkApply::new("example", "default")
        .labels([("app", "web")])
        .spec(NetworkSpecApply::new().cidr("10.0.0.0/8"));
    assert_eq!(
        written(&config),
        json!({
            "apiVersion": "samplecrd.k8s.io/v1",
            "kind": "Network",
            "metadata": { "name": "example", "namespace": "default", "labels": { "app": "web" } },
            "spec": { "cidr": "10.0.0.0/8" },
        })
    );
    assert_eq!(
        written(&NamespaceApply::new("a")),
        json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" },
        })
    );
}

#[test]
fn literals_and_methods_make_the_same() {
    let fluent = AppServiceApply::new("example", "default")
        .annotations([("a", "b")])
        .finalizers(["example.com/c"])
        .status(AppServiceStatusApply::new().available_replicas(2));
    let literal = AppServiceApply {
        metadata: ObjectMetaApply {
            annotations: Some([("a".to_owned(), "b".to_owned())].into()),
            finalizers: Some(vec!["example.com/c".to_owned()]),
            ..ObjectMetaApply::new("example").namespace("default")
        },
        status: Some(AppServiceStatusApply { available_replicas: Some(2), ..AppServiceStatusApply::new() }),
        ..AppServiceApply::new("example", "default")
    };
    assert_eq!(fluent, literal);
    let fluent = NetworkSpecApply::new().cidr("10.0.0.0/8");
    assert_eq!(fluent, NetworkSpecApply { cidr: Some("10.0.0.0/8".to_owned()), ..Default::default() });
}

#[test]
fn an_empty_value_is_something_else_than_none() {
    let config = ConfigMapApply::new("a", "b").data([("", ""); 0]);
    assert_eq!(written(&config)["data"], json!({}));
    assert_eq!(written(&ConfigMapApply::new("a", "b")).get("data"), None);
}

#[test]
fn a_part_of_a_deployment_is_enough() {
    let container = ContainerApply::new()
        .name("web")
        .image("nginx")
        .ports([ContainerPortApply::new().container_port(80)]);
    let pod = PodTemplateSpecApply::new().spec(PodSpecApply::new().containers([container]));
    let config =
        DeploymentApply::new("web", "default").spec(DeploymentSpecApply::new().replicas(3).template(pod));
    assert_eq!(
        written(&config),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": "web", "namespace": "default" },
            "spec": {
                "replicas": 3,
                "template": {
                    "spec": {
                        "containers": [{ "name": "web", "image": "nginx", "ports": [{ "containerPort": 80 }] }],
                    },
                },
            },
        })
    );
}

/// A cabinet with every field.
fn cabinet() -> Value {
    let spec = |inside: Value| {
        json!({
            "drawers": [{ "depth": 1, "boards": [{ "thickness": 2 }] }],
            "nestedShelves": [[{ "thickness": 3 }], []],
            "byName": { "a": { "thickness": 4 } },
            "byNumber": { "7": [{ "depth": 5 }] },
            "inside": inside,
            "beside": [],
            "owner": { "FULL_NAME": "b", "elsewhere": "c" },
            "WOOD": "Oak",
            "width": 6,
            "height": 7,
            "new": "d",
            "default": true,
            "type": "e",
            "new_": false,
            "drying": 8,
            "tags": { "f": "g", "h": null },
            "first": { "depth": 9 },
            "bolt": { "keys": 10 },
            "wrapped": { "content": { "thickness": 11 } },
            "number": 12,
            "pair": [13, "Pine"],
            "corners": [1.5, 2.5, 3.5, 4.5],
            "addresses": ["10.0.0.1"],
            "notes": { "i": [null] },
            "template": { "spec": { "containers": [{ "name": "j" }] } },
            "secret": { "name": "k" },
            "label": { "text": "l" },
            "mood": "Good",
        })
    };
    json!({
        "apiVersion": "parts.example.com/v1",
        "kind": "Cabinet",
        "metadata": { "name": "a", "namespace": "b" },
        "spec": spec(spec(Value::Null)),
        "status": { "ready": true },
        "extraData": { "m": "n" },
    })
}

/// Removes the members that are null, which a configuration does not write, but not those of maps.
fn without_nulls(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|name, value| !value.is_null() || name == "h");
        members.values_mut().for_each(without_nulls);
    }
}

#[test]
fn a_configuration_with_every_field_is_written_as_the_object_is() {
    let object: Cabinet = serde_json::from_value(cabinet()).unwrap();
    let mut expected = serde_json::to_value(&object).unwrap();
    without_nulls(&mut expected);
    let config: CabinetApply = serde_json::from_value(expected.clone()).unwrap();
    assert_eq!(written(&config), expected);
    assert_eq!(serde_json::from_value::<CabinetApply>(written(&config)).unwrap(), config);

    let chest = json!({
        "apiVersion": "parts.example.com/v1",
        "kind": "Chest",
        "metadata": { "name": "a" },
        "drawer": { "depth": 1 },
        "left": { "thickness": 2 },
        "right": { "things": [{ "name": "b" }] },
    });
    let object: Chest = serde_json::from_value(chest.clone()).unwrap();
    assert_eq!(serde_json::to_value(&object).unwrap(), chest);
    let config: ChestApply = serde_json::from_value(chest.clone()).unwrap();
    assert_eq!(written(&config), chest);
}

#[test]
fn every_field_has_a_method() {
    let spec = CabinetSpecApply::new()
        .drawers([DrawerApply::new().depth(1).boards([BoardApply::new().thickness(2)])])
        .nested_shelves([vec![BoardApply::new()], vec![]])
        .by_name([("a", BoardApply::new())])
        .by_number([(7, vec![DrawerApply::new()])])
        .inside(CabinetSpecApply::new().wood(Wood::Pine))
        .beside([CabinetSpecApply::new()])
        .owner(PersonApply::new().full_name("b").rest([("elsewhere", "c")]))
        .size(SizeApply::new().width(6))
        .new__("d")
        .default_(true)
        .r#type("e")
        .new_(false)
        .drying(8)
        .tags([("f", Some("g".to_owned()))])
        .first(DrawerApply::new())
        .bolt(BoltApply::new().keys(10))
        .corners([0.0; 4])
        .label(LabelApply::new().text("l"))
        .mood("Good");
    let config = CabinetApply::new("a", "b").spec(spec).extra_data([("m", "n")]);
    assert_eq!(
        written(&config)["spec"],
        json!({
            "drawers": [{ "depth": 1, "boards": [{ "thickness": 2 }] }],
            "nestedShelves": [[{}], []],
            "byName": { "a": {} },
            "byNumber": { "7": [{}] },
            "inside": { "WOOD": "Pine" },
            "beside": [{}],
            "owner": { "FULL_NAME": "b", "elsewhere": "c" },
            "width": 6,
            "new": "d",
            "default": true,
            "type": "e",
            "new_": false,
            "drying": 8,
            "tags": { "f": "g" },
            "first": {},
            "bolt": { "keys": 10 },
            "corners": [0.0, 0.0, 0.0, 0.0],
            "label": { "text": "l" },
            "mood": "Good",
        })
    );
    assert_eq!(written(&config)["extraData"], json!({ "m": "n" }));
    let chest = ChestApply::new("a").right(RightBoardApply::new().things([ThingApply::new().name("b")]));
    assert_eq!(written(&chest)["right"], json!({ "things": [{ "name": "b" }] }));
}

#[test]
fn the_manifest_of_another_kind_is_refused() {
    let other = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    let error = serde_json::from_value::<NetworkApply>(other).unwrap_err().to_string();
    assert_eq!(error, "apiVersion is `v1`, not `samplecrd.k8s.io/v1`");
    let nameless = json!({ "metadata": {} });
    let error = serde_json::from_value::<NetworkApply>(nameless).unwrap_err().to_string();
    assert_eq!(error, "missing field `name`");
}
