//! An API server for events, in memory, that can fail in many ways.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Duration;

use super::{super::EventRecorder, clock, *};

/// How the server handles a request.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// As an API server does.
    Regular,
    /// As an API server does, after this time.
    After(Duration),
    /// Does nothing and refuses with this code.
    Status(u16),
    /// Does nothing and cuts the connection.
    Cut,
    /// Handles the request and cuts the connection before the answer.
    HandleAndCut,
    /// Does nothing and never answers.
    Hang,
    /// Does nothing and answers with a page for a browser.
    Page,
    /// Panics inside the client.
    Panic,
}

/// A server that creates and patches events.
#[derive(Clone, Default)]
pub struct Server {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The events in the order of their creation, with their paths.
    events: Vec<(String, Value)>,
    requests: Vec<Method>,
    /// The answers to the next requests.
    next: VecDeque<Answer>,
    /// The answers to all other requests.
    otherwise: Option<Answer>,
    /// The answers to PATCH requests.
    patches: Option<Answer>,
}

impl Server {
    /// Creates a server with these answers to its first requests, and a recorder that sends to it.
    pub fn start(answers: impl IntoIterator<Item = Answer>) -> (Server, EventRecorder, TestRecorder) {
        let (server, metrics) = (Self::default(), TestRecorder::default());
        server.state.lock().next.extend(answers);
        let recorder = metrics.observe(|| {
            let reporter = Reporter { controller: "tester".into(), instance: Some("pod-1".into()) };
            EventRecorder::with_clock(server.client(), reporter, clock)
        });
        (server, recorder, metrics)
    }

    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| server.clone().answer(request));
        Client::new(service, "default")
    }

    /// Answers all requests like this from now on.
    pub fn always(&self, answer: Answer) {
        self.state.lock().otherwise = Some(answer);
    }

    /// Answers all PATCH requests like this from now on.
    pub fn patches(&self, answer: Answer) {
        self.state.lock().patches = Some(answer);
    }

    /// Deletes all events.
    pub fn delete_events(&self) {
        self.state.lock().events.clear();
    }

    pub fn events(&self) -> Vec<Value> {
        self.state.lock().events.iter().map(|(_, event)| event.clone()).collect()
    }

    pub fn requests(&self) -> usize {
        self.state.lock().requests.len()
    }

    /// The notes of the events with their counts.
    pub fn counts(&self) -> Vec<(String, u64)> {
        let count = |event: &Value| event["series"]["count"].as_u64().unwrap_or(1);
        self.events().iter().map(|event| (event["note"].as_str().unwrap().to_owned(), count(event))).collect()
    }

    pub fn notes(&self) -> Vec<String> {
        self.counts().into_iter().map(|(note, _)| note).collect()
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, tower::BoxError> {
        let answer = {
            let mut state = self.state.lock();
            state.requests.push(request.method().clone());
            let next = state.next.pop_front();
            let patches = state.patches.filter(|_| request.method() == Method::PATCH);
            next.or(patches).or(state.otherwise).unwrap_or(Answer::Regular)
        };
        match answer {
            Answer::Regular => self.handle(request).await,
            Answer::After(time) => {
                tokio::time::sleep(time).await;
                self.handle(request).await
            }
            Answer::Status(code) => respond(code, &failure(code)),
            Answer::Cut => Err("connection reset".into()),
            Answer::HandleAndCut => {
                self.handle(request).await?;
                Err("connection reset".into())
            }
            Answer::Hang => std::future::pending().await,
            Answer::Page => Ok(Response::new(Body::from(b"<html>Welcome</html>".to_vec()))),
            Answer::Panic => panic!("on purpose"),
        }
    }

    async fn handle(self, request: Request<Body>) -> Result<Response<Body>, tower::BoxError> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let body: Value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
        let events = &mut self.state.lock().events;
        let at = |path: &str| events.iter().position(|(other, _)| other == path);
        if method == Method::POST {
            let path = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap());
            if at(&path).is_some() {
                return respond(409, &failure(409));
            }
            assert_eq!(body["series"], Value::Null);
            events.push((path, body.clone()));
            respond(201, &body)
        } else {
            assert_eq!(method, Method::PATCH);
            let Some(index) = at(&path) else { return respond(404, &failure(404)) };
            let keys: Vec<_> = body.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["series"], "nothing else may change");
            let event = &mut events[index].1;
            event["series"] = body["series"].clone();
            respond(200, event)
        }
    }
}

fn failure(code: u16) -> Value {
    let reasons = BTreeMap::from([(404, "NotFound"), (409, "AlreadyExists"), (403, "Forbidden")]);
    let reason = reasons.get(&code).unwrap_or(&"Unknown");
    json!({ "kind": "Status", "status": "Failure", "code": code, "message": "no", "reason": reason })
}

fn respond(code: u16, body: &Value) -> Result<Response<Body>, tower::BoxError> {
    Ok(Response::builder().status(code).body(Body::from(serde_json::to_vec(body)?))?)
}
