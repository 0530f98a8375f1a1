//! A scripted Kubernetes API server.
//!
//! A test provides one function from a request to an [`Answer`]. It runs either behind a real socket
//! ([`ScriptedServer`]), with the cuts and chunks of a network, or directly behind the client
//! ([`in_process`]), where tokio's clock can be paused. Both log each request.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

mod http_server;
mod in_process;
mod recorder;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use genclient_runtime::reflector::ReflectorConfig;
pub use http_server::ScriptedServer;
pub use in_process::in_process;
use parking_lot::Mutex;
pub use recorder::{Recorder, View, recorder};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The default configuration of a reflector with this change.
pub fn config<K>(change: impl FnOnce(&mut ReflectorConfig<K>)) -> ReflectorConfig<K> {
    let mut config = ReflectorConfig::default();
    change(&mut config);
    config
}

/// A request that the server received.
#[derive(Clone, Debug)]
pub struct Received {
    pub method: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
    pub body: Bytes,
}

impl Received {
    pub fn new(
        method: &str,
        target: &str,
        headers: impl Iterator<Item = (String, String)>,
        body: Bytes,
    ) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Self { method: method.into(), path: path.into(), query, headers: headers.collect(), body }
    }

    pub fn query(&self, key: &str) -> Option<&str> {
        self.query.get(key).map(String::as_str)
    }

    pub fn is_watch(&self) -> bool {
        self.query("watch") == Some("true")
    }

    pub fn is_streaming_list(&self) -> bool {
        self.query("sendInitialEvents") == Some("true")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// The response of a server.
pub enum Answer {
    /// A complete response.
    Whole { status: u16, headers: Vec<(&'static str, String)>, body: Bytes },
    /// A body that the test writes chunk by chunk.
    Stream { headers: Vec<(&'static str, String)>, pieces: mpsc::Receiver<Piece> },
    /// No response: the connection is closed.
    Refuse,
    /// No response, and the connection stays open.
    Silence,
}

/// A chunk of a body.
pub enum Piece {
    Bytes(Bytes),
    /// The connection breaks.
    Cut,
}

impl Answer {
    pub fn json(value: Value) -> Self {
        Self::Whole { status: 200, headers: vec![], body: written(&value).into() }
    }

    pub fn text(status: u16, body: impl Into<Bytes>) -> Self {
        Self::Whole { status, headers: vec![], body: body.into() }
    }

    /// An error as the server writes it.
    pub fn status(code: u16, reason: &str, message: &str) -> Self {
        Self::Whole { status: code, headers: vec![], body: status(code, reason, message).to_string().into() }
    }

    pub fn header(mut self, name: &'static str, value: impl ToString) -> Self {
        if let Self::Whole { headers, .. } | Self::Stream { headers, .. } = &mut self {
            headers.push((name, value.to_string()));
        }
        self
    }

    /// A body that the test writes. It ends regularly when the writer is dropped.
    pub fn stream() -> (Writer, Self) {
        let (sender, receiver) = mpsc::channel(1024);
        (Writer(sender), Self::Stream { headers: vec![], pieces: receiver })
    }

    /// A watch that sends these events and then stays open.
    pub fn watch(events: impl IntoIterator<Item = Value>) -> Self {
        let (writer, answer) = Self::stream();
        for event in events {
            writer.event(event);
        }
        writer.leave_open();
        answer
    }

    /// A watch that sends these events and ends.
    pub fn ended_watch(events: impl IntoIterator<Item = Value>) -> Self {
        let lines: String = events.into_iter().map(|event| line(&event)).collect();
        Self::text(200, lines)
    }
}

/// A value as a server writes it: `kind`, `apiVersion` and `metadata` before `items`, and the type of
/// an event before its object. `json!` sorts keys, and no server does.
pub fn written(value: &Value) -> String {
    const FIRST: [&str; 5] = ["kind", "apiVersion", "metadata", "type", "object"];
    match value {
        Value::Object(fields) => {
            let first = FIRST.iter().filter_map(|key| fields.get_key_value(*key));
            let rest = fields.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
            let fields = first.chain(rest).map(|(key, value)| format!("{}:{}", json!(key), written(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// An event as a server writes it.
pub fn line(event: &Value) -> String {
    format!("{}\n", written(event))
}

/// Writes the body of a response.
#[derive(Clone)]
pub struct Writer(mpsc::Sender<Piece>);

impl Writer {
    /// Writes a line.
    pub fn event(&self, event: Value) {
        self.raw(line(&event));
    }

    /// Writes bytes.
    pub fn raw(&self, bytes: impl Into<Bytes>) {
        self.0.try_send(Piece::Bytes(bytes.into())).unwrap_or_else(|_| panic!("nobody reads the answer"));
    }

    /// Breaks the connection.
    pub fn cut(self) {
        self.0.try_send(Piece::Cut).unwrap_or_else(|_| panic!("nobody reads the answer"));
    }

    /// The number of chunks that can be written before the client reads.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Waits until the client has disconnected.
    pub async fn closed(&self) {
        self.0.closed().await;
    }

    /// Keeps the body open while the client reads it.
    pub fn leave_open(self) {
        tokio::spawn(async move { self.0.closed().await });
    }
}

/// The script of a server.
pub trait Handler: Fn(Received) -> Answer + Send + Sync + 'static {}
impl<F: Fn(Received) -> Answer + Send + Sync + 'static> Handler for F {}

/// The requests that a server received.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Received>>>);

impl Log {
    pub fn push(&self, request: Received) {
        self.0.lock().push(request);
    }

    pub fn all(&self) -> Vec<Received> {
        self.0.lock().clone()
    }

    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub fn watches(&self) -> Vec<Received> {
        self.all().into_iter().filter(Received::is_watch).collect()
    }

    pub fn lists(&self) -> Vec<Received> {
        self.all().into_iter().filter(|request| !request.is_watch()).collect()
    }
}

/// Answers in this order; after the last, watches stay silent and everything else is refused.
pub fn script(answers: impl IntoIterator<Item = Answer>) -> impl Handler {
    let answers = Mutex::new(answers.into_iter().collect::<VecDeque<_>>());
    move |request: Received| match answers.lock().pop_front() {
        Some(answer) => answer,
        None if request.is_watch() => Answer::watch([]),
        None => Answer::status(500, "InternalError", "the script has ended"),
    }
}

/// Refuses streamed lists, as a server without the feature does, and leaves the rest to `handler`.
pub fn without_streaming(handler: impl Handler) -> impl Handler {
    move |request: Received| {
        if request.is_streaming_list() { streaming_refused() } else { handler(request) }
    }
}

pub fn streaming_refused() -> Answer {
    Answer::status(422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
}

pub fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
           "code": code, "reason": reason, "message": message})
}

/// A ConfigMap in namespace `default`, whose uid is its name.
pub fn config_map(name: &str, version: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": "default", "name": name, "uid": name, "resourceVersion": version.to_string(),
            "managedFields": [{"manager": "test", "operation": "Update", "fieldsV1": {"f:data": {}}}],
        },
        "data": {"version": version.to_string()},
    })
}

/// A ConfigMap that does not decode: its data is a number.
pub fn invalid_config_map(name: &str, version: u64) -> Value {
    let mut object = config_map(name, version);
    object["data"]["port"] = json!(80);
    object
}

pub fn list(version: u64, items: impl IntoIterator<Item = Value>) -> Value {
    json!({"kind": "ConfigMapList", "apiVersion": "v1",
           "metadata": {"resourceVersion": version.to_string()},
           "items": items.into_iter().collect::<Vec<_>>()})
}

pub fn page(version: u64, token: &str, items: impl IntoIterator<Item = Value>) -> Value {
    let mut page = list(version, items);
    page["metadata"]["continue"] = json!(token);
    page
}

pub fn added(object: Value) -> Value {
    json!({"type": "ADDED", "object": object})
}

pub fn modified(object: Value) -> Value {
    json!({"type": "MODIFIED", "object": object})
}

pub fn deleted(object: Value) -> Value {
    json!({"type": "DELETED", "object": object})
}

pub fn bookmark(version: u64) -> Value {
    json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1",
           "metadata": {"resourceVersion": version.to_string()}}})
}

pub fn initial_events_end(version: u64) -> Value {
    let mut event = bookmark(version);
    event["object"]["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    event
}

pub fn error_event(code: u16, reason: &str, message: &str) -> Value {
    json!({"type": "ERROR", "object": status(code, reason, message)})
}
