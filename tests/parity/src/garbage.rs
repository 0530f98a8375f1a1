//! Random requests that make little sense: any method on any path, with odd queries, headers and bodies.
//!
//! Both servers must answer each of them, with the same status code and reason.

use proptest::{
    collection::vec,
    option,
    prelude::{Just, Strategy, prop_oneof},
    sample::select,
};
use serde_json::{Value, json};

use crate::{
    Scenario,
    scenario::{Action, Body, Request, Step, scenario},
};

/// Scenarios of twenty such requests each.
pub fn scenarios() -> impl Strategy<Value = Scenario> {
    vec(prop_oneof![3 => request(), 1 => nearly_right()], 20).prop_map(|requests| {
        let steps = requests.into_iter().map(|request| Step { name: None, action: Action::Request(request) });
        scenario("garbage", steps)
    })
}

/// What of an answer must be equal: whether there is one, its code, and the reason that it gives.
pub fn essence(answer: &Value) -> Value {
    let body = &answer["body"];
    let reason = if body["kind"] == "Status" { &body["reason"] } else { &Value::Null };
    json!({"status": answer["status"], "reason": reason, "no answer": answer["no answer"]})
}

fn request() -> impl Strategy<Value = Request> {
    (method(), path(), vec(parameter(), 0..3), content_type(), accept(), body()).prop_map(
        |(method, path, parameters, content_type, accept, body)| {
            let mut headers = Vec::new();
            headers.extend(content_type.map(|value| ("content-type", value.to_owned())));
            headers.extend(accept.map(|value| ("accept", value.to_owned())));
            let query = parameters.join("&");
            let path = if query.is_empty() { path } else { format!("{path}?{query}") };
            Request { method, path, headers, body }
        },
    )
}

/// A write that succeeds, unless its parameters or its order among others prevent it.
fn nearly_right() -> impl Strategy<Value = Request> {
    let kinds =
        vec![("/api/v1", "configmaps", "ConfigMap"), ("/apis/parity.example.com/v1", "widgets", "Widget")];
    let writes = vec![
        ("POST", "application/json", ""),
        ("PUT", "application/json", "/a"),
        ("PATCH", "application/merge-patch+json", "/a"),
        ("PATCH", "application/apply-patch+yaml", "/a"),
        ("DELETE", "application/json", "/a"),
    ];
    (select(kinds), select(writes), vec(parameter(), 0..3)).prop_map(
        |((root, resource, kind), (method, format, name), mut parameters)| {
            // Without it every apply is refused.
            if format == "application/apply-patch+yaml" {
                parameters.insert(0, "fieldManager=garbage".to_owned());
            }
            let query = parameters.join("&");
            let path = format!("{root}/namespaces/{{ns}}/{resource}{name}?{query}");
            let api_version = root.trim_start_matches("/apis/").trim_start_matches("/api/");
            let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
            let body = if method == "DELETE" { Body::None } else { Body::Json(object) };
            Request { method, path, headers: vec![("content-type", format.to_owned())], body }
        },
    )
}

/// Scenarios with every method on every path of some kinds, with one body for each kind.
pub fn every_path() -> Vec<Scenario> {
    let mut requests = Vec::new();
    for (root, resource, kind) in [
        ("/api/v1", "/configmaps", "ConfigMap"),
        ("/apis/apps/v1", "/deployments", "Deployment"),
        ("/apis/parity.example.com/v1", "/widgets", "Widget"),
        ("/apis/parity.example.com/v1", "/gadgets", "Gadget"),
    ] {
        let api_version = root.trim_start_matches("/apis/").trim_start_matches("/api/");
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
        for namespace in ["", "/namespaces/{ns}"] {
            for name in [String::new()].into_iter().chain(names()) {
                for subresource in [""].into_iter().chain(SUBRESOURCES) {
                    let path = format!("{root}{namespace}{resource}{name}{subresource}");
                    requests.extend(METHODS.into_iter().map(|method| {
                        let has_body = matches!(method, "POST" | "PUT" | "PATCH");
                        let media = if method == "PATCH" { "merge-patch+json" } else { "json" };
                        let headers = vec![("content-type", format!("application/{media}"))];
                        let body = if has_body { Body::Json(object.clone()) } else { Body::None };
                        Request { method, path: path.clone(), headers, body }
                    }));
                }
            }
        }
    }
    let step = |request: &Request| Step { name: None, action: Action::Request(request.clone()) };
    let chunks = requests.chunks(60).enumerate();
    chunks.map(|(number, chunk)| scenario(format!("paths {number}"), chunk.iter().map(step))).collect()
}

const METHODS: [&str; 8] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "PURGE"];

const SUBRESOURCES: [&str; 5] = ["/status", "/scale", "/other", "/status/more", "/"];

fn method() -> impl Strategy<Value = &'static str> {
    select(vec![
        "GET", "POST", "PUT", "PATCH", "DELETE", "GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS", "PURGE",
    ])
}

/// What can stand where a name should be.
fn names() -> Vec<String> {
    let names = [
        "/a",
        "/b",
        "/A%20b",
        "/..",
        "/%ff",
        "/a.b.c",
        "/%2e%2e",
        "/a%2Fb",
        "/%00",
        "/a;b",
        "/",
        "//",
        "/a/",
        "/%E2%98%83",
    ];
    let mut names: Vec<String> = names.map(str::to_owned).to_vec();
    names.push(format!("/{}", "a".repeat(300)));
    names.push(format!("/{}", "%41".repeat(1000)));
    names
}

/// A path of a few segments that are often those of real paths, in an order that often is the right one.
fn path() -> impl Strategy<Value = String> {
    let root =
        select(vec!["/api/v1", "/apis/parity.example.com/v1", "/apis/apps/v1", "/api/v2", "/apis", "/x"]);
    let namespace =
        option::weighted(0.8, select(vec!["/namespaces/{ns}", "/namespaces/{ns}", "/namespaces/absent"]));
    let resource =
        select(vec!["/configmaps", "/widgets", "/gadgets", "/secrets", "/deployments", "/nothing", "/zones"]);
    let real = vec![
        ("/api/v1", "/configmaps"),
        ("/api/v1", "/secrets"),
        ("/apis/parity.example.com/v1", "/widgets"),
        ("/apis/parity.example.com/v1", "/gadgets"),
        ("/apis/apps/v1", "/deployments"),
    ];
    let kind = prop_oneof![3 => select(real), 1 => (root, resource)];
    let name = option::weighted(0.7, prop_oneof![1 => Just("/a".to_owned()), 1 => select(names())]);
    let subresource = option::weighted(0.2, select(SUBRESOURCES.to_vec()));
    (kind, namespace, name, subresource).prop_map(|((root, resource), namespace, name, subresource)| {
        let mut path = format!("{root}{}{resource}", namespace.unwrap_or_default());
        if let Some(name) = name {
            path.push_str(&name);
            path.push_str(subresource.unwrap_or_default());
        }
        path
    })
}

fn parameter() -> impl Strategy<Value = String> {
    let names = vec![
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "labelSelector",
        "fieldSelector",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
        "pretty",
        "gracePeriodSeconds",
        "propagationPolicy",
        "x",
    ];
    let values = vec![
        "",
        "0",
        "1",
        "-1",
        "x",
        "true",
        "All",
        "Strict",
        "a%3Db",
        "a%3D%3D%3Db",
        "metadata.name%3Da",
        "%00",
        "%E2%98%83",
        "99999999999999999999",
    ];
    (select(names), select(values)).prop_map(|(name, value)| format!("{name}={value}"))
}

fn content_type() -> impl Strategy<Value = Option<&'static str>> {
    option::weighted(
        0.9,
        select(vec![
            "application/json",
            "application/json",
            "application/yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "application/json; charset=utf-8",
            "APPLICATION/JSON",
            "text/plain",
            "application/",
            ";;",
        ]),
    )
}

fn accept() -> impl Strategy<Value = Option<&'static str>> {
    let values = vec![
        "application/json",
        "*/*",
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "text/html",
        ",",
        ";q=x",
    ];
    option::weighted(0.2, select(values))
}

/// The beginning of an object.
fn truncated(length: usize) -> Body {
    let whole = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"a": "b"}}, "data": {"k": "v"}});
    Body::Text(whole.to_string().chars().take(length).collect())
}

/// An object with a value that is that deep.
fn deep(depth: usize) -> Body {
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    Body::Text(format!(
        r#"{{"apiVersion":"parity.example.com/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"free":{{"x":{open}{close}}}}}}}"#
    ))
}

fn body() -> impl Strategy<Value = Body> {
    let object = |api_version: &'static str, kind: &'static str| {
        select(vec![
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}),
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "b", "labels": {"a": "b"}}}),
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": ["a"]}}),
            json!({"apiVersion": api_version, "kind": kind, "metadata": null}),
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": 5}),
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "data": [1]}),
        ])
        .prop_map(Body::Json)
    };
    prop_oneof![
        2 => Just(Body::None),
        4 => object("v1", "ConfigMap"),
        4 => object("parity.example.com/v1", "Widget"),
        1 => object("v1", "Status"),
        1 => select(vec![json!([]), json!({}), json!(null), json!(1), json!("text"), json!([{"op": "remove", "path": "/x"}])]).prop_map(Body::Json),
        1 => (1..120_usize).prop_map(truncated),
        1 => select(vec![10, 100, 20_000]).prop_map(deep),
        1 => select(vec!["1e999", "-0", "1.5", "123456789012345678901234567890", "\"\\ud800\"", "{\"a\":1,\"a\":2}", "a: [", "a: b\n\t- c", "&a [*a]", "{,}", "nul", "\u{feff}{}"]).prop_map(|text| Body::Text(text.to_owned())),
        1 => "\\PC{0,20}".prop_map(Body::Text),
        1 => vec(proptest::num::u8::ANY, 0..40).prop_map(Body::Bytes),
    ]
}
