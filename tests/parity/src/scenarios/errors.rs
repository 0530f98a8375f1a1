//! Requests that no server should take: unknown paths and verbs, bodies that do not parse, odd queries.

use serde_json::json;

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, WIDGETS, config_map, widget},
    scenario::*,
};

pub(super) fn scenarios() -> Vec<Scenario> {
    let one = |name: &str| format!("{CONFIG_MAPS}/{name}");
    let a = || format!("{WIDGETS}/a");
    vec![
        scenario("an unknown resource is not found", [
            get("/api/v1/namespaces/{ns}/unknowns"),
            get("/api/v1/unknowns"),
            get("/apis/parity.example.com/v1/unknowns"),
            get("/apis/parity.example.com/v1/namespaces/{ns}/unknowns/a"),
            create("/api/v1/namespaces/{ns}/unknowns", json!({"apiVersion": "v1", "kind": "Unknown", "metadata": {"name": "a"}})),
            delete("/api/v1/namespaces/{ns}/unknowns/a"),
        ]),
        scenario("an unknown group or version is not found", [
            get("/apis/unknown.example.com/v1/things"),
            get("/apis/parity.example.com/v9/widgets"),
            get("/apis/apps/v9/deployments"),
            get("/api/v9/pods"),
        ]),
        scenario("an unknown path is not found", [get("/unknown"), get("/api/v1/namespaces/{ns}/"), get("/apis/parity.example.com/v1/namespaces"), get("//api/v1")]),
        scenario("a namespaced kind is not created without a namespace", [
            create("/api/v1/configmaps", config_map("a", json!({}))),
            create("/apis/parity.example.com/v1/widgets", widget("a", json!({}))),
            get("/api/v1/configmaps/a"),
            get("/apis/parity.example.com/v1/widgets/a"),
        ]),
        scenario("a cluster-scoped kind is not found in a namespace", [
            get("/apis/parity.example.com/v1/namespaces/{ns}/zones"),
            get("/api/v1/namespaces/{ns}/nodes"),
            create("/apis/parity.example.com/v1/namespaces/{ns}/zones", json!({"apiVersion": "parity.example.com/v1", "kind": "Zone", "metadata": {"name": "a"}})),
        ]),
        scenario("a method that is not served is not allowed", [
            send("PUT", CONFIG_MAPS),
            send("PATCH", CONFIG_MAPS),
            send("POST", one("a")),
            send("OPTIONS", CONFIG_MAPS),
            send("TRACE", CONFIG_MAPS),
            send("HEAD", CONFIG_MAPS),
            send("PURGE", CONFIG_MAPS),
            send("PUT", WIDGETS),
            send("PATCH", WIDGETS),
            send("POST", a()),
            send("PURGE", WIDGETS),
        ]),
        scenario("a body that is no JSON is refused", [
            send_text("POST", CONFIG_MAPS, "{"),
            send_text("POST", CONFIG_MAPS, ""),
            send_text("POST", CONFIG_MAPS, "text"),
            send_text("POST", CONFIG_MAPS, "[]"),
            send_text("POST", CONFIG_MAPS, "null"),
            send_text("POST", CONFIG_MAPS, "5"),
            send_text("POST", WIDGETS, "{"),
            send_text("POST", WIDGETS, ""),
            send_text("POST", WIDGETS, "text"),
            send_text("POST", WIDGETS, "[]"),
            send_text("POST", WIDGETS, "null"),
            send_text("PUT", one("a"), "{"),
            send_text("PUT", a(), "{"),
        ]),
        scenario("a body with more after it is refused", [
            send_text("POST", CONFIG_MAPS, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} x"#),
            send_text("POST", CONFIG_MAPS, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}} {}"#),
            send_text("POST", WIDGETS, r#"{"apiVersion":"parity.example.com/v1","kind":"Widget","metadata":{"name":"a"}} x"#),
        ]),
        scenario("an empty object is refused", [create(CONFIG_MAPS, json!({})), create(WIDGETS, json!({}))]),
        scenario("bytes that are no UTF-8 are refused", [
            send_bytes("POST", CONFIG_MAPS, b"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\xff\xfe\"}}".to_vec()),
            send_bytes("POST", CONFIG_MAPS, vec![0, 159, 146, 150]),
        ]),
        scenario("an object of another kind is refused, and what it does not say is taken from the path", [
            create(CONFIG_MAPS, json!({"kind": "Other", "metadata": {"name": "a"}})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "Other", "metadata": {"name": "a"}})),
            create(CONFIG_MAPS, json!({"apiVersion": "example.com/v1", "metadata": {"name": "a"}})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMapList"})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "DeleteOptions"})),
            create(CONFIG_MAPS, json!({"apiVersion": "apps/v1", "kind": "WatchEvent"})),
            create(CONFIG_MAPS, json!({"apiVersion": "autoscaling/v1", "kind": "Scale"})),
            create("/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers", json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}})),
            create(CONFIG_MAPS, json!({"kind": "ConfigMap", "metadata": {"name": "a"}})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "metadata": {"name": "b"}})),
            create(CONFIG_MAPS, json!({"metadata": {"name": "c"}})),
        ]),
        scenario("the options of a list are checked before the fields of its selector", [
            get(CONFIG_MAPS).query("fieldSelector=a%3Db&resourceVersionMatch=0"),
            get(CONFIG_MAPS).query("fieldSelector=a%3Db,c&resourceVersionMatch=0"),
            get(CONFIG_MAPS).query("fieldSelector=a%3Db,c"),
            get(CONFIG_MAPS).query("fieldSelector=a%3Db&limit=x"),
            get(CONFIG_MAPS).query("watch=true&fieldSelector=a%3Db&resourceVersionMatch=0"),
            delete(CONFIG_MAPS).query("fieldSelector=a%3Db&resourceVersionMatch=0"),
            get(WIDGETS).query("fieldSelector=a%3Db&resourceVersionMatch=0"),
            delete(WIDGETS).query("fieldSelector=a%3Db&resourceVersionMatch=0"),
        ]),
        scenario("a number that is not whole is refused", [
            create("/apis/apps/v1/namespaces/{ns}/deployments", json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 1.5}})),
            create("/apis/apps/v1/namespaces/{ns}/deployments", json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 1.0}})),
        ]),
        scenario("metadata of a wrong type is refused", [
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": "a"})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": 5}})),
            create(CONFIG_MAPS, json!({"apiVersion": "v1", "kind": 5, "metadata": {"name": "a"}})),
            create(CONFIG_MAPS, json!({"apiVersion": 1, "kind": "ConfigMap", "metadata": {"name": "a"}})),
            create(WIDGETS, json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": "a"})),
            create(WIDGETS, json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": 5}})),
            create(WIDGETS, json!({"apiVersion": "parity.example.com/v1", "kind": 5, "metadata": {"name": "a"}})),
            create(WIDGETS, json!({"apiVersion": "a/b/c", "kind": "Widget", "metadata": {"name": "a"}})),
            create(WIDGETS, json!({"apiVersion": "parity.example.com/v1", "kind": "Widget", "metadata": {"name": "a", "finalizers": "x"}})),
        ]),
        scenario("a media type that is not known is refused", [
            create(CONFIG_MAPS, config_map("a", json!({}))).header("content-type", "text/plain"),
            create(CONFIG_MAPS, config_map("a", json!({}))).header("content-type", "application/xml"),
            create(CONFIG_MAPS, config_map("a", json!({}))).header("content-type", "garbage"),
            create(WIDGETS, widget("a", json!({}))).header("content-type", "text/plain"),
            create(CONFIG_MAPS, config_map("a", json!({}))).without_header("content-type"),
            create(WIDGETS, widget("a", json!({}))).without_header("content-type"),
        ]),
        scenario("an answer that cannot be given is not acceptable", [
            get(CONFIG_MAPS).accept("text/html"),
            get(CONFIG_MAPS).accept("image/png"),
            get(WIDGETS).accept("text/plain"),
            get(WIDGETS).accept("application/json;as=Unknown;g=meta.k8s.io;v=v1"),
            get(CONFIG_MAPS).accept("application/json;as=Table;g=meta.k8s.io;v=v9"),
            get(CONFIG_MAPS).accept("*/*"),
            get(CONFIG_MAPS).accept("text/html, application/json"),
            get(CONFIG_MAPS).accept("application/*"),
            get(CONFIG_MAPS).accept(""),
        ]),
        scenario("parameters that are not known are ignored", [
            get(CONFIG_MAPS).query("unknown=1"),
            create(CONFIG_MAPS, config_map("a", json!({}))).query("unknown=1&another"),
            get(one("a")).query("limit=x"),
        ]),
        scenario("parameters of a wrong type are refused", [
            watch("w", CONFIG_MAPS).query("watch=perhaps"),
            get(CONFIG_MAPS).query("timeoutSeconds=soon"),
            get(CONFIG_MAPS).query("allowWatchBookmarks=perhaps"),
            get(WIDGETS).query("limit=many"),
            get(WIDGETS).query("watch=0"),
                get(CONFIG_MAPS).query("watch=false"),
            merge_patch(one("a"), json!({})).query("force=perhaps"),
        ]),
        scenario("a parameter that is given twice counts once", [
            create(CONFIG_MAPS, config_map("a", json!({}))),
            create(CONFIG_MAPS, config_map("b", json!({}))),
            get(CONFIG_MAPS).query("limit=1&limit=5"),
            get(CONFIG_MAPS).query("fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db"),
        ]),
        scenario("a body that is too large is refused", [
            create(CONFIG_MAPS, config_map("a", json!({"k": "x".repeat(1_100_000)}))),
            create(CONFIG_MAPS, config_map("a", json!({"k": "x".repeat(3_200_000)}))),
            create(WIDGETS, widget("a", json!({"note": "x".repeat(3_200_000)}))),
        ]),
        scenario("a JSON patch with too many operations is refused", [
            create(CONFIG_MAPS, config_map("a", json!({"k": "v"}))),
            json_patch(one("a"), (0..10_001).map(|_| json!({"op": "test", "path": "/data/k", "value": "v"})).collect()),
        ]),
        scenario("a name in a path is decoded", [
            create(CONFIG_MAPS, config_map("a.b", json!({}))),
            get(format!("{CONFIG_MAPS}/a%2Eb")),
            get(format!("{CONFIG_MAPS}/a%2Fb")),
            get(format!("{CONFIG_MAPS}/A")),
            get(format!("{CONFIG_MAPS}/%00")),
        ]),
        scenario("a namespace in a path that is invalid is not found", [
            create("/api/v1/namespaces/Not_Valid/configmaps", config_map("a", json!({}))),
            get("/api/v1/namespaces/Not_Valid/configmaps/a"),
        ]),
        scenario("a deep body is refused or pruned", [
            send_text("POST", WIDGETS, format!(r#"{{"apiVersion":"parity.example.com/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"free":{}1{}}}}}"#, r#"{"a":"#.repeat(90), "}".repeat(90))),
            send_text("POST", CONFIG_MAPS, format!("{}{}", "[".repeat(20_000), "]".repeat(20_000))),
        ]),
        scenario("a watch of a thing that cannot be watched is refused", [
            get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
            watch("w", "/api/v1/namespaces/{ns}/bindings"),
        ]),
        scenario("field validation of an unknown kind is refused", [
            create(CONFIG_MAPS, config_map("a", json!({}))).query("fieldValidation=Perhaps"),
            merge_patch(one("a"), json!({})).query("fieldValidation=Perhaps"),
        ]),
    ]
}
