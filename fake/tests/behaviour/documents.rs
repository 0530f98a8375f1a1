//! The OpenAPI documents of Kubernetes' own kinds.

use std::collections::BTreeSet;

use genclient_fake::Server;
use serde_json::Value;

use crate::support::Requests;

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "$ref" => {
                        found.insert(text.clone());
                    }
                    value => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_kind_has_a_schema_with_descriptions_and_every_reference_leads_somewhere() {
    let server = Server::new();
    let (_, index) = server.get("/openapi/v3");
    let (_, groups) = server.get("/apis");
    let mut versions = vec!["api/v1".to_owned()];
    for group in groups["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            versions.push(format!("apis/{}", version["groupVersion"].as_str().unwrap()));
        }
    }
    assert_eq!(index["paths"].as_object().unwrap().len(), versions.len());
    for version in versions {
        let url = index["paths"][&version]["serverRelativeURL"].as_str().unwrap();
        let (code, document) = server.get(url);
        assert_eq!(code, 200, "{url}");
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for reference in found {
            let name = reference.strip_prefix("#/components/schemas/").expect("a reference in the document");
            assert!(schemas.contains_key(name), "{version}: {name}");
        }

        let (_, resources) = server.get(&format!("/{version}"));
        for resource in resources["resources"].as_array().unwrap() {
            let (kind, name) = (&resource["kind"], resource["name"].as_str().unwrap());
            if name.contains('/') {
                continue;
            }
            let is_kind = |schema: &&Value| {
                let kinds = schema["x-kubernetes-group-version-kind"].as_array();
                kinds.is_some_and(|kinds| kinds.iter().any(|known| known["kind"] == *kind))
            };
            let schema = schemas.values().find(is_kind).unwrap_or_else(|| panic!("{version}: {kind}"));
            assert!(schema["description"].is_string(), "{version}: {kind}");
            let paths = document["paths"].as_object().unwrap();
            assert!(paths.keys().any(|path| path.ends_with(&format!("/{name}"))), "{version}: {name}");
        }
    }
    assert_eq!(server.get("/openapi/v3/apis/nothing/v1").0, 404);
}

#[test]
fn questions_about_permissions_are_answered_and_not_stored() {
    let server = Server::new();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let question = serde_json::json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": { "verb": "create", "resource": "pods" } },
    });
    let answer = server.create(path, question);
    assert_eq!(answer["status"]["allowed"], true);
    assert_eq!(answer["spec"]["resourceAttributes"]["verb"], "create");
    assert_eq!(server.get(path).0, 405);
}
