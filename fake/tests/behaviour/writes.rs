//! Writes.

use genclient_fake::Server;
use serde_json::json;

use crate::support::{CONFIG_MAPS, Requests, config_map};

#[test]
fn a_stale_update_conflicts() {
    let server = Server::new();
    let mut map = server.create(CONFIG_MAPS, config_map("a"));
    map["data"]["key"] = json!("new");
    let (code, _) = server.put(&format!("{CONFIG_MAPS}/a"), &map);
    assert_eq!(code, 200);
    map["data"]["key"] = json!("newer");
    let (code, error) = server.put(&format!("{CONFIG_MAPS}/a"), &map);
    assert_eq!((code, &error["reason"]), (409, &json!("Conflict")));
}

#[test]
fn an_update_that_changes_nothing_is_not_written() {
    let server = Server::new();
    let map = server.create(CONFIG_MAPS, config_map("a"));
    let (_, same) = server.put(&format!("{CONFIG_MAPS}/a"), &map);
    assert_eq!(same, map);
}

#[test]
fn a_finalizer_keeps_a_deleted_object() {
    let server = Server::new();
    let mut map = config_map("a");
    map["metadata"]["finalizers"] = json!(["example.com/keep"]);
    server.create(CONFIG_MAPS, map);
    let path = format!("{CONFIG_MAPS}/a");
    let (code, deleted) = server.delete(&path);
    assert_eq!(code, 200);
    assert!(deleted["metadata"]["deletionTimestamp"].is_string(), "{deleted}");
    assert_eq!(server.get(&path).0, 200);
    let (code, _) = server.merge(&path, json!({ "metadata": { "finalizers": null } }));
    assert_eq!(code, 200);
    assert_eq!(server.get(&path).0, 404);
}

#[test]
fn dependents_go_with_their_last_owner() {
    let server = Server::new();
    let owner = server.create(CONFIG_MAPS, config_map("owner"));
    let reference = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
    });
    let mut dependent = config_map("dependent");
    dependent["metadata"]["ownerReferences"] = json!([reference]);
    server.create(CONFIG_MAPS, dependent);
    server.delete(&format!("{CONFIG_MAPS}/owner?propagationPolicy=Orphan"));
    let (_, orphan) = server.get(&format!("{CONFIG_MAPS}/dependent"));
    assert!(orphan["metadata"]["ownerReferences"].is_null(), "{orphan}");

    let owner = server.create(CONFIG_MAPS, config_map("owner"));
    let reference = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    server
        .merge(&format!("{CONFIG_MAPS}/dependent"), json!({ "metadata": { "ownerReferences": reference } }));
    server.delete(&format!("{CONFIG_MAPS}/owner"));
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/dependent")).0, 404);
}

#[test]
fn a_namespace_takes_its_content_with_it() {
    let server = Server::new();
    server.create("/api/v1/namespaces", json!({ "metadata": { "name": "team" } }));
    let mut map = config_map("a");
    map["metadata"]["finalizers"] = json!(["example.com/keep"]);
    server.create("/api/v1/namespaces/team/configmaps", map);
    let (code, namespace) = server.delete("/api/v1/namespaces/team");
    assert_eq!((code, &namespace["status"]["phase"]), (200, &json!("Terminating")));
    let (code, error) = server.post("/api/v1/namespaces/team/configmaps", config_map("b"));
    assert_eq!((code, &error["details"]["causes"][0]["reason"]), (403, &json!("NamespaceTerminating")));
    server.merge("/api/v1/namespaces/team/configmaps/a", json!({ "metadata": { "finalizers": [] } }));
    assert_eq!(server.get("/api/v1/namespaces/team").0, 404);
    let (code, error) = server.post("/api/v1/namespaces/team/configmaps", config_map("b"));
    assert_eq!((code, &error["message"]), (404, &json!("namespaces \"team\" not found")));
}

#[test]
fn a_crd_serves_its_kind_and_takes_its_objects_with_it() {
    let server = Server::new();
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.create(
        crds,
        json!({
            "metadata": { "name": "networks.example.com" },
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": { "plural": "networks", "kind": "Network" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                        "spec": { "type": "object", "properties": { "cidr": { "type": "string" } } },
                        "status": { "type": "object", "properties": { "ready": { "type": "boolean" } } },
                    } } },
                }],
            },
        }),
    );
    let networks = "/apis/example.com/v1/namespaces/default/networks";
    let network = json!({
        "apiVersion": "example.com/v1", "kind": "Network", "metadata": { "name": "a" },
        "spec": { "cidr": "10.0.0.0/8" }, "status": { "ready": true },
    });
    let mut created = server.create(networks, network);
    assert_eq!(created["metadata"]["generation"], 1);
    assert!(created["status"].is_null(), "the status is a subresource");
    created["status"] = json!({ "ready": true });
    created["spec"]["cidr"] = json!("11.0.0.0/8");
    let (_, written) = server.put(&format!("{networks}/a/status"), &created);
    assert_eq!(written["status"]["ready"], true);
    assert_eq!(
        (&written["spec"]["cidr"], &written["metadata"]["generation"]),
        (&json!("10.0.0.0/8"), &json!(1))
    );
    let (_, written) = server.merge(&format!("{networks}/a"), json!({ "spec": { "cidr": "12.0.0.0/8" } }));
    assert_eq!(written["metadata"]["generation"], 2);
    server.delete(&format!("{crds}/networks.example.com"));
    assert_eq!(server.get(networks).0, 404);
}

#[test]
fn an_apply_creates_and_conflicts_and_does_nothing_twice() {
    let server = Server::new();
    let path = format!("{CONFIG_MAPS}/a");
    let (code, created) = server.apply(&path, "one", config_map("a"));
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["metadata"]["managedFields"][0]["operation"], "Apply");
    let (code, same) = server.apply(&path, "one", config_map("a"));
    assert_eq!((code, &same), (200, &created));
    let mut other = config_map("a");
    other["data"]["key"] = json!("other");
    let (code, error) = server.apply(&path, "two", other.clone());
    assert_eq!((code, &error["details"]["causes"][0]["reason"]), (409, &json!("FieldManagerConflict")));
    let (code, forced) = server.apply(&format!("{path}?force=true"), "two", other);
    assert_eq!((code, &forced["data"]["key"]), (200, &json!("other")));
}
