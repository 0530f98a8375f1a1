//! Sends a scenario's requests to a server and writes down the answers.

use std::{collections::BTreeMap, time::Duration};

use futures::StreamExt;
use genclient_tally::Tally;
use http::Response;
use http_body_util::BodyStream;
use kube::client::Body as HttpBody;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::{
    Scenario, Target,
    scenario::{Action, Body, Request, Step},
};

/// Long after anything should have happened, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Controllers try again later and later what they could not do.
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// How long a watch must be silent for it to be called quiet.
const MOMENT: Duration = Duration::from_millis(400);

/// The headers of an answer that are compared.
const HEADERS: [&str; 4] = ["content-type", "warning", "allow", "retry-after"];

/// One step as it was done, with the answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request line and the body, or what else was done.
    pub shown: String,
    /// Status code, headers and body; or events.
    pub answer: Value,
}

/// A scenario as it runs on one server.
pub struct Run<'a> {
    target: &'a Target,
    id: String,
    saved: BTreeMap<&'static str, Value>,
    watches: BTreeMap<&'static str, mpsc::UnboundedReceiver<Value>>,
}

/// Runs a scenario in a namespace of its own and returns what was said, not yet normalised, and the unique name
/// of this run.
pub async fn run(target: &Target, scenario: &Scenario) -> (String, Vec<Exchange>) {
    let id = target.unique().await;
    let mut run = Run::new(target, id.clone());
    let mut exchanges = Vec::new();
    for step in &scenario.steps {
        let shown = run.show(step);
        let answer = run.step(step).await;
        count(&target.answers, &step.action, &answer);
        exchanges.push(Exchange { shown, answer });
    }
    (id, exchanges)
}

/// Counts an answer: a success by its verb and its resource, a failure by its code and reason, events by their type.
fn count(answers: &Tally, action: &Action, answer: &Value) {
    for event in answer["events"].as_array().into_iter().flatten() {
        answers.count(format!("event {}", event["type"].as_str().unwrap_or("without a type")));
    }
    let Action::Request(request) = action else { return };
    match answer["status"].as_u64() {
        None => answers.count("no answer"),
        Some(..400) => {
            let (verb, resource) = request.verb_and_resource();
            answers.count(verb);
            answers.count(resource);
        }
        Some(code) => {
            let reason = answer["body"]["reason"].as_str().unwrap_or("without a reason");
            answers.count(format!("{code} {reason}"));
        }
    }
}

impl<'a> Run<'a> {
    /// A run with this unique name.
    pub fn new(target: &'a Target, id: String) -> Self {
        Self { target, id, saved: BTreeMap::new(), watches: BTreeMap::new() }
    }

    /// Does one step and returns the answer.
    pub async fn step(&mut self, step: &Step) -> Value {
        let answer = match &step.action {
            Action::Request(request) => self.request(request).await,
            Action::Until(request, condition) => {
                let deadline = Instant::now() + LONG_PATIENCE;
                loop {
                    let answer = self.request(request).await;
                    if condition(&answer) || Instant::now() > deadline {
                        break answer;
                    }
                    sleep(Duration::from_millis(20)).await;
                }
            }
            Action::Open(request) => self.open(step.name.expect("a watch has a name"), request).await,
            Action::Events(watch, count) => {
                self.read(watch, PATIENCE, |events, _| events.len() == *count).await
            }
            Action::Type(watch, wanted) => {
                self.read(watch, PATIENCE, |_, event| event["type"] == *wanted).await
            }
            Action::Named(watch, name) => {
                self.read(watch, PATIENCE, |_, event| event["object"]["metadata"]["name"] == *name).await
            }
            Action::Ended(watch) => self.read(watch, PATIENCE, |_, _| false).await,
            Action::Quiet(watch) => self.read(watch, MOMENT, |_, _| false).await,
            Action::Close(watch) => {
                self.watches.remove(watch);
                Value::Null
            }
            Action::Compact => {
                self.target.compact().await;
                Value::Null
            }
        };
        if let Some(name) = step.name {
            let failed = answer["status"].as_u64().is_none_or(|status| status >= 400);
            if !failed || !self.saved.contains_key(name) {
                self.saved.insert(name, answer["body"].clone());
            }
        }
        answer
    }

    /// The step with the placeholders replaced, for reports.
    fn show(&self, step: &Step) -> String {
        let shown = |request: &Request| {
            let mut text = format!("{} {}", request.method, self.fill_path(&request.path));
            for (name, value) in &request.headers {
                text.push_str(&format!("\n{name}: {value}"));
            }
            let body = String::from_utf8_lossy(&self.body(&request.body)).into_owned();
            if !body.is_empty() {
                let short: String = body.chars().take(2000).collect();
                text.push('\n');
                text.push_str(&short);
            }
            text
        };
        match &step.action {
            Action::Request(request) => shown(request),
            Action::Until(request, _) => format!("(until it is so) {}", shown(request)),
            Action::Open(request) => format!("(watch) {}", shown(request)),
            Action::Events(watch, count) => format!("(the next {count} events of the watch {watch:?})"),
            Action::Type(watch, kind) => format!("(the events of the watch {watch:?} until {kind})"),
            Action::Named(watch, name) => {
                format!("(the events of the watch {watch:?} until one of {name:?})")
            }
            Action::Quiet(watch) => format!("(the events of the watch {watch:?} until none comes)"),
            Action::Ended(watch) => format!("(the events of the watch {watch:?} until it ends)"),
            Action::Close(watch) => format!("(close the watch {watch:?})"),
            Action::Compact => String::from("(compact)"),
        }
    }

    /// Sends a request, and sends it again while the server is not ready for a new definition.
    async fn request(&self, request: &Request) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.request_once(request).await;
            let initializing = answer["body"]["message"] == "storage is (re)initializing";
            if !initializing || Instant::now() > deadline {
                break answer;
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn request_once(&self, request: &Request) -> Value {
        let sent = timeout(PATIENCE, async {
            let response = self.target.send(&self.filled(request), self.body(&request.body)).await?;
            let head = head(&response);
            let bytes = response.into_body().collect_bytes().await.map_err(|error| error.to_string())?;
            Ok::<_, String>(with_body(head, &bytes))
        })
        .await;
        match sent {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => json!({"no answer": error}),
            Err(_) => json!({"no answer": "timeout"}),
        }
    }

    fn filled(&self, request: &Request) -> Request {
        let mut filled = request.clone();
        filled.path = self.fill_path(&request.path);
        filled
    }

    async fn open(&mut self, name: &'static str, request: &Request) -> Value {
        let request = self.filled(request);
        let sent = self.target.send(&request, Vec::new());
        let response = match timeout(PATIENCE, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return json!({"no answer": error}),
            Err(_) => return json!({"no answer": "timeout"}),
        };
        let head = head(&response);
        if head["status"] != 200 {
            return match timeout(PATIENCE, response.into_body().collect_bytes()).await {
                Ok(Ok(bytes)) => with_body(head, &bytes),
                other => json!({"no answer": format!("{other:?}")}),
            };
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            tokio::select! {
                () = stream(response, &sender) => (),
                () = sender.closed() => (),
            }
        });
        self.watches.insert(name, receiver);
        head
    }

    /// Reads events until the condition holds, the stream ends, or no event has come for that long.
    async fn read(
        &mut self,
        watch: &str,
        silence: Duration,
        done: impl Fn(&[Value], &Value) -> bool,
    ) -> Value {
        let Some(receiver) = self.watches.get_mut(watch) else { return json!("the watch is not open") };
        let mut events = Vec::new();
        let overall = Instant::now() + PATIENCE;
        loop {
            let deadline = overall.min(Instant::now() + silence);
            match timeout_at(deadline, receiver.recv()).await {
                // The server sends bookmarks at times of its own choice, except for the end of the initial events.
                Ok(Some(event))
                    if event["type"] == "BOOKMARK"
                        && event["object"]["metadata"]["annotations"].is_null() => {}
                Ok(Some(event)) => {
                    events.push(event);
                    if done(&events, &events[events.len() - 1]) {
                        break json!({"events": events});
                    }
                }
                Ok(None) => break json!({"events": events, "ended": true}),
                Err(_) => break json!({"events": events, "ended": false}),
            }
        }
    }

    fn body(&self, body: &Body) -> Vec<u8> {
        match body {
            Body::None => Vec::new(),
            Body::Json(value) => self.fill_value(value).to_string().into_bytes(),
            Body::Text(text) => self.fill(text, false).into_bytes(),
            Body::Bytes(bytes) => bytes.clone(),
            Body::Edited(from, changes) => {
                let mut value = self.saved.get(from).cloned().unwrap_or_default();
                merge(&mut value, &self.fill_value(changes));
                value.to_string().into_bytes()
            }
        }
    }

    fn fill_path(&self, path: &str) -> String {
        self.fill(path, true)
    }

    fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill(text, false).into(),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (self.fill(key, false), self.fill_value(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// Replaces the placeholders.
    fn fill(&self, text: &str, encode: bool) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            filled.push_str(&rest[..start]);
            rest = &rest[start..];
            let value = rest.find('}').and_then(|end| Some((self.placeholder(&rest[1..end])?, end)));
            match value {
                Some((value, end)) => {
                    filled.push_str(&if encode { encoded(&value) } else { value });
                    rest = &rest[end + 1..];
                }
                None => {
                    filled.push('{');
                    rest = &rest[1..];
                }
            }
        }
        filled + rest
    }

    fn placeholder(&self, name: &str) -> Option<String> {
        match name {
            "ns" | "id" => return Some(self.id.clone()),
            "group" => return Some(format!("{}.example.com", self.id)),
            _ => (),
        }
        let (step, path) = name.split_once('.')?;
        let mut value = self.saved.get(step)?;
        for field in path.split('.') {
            value = match value {
                Value::Array(items) => items.get(field.parse::<usize>().ok()?).unwrap_or(&Value::Null),
                other => other.get(field).unwrap_or(&Value::Null),
            };
        }
        Some(match value {
            Value::String(text) => text.clone(),
            // So that the scenario goes on, and shows what the field is needed for.
            Value::Null => String::from("absent"),
            other => other.to_string(),
        })
    }
}

fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte.into()),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// Applies a JSON merge patch.
pub(crate) fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    let fields = value.as_object_mut().expect("it was made an object");
    for (key, change) in changes {
        if change.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

fn head(response: &Response<HttpBody>) -> Value {
    let mut headers = serde_json::Map::new();
    for name in HEADERS {
        let values: Vec<_> = response.headers().get_all(name).iter().collect();
        if !values.is_empty() {
            let texts = values.iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
            headers.insert(name.to_owned(), texts.collect());
        }
    }
    json!({"status": response.status().as_u16(), "headers": headers})
}

fn with_body(mut head: Value, bytes: &[u8]) -> Value {
    head["body"] = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(_) => Value::String(String::from_utf8_lossy(bytes).into_owned()),
    };
    head
}

/// Sends the events of a watch on, one for each line.
async fn stream(response: Response<HttpBody>, events: &mpsc::UnboundedSender<Value>) {
    let mut frames = BodyStream::new(response.into_body());
    let mut buffer = Vec::new();
    while let Some(Ok(frame)) = frames.next().await {
        let Ok(data) = frame.into_data() else { continue };
        buffer.extend_from_slice(&data);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let event = serde_json::from_slice(&line);
            let event = event.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&line).into_owned()));
            if events.send(event).is_err() {
                return;
            }
        }
    }
    if !buffer.is_empty() {
        // An event without the line's end is a defect that the comparison must show.
        let _ = events.send(Value::String(String::from_utf8_lossy(&buffer).into_owned()));
    }
}
