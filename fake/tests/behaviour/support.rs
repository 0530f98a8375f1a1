//! Requests in one line.

use bytes::Bytes;
use genclient_fake::Server;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use serde_json::{Value, json};

/// A request to a server, and its answer.
pub trait Requests {
    /// Sends a request with a JSON body and returns the code and the body of the answer.
    fn send(&self, method: Method, path: &str, media: &str, body: &Value) -> (u16, Value);

    /// Reads a path.
    fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, "", &Value::Null)
    }

    /// Creates an object, which must succeed.
    fn create(&self, path: &str, body: Value) -> Value {
        let (code, value) = self.post(path, body);
        assert_eq!(code, 201, "{value}");
        value
    }

    /// Creates an object.
    fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, path, "application/json", &body)
    }

    /// Replaces an object.
    fn put(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(Method::PUT, path, "application/json", body)
    }

    /// Deletes an object.
    fn delete(&self, path: &str) -> (u16, Value) {
        self.send(Method::DELETE, path, "", &Value::Null)
    }

    /// Applies a merge patch.
    fn merge(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::PATCH, path, "application/merge-patch+json", &body)
    }

    /// Applies a configuration.
    fn apply(&self, path: &str, manager: &str, body: Value) -> (u16, Value) {
        let query = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{query}fieldManager={manager}");
        self.send(Method::PATCH, &path, "application/apply-patch+yaml", &body)
    }
}

/// Sends a request and returns the whole answer.
pub fn respond(
    server: &Server,
    method: Method,
    path: &str,
    media: &str,
    body: &Value,
) -> Response<genclient_fake::ResponseBody> {
    let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let mut request = Request::builder().method(method).uri(path).header("user-agent", "test/1.0");
    if !media.is_empty() {
        request = request.header("content-type", media);
    }
    server.respond(request.body(bytes).unwrap())
}

impl Requests for Server {
    fn send(&self, method: Method, path: &str, media: &str, body: &Value) -> (u16, Value) {
        let response = respond(self, method, path, media, body);
        let code = response.status().as_u16();
        let bytes = response.into_body().bytes().cloned().expect("the answer is no watch");
        let value = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
        (code, value)
    }
}

/// An open watch.
pub struct Events(genclient_fake::ResponseBody);

impl Events {
    /// Opens a watch.
    pub fn open(server: &Server, path: &str) -> Self {
        let response = respond(server, Method::GET, path, "", &Value::Null);
        assert_eq!(response.status(), 200);
        Self(response.into_body())
    }

    /// Returns the next event, or `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        let frame = self.0.frame().await?.unwrap().into_data().unwrap();
        Some(serde_json::from_slice(&frame).unwrap())
    }

    /// Returns the type and the name of the next event.
    pub async fn name(&mut self) -> (String, String) {
        let event = self.next().await.expect("the watch is open");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }
}

/// The path of the ConfigMaps of the default namespace.
pub const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A ConfigMap.
pub fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "key": "value" } })
}
