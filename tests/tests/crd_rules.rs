//! The rules for CRDs, held against a real API server: it accepts every CRD of the fixtures, and
//! refuses whatever a check of ours refuses.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use fixture_apis::crd::Rich;
use fixture_derive::{attributes, hidden, names, prelude, raw};
use genclient::source::{Packages, Sources};
use genclient_runtime::{Client, CustomResourceExt};
use genclient_testenv::{TestEnv, require_servers};
use serde_json::{Value, json};

/// Sends a CRD to the API server, which checks it and stores nothing.
async fn dry_run(client: &Client, crd: &Value) -> Result<Value, kube::Error> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    let body = serde_json::to_vec(crd).unwrap();
    let request = http::Request::post(path).header("content-type", "application/json").body(body).unwrap();
    client.request(request).await
}

async fn client() -> Client {
    TestEnv::shared()
        .await
        .expect("the control plane starts")
        .client()
        .expect("the administrator has a client")
}

/// The CRD as it is sent, from what the types say.
fn sent(crd: impl serde::Serialize) -> Value {
    let mut crd = serde_json::to_value(crd).unwrap();
    crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
    crd["kind"] = json!("CustomResourceDefinition");
    crd
}

#[tokio::test]
async fn the_api_server_accepts_every_crd_of_the_fixtures() {
    require_servers!();
    let client = client().await;
    let mut crds: Vec<Value> = vec![
        sent(attributes::Skipping::crd()),
        sent(attributes::Defaulted::crd()),
        sent(attributes::Made::crd()),
        sent(attributes::Shouting::crd()),
        sent(attributes::Flat::crd()),
        sent(attributes::Documented::crd()),
        sent(hidden::Nested::crd()),
        sent(hidden::Lowest::crd()),
        sent(names::Mirror::crd()),
        sent(names::D::crd()),
        sent(names::Resource::crd()),
        sent(prelude::Option::crd()),
        sent(raw::Raw::crd()),
        sent(Rich::crd()),
    ];
    crds.extend(fixture_client::crds::all().unwrap().into_iter().map(sent));
    crds.extend(samplecrd_client::crds::all().unwrap().into_iter().map(sent));
    let committed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/crds");
    for entry in fs::read_dir(committed).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        crds.push(sent(serde_saphyr::from_str::<Value>(&text).unwrap()));
    }
    for crd in crds {
        let answer = dry_run(&client, &crd).await;
        assert!(answer.is_ok(), "{}: {}", crd["metadata"]["name"], answer.unwrap_err());
    }
}

/// A rule: an attribute that breaks it, the place and the value that break it in a CRD, and the field
/// that the API server complains of.
type Broken = (&'static str, &'static str, Value, &'static str);

fn broken() -> Vec<Broken> {
    let column = |name: &str, type_: &str, format: &str, path: &str| json!([{"name": name, "type": type_, "format": format, "jsonPath": path}]);
    let selectable =
        |paths: &[&str]| paths.iter().map(|path| json!({"jsonPath": path})).collect::<Vec<_>>().into();
    let columns = "/spec/versions/0/additionalPrinterColumns";
    let fields = "/spec/versions/0/selectableFields";
    let scale = "/spec/versions/0/subresources/scale";
    let warning = "/spec/versions/0/deprecationWarning";
    let (annotations, labels) = ("/metadata/annotations", "/metadata/labels");
    let long = "a".repeat(64);
    vec![
        ("plural = \"9s\"", "/spec/names/plural", json!("9s"), "spec.names.plural"),
        ("singular = \"net_work\"", "/spec/names/singular", json!("net_work"), "spec.names.singular"),
        ("shortname = \"-n\"", "/spec/names/shortNames", json!(["-n"]), "spec.names.shortNames[0]"),
        ("shortname = \"\"", "/spec/names/shortNames", json!([""]), "spec.names.shortNames[0]"),
        ("category = \"a b\"", "/spec/names/categories", json!(["a b"]), "spec.names.categories[0]"),
        (
            "printcolumn(name = \"\", type_ = \"string\", json_path = \".spec.a\")",
            columns,
            column("", "string", "", ".spec.a"),
            "additionalPrinterColumns[0].name",
        ),
        (
            "printcolumn(name = \"A\", type_ = \"object\", json_path = \".spec.a\")",
            columns,
            column("A", "object", "", ".spec.a"),
            "additionalPrinterColumns[0].type",
        ),
        (
            "printcolumn(name = \"A\", type_ = \"string\", json_path = \".spec.a\", format = \"banana\")",
            columns,
            column("A", "string", "banana", ".spec.a"),
            "additionalPrinterColumns[0].format",
        ),
        (
            "printcolumn(name = \"A\", type_ = \"string\", json_path = \"spec.a\")",
            columns,
            column("A", "string", "", "spec.a"),
            "additionalPrinterColumns[0].JSONPath",
        ),
        (
            "printcolumn(name = \"A\", type_ = \"string\", json_path = \"\")",
            columns,
            column("A", "string", "", ""),
            "additionalPrinterColumns[0].JSONPath",
        ),
        ("selectable = \"spec.size\"", fields, selectable(&["spec.size"]), "selectableFields[0].jsonPath"),
        (
            "selectable = \".metadata.name\"",
            fields,
            selectable(&[".metadata.name"]),
            "selectableFields[0].jsonPath",
        ),
        (
            "selectable = \".spec.names[0]\"",
            fields,
            selectable(&[".spec.names[0]"]),
            "selectableFields[0].jsonPath",
        ),
        (
            "selectable = \".spec..size\"",
            fields,
            selectable(&[".spec..size"]),
            "selectableFields[0].jsonPath",
        ),
        (
            "selectable = \".spec.size\", selectable = \".spec.size\"",
            fields,
            selectable(&[".spec.size", ".spec.size"]),
            "selectableFields[1].jsonPath",
        ),
        (
            "selectable = \".spec.f1\", selectable = \".spec.f2\", selectable = \".spec.f3\", \
             selectable = \".spec.f4\", selectable = \".spec.f5\", selectable = \".spec.f6\", \
             selectable = \".spec.f7\", selectable = \".spec.f8\", selectable = \".spec.f9\"",
            fields,
            selectable(&[
                ".spec.f1", ".spec.f2", ".spec.f3", ".spec.f4", ".spec.f5", ".spec.f6", ".spec.f7",
                ".spec.f8", ".spec.f9",
            ]),
            "selectableFields: Too many",
        ),
        (
            "scale(spec_replicas_path = \".status.a\", status_replicas_path = \".status.a\")",
            scale,
            json!({"specReplicasPath": ".status.a", "statusReplicasPath": ".status.a"}),
            "scale.specReplicasPath",
        ),
        (
            "scale(spec_replicas_path = \".spec.a\", status_replicas_path = \".spec.a\")",
            scale,
            json!({"specReplicasPath": ".spec.a", "statusReplicasPath": ".spec.a"}),
            "scale.statusReplicasPath",
        ),
        (
            "scale(spec_replicas_path = \".spec.a\", status_replicas_path = \".status.a\", \
             label_selector_path = \".metadata.labels\")",
            scale,
            json!({
                "specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a",
                "labelSelectorPath": ".metadata.labels"
            }),
            "scale.labelSelectorPath",
        ),
        ("annotation(\"\", \"\")", annotations, json!({"": ""}), "metadata.annotations"),
        ("annotation(\"/a\", \"\")", annotations, json!({"/a": ""}), "metadata.annotations"),
        ("annotation(\"a/b/c\", \"\")", annotations, json!({"a/b/c": ""}), "metadata.annotations"),
        ("annotation(\"a_b/c\", \"\")", annotations, json!({"a_b/c": ""}), "metadata.annotations"),
        ("annotation(\"a b\", \"\")", annotations, json!({"a b": ""}), "metadata.annotations"),
        ("annotation(\"a-\", \"\")", annotations, json!({"a-": ""}), "metadata.annotations"),
        ("label(\"A.b/c\", \"\")", labels, json!({"A.b/c": ""}), "metadata.labels"),
        ("label(\"a\", \"b c\")", labels, json!({"a": "b c"}), "metadata.labels"),
        ("label(\"a\", \"-\")", labels, json!({"a": "-"}), "metadata.labels"),
        (
            "label(\"a\", \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\")",
            labels,
            json!({"a": long}),
            "metadata.labels",
        ),
        ("deprecated = \"\"", warning, json!(""), "deprecationWarning"),
        ("deprecated = \"a\\nb\"", warning, json!("a\nb"), "deprecationWarning"),
    ]
}

/// What the checks say of a crate with this source.
fn complaints(source: &str) -> Vec<String> {
    let files = BTreeMap::from([
        (PathBuf::from("apis/Cargo.toml"), "[package]\nname = \"apis\"\n".to_owned()),
        (PathBuf::from("apis/src/lib.rs"), source.to_owned()),
    ]);
    match genclient::model(&Sources::load(&files, &["apis".into()], &Packages::default())) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.message).collect(),
    }
}

fn source(group_version: &str, attribute: &str, kind: &str) -> String {
    format!(
        "genclient_runtime::group_version!(\"{group_version}\");\n#[derive(GenClient)]\n#[genclient({attribute})]\n\
         pub struct {kind} {{ pub metadata: ObjectMeta, pub status: Option<Status> }}\n"
    )
}

/// Asserts that the API server refuses the CRD because of this field.
async fn refused(client: &Client, crd: &Value, field: &str) {
    let error = dry_run(client, crd).await.expect_err(field).to_string();
    assert!(error.contains(field), "{field}: {error}");
}

#[tokio::test]
async fn the_api_server_refuses_what_the_checks_of_an_attribute_refuse() {
    require_servers!();
    let client = client().await;
    let mut base = sent(Rich::crd());
    let version = &mut base["spec"]["versions"][0];
    version["deprecated"] = json!(true);
    version["deprecationWarning"] = json!("use another one");
    let properties = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    for i in 1..=9 {
        properties[format!("f{i}")] = json!({"type": "string"});
    }
    assert!(dry_run(&client, &base).await.is_ok(), "what is changed below is accepted as it is");
    assert_eq!(complaints(&source("crd.example.com/v1", "", "Rich")), Vec::<String>::new());

    for (attribute, at, value, field) in broken() {
        let complaints = complaints(&source("crd.example.com/v1", attribute, "Rich"));
        assert_eq!(complaints.len(), 1, "{attribute}: {complaints:?}");
        let mut crd = base.clone();
        *crd.pointer_mut(at).unwrap() = value;
        crd["metadata"]["name"] =
            format!("{}.crd.example.com", crd["spec"]["names"]["plural"].as_str().unwrap()).into();
        refused(&client, &crd, field).await;
    }
}

#[tokio::test]
async fn the_api_server_refuses_what_the_checks_of_groups_and_kinds_refuse() {
    require_servers!();
    let client = client().await;
    let base = sent(Rich::crd());
    for (group, version, kind, field) in [
        ("", "v1", "Rich", "spec.group: Required"),
        ("acme", "v1", "Rich", "spec.group: Invalid"),
        ("apps", "v1", "Rich", "spec.group: Invalid"),
        ("Example.com", "v1", "Rich", "spec.group: Invalid"),
        ("crd.example.com", "1", "Rich", "spec.versions[0].name"),
        ("crd.example.com", "V1", "Rich", "spec.versions[0].name"),
        ("crd.example.com", "v1", "Ri_ch", "spec.names.kind"),
        ("crd.k8s.io", "v1", "Rich", "metadata.annotations[api-approved.kubernetes.io]"),
        ("crd.kubernetes.io", "v1", "Rich", "metadata.annotations[api-approved.kubernetes.io]"),
    ] {
        let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let complaints = complaints(&source(&group_version, "plural = \"riches\"", kind));
        assert_eq!(complaints.len(), 1, "{group_version} {kind}: {complaints:?}");
        let mut crd = base.clone();
        crd["metadata"]["name"] = format!("riches.{group}").into();
        crd["spec"]["group"] = group.into();
        crd["spec"]["versions"][0]["name"] = version.into();
        crd["spec"]["names"]["kind"] = kind.into();
        refused(&client, &crd, field).await;
    }
}

/// The sources of versions of one kind, each with its attributes.
fn versions(attributes: &[&str]) -> String {
    let modules = attributes.iter().enumerate().map(|(number, attribute)| {
        format!(
            "pub mod v{0} {{ {1} }}\n",
            number + 1,
            source(&format!("crd.example.com/v{}", number + 1), attribute, "Rich")
        )
    });
    modules.collect()
}

#[tokio::test]
async fn the_api_server_refuses_what_the_checks_of_versions_refuse() {
    require_servers!();
    let client = client().await;
    let base = sent(Rich::crd());
    for (attributes, stored) in [
        (&["storage = false"][..], &[false][..]),
        (&["", ""], &[false, false]),
        (&["storage", "storage"], &[true, true]),
    ] {
        let complaints = complaints(&versions(attributes));
        assert_eq!(complaints.len(), 1, "{attributes:?}: {complaints:?}");
        let version = |(number, stored): (usize, &bool)| {
            let mut version = base["spec"]["versions"][0].clone();
            version["name"] = format!("v{}", number + 1).into();
            version["storage"] = (*stored).into();
            version
        };
        let mut crd = base.clone();
        crd["spec"]["versions"] = stored.iter().enumerate().map(version).collect::<Vec<_>>().into();
        refused(&client, &crd, "spec.versions: Invalid value").await;
    }
    // One CRD says its plural, scope, names, annotations and labels once, so the server cannot be asked
    // about versions that differ in them.
}

#[tokio::test]
async fn the_api_server_refuses_names_that_the_checks_find_too_long() {
    require_servers!();
    let client = client().await;
    let base = sent(Rich::crd());
    let group = |length: usize| format!("{}example.com", "abcdefghi.".repeat(length / 10));
    let kind = |length: usize| format!("R{}", "i".repeat(length - 1));
    for (group, plural, kind, field) in [
        (group(190), "a".repeat(63), kind(4), "metadata.name"),
        (group(0), "riches".to_owned(), kind(60), "spec.names.listKind"),
        (group(0), "a".repeat(64), kind(4), "spec.names.plural"),
    ] {
        let complaints = complaints(&source(&format!("{group}/v1"), &format!("plural = {plural:?}"), &kind));
        assert_eq!(complaints.len(), 1, "{group} {plural} {kind}: {complaints:?}");
        let mut crd = base.clone();
        crd["metadata"]["name"] = format!("{plural}.{group}").into();
        crd["spec"]["group"] = group.into();
        crd["spec"]["names"]["plural"] = plural.into();
        crd["spec"]["names"]["kind"] = kind.clone().into();
        crd["spec"]["names"]["listKind"] = format!("{kind}List").into();
        refused(&client, &crd, field).await;
    }
}

/// What the server takes without a word, though it can only be a slip of the pen.
#[tokio::test]
async fn some_checks_ask_for_more_than_the_api_server() {
    require_servers!();
    let client = client().await;
    let column = json!({"name": "A", "type": "string", "jsonPath": ".spec.a"});
    let base = sent(Rich::crd());
    for (attribute, at, value) in [
        ("shortname = \"r\", shortname = \"r\"", "/spec/names/shortNames", json!(["r", "r"])),
        ("category = \"r\", category = \"r\"", "/spec/names/categories", json!(["r", "r"])),
        (
            "printcolumn(name = \"A\", type_ = \"string\", json_path = \".spec.a\"), \
             printcolumn(name = \"A\", type_ = \"string\", json_path = \".spec.a\")",
            "/spec/versions/0/additionalPrinterColumns",
            json!([column, column]),
        ),
    ] {
        let complaints = complaints(&source("crd.example.com/v1", attribute, "Rich"));
        assert_eq!(complaints.len(), 1, "{attribute}: {complaints:?}");
        let mut crd = base.clone();
        *crd.pointer_mut(at).unwrap() = value;
        let answer = dry_run(&client, &crd).await;
        assert!(answer.is_ok(), "{attribute}: {}", answer.unwrap_err());
    }
}

#[tokio::test]
async fn a_selectable_field_is_one_of_the_schema() {
    require_servers!();
    let client = client().await;
    for (path, accepted) in [
        (".spec.color", true),
        (".spec.size", true),
        (".spec.missing", false),
        (".spec", false),
        (".spec.size.more", false),
    ] {
        let mut crd = Rich::crd();
        crd.spec.versions[0].selectable_fields = serde_json::from_value(json!([{"jsonPath": path}])).unwrap();
        let ours = genclient_runtime::crd::print_manifests(std::slice::from_ref(&crd));
        assert_eq!(ours.is_ok(), accepted, "{path}: {ours:?}");
        let answer = dry_run(&client, &sent(crd)).await;
        assert_eq!(answer.is_ok(), accepted, "{path}: {answer:?}");
    }
}
