//! What a reconciliation writes through the typed client.
//!
//! A [`Recording`] is a value of the current task: requests that the task awaits are recorded, requests of tasks
//! that it spawns are not.

use std::{borrow::Cow, sync::Arc};

use http::Method;
use parking_lot::Mutex;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use crate::{meta::GroupResource, object::ObjectKey};

/// One successful write of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) resource: GroupResource,
    pub(crate) key: ObjectKey,
    pub(crate) effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The server stored the object, or had already stored it with this content.
    Stored { version: String, base: Base },
    /// The server deleted the object with this uid.
    Deleted { uid: Option<String> },
}

/// The state that a write replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The write created the object.
    Absent,
    /// The write replaced this resource version, by its precondition.
    Version(String),
    /// The write had no precondition. It may have changed nothing, and the version may be of another client.
    Unknown,
}

/// The writes of one reconciliation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording(Arc<Mutex<Vec<Write>>>);

tokio::task_local! {
    static CURRENT: Recording;
}

impl Recording {
    /// Records the writes of a future.
    pub(crate) async fn of<F: Future>(&self, future: F) -> F::Output {
        CURRENT.scope(self.clone(), future).await
    }

    /// Takes the recorded writes.
    pub(crate) fn take(&self) -> Vec<Write> {
        std::mem::take(&mut self.0.lock())
    }
}

/// A request that is recorded if it succeeds.
pub(crate) struct Pending {
    recording: Recording,
    is_deletion: bool,
    target: Target,
    base: Base,
}

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    resource: GroupResource,
    namespace: Option<String>,
    name: Option<String>,
}

/// The parts of a request or an answer that are read. Only objects and statuses have them.
#[derive(Default, Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    metadata: Option<Meta>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
    /// The options of a deletion are its body.
    #[serde(default, rename = "dryRun")]
    dry_run: Vec<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    deletion_timestamp: Option<IgnoredAny>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct Details {
    uid: Option<String>,
}

impl Pending {
    /// Returns the request if it writes an object and the current task is recorded.
    pub(crate) fn of(request: &http::Request<impl AsRef<[u8]>>) -> Option<Self> {
        if request.method() == Method::GET {
            return None;
        }
        let recording = CURRENT.try_with(Clone::clone).ok()?;
        let uri = request.uri();
        if uri.query().is_some_and(|query| query.split('&').any(|option| option.starts_with("dryRun="))) {
            return None;
        }
        let (target, is_deletion) = (Target::of(uri.path())?, request.method() == Method::DELETE);
        let body = || serde_json::from_slice::<Body<'_>>(request.body().as_ref()).unwrap_or_default();
        let base = match *request.method() {
            Method::POST if target.name.is_none() => Base::Absent,
            _ => {
                let Body { metadata, dry_run, .. } = body();
                if is_deletion && !dry_run.is_empty() {
                    return None;
                }
                let version = metadata.and_then(|meta| meta.resource_version);
                version.filter(|version| !version.is_empty()).map_or(Base::Unknown, Base::Version)
            }
        };
        Some(Self { recording, is_deletion, target, base })
    }

    /// Records the write, with the server's answer.
    pub(crate) fn succeeded(self, answer: &[u8]) {
        let Ok(Body { kind, metadata, details, .. }) = serde_json::from_slice(answer) else { return };
        let Self { recording, is_deletion, target: Target { resource, namespace, name }, base } = self;
        let is_status = kind.as_deref() == Some("Status");
        let meta = metadata.filter(|_| !is_status).unwrap_or_default();
        let Some(name) = meta.name.clone().or(name) else { return };
        let effect = if is_deletion && (is_status || meta.is_gone()) {
            let details = details.filter(|_| is_status);
            let details = details.and_then(|details| serde_json::from_str::<Details>(details.get()).ok());
            Effect::Deleted { uid: meta.uid.or(details.and_then(|details| details.uid)) }
        } else if let Some(version) = meta.resource_version {
            Effect::Stored { version, base }
        } else {
            return;
        };
        recording.0.lock().push(Write { resource, key: ObjectKey { namespace, name }, effect });
    }
}

impl Meta {
    /// Returns whether the answer to a deletion is the last state of the object.
    fn is_gone(&self) -> bool {
        let is_held = self.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
        let is_graceful = self.deletion_timestamp.is_some() && self.deletion_grace_period_seconds != Some(0);
        !is_held && !is_graceful
    }
}

impl Target {
    /// Reads a path such as `/apis/apps/v1/namespaces/default/deployments/web/status`.
    fn of(path: &str) -> Option<Self> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let group = match segments.next()? {
            "api" => "",
            "apis" => segments.next()?,
            _ => return None,
        };
        let _version = segments.next()?;
        let rest: Vec<_> = segments.collect();
        let (namespace, rest) = match rest[..] {
            ["namespaces", _, "status" | "finalize"] => (None, &rest[..]),
            ["namespaces", namespace, _, ..] => (Some(namespace.to_owned()), &rest[2..]),
            _ => (None, &rest[..]),
        };
        let resource = GroupResource::new(group, *rest.first()?);
        Some(Self { resource, namespace, name: rest.get(1).map(|&name| name.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PATH: &str = "/apis/apps/v1/namespaces/default/deployments";

    /// Records one request.
    async fn recorded(method: Method, path: &str, body: Value, answer: Value) -> Option<Effect> {
        let recording = Recording::default();
        let request = http::Request::builder().method(method).uri(path).body(body.to_string()).unwrap();
        recording
            .of(async {
                if let Some(pending) = Pending::of(&request) {
                    pending.succeeded(answer.to_string().as_bytes());
                }
            })
            .await;
        let mut writes = recording.take();
        assert!(writes.len() <= 1);
        let write = writes.pop()?;
        assert_eq!(write.resource, GroupResource::new("apps", "deployments"));
        assert_eq!(write.key, ObjectKey::namespaced("default", "web"));
        Some(write.effect)
    }

    fn object(version: &str) -> Value {
        json!({ "kind": "Deployment", "metadata": { "name": "web", "resourceVersion": version, "uid": "u" } })
    }

    fn stored(version: &str, base: Base) -> Option<Effect> {
        Some(Effect::Stored { version: version.into(), base })
    }

    #[tokio::test]
    async fn a_create_replaces_nothing_and_an_update_replaces_the_version_that_it_names() {
        assert_eq!(recorded(Method::POST, PATH, json!({}), object("5")).await, stored("5", Base::Absent));
        let (web, base) = (&format!("{PATH}/web"), Base::Version("5".into()));
        assert_eq!(recorded(Method::PUT, web, object("5"), object("7")).await, stored("7", base.clone()));
        let status = &format!("{PATH}/web/status");
        assert_eq!(recorded(Method::PATCH, status, object("5"), object("7")).await, stored("7", base));
        let patch = json!({ "spec": { "replicas": 2 } });
        assert_eq!(recorded(Method::PATCH, web, patch, object("7")).await, stored("7", Base::Unknown));
    }

    #[tokio::test]
    async fn a_deletion_is_over_unless_a_finalizer_or_a_grace_period_holds_the_object() {
        let web = &format!("{PATH}/web");
        let deleted = Some(Effect::Deleted { uid: Some("u".into()) });
        let status = json!({ "kind": "Status", "details": { "uid": "u" } });
        assert_eq!(recorded(Method::DELETE, web, json!({}), status).await, deleted);
        assert_eq!(recorded(Method::DELETE, web, json!({}), object("5")).await, deleted);
        let mut held = object("7");
        held["metadata"]["finalizers"] = json!(["example.com/a"]);
        assert_eq!(recorded(Method::DELETE, web, json!({}), held).await, stored("7", Base::Unknown));
        let mut ending = object("7");
        ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        ending["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        assert_eq!(recorded(Method::DELETE, web, json!({}), ending).await, stored("7", Base::Unknown));
    }

    #[tokio::test]
    async fn reads_and_dry_runs_are_not_writes() {
        let web = &format!("{PATH}/web");
        assert_eq!(recorded(Method::GET, web, json!({}), object("5")).await, None);
        let dry = &format!("{PATH}?fieldManager=a&dryRun=All");
        assert_eq!(recorded(Method::POST, dry, json!({}), object("5")).await, None);
        let options = json!({ "kind": "DeleteOptions", "dryRun": ["All"] });
        assert_eq!(recorded(Method::DELETE, web, options, object("5")).await, None);
    }

    #[test]
    fn a_path_names_a_resource_a_namespace_and_an_object() {
        let target = |group: &str, plural: &str, namespace: Option<&str>, name: Option<&str>| {
            let (namespace, name) = (namespace.map(str::to_owned), name.map(str::to_owned));
            Some(Target { resource: GroupResource::new(group, plural), namespace, name })
        };
        for (path, expected) in [
            ("/api/v1/namespaces/default/pods/a/binding", target("", "pods", Some("default"), Some("a"))),
            ("/api/v1/namespaces/default", target("", "namespaces", None, Some("default"))),
            ("/api/v1/namespaces/default/finalize", target("", "namespaces", None, Some("default"))),
            ("/api/v1/nodes", target("", "nodes", None, None)),
            ("/apis/example.com/v1/widgets/a/status", target("example.com", "widgets", None, Some("a"))),
            ("/version", None),
        ] {
            assert_eq!(Target::of(path), expected, "{path}");
        }
    }
}
