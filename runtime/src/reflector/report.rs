//! The state, the log and the metrics of a reflector.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use metrics::{Counter, Gauge, Histogram, Label};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use super::{ErrorHook, Problem, ReflectorConfig, ReflectorState};
use crate::{
    delta::{Delta, InvalidObject, Scope},
    error::Error,
    metrics::{
        Form, REFLECTOR_ERRORS, REFLECTOR_EVENTS, REFLECTOR_INVALID_OBJECTS, REFLECTOR_LAST_EVENT,
        REFLECTOR_LIST_DURATION, REFLECTOR_LISTED_OBJECTS, REFLECTOR_LISTS, REFLECTOR_WATCHES,
        resource_labels,
    },
    object::{CacheObject, ObjectKey},
    panics,
    wire::Collection,
};

/// The maximum number of invalid objects of one list that are logged by name. The log counts all of them.
const LOGGED_INVALID: usize = 5;

/// For how many invalid objects the log does not repeat an error.
const REMEMBERED_INVALID: usize = 1000;

pub(super) struct Report {
    resource: String,
    on_error: Option<ErrorHook>,
    state: watch::Sender<ReflectorState>,
    /// The current problem, and the time since which attempts have failed with it.
    failing: Option<(Problem, Instant)>,
    labels: Vec<Label>,
    metrics: Metrics,
    /// The errors of invalid objects that the log has.
    logged_invalid: Mutex<HashMap<ObjectKey, String>>,
}

struct Metrics {
    list_seconds: Histogram,
    listed_objects: Gauge,
    watches: Counter,
    events: Counter,
    invalid: Counter,
    last_event: Gauge,
}

impl Report {
    pub(super) fn new<K>(
        collection: &Collection,
        config: &ReflectorConfig<K>,
        state: watch::Sender<ReflectorState>,
    ) -> Self {
        let resource = collection.resource_name();
        let form = Form { is_dynamic: config.is_dynamic, is_metadata: config.metadata_only };
        let mut labels = resource_labels(&resource, form, config.name.as_deref());
        if let Scope::Namespace(namespace) = &collection.scope {
            labels.push(Label::new("namespace", namespace.to_string()));
        }
        let metrics = Metrics {
            list_seconds: metrics::histogram!(REFLECTOR_LIST_DURATION, labels.clone()),
            listed_objects: metrics::gauge!(REFLECTOR_LISTED_OBJECTS, labels.clone()),
            watches: metrics::counter!(REFLECTOR_WATCHES, labels.clone()),
            events: metrics::counter!(REFLECTOR_EVENTS, labels.clone()),
            invalid: metrics::counter!(REFLECTOR_INVALID_OBJECTS, labels.clone()),
            last_event: metrics::gauge!(REFLECTOR_LAST_EVENT, labels.clone()),
        };
        Self {
            resource,
            on_error: config.on_error.clone(),
            state,
            failing: None,
            labels,
            metrics,
            logged_invalid: Mutex::default(),
        }
    }

    /// Publishes a state, unless attempts are failing: a new attempt must not hide the failure.
    pub(super) fn state(&self, state: ReflectorState) {
        if self.failing.is_none() {
            self.state.send_replace(state);
        }
    }

    pub(super) fn listed(
        &mut self,
        mode: &'static str,
        objects: usize,
        invalid: &[InvalidObject],
        version: &str,
        took: Duration,
    ) {
        metrics::counter!(REFLECTOR_LISTS, self.labels_with("mode", mode)).increment(1);
        self.metrics.list_seconds.record(took);
        // Beyond 2^53 objects a gauge would lose precision; no cluster is near that.
        self.metrics.listed_objects.set(objects as f64);
        self.heard();
        self.metrics.invalid.increment(invalid.len() as u64);
        self.logged_invalid.get_mut().clear();
        invalid.iter().take(LOGGED_INVALID).for_each(|object| self.log_invalid(object));
        if invalid.len() > LOGGED_INVALID {
            tracing::warn!(
                objects = invalid.len(),
                logged = LOGGED_INVALID,
                "many objects of the list do not decode; `invalid()` of the informer has them all"
            );
        }
        self.recovered();
        tracing::info!(mode, objects, invalid = invalid.len(), version, ?took, "listed");
    }

    pub(super) fn watching(&mut self, version: &str) {
        self.metrics.watches.increment(1);
        self.recovered();
        self.state(ReflectorState::Watching);
        tracing::debug!(version, "watching");
    }

    pub(super) fn events<K: CacheObject>(&self, batch: &[Delta<K>]) {
        self.metrics.events.increment(batch.len() as u64);
        self.heard();
        for delta in batch {
            match delta {
                Delta::Invalid(object) => {
                    self.metrics.invalid.increment(1);
                    self.log_invalid(object);
                }
                Delta::Upsert(object) | Delta::Delete(object) => {
                    let mut logged = self.logged_invalid.lock();
                    if !logged.is_empty() {
                        logged.remove(&ObjectKey::of(&**object));
                    }
                }
                Delta::DeleteInvalid(object) => _ = self.logged_invalid.lock().remove(&object.key),
                _ => {}
            }
        }
    }

    /// Records the current time as that of the last data from the server.
    fn heard(&self) {
        if let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) {
            self.metrics.last_event.set(now.as_secs_f64());
        }
    }

    /// Reports that a working watch was cut and resumes at once.
    pub(super) fn cut(&self, error: &Error) {
        let problem = Problem::of(error);
        metrics::counter!(REFLECTOR_ERRORS, self.labels_with("problem", problem.as_str())).increment(1);
        tracing::info!(%problem, "{error}; the watch resumes");
        self.call_hook(error);
    }

    /// Reports a failed attempt. A repeated problem is logged at debug level.
    pub(super) fn failed(&mut self, collection: &Collection, error: &Error, attempt: u32, pause: Duration) {
        let problem = Problem::of(error);
        self.fails(problem, explain(collection, problem, error), attempt, pause);
        self.call_hook(error);
    }

    /// Reports an attempt that panicked.
    pub(super) fn panicked(&mut self, panic: &str, attempt: u32, pause: Duration) {
        tracing::error!(panic, attempt, "following {} panicked", self.resource);
        let reason = format!("following {} panicked: {panic}", self.resource);
        self.fails(Problem::Panicked, reason, attempt, pause);
    }

    fn fails(&mut self, problem: Problem, reason: String, attempt: u32, pause: Duration) {
        metrics::counter!(REFLECTOR_ERRORS, self.labels_with("problem", problem.as_str())).increment(1);
        let since = match self.failing {
            Some((known, since)) if known == problem => {
                tracing::debug!(%problem, attempt, ?pause, "{reason}");
                since
            }
            _ => {
                match problem {
                    // Versions expire and connections end in normal operation.
                    Problem::Version | Problem::Unreachable if attempt <= 1 => {
                        tracing::info!(%problem, ?pause, "{reason}");
                    }
                    _ => tracing::warn!(%problem, ?pause, "{reason}"),
                }
                Instant::now()
            }
        };
        self.failing = Some((problem, since));
        self.state.send_replace(ReflectorState::Waiting { problem, reason: reason.into(), since, attempt });
    }

    fn call_hook(&self, error: &Error) {
        if let Some(hook) = &self.on_error
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(error)))
        {
            tracing::error!(panic = panics::message(&*panic), "the error hook panicked");
        }
    }

    fn recovered(&mut self) {
        if let Some((problem, since)) = self.failing.take() {
            let lasted = since.elapsed();
            tracing::info!(%problem, ?lasted, "{} can be followed again", self.resource);
        }
    }

    /// Logs why an object does not decode. The same reason is logged again only after the object was listed, decoded
    /// or deleted.
    fn log_invalid(&self, object: &InvalidObject) {
        let mut logged = self.logged_invalid.lock();
        if logged.get(&object.key) == Some(&object.error) {
            return;
        }
        if logged.len() == REMEMBERED_INVALID {
            logged.clear();
        }
        logged.insert(object.key.clone(), object.error.clone());
        tracing::warn!(
            object = %object.key, version = object.resource_version, error = object.error,
            "an object does not decode and keeps its last good state"
        );
    }

    fn labels_with(&self, key: &'static str, value: &'static str) -> Vec<Label> {
        let mut labels = self.labels.clone();
        labels.push(Label::from_static_parts(key, value));
        labels
    }
}

/// Explains why an attempt failed, and what would help.
fn explain(collection: &Collection, problem: Problem, error: &Error) -> String {
    let resource = collection.resource_name();
    let scope = match &collection.scope {
        Scope::All => "in all namespaces".to_owned(),
        Scope::Namespace(namespace) => format!("in namespace {namespace}"),
    };
    match problem {
        Problem::Absent => format!(
            "the server does not serve {resource} in version {}: a custom resource needs its \
             CustomResourceDefinition installed; waiting until it appears",
            collection.resource.version
        ),
        Problem::Forbidden => format!(
            "not allowed to {} {resource} {scope}: a role must grant `list` and `watch` on it; waiting until \
             one does ({error})",
            error.operation().map_or("follow", |operation| operation.verb),
        ),
        Problem::Unauthorized => {
            format!("the server does not accept the credentials; waiting until it does ({error})")
        }
        Problem::Busy => format!("the server is busy and asks to wait with {resource} ({error})"),
        Problem::Version => {
            format!("the server does not have the version of {resource} to resume from ({error})")
        }
        Problem::Refused
        | Problem::Server
        | Problem::Unreachable
        | Problem::Unreadable
        | Problem::Panicked => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ApiResource;
    use tracing::{Event, Level, Metadata, span};

    use super::*;
    use crate::{
        metrics::test_recorder::TestRecorder,
        object::ObjectKey,
        wire::{Selectors, Timeouts},
    };

    /// Counts warnings.
    #[derive(Clone, Default)]
    struct Warnings(Arc<AtomicUsize>);

    impl tracing::Subscriber for Warnings {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, event: &Event<'_>) {
            self.0.fetch_add(usize::from(*event.metadata().level() == Level::WARN), Ordering::SeqCst);
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    fn collection(scope: Scope) -> Collection {
        Collection {
            client: kube::Client::new(
                tower::service_fn(|_: http::Request<kube::client::Body>| {
                    std::future::pending::<Result<http::Response<kube::client::Body>, std::io::Error>>()
                }),
                "default",
            ),
            resource: ApiResource::erase::<ConfigMap>(&()),
            scope,
            selectors: Selectors::default(),
            metadata_only: false,
            keep_managed_fields: false,
            timeouts: Timeouts::default(),
        }
    }

    fn report(scope: Scope) -> Report {
        let state = watch::Sender::new(ReflectorState::Listing);
        Report::new(&collection(scope), &ReflectorConfig::<ConfigMap>::default(), state)
    }

    #[tokio::test]
    async fn each_namespace_has_its_own_time_of_the_last_event() {
        let recorder = TestRecorder::default();
        let [mut first, second] =
            recorder.observe(|| ["a", "b"].map(|namespace| report(Scope::Namespace(namespace.into()))));
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let last_event = |namespace: &str| {
            let labels = format!("resource=\"configmaps\",namespace=\"{namespace}\"");
            recorder.gauge(&format!("{REFLECTOR_LAST_EVENT}{{{labels}}}"))
        };
        first.listed("paged", 0, &[], "7", Duration::ZERO);
        assert!(last_event("a") >= before);
        assert_eq!(last_event("b"), 0.0, "nothing was heard of the other namespace");
        let deltas = [Delta::<ConfigMap>::Bookmark { scope: Scope::All, resource_version: "8".to_owned() }];
        second.events(&deltas);
        assert!(last_event("b") >= last_event("a"));
    }

    #[tokio::test]
    async fn a_list_of_many_invalid_objects_logs_a_few_of_them_and_their_number() {
        let mut report = report(Scope::All);
        let invalid: Vec<_> = (0..2_000)
            .map(|number| {
                InvalidObject::new(ObjectKey::namespaced("default", number.to_string()), "data: wrong")
            })
            .collect();
        let warnings = Warnings::default();
        tracing::subscriber::with_default(warnings.clone(), || {
            report.listed("paged", 0, &invalid, "7", Duration::ZERO);
        });
        assert_eq!(warnings.0.load(Ordering::SeqCst), LOGGED_INVALID + 1);
    }
}
