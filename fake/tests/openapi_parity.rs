//! The OpenAPI documents of custom resources, compared with those of a real API server.

use std::{collections::BTreeSet, time::Duration};

use genclient_fake::openapi;
use genclient_testenv::{TestEnv, require_servers};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
                    "description": "A widget.",
                    "type": "object",
                    "required": ["spec"],
                    "properties": {
                        "spec": {
                            "type": "object",
                            "description": "",
                            "properties": {
                                "mode": { "type": "string", "enum": ["a", "b"], "default": "a", "nullable": false },
                                "replicas": { "type": "integer", "format": "int32", "minimum": 0, "nullable": true },
                                "ports": {
                                    "type": "array",
                                    "x-kubernetes-list-type": "map",
                                    "x-kubernetes-list-map-keys": ["name"],
                                    "items": {
                                        "type": "object",
                                        "required": ["name"],
                                        "properties": { "name": { "type": "string" }, "port": { "x-kubernetes-int-or-string": true } },
                                    },
                                },
                                "percent": { "x-kubernetes-int-or-string": true, "anyOf": [{ "pattern": "%$" }, { "minimum": 0 }] },
                    "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                                "any": { "type": "object", "additionalProperties": true },
                                "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                                "object": {
                                    "type": "object",
                                    "x-kubernetes-embedded-resource": true,
                                    "x-kubernetes-preserve-unknown-fields": true,
                                },
                                "choice": {
                                    "type": "object",
                                    "x-kubernetes-map-type": "atomic",
                                    "properties": { "x": { "type": "string", "maxLength": 5 }, "y": { "type": "string" } },
                                    "oneOf": [{ "required": ["x"] }, { "required": ["y"] }],
                                    "x-kubernetes-validations": [
                                        { "rule": "!has(self.x) || self.x != ''", "message": "x", "reason": "FieldValueInvalid", "fieldPath": ".x" },
                                    ],
                                },
                            },
                        },
                        "status": { "type": "object", "properties": { "replicas": { "type": "integer" } } },
                    },
    })
}

fn crd() -> Value {
    let plural = format!("widgets{}", std::process::id());
    let kind = format!("Widget{}", std::process::id());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.openapi{}.example.com", std::process::id()) },
        "spec": {
            "group": format!("openapi{}.example.com", std::process::id()),
            "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List") },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "selectableFields": [{ "jsonPath": ".spec.mode" }],
                "subresources": {
                    "status": {},
                    "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
                },
                "schema": { "openAPIV3Schema": schema() },
            }],
        },
    })
}

/// What a client looks at in the operations of a path.
fn operations(path: &Value) -> BTreeSet<(String, String, String, BTreeSet<String>)> {
    let names = |parameters: &Value| {
        let parameters = parameters.as_array().map(Vec::as_slice).unwrap_or_default();
        parameters.iter().map(|parameter| parameter["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut operations: BTreeSet<_> = path
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, operation)| operation.is_object())
        .map(|(method, operation)| {
            let action = operation["x-kubernetes-action"].to_string();
            let kind = operation["x-kubernetes-group-version-kind"].to_string();
            (method.clone(), action, kind, names(&operation["parameters"]))
        })
        .collect();
    operations.insert((String::new(), String::new(), String::new(), names(&path["parameters"])));
    operations
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_have_the_schemas_and_paths_of_the_real_server() {
    require_servers!(Kubernetes);
    let env = TestEnv::shared().await.unwrap();
    let crd = crd();
    env.kubectl_with_input(&["create", "-f", "-"], &crd.to_string()).await.unwrap();
    let group = crd["spec"]["group"].as_str().unwrap();
    let path = format!("/openapi/v3/apis/{group}/v1");
    let mut theirs = Value::Null;
    for _ in 0..100 {
        // The document appears a moment after the CRD.
        if let Ok(text) = env.kubectl(&["get", "--raw", &path]).await {
            theirs = serde_json::from_str(&text).unwrap();
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let ours = openapi::document(std::slice::from_ref(&crd), group, "v1");
    let prefix: Vec<_> = group.split('.').rev().collect();
    for kind in ["kind", "listKind"] {
        let kind = crd["spec"]["names"][kind].as_str().unwrap();
        let name = format!("{}.v1.{kind}", prefix.join("."));
        let [ours, theirs] =
            [&ours, &theirs].map(|document| format!("{:#}", document["components"]["schemas"][&name]));
        for (line, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
            assert_eq!(ours, theirs, "{name}, line {line}");
        }
        assert_eq!(ours, theirs);
    }
    let paths =
        |document: &Value| document["paths"].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(paths(&ours), paths(&theirs));
    for path in paths(&ours) {
        assert_eq!(operations(&ours["paths"][&path]), operations(&theirs["paths"][&path]), "{path}");
    }
    let name = crd["metadata"]["name"].as_str().unwrap();
    env.kubectl(&["delete", "crd", name, "--wait=false"]).await.unwrap();
}
