//! A server that is started again is the one that it was.

use std::path::Path;

use futures::FutureExt;
use genclient_fake::Server;
use genclient_tally::Tally;
use http::Method;
use http_body_util::BodyExt;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::support::{CONFIG_MAPS, Events, Requests, config_map, respond};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn open(path: &Path) -> Server {
    Server::builder().data(path).try_build().unwrap()
}

/// Everything that a server shows, byte for byte: objects, versions, what it serves, and the events after a version.
fn everything(server: &Server, since: &str) -> String {
    let mut all = String::new();
    let mut read = |path: &str| {
        let body = respond(server, Method::GET, path, "", &Value::Null).into_body();
        all += &format!("{path}\n{}\n", String::from_utf8_lossy(body.bytes().expect("no watch")));
    };
    let lists = [
        "/api/v1/namespaces",
        "/api/v1/configmaps",
        "/api/v1/services",
        "/api/v1/pods",
        "/apis/shop.example.com/v1/orders",
        CRDS,
    ];
    for path in lists {
        read(path);
        read(&format!("{path}?fieldSelector=metadata.name%3Da&limit=2"));
    }
    read("/apis/shop.example.com/v1/orders?fieldSelector=spec.size%3D1");
    read("/apis");
    read("/apis/shop.example.com/v1");
    read("/openapi/v3");
    for path in lists {
        let path = format!("{path}?watch=true&resourceVersion={since}");
        let mut body = respond(server, Method::GET, &path, "", &Value::Null).into_body();
        all += &format!("{path}\n");
        while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
            all += &String::from_utf8_lossy(frame.data_ref().unwrap());
        }
    }
    all
}

/// Returns the first line that differs, because everything is long.
fn difference(before: &str, after: &str) -> Option<String> {
    let lines = before.lines().zip(after.lines()).find(|(before, after)| before != after);
    let lines = lines.or_else(|| (before.len() != after.len()).then_some(("", "the number of lines")));
    lines.map(|(before, after)| format!("before: {before}\nafter:  {after}"))
}

fn version(server: &Server) -> String {
    server.get("/api/v1/namespaces").1["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// A CRD in one of several forms.
fn crd(form: u8) -> Value {
    let mut spec = json!({ "type": "object", "properties": {
        "size": { "type": "integer" }, "price": { "type": "number" },
    } });
    if form & 1 == 1 {
        spec["properties"]["color"] = json!({ "type": "string", "default": "red" });
    }
    if form & 2 == 2 {
        spec["x-kubernetes-preserve-unknown-fields"] = true.into();
    }
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    let mut versions = vec![json!({
        "name": "v1", "served": form & 4 == 0, "storage": true, "schema": schema,
        "selectableFields": if form & 8 == 0 { json!([{ "jsonPath": ".spec.size" }]) } else { json!([]) },
    })];
    if form & 16 == 16 {
        let schema = json!({ "openAPIV3Schema": { "type": "object" } });
        versions.push(json!({ "name": "v2", "served": true, "storage": false, "schema": schema }));
    }
    json!({
        "metadata": { "name": "orders.shop.example.com" },
        "spec": {
            "group": "shop.example.com", "scope": "Namespaced", "names": { "plural": "orders", "kind": "Order" },
            "versions": versions,
        },
    })
}

/// Sends one of many requests, and returns what it was and the code of its answer.
fn act(server: &Server, (action, which, value): (u8, u8, u8)) -> (&'static str, u16) {
    let namespace = ["default", "first", "second"][usize::from(which % 3)];
    let name = ["a", "b", "c", "d"][usize::from(which / 3 % 4)];
    let (maps, orders) = (
        format!("/api/v1/namespaces/{namespace}/configmaps"),
        format!("/apis/shop.example.com/v1/namespaces/{namespace}/orders"),
    );
    let crd_path = format!("{CRDS}/orders.shop.example.com");
    let text = value.to_string();
    let (what, (code, _)) = match action % 16 {
        0 => ("create a map", server.post(&maps, config_map(name))),
        1 => {
            let mut map = config_map(name);
            map["metadata"]["finalizers"] = json!(["example.com/wait"]);
            ("create a map that waits", server.post(&maps, map))
        }
        2 => {
            let owner = ["a", "b", "c", "d"][usize::from(value % 4)];
            let uid = server.get(&format!("{maps}/{owner}")).1["metadata"]["uid"].clone();
            let owner = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": true,
            });
            let patch = json!({ "metadata": { "ownerReferences": [owner] } });
            ("own a map", server.merge(&format!("{maps}/{name}"), patch))
        }
        3 => ("patch a map", server.merge(&format!("{maps}/{name}"), json!({ "data": { "key": text } }))),
        4 => {
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "l": text } },
            });
            ("apply a map", server.apply(&format!("{maps}/{name}"), "me", map))
        }
        5 => {
            let policy = ["Background", "Foreground", "Orphan"][usize::from(value % 3)];
            ("delete a map", server.delete(&format!("{maps}/{name}?propagationPolicy={policy}")))
        }
        6 => {
            let patch = json!({ "metadata": { "finalizers": null } });
            ("finish a map", server.merge(&format!("{maps}/{name}"), patch))
        }
        7 => {
            let namespace = json!({ "metadata": { "name": namespace } });
            ("create a namespace", server.post("/api/v1/namespaces", namespace))
        }
        8 => ("delete a namespace", server.delete(&format!("/api/v1/namespaces/{namespace}"))),
        9 => {
            let kind = if value % 2 == 0 { "ClusterIP" } else { "NodePort" };
            let spec = json!({ "type": kind, "ports": [{ "port": 80 }], "selector": { "app": "a" } });
            let service = json!({ "metadata": { "name": name }, "spec": spec });
            ("create a service", server.post(&format!("/api/v1/namespaces/{namespace}/services"), service))
        }
        10 => ("create the CRD", server.post(CRDS, crd(value))),
        11 => {
            let mut new = crd(value);
            let (_, old) = server.get(&crd_path);
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
            ("replace the CRD", server.put(&crd_path, &new))
        }
        12 if value < 64 => {
            let (_, orders) = server.get("/apis/shop.example.com/v1/orders");
            let has_orders = orders["items"].as_array().is_some_and(|orders| !orders.is_empty());
            let what = if has_orders { "delete the CRD with orders" } else { "delete the CRD" };
            (what, server.delete(&crd_path))
        }
        12 | 13 => {
            let price = f64::from(value) / 7.0 * 0.1;
            let waits = if value % 5 == 0 { json!(["shop.example.com/wait"]) } else { json!([]) };
            let order = json!({
                "apiVersion": "shop.example.com/v1", "kind": "Order",
                "metadata": { "name": name, "finalizers": waits },
                "spec": { "size": value % 3, "price": price, "other": { "deep": "ä\n\u{1}" } },
            });
            ("create an order", server.post(&orders, order))
        }
        14 => ("delete an order", server.delete(&format!("{orders}/{name}"))),
        _ => {
            let patch =
                json!({ "spec": { "size": value % 3, "color": "blue" }, "metadata": { "finalizers": null } });
            ("patch an order", server.merge(&format!("{orders}/{name}"), patch))
        }
    };
    (what, code)
}

#[test]
fn the_state_after_a_restart_is_the_state_before_it() {
    let cases = genclient_tally::usual_or_long(48, 1000);
    let tally = Tally::new();
    let history = (proptest::collection::vec(any::<(u8, u8, u8)>(), 1..60), 0_usize..120, 0_usize..60);
    let tried = TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..Default::default() })
        .run(&history, |(actions, compact, watched)| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let _guard = runtime.enter();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("data");
            let mut server = open(&path);
            let mut since = version(&server);
            // The namespaces and the CRD, so that most requests succeed.
            for action in
                [(7, 1, 0), (7, 2, 0), (10, 0, 0)].into_iter().chain(actions.iter().copied()).enumerate()
            {
                if action.0 == watched {
                    since = version(&server);
                }
                if action.0 == compact {
                    server.compact();
                }
                let (what, code) = act(&server, action.1);
                tally.count(if code < 300 { what } else { "refused" });
                // Some restarts happen on the way, so that what was read is written again.
                if action.1.2 % 16 == 0 {
                    let before = everything(&server, &since);
                    drop(server);
                    server = open(&path);
                    prop_assert_eq!(difference(&before, &everything(&server, &since)), None);
                    tally.count("restart");
                }
            }
            let before = everything(&server, &since);
            drop(server);
            let server = open(&path);
            prop_assert_eq!(difference(&before, &everything(&server, &since)), None);
            // A snapshot has the same objects.
            server.compact();
            let newest = version(&server);
            let before = everything(&server, &newest);
            drop(server);
            prop_assert_eq!(difference(&before, &everything(&open(&path), &newest)), None);
            Ok(())
        });
    if let Err(error) = tried {
        panic!("{error}");
    }
    tally.require(&[
        ("create a map", 20),
        ("create a map that waits", 20),
        ("own a map", 2),
        ("patch a map", 10),
        ("apply a map", 20),
        ("delete a map", 5),
        ("finish a map", 5),
        ("create a namespace", 48),
        ("delete a namespace", 10),
        ("create a service", 20),
        ("create the CRD", 48),
        ("replace the CRD", 5),
        ("delete the CRD", 1),
        ("delete the CRD with orders", 1),
        ("create an order", 20),
        ("delete an order", 1),
        ("patch an order", 1),
        ("refused", 20),
        ("restart", 20),
    ]);
}

#[tokio::test]
async fn a_crd_that_was_deleted_with_its_objects_is_deleted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let server = open(&path);
    for waits in [json!([]), json!(["example.com/wait"])] {
        let mut crd = crd(0);
        crd["metadata"]["finalizers"] = waits.clone();
        server.create(CRDS, crd);
        for name in ["a", "b"] {
            let order = json!({
                "apiVersion": "shop.example.com/v1", "kind": "Order", "metadata": { "name": name },
            });
            server.create("/apis/shop.example.com/v1/namespaces/default/orders", order);
        }
        let since = version(&server);
        let crd_path = format!("{CRDS}/orders.shop.example.com");
        assert_eq!(server.delete(&crd_path).0, 200);
        if waits != json!([]) {
            assert_eq!(server.get(&crd_path).1["metadata"]["finalizers"], waits);
            assert_eq!(server.merge(&crd_path, json!({ "metadata": { "finalizers": null } })).0, 200);
        }
        assert_eq!(server.get(&crd_path).0, 404);
        // Each object, and then the CRD, has one event at the end.
        let watch = format!("{CRDS}?watch=true&resourceVersion={since}");
        let mut body = respond(&server, Method::GET, &watch, "", &Value::Null).into_body();
        let mut events = String::new();
        while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
            events += &String::from_utf8_lossy(frame.data_ref().unwrap());
        }
        assert_eq!(events.matches(r#""type":"DELETED""#).count(), 1, "{events}");
    }
    let newest = version(&server);
    drop(server);
    let server = open(&path);
    assert_eq!(version(&server), newest);
}

#[tokio::test]
async fn a_watch_goes_on_after_a_restart_from_what_its_client_has_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let server = open(&path);
    let seen = server.create(CONFIG_MAPS, config_map("a"));
    let seen = seen["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    server.create(CONFIG_MAPS, config_map("b"));
    server.delete(&format!("{CONFIG_MAPS}/a"));
    drop(server);
    let server = open(&path);
    let watch = format!("{CONFIG_MAPS}?watch=true&resourceVersion={seen}");
    let mut events = Events::open(&server, &watch);
    assert_eq!(events.name().await, ("ADDED".to_owned(), "b".to_owned()));
    assert_eq!(events.name().await, ("DELETED".to_owned(), "a".to_owned()));
    server.create(CONFIG_MAPS, config_map("c"));
    assert_eq!(events.name().await, ("ADDED".to_owned(), "c".to_owned()));

    // What the server has forgotten, the next one does not know either.
    drop(events);
    server.compact();
    drop(server);
    let error = Events::open(&open(&path), &watch).next().await.unwrap();
    assert_eq!((&error["type"], &error["object"]["code"]), (&json!("ERROR"), &json!(410)), "{error}");
}

#[test]
fn a_server_without_a_file_writes_none_and_one_with_a_file_writes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.data");
    let server = open(&path);
    server.create(CONFIG_MAPS, config_map("a"));
    server.compact();
    drop(server);
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["cluster.data", "cluster.data.lock"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "secrets are in it");
    }
}

#[test]
fn services_do_not_get_the_addresses_and_ports_of_those_before_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let mut seen = std::collections::BTreeSet::new();
    for name in ["a", "b", "c"] {
        let server = open(&path);
        let spec = json!({ "type": "NodePort", "ports": [{ "port": 80 }], "selector": { "app": "a" } });
        let service = json!({ "metadata": { "name": name }, "spec": spec });
        let spec = server.create("/api/v1/namespaces/default/services", service)["spec"].take();
        assert!(seen.insert(spec["clusterIP"].to_string()), "{spec}");
        assert!(seen.insert(spec["ports"][0]["nodePort"].to_string()), "{spec}");
        if name == "b" {
            server.compact();
        }
    }
}
