//! Reactors: tests that make requests fail, wait, or get other answers.
//!
//! * A reactor counts the requests that match it from 1, in the order in which they arrive.
//! * All reactors that match a request act, in the order in which they were added, until one answers. The others
//!   count the request all the same.
//! * What a reactor answers by itself never reaches the objects: nothing is written.
//! * Delays follow the time of tokio, which a test can pause. Without a delay, a request is answered without waiting.

mod fault;
mod rule;
mod switch;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Response;
use parking_lot::Mutex;
use serde_json::Value;

pub use fault::Fault;
pub use rule::{Reactor, Rule};
pub(crate) use switch::{Ending, Switch, Switches};

use crate::{Action, Server, actions::Recorder, body::ResponseBody};

/// The connection was dropped, before or after the request had its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("connection reset by peer")]
#[non_exhaustive]
pub struct Dropped;

/// What a test does before a request is answered.
type Act = dyn Fn(&Server, &Action) + Send + Sync;

/// A test's own answer to a request.
type Answer = dyn Fn(&Action) -> Response<Bytes> + Send + Sync;

/// What a reactor does with a request.
pub(crate) enum Effect {
    Fail(Box<Fault>),
    Drop,
    Delay(Duration),
    Then(Box<Act>),
    Answer(Box<Answer>),
    Change(Box<dyn Fn(&mut Value) + Send + Sync>),
    Lose,
    End(usize, Ending),
}

/// What stands between the transports and the server.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) recorder: Recorder,
    pub(crate) reactors: Mutex<Vec<Arc<rule::Installed>>>,
    pub(crate) watches: Switches,
}

impl Hooks {
    pub(crate) fn recording(on: bool) -> Self {
        Self { recorder: Recorder::new(on), ..Self::default() }
    }

    /// Returns the action of a request, if anybody wants to know.
    fn notice(&self, request: &http::Request<Bytes>) -> Option<Action> {
        if !self.recorder.is_on() && self.reactors.lock().is_empty() {
            return None;
        }
        let action = Action::read(request)?;
        self.recorder.add(&action);
        Some(action)
    }

    /// Returns the reactors that act on this request.
    fn acting(&self, action: &Action) -> Vec<Arc<rule::Installed>> {
        let reactors = self.reactors.lock().clone();
        reactors.into_iter().filter(|reactor| reactor.acts_on(action)).collect()
    }
}

impl Server {
    /// Answers a request, as a transport does: it is recorded, and reactors act on it.
    ///
    /// # Errors
    /// If a reactor drops the connection. A transport closes it without an answer.
    pub async fn handle(&self, request: http::Request<Bytes>) -> Result<Response<ResponseBody>, Dropped> {
        let hooks = &self.shared().hooks;
        let Some(action) = hooks.notice(&request) else { return Ok(self.open(self.respond(request))) };
        let acting = hooks.acting(&action);
        for reactor in &acting {
            match &reactor.effect {
                Effect::Fail(fault) => return Ok(fault.response(&action)),
                Effect::Drop => return Err(Dropped),
                Effect::Answer(answer) => return Ok(answer(&action).map(ResponseBody::whole)),
                Effect::Delay(delay) => tokio::time::sleep(*delay).await,
                Effect::Then(act) => act(self, &action),
                Effect::Change(_) | Effect::Lose | Effect::End(..) => {}
            }
        }
        let mut response = self.open(self.respond(request));
        for reactor in &acting {
            match &reactor.effect {
                Effect::Lose => return Err(Dropped),
                Effect::Change(change) => change_body(&mut response, change),
                Effect::End(events, ending) => response.body().end_after(*events, ending.clone()),
                _ => {}
            }
        }
        Ok(response)
    }

    /// Remembers an open watch, so that it can be ended.
    fn open(&self, response: Response<ResponseBody>) -> Response<ResponseBody> {
        if let Some((resource, switch)) = response.body().switch() {
            self.shared().hooks.watches.add(resource, switch);
        }
        response
    }

    /// Cuts the open watches of a resource, such as `pods`, `deployments.apps` or `*` for all, as a broken connection
    /// does. Returns how many there were.
    pub fn cut_watches(&self, resource: &str) -> usize {
        self.shared().hooks.watches.end(resource, &Ending::Cut)
    }

    /// Ends the open watches of a resource without an error, as the server does after their timeout. Returns how
    /// many there were.
    pub fn end_watches(&self, resource: &str) -> usize {
        self.shared().hooks.watches.end(resource, &Ending::End)
    }

    /// Ends the open watches of a resource with an event that says that their version has expired (410), after which
    /// a client has to list again. Returns how many there were.
    pub fn expire_watches(&self, resource: &str) -> usize {
        self.shared().hooks.watches.end(resource, &Ending::expired())
    }

    /// Returns how many watches of a resource are open.
    pub fn open_watches(&self, resource: &str) -> usize {
        self.shared().hooks.watches.count(resource)
    }
}

/// Changes the JSON of an answer. The events of a watch stay as they are.
fn change_body(response: &mut Response<ResponseBody>, change: &(dyn Fn(&mut Value) + Send + Sync)) {
    let Some(bytes) = response.body().bytes() else { return };
    if let Ok(mut value) = serde_json::from_slice(bytes) {
        change(&mut value);
        *response.body_mut() = ResponseBody::whole(format!("{value}\n"));
    }
}
