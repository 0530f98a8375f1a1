//! Many objects, and requests that nobody should send.

use std::time::{Duration, Instant};

use genclient_fake::Server;
use http::Method;
use serde_json::json;

use crate::support::{CONFIG_MAPS, Events, Requests, config_map, respond};

/// A hundred thousand objects in an optimised build, fewer in one for debugging.
const OBJECTS: usize = if cfg!(debug_assertions) { 5_000 } else { 100_000 };

#[tokio::test]
async fn many_objects_are_created_listed_and_watched_within_seconds() {
    let started = Instant::now();
    let server = Server::new();
    let begun = started.elapsed();
    let mut events = Events::open(&server, &format!("{CONFIG_MAPS}?watch=true"));
    for number in 0..OBJECTS {
        server.create(CONFIG_MAPS, config_map(&format!("map-{number}")));
    }
    let created = started.elapsed();
    let (_, list) = server.get(CONFIG_MAPS);
    assert_eq!(list["items"].as_array().unwrap().len(), OBJECTS);
    let listed = started.elapsed();
    for number in 0..OBJECTS {
        assert_eq!(events.name().await, ("ADDED".to_owned(), format!("map-{number}")));
    }
    let watched = started.elapsed();
    eprintln!(
        "{OBJECTS} objects: begun {begun:?}, created {created:?}, listed {listed:?}, watched {watched:?}"
    );
    assert!(watched < Duration::from_secs(60), "{watched:?}");
}

#[test]
fn a_namespace_takes_many_objects_with_it() {
    let server = Server::new();
    server.create("/api/v1/namespaces", json!({ "metadata": { "name": "full" } }));
    let maps = "/api/v1/namespaces/full/configmaps";
    for number in 0..OBJECTS {
        server.create(maps, config_map(&format!("map-{number}")));
    }
    let held = json!({ "metadata": { "name": "held", "finalizers": ["example.com/f"] } });
    server.create(maps, held);
    server.delete("/api/v1/namespaces/full");
    let (_, list) = server.get(maps);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    server.merge(&format!("{maps}/held"), json!({ "metadata": { "finalizers": null } }));
    assert_eq!(server.get("/api/v1/namespaces/full").0, 404);
}

#[test]
fn a_long_chain_of_owners_goes_with_the_first() {
    let server = Server::new();
    let mut owner = server.create(CONFIG_MAPS, config_map("map-0"));
    for number in 1..OBJECTS {
        let mut map = config_map(&format!("map-{number}"));
        map["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }]);
        owner = server.create(CONFIG_MAPS, map);
    }
    server.delete(&format!("{CONFIG_MAPS}/map-0"));
    let (_, list) = server.get(CONFIG_MAPS);
    assert!(list["items"].as_array().unwrap().is_empty());
}

#[test]
fn no_request_makes_the_server_panic() {
    let server = Server::new();
    server.create(CONFIG_MAPS, config_map("a"));
    let long = "x".repeat(100_000);
    let deep = (0..10_000).fold(String::new(), |text, _| text + "{\"a\":");
    let paths = [
        "/",
        "//",
        "/api",
        "/api/",
        "/apis/a/b/c/d/e/f/g/h",
        "/api/v1/namespaces/default/configmaps/a/status",
        "/api/v1/namespaces/default/configmaps/%2e%2e",
        "/api/v1/namespaces/default/configmaps/a?resourceVersion=-1",
        "/api/v1/namespaces/default/configmaps?limit=-5&continue=%FF",
        "/api/v1/namespaces/default/configmaps?labelSelector=%28%29%2C%21",
        "/api/v1/namespaces/default/configmaps?fieldSelector=%5C",
        "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=99999999999999999999",
        "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=9223372036854775807",
        "/api/v1/namespaces/default",
        "/apis/apps/v1/namespaces/default/deployments/a/scale",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ];
    let bodies = [
        json!(null),
        json!([]),
        json!("x"),
        json!({ "metadata": [] }),
        json!({ "metadata": { "name": long, "labels": { "a": null } } }),
        json!({ "metadata": { "name": "a", "generateName": "ä".repeat(100) }, "spec": "x", "status": 1 }),
        json!({ "metadata": { "name": "a" }, "spec": { "template": 1, "versions": {}, "names": [] } }),
        json!({ "metadata": { "finalizers": [1], "ownerReferences": ["x"], "managedFields": ["x"] } }),
        json!([{ "op": "replace", "path": "x", "value": 1 }, { "op": "move" }]),
        json!({ "$patch": "x", "data": { "$patch": 1 }, "$setElementOrder/x": 1 }),
    ];
    let media = [
        "",
        "application/json",
        "application/yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "text/plain",
    ];
    for path in paths {
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD] {
            for media in media {
                for body in &bodies {
                    let path = match media {
                        "application/apply-patch+yaml" if path.contains('?') => {
                            format!("{path}&fieldManager=x")
                        }
                        "application/apply-patch+yaml" => format!("{path}?fieldManager=x&force=true"),
                        _ => path.to_owned(),
                    };
                    let code = respond(&server, method.clone(), &path, media, body).status().as_u16();
                    assert!((200..=599).contains(&code), "{method} {path}");
                }
            }
        }
    }
    for text in [deep.as_str(), "{\"a\":[", "\u{0}", "{\"metadata\":{\"name\":\"\\ud800\"}}"] {
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(CONFIG_MAPS)
            .header("content-type", "application/json")
            .body(bytes::Bytes::from(text.to_owned()))
            .unwrap();
        assert_eq!(server.respond(request).status(), 400);
    }
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let server = Server::new();
    let mut map = config_map("a");
    map["data"]["key"] = json!("x".repeat(3 * 1024 * 1024));
    assert_eq!(server.post(CONFIG_MAPS, map).0, 413);
}
