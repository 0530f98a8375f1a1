//! Scenarios: a sentence and the requests that show it.
//!
//! Paths, queries and string values in bodies may contain placeholders:
//!
//! | placeholder | value |
//! | --- | --- |
//! | `{ns}` | the scenario's own namespace, which exists |
//! | `{id}` | a DNS label that is unique to this run of the scenario |
//! | `{group}` | an API group for the scenario's own definitions |
//! | `{step.metadata.uid}` | a field of the answer to the step that was [`saved`](Step::saved) as `step` |
//!
//! Braces around anything else are left as they are.

use serde_json::Value;

/// A sentence about an API server, and the requests that show whether it holds.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The sentence.
    pub name: String,
    /// What is done, one after the other.
    pub steps: Vec<Step>,
}

/// One thing that a scenario does.
#[derive(Clone, Debug)]
pub struct Step {
    /// The name by which later steps refer to the answer, or to the watch.
    pub name: Option<&'static str>,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Sends a request and notes the answer.
    Request(Request),
    /// Sends a request again and again until the answer is the wanted one, and notes that one.
    Until(Request, Condition),
    /// Opens a watch; the answer is the head of the response, and the body if it is not a stream.
    Open(Request),
    /// Reads this many events of the watch with this name.
    Events(&'static str, usize),
    /// Reads events of a watch until there are none for a moment.
    Quiet(&'static str),
    /// Reads events of a watch until the server ends it.
    Ended(&'static str),
    /// Reads events of a watch until one of this type.
    Type(&'static str, &'static str),
    /// Reads events of a watch until one of an object with this name.
    Named(&'static str, &'static str),
    /// Closes a watch.
    Close(&'static str),
    /// Makes the server forget all versions but the current ones.
    Compact,
}

/// Whether an answer is the one that is waited for.
pub type Condition = fn(&Value) -> bool;

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: &'static str,
    /// The path, and the query if there is one.
    pub path: String,
    /// The headers, in addition to `User-Agent`, which gives the field manager its name.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Body,
}

impl Request {
    /// The verb and the resource with its subresource, such as `update` of `widgets/status`.
    pub fn verb_and_resource(&self) -> (String, String) {
        let path = self.path.split('?').next().unwrap_or_default().trim_start_matches('/');
        let mut parts: Vec<_> = path.split('/').collect();
        parts.drain(..parts.len().min(if path.starts_with("apis/") { 3 } else { 2 }));
        if parts.len() > 2 && parts[0] == "namespaces" {
            parts.drain(..2);
        }
        let (resource, has_name) = (parts.first().copied().unwrap_or_default(), parts.len() > 1);
        let resource = parts.get(2).map_or(resource.to_owned(), |part| format!("{resource}/{part}"));
        let verb = match self.method {
            "GET" if has_name => "get",
            "GET" => "list",
            "POST" => "create",
            "PUT" => "update",
            "DELETE" if has_name => "delete",
            "DELETE" => "delete collection",
            "PATCH" => {
                let format = self.headers.iter().find(|(name, _)| *name == "content-type");
                format.map_or("patch", |(_, format)| format.trim_start_matches("application/"))
            }
            other => other,
        };
        let dry = if self.path.contains("dryRun=All") { "dry run of " } else { "" };
        (format!("{dry}{verb}"), resource)
    }
}

/// The body of a request.
#[derive(Clone, Debug)]
pub enum Body {
    /// No body.
    None,
    /// JSON with placeholders.
    Json(Value),
    /// Text with placeholders.
    Text(String),
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// The body of an earlier answer, changed by a JSON merge patch.
    Edited(&'static str, Value),
}

/// A scenario with this name and these steps.
pub fn scenario(name: impl Into<String>, steps: impl IntoIterator<Item = Step>) -> Scenario {
    Scenario { name: name.into(), steps: steps.into_iter().collect() }
}

fn request(method: &'static str, path: impl Into<String>, body: Body) -> Request {
    let mut headers = Vec::new();
    if !matches!(body, Body::None) {
        headers.push(("content-type", String::from("application/json")));
    }
    Request { method, path: path.into(), headers, body }
}

fn step(method: &'static str, path: impl Into<String>, body: Body) -> Step {
    Step { name: None, action: Action::Request(request(method, path, body)) }
}

/// A request without a body and with any method.
pub fn send(method: &'static str, path: impl Into<String>) -> Step {
    step(method, path, Body::None)
}

/// `GET`: one object, a list or a document.
pub fn get(path: impl Into<String>) -> Step {
    send("GET", path)
}

/// `POST`.
pub fn create(path: impl Into<String>, body: Value) -> Step {
    step("POST", path, Body::Json(body))
}

/// `PUT`.
pub fn put(path: impl Into<String>, body: Value) -> Step {
    step("PUT", path, Body::Json(body))
}

/// `PUT` of what an earlier step was answered with, after changes (a JSON merge patch).
pub fn put_edited(path: impl Into<String>, from: &'static str, changes: Value) -> Step {
    step("PUT", path, Body::Edited(from, changes))
}

/// `DELETE`.
pub fn delete(path: impl Into<String>) -> Step {
    send("DELETE", path)
}

/// `DELETE` with options in the body.
pub fn delete_with(path: impl Into<String>, options: Value) -> Step {
    step("DELETE", path, Body::Json(options))
}

/// `PATCH` with a JSON patch.
pub fn json_patch(path: impl Into<String>, body: Value) -> Step {
    step("PATCH", path, Body::Json(body)).header("content-type", "application/json-patch+json")
}

/// `PATCH` with a JSON merge patch.
pub fn merge_patch(path: impl Into<String>, body: Value) -> Step {
    step("PATCH", path, Body::Json(body)).header("content-type", "application/merge-patch+json")
}

/// `PATCH` with a strategic merge patch.
pub fn strategic_patch(path: impl Into<String>, body: Value) -> Step {
    step("PATCH", path, Body::Json(body)).header("content-type", "application/strategic-merge-patch+json")
}

/// Server-side apply by this manager.
pub fn apply(path: impl Into<String>, manager: &str, body: Value) -> Step {
    step("PATCH", path, Body::Json(body))
        .header("content-type", "application/apply-patch+yaml")
        .query(&format!("fieldManager={manager}"))
}

/// Any method with a text as the body.
pub fn send_text(method: &'static str, path: impl Into<String>, text: impl Into<String>) -> Step {
    step(method, path, Body::Text(text.into()))
}

/// Any method with bytes as the body.
pub fn send_bytes(method: &'static str, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Step {
    step(method, path, Body::Bytes(bytes.into()))
}

/// Opens a watch, to which later steps refer by this name.
pub fn watch(name: &'static str, path: impl Into<String>) -> Step {
    let request = request("GET", path, Body::None);
    Step { name: Some(name), action: Action::Open(request) }.query("watch=true")
}

/// The next events of a watch.
pub fn events(watch: &'static str, count: usize) -> Step {
    Step { name: None, action: Action::Events(watch, count) }
}

/// The events of a watch until none comes for a moment.
pub fn quiet(watch: &'static str) -> Step {
    Step { name: None, action: Action::Quiet(watch) }
}

/// The events of a watch until the server ends it.
pub fn ended(watch: &'static str) -> Step {
    Step { name: None, action: Action::Ended(watch) }
}

/// The events of a watch up to and including the first of this type.
pub fn events_until(watch: &'static str, event_type: &'static str) -> Step {
    Step { name: None, action: Action::Type(watch, event_type) }
}

/// The events of a watch up to and including the first of an object with this name.
pub fn events_until_named(watch: &'static str, name: &'static str) -> Step {
    Step { name: None, action: Action::Named(watch, name) }
}

/// Closes a watch.
pub fn close(watch: &'static str) -> Step {
    Step { name: None, action: Action::Close(watch) }
}

/// Makes the server forget all versions but the current ones.
pub fn compact() -> Step {
    Step { name: None, action: Action::Compact }
}

/// Asks until the object is not found.
pub fn gone(path: impl Into<String>) -> Step {
    get(path).until(|answer| answer["status"] == 404)
}

/// Asks until the resource is served.
pub fn served(path: impl Into<String>) -> Step {
    get(path).query("limit=1").until(|answer| answer["status"] == 200)
}

/// Asks for a definition until its names are accepted and it is established.
pub fn established(name: &str) -> Step {
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    get(path).until(|answer| {
        let conditions = answer["body"]["status"]["conditions"].as_array();
        conditions.is_some_and(|conditions| {
            conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
        })
    })
}

impl Step {
    /// Gives the answer a name, by which later steps use its fields. An error does not replace an earlier answer
    /// with the same name.
    pub fn saved(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    fn request(&mut self) -> &mut Request {
        match &mut self.action {
            Action::Request(request) | Action::Until(request, _) | Action::Open(request) => request,
            other => panic!("{other:?} sends no request"),
        }
    }

    /// Adds parameters to the query.
    pub fn query(mut self, query: &str) -> Self {
        let path = &mut self.request().path;
        path.push(if path.contains('?') { '&' } else { '?' });
        path.push_str(query);
        self
    }

    /// Sets a header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        let headers = &mut self.request().headers;
        headers.retain(|(other, _)| *other != name);
        headers.push((name, value.to_owned()));
        self
    }

    /// Sends no header of this name.
    pub fn without_header(mut self, name: &'static str) -> Self {
        self.request().headers.retain(|(other, _)| *other != name);
        self
    }

    /// Sets the `Accept` header.
    pub fn accept(self, value: &str) -> Self {
        self.header("accept", value)
    }

    /// Sends the request until the answer is the wanted one.
    pub fn until(mut self, condition: Condition) -> Self {
        let request = self.request().clone();
        self.action = Action::Until(request, condition);
        self
    }
}
