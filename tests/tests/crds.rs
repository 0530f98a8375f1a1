//! The CRDs of the fixtures: what the types say, valid for the API server, one for each kind.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use std::collections::BTreeSet;

use fixture_apis::{crd::Rich, versions};
use genclient_runtime::{CustomResourceExt, crd::merge_versions};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;

fn all() -> Vec<CustomResourceDefinition> {
    fixture_client::crds::all().unwrap()
}

fn named(name: &str) -> CustomResourceDefinition {
    all().into_iter().find(|crd| crd.metadata.name.as_deref() == Some(name)).unwrap()
}

#[test]
fn the_crd_is_what_the_type_says() {
    assert_eq!(named("riches.crd.example.com"), Rich::crd());
}

#[test]
fn three_versions_are_one_crd_with_one_that_is_stored() {
    let merged = merge_versions(
        vec![versions::v1alpha1::Gauge::crd(), versions::v1::Gauge::crd(), versions::v1beta1::Gauge::crd()],
        "v1",
    )
    .unwrap();
    assert_eq!(named("gauges.versions.example.com"), merged);
    let states: Vec<_> = merged
        .spec
        .versions
        .iter()
        .map(|version| (version.name.as_str(), version.served, version.storage))
        .collect();
    assert_eq!(states, [("v1", true, true), ("v1alpha1", false, false), ("v1beta1", true, false)]);
    let old = &merged.spec.versions[2];
    assert_eq!(old.deprecated, Some(true));
    assert_eq!(old.deprecation_warning.as_deref(), Some("use versions.example.com/v1"));
    assert!(old.subresources.is_none() && merged.spec.versions[0].subresources.is_some());
    // What the versions say of the CRD as a whole is gathered.
    assert_eq!(merged.metadata.annotations.unwrap()["example.com/owner"], "v1");
    assert_eq!(merged.metadata.labels.unwrap()["example.com/old"], "true");
}

#[test]
fn every_crd_follows_the_servers_rules() {
    let label =
        |text: &str| genclient::names::dns_1035_label(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    let mut names = BTreeSet::new();
    for crd in all() {
        let spec = &crd.spec;
        let name = crd.metadata.name.clone().unwrap();
        assert_eq!(name, format!("{}.{}", spec.names.plural, spec.group));
        assert!(name.len() <= 253, "{name}");
        assert!(names.insert(name.clone()), "{name}");
        label(&spec.names.plural);
        label(spec.names.singular.as_ref().unwrap());
        label(&spec.names.kind.to_lowercase());
        label(&spec.names.list_kind.as_ref().unwrap().to_lowercase());
        assert_eq!(spec.versions.iter().filter(|version| version.storage).count(), 1, "{name}");
        for version in &spec.versions {
            let schema = version.schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
            assert_eq!(schema.type_.as_deref(), Some("object"), "{name}");
            // The server knows these itself, and refuses restrictions of metadata.
            let properties: Vec<_> =
                schema.properties.iter().flatten().map(|(key, _)| key.as_str()).collect();
            assert!(!properties.contains(&"metadata"), "{name}: {properties:?}");
            if let Some(subresources) = &version.subresources {
                let written = serde_json::to_value(subresources).unwrap();
                assert!(written.get("status").is_none_or(|status| *status == json!({})), "{name}: {written}");
            }
        }
    }
    assert!(!names.iter().any(|name| name.contains("parcels") || name.contains("aggregated")), "{names:?}");
}

#[test]
fn rules_columns_and_subresources_reach_the_crd() {
    let crd = serde_json::to_value(named("riches.crd.example.com")).unwrap();
    let version = &crd["spec"]["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"];
    assert_eq!(
        schema["x-kubernetes-validations"],
        json!([
            {"rule": "self.metadata.name.size() <= 20"},
            {"rule": "self.spec.min <= self.spec.max", "message": "min must not exceed max"}
        ])
    );
    let spec = &schema["properties"]["spec"];
    assert_eq!(
        spec["x-kubernetes-validations"],
        json!([{"rule": "self.size != 13", "message": "thirteen is unlucky"}])
    );
    assert_eq!(
        spec["properties"]["immutable"]["x-kubernetes-validations"],
        json!([{"rule": "self == oldSelf"}])
    );
    assert_eq!(spec["properties"]["size"]["maximum"], json!(100.0));
    assert_eq!(spec["properties"]["color"]["enum"], json!(["Red", "Green"]));
    assert_eq!(version["selectableFields"], json!([{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}]));
    assert_eq!(version["additionalPrinterColumns"][1]["priority"], 1);
    assert_eq!(version["additionalPrinterColumns"][2]["priority"], -1);
    assert_eq!(version["subresources"]["scale"]["labelSelectorPath"], ".status.selector");
    assert_eq!(version["subresources"]["status"], json!({}));
    assert_eq!(crd["spec"]["names"]["shortNames"], json!(["ri", "rch"]));
    assert_eq!(crd["spec"]["names"]["categories"], json!(["all", "fixtures"]));
    assert_eq!(crd["spec"]["names"]["singular"], "richone");
    assert_eq!(crd["metadata"]["annotations"]["example.com/note"], "a \"quoted\" note: yes");
}

#[test]
fn a_format_that_the_server_does_not_know_is_left_out() {
    let crd = serde_json::to_value(named("riches.crd.example.com")).unwrap();
    let properties =
        &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    assert_eq!(properties["min"], json!({"type": "integer", "minimum": 0.0}));
    assert_eq!(properties["size"]["format"], "int32");
}
