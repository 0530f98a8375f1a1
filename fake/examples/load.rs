//! Measures how long the server takes to start, and to create, list, watch, patch and delete many objects.
//!
//! `cargo run --release -p genclient-fake --example load -- 100000`

use std::time::Instant;

use bytes::Bytes;
use genclient_fake::{ResponseBody, Server};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn send(server: &Server, method: Method, path: &str, media: &str, body: &Value) -> Response<ResponseBody> {
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let request = Request::builder().method(method).uri(path).header("content-type", media).body(body);
    let response = server.respond(request.expect("the request is well-formed"));
    assert!(response.status().is_success(), "{path}: {}", response.status());
    response
}

fn read(response: &Response<ResponseBody>) -> Value {
    let bytes = response.body().bytes().expect("the answer is whole");
    serde_json::from_slice(bytes).expect("the answer is JSON")
}

/// Measures one step.
fn measured<T>(name: &str, step: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = step();
    println!("{name:<24}{:>12.3?}", started.elapsed());
    result
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let objects: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let none = Value::Null;
    let names: Vec<String> = (0..objects).map(|number| format!("map-{number}")).collect();
    let server = measured("start the first", Server::new);
    measured("start another", Server::new);
    let watch = send(&server, Method::GET, &format!("{MAPS}?watch=true"), "", &none);
    measured("create", || {
        for name in &names {
            let map = json!({ "metadata": { "name": name, "labels": { "app": "load" } }, "data": { "key": "value" } });
            send(&server, Method::POST, MAPS, "application/json", &map);
        }
    });
    measured("list", || send(&server, Method::GET, MAPS, "", &none));
    measured("list with a selector", || {
        send(&server, Method::GET, &format!("{MAPS}?labelSelector=app%3Dother"), "", &none)
    });
    measured("list in pages of 500", || {
        let mut path = format!("{MAPS}?limit=500");
        loop {
            // A write between two pages makes the server look into the past.
            let patch = json!({ "data": { "page": path } });
            send(&server, Method::PATCH, &format!("{MAPS}/map-0"), "application/merge-patch+json", &patch);
            let page = read(&send(&server, Method::GET, &path, "", &none));
            match page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
                Some(token) => path = format!("{MAPS}?limit=500&continue={token}"),
                None => break,
            }
        }
    });
    let started = Instant::now();
    let mut body = watch.into_body();
    for _ in 0..objects {
        body.frame().await.expect("the watch goes on").expect("a watch cannot fail");
    }
    println!("{:<24}{:>12.3?}", "watch", started.elapsed());
    measured("patch", || {
        for name in &names {
            let patch = json!({ "data": { "key": "other" } });
            send(&server, Method::PATCH, &format!("{MAPS}/{name}"), "application/merge-patch+json", &patch);
        }
    });
    measured("delete the namespace", || {
        let place = "/api/v1/namespaces/other";
        send(
            &server,
            Method::POST,
            "/api/v1/namespaces",
            "application/json",
            &json!({ "metadata": { "name": "other" } }),
        );
        for name in names.iter().take(objects / 10) {
            let map = json!({ "metadata": { "name": name } });
            send(&server, Method::POST, &format!("{place}/configmaps"), "application/json", &map);
        }
        send(&server, Method::DELETE, place, "", &none);
    });
    measured("delete the collection", || send(&server, Method::DELETE, MAPS, "", &none));
}
