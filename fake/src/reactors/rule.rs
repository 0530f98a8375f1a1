//! Which requests a reactor acts on.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::Response;
use serde_json::Value;

use super::{Effect, Ending, Fault};
use crate::{Action, Server, Verb};

type Condition = Box<dyn Fn(&Action) -> bool + Send + Sync>;

/// Which requests a reactor acts on, and then what it does.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use genclient_fake::{Fault, Server, Verb};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
///
/// let server = Server::new();
/// let reactor = server.on(Verb::Create, "configmaps").nth(2).fail(Fault::conflict());
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
/// let map = |name: &str| serde_json::from_value(serde_json::json!({ "metadata": { "name": name } }));
/// maps.create(&Default::default(), &map("a")?).await?;
/// assert!(maps.create(&Default::default(), &map("b")?).await.is_err());
/// maps.create(&Default::default(), &map("b")?).await?;
/// assert_eq!((reactor.seen(), reactor.acted()), (3, 1));
/// # Ok(())
/// # }
/// ```
#[must_use = "a rule does nothing before it says what happens, for example `fail`"]
pub struct Rule {
    server: Server,
    verb: Option<Verb>,
    resource: String,
    conditions: Vec<Condition>,
    first: usize,
    last: usize,
}

impl Server {
    /// Reacts to the requests with a verb for a resource, such as `pods`, `deployments.apps`, `deployments/status` or
    /// `*` for all. A resource without a subresource stands for all of them.
    pub fn on(&self, verb: Verb, resource: &str) -> Rule {
        Rule { verb: Some(verb), ..self.on_any(resource) }
    }

    /// Reacts to the requests with any verb for a resource.
    pub fn on_any(&self, resource: &str) -> Rule {
        Rule {
            server: self.clone(),
            verb: None,
            resource: resource.to_owned(),
            conditions: Vec::new(),
            first: 1,
            last: usize::MAX,
        }
    }

    /// Removes all reactors.
    pub fn clear_reactors(&self) {
        self.shared().hooks.reactors.lock().clear();
    }
}

impl Rule {
    /// Acts on the requests in a namespace only.
    pub fn namespace(self, namespace: &str) -> Self {
        let namespace = namespace.to_owned();
        self.when(move |action| action.namespace == namespace)
    }

    /// Acts on the requests for one object only. The name of an object that is created is in its body.
    pub fn name(self, name: &str) -> Self {
        let name = name.to_owned();
        self.when(move |action| {
            let created = || action.body().and_then(|body| body["metadata"]["name"].as_str());
            action.name == name || (action.verb == Verb::Create && created() == Some(name.as_str()))
        })
    }

    /// Acts only on requests for which a condition holds. Others are not counted.
    pub fn when(mut self, holds: impl Fn(&Action) -> bool + Send + Sync + 'static) -> Self {
        self.conditions.push(Box::new(holds));
        self
    }

    /// Acts on the nth request only, counted from 1.
    pub fn nth(self, n: usize) -> Self {
        Self { first: n, last: n, ..self }
    }

    /// Acts on the next request only.
    pub fn once(self) -> Self {
        self.nth(1)
    }

    /// Acts on the next n requests.
    pub fn times(self, n: usize) -> Self {
        Self { first: 1, last: n, ..self }
    }

    /// Acts on all requests after the next n.
    pub fn after(self, n: usize) -> Self {
        Self { first: n.saturating_add(1), last: usize::MAX, ..self }
    }

    /// Answers with an error. Nothing is written.
    pub fn fail(self, fault: impl Into<Fault>) -> Reactor {
        self.install(Effect::Fail(Box::new(fault.into())))
    }

    /// Drops the connection before the request has an effect.
    pub fn drop_connection(self) -> Reactor {
        self.install(Effect::Drop)
    }

    /// Drops the connection after the request had its effect: the client does not know that it succeeded.
    pub fn lose_answer(self) -> Reactor {
        self.install(Effect::Lose)
    }

    /// Waits before the request has an effect, in the time of tokio.
    pub fn delay(self, delay: Duration) -> Reactor {
        self.install(Effect::Delay(delay))
    }

    /// Runs a function before the request has an effect, for example one that changes the object meanwhile.
    ///
    /// It gets the server, of which it should keep no copy of its own.
    pub fn then(self, act: impl Fn(&Server, &Action) + Send + Sync + 'static) -> Reactor {
        self.install(Effect::Then(Box::new(act)))
    }

    /// Answers in place of the server. Nothing is written.
    pub fn answer(self, answer: impl Fn(&Action) -> Response<Bytes> + Send + Sync + 'static) -> Reactor {
        self.install(Effect::Answer(Box::new(answer)))
    }

    /// Changes the JSON of the server's answer. The events of watches are not changed.
    pub fn change(self, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Reactor {
        self.install(Effect::Change(Box::new(change)))
    }

    /// Cuts a watch after n events, bookmarks and the initial objects included, as a broken connection does.
    pub fn cut_after(self, events: usize) -> Reactor {
        self.install(Effect::End(events, Ending::Cut))
    }

    /// Ends a watch after n events with one that says that its version has expired (410).
    pub fn expire_after(self, events: usize) -> Reactor {
        self.install(Effect::End(events, Ending::expired()))
    }

    fn install(self, effect: Effect) -> Reactor {
        let Self { server, verb, resource, conditions, first, last } = self;
        let (seen, acted) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let installed = Arc::new(Installed { verb, resource, conditions, first, last, effect, seen, acted });
        server.shared().hooks.reactors.lock().push(installed.clone());
        Reactor { server, installed }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("verb", &self.verb)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// A reactor of a server. It stays there when this is dropped.
pub struct Reactor {
    server: Server,
    installed: Arc<Installed>,
}

impl Reactor {
    /// Returns how many requests matched it.
    pub fn seen(&self) -> usize {
        self.installed.seen.load(Ordering::SeqCst)
    }

    /// Returns on how many of them it acted.
    pub fn acted(&self) -> usize {
        self.installed.acted.load(Ordering::SeqCst)
    }

    /// Removes the reactor from its server.
    pub fn remove(self) {
        let hooks = &self.server.shared().hooks;
        hooks.reactors.lock().retain(|other| !Arc::ptr_eq(other, &self.installed));
    }
}

impl fmt::Debug for Reactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.installed.fmt(f)
    }
}

/// A reactor as the server has it.
pub(crate) struct Installed {
    verb: Option<Verb>,
    resource: String,
    conditions: Vec<Condition>,
    first: usize,
    last: usize,
    pub(super) effect: Effect,
    seen: AtomicUsize,
    acted: AtomicUsize,
}

impl Installed {
    /// Counts a request if it matches, and returns whether the reactor acts on it.
    pub(super) fn acts_on(&self, action: &Action) -> bool {
        let matches = self.verb.is_none_or(|verb| verb == action.verb)
            && is_resource(&self.resource, action)
            && self.conditions.iter().all(|holds| holds(action));
        if !matches {
            return false;
        }
        let count = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        let acts = (self.first..=self.last).contains(&count);
        self.acted.fetch_add(usize::from(acts), Ordering::SeqCst);
        acts
    }
}

impl fmt::Debug for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reactor")
            .field("verb", &self.verb)
            .field("resource", &self.resource)
            .field("seen", &self.seen)
            .field("acted", &self.acted)
            .finish_non_exhaustive()
    }
}

/// Returns whether a text such as `deployments.apps/status` names the resource of an action.
fn is_resource(text: &str, action: &Action) -> bool {
    let (resource, subresource) = match text.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource)),
        None => (text, None),
    };
    (resource == "*" || resource == action.resource || resource == action.qualified())
        && subresource.is_none_or(|subresource| subresource == action.subresource)
}
