//! What a reflector says of itself: its state, its log and its metrics.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use metrics::{Counter, Gauge, Histogram};
use tokio::{sync::watch, time::Instant};

use super::{ErrorHook, Problem, ReflectorState};
use crate::{
    delta::{Delta, InvalidObject, Scope},
    error::Error,
    metrics::{
        REFLECTOR_ERRORS, REFLECTOR_EVENTS, REFLECTOR_INVALID_OBJECTS, REFLECTOR_LIST_DURATION,
        REFLECTOR_LISTED_OBJECTS, REFLECTOR_LISTS, REFLECTOR_WATCHES,
    },
    panics,
    wire::Collection,
};

pub(super) struct Report {
    resource: String,
    on_error: Option<ErrorHook>,
    state: watch::Sender<ReflectorState>,
    /// What stands in the way, and since when.
    trouble: Option<(Problem, Instant)>,
    metrics: Metrics,
}

struct Metrics {
    list_seconds: Histogram,
    listed_objects: Gauge,
    watches: Counter,
    events: Counter,
    invalid: Counter,
}

impl Report {
    pub(super) fn new(
        collection: &Collection,
        on_error: Option<ErrorHook>,
        state: watch::Sender<ReflectorState>,
    ) -> Self {
        let resource = collection.resource_name().into_owned();
        let label = || ("resource", resource.clone());
        let metrics = Metrics {
            list_seconds: metrics::histogram!(REFLECTOR_LIST_DURATION, &[label()]),
            listed_objects: metrics::gauge!(REFLECTOR_LISTED_OBJECTS, &[label()]),
            watches: metrics::counter!(REFLECTOR_WATCHES, &[label()]),
            events: metrics::counter!(REFLECTOR_EVENTS, &[label()]),
            invalid: metrics::counter!(REFLECTOR_INVALID_OBJECTS, &[label()]),
        };
        Self { resource, on_error, state, trouble: None, metrics }
    }

    /// Shows a state. While something stands in the way, a mere attempt does not hide it.
    pub(super) fn state(&self, state: ReflectorState) {
        if self.trouble.is_none() {
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
        metrics::counter!(
            REFLECTOR_LISTS, "resource" => self.resource.clone(), "mode" => mode
        )
        .increment(1);
        self.metrics.list_seconds.record(took);
        // Beyond 2^53 objects a gauge would lose precision; no cluster is near that.
        self.metrics.listed_objects.set(objects as f64);
        for object in invalid {
            self.invalid(object);
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

    pub(super) fn events<K>(&self, batch: &[Delta<K>]) {
        self.metrics.events.increment(batch.len() as u64);
        for delta in batch {
            if let Delta::Invalid(object) = delta {
                self.invalid(object);
            }
        }
    }

    fn invalid(&self, object: &InvalidObject) {
        self.metrics.invalid.increment(1);
        tracing::warn!(
            object = %object.key, version = object.resource_version, error = object.error,
            "an object does not decode and keeps its last good state"
        );
    }

    /// An attempt failed. The log has it once per change of state.
    pub(super) fn failed(&mut self, collection: &Collection, error: &Error, attempt: u32, pause: Duration) {
        let problem = Problem::of(error);
        metrics::counter!(
            REFLECTOR_ERRORS,
            "resource" => self.resource.clone(), "problem" => problem.as_str()
        )
        .increment(1);
        let reason: Arc<str> = explain(collection, problem, error).into();
        let since = match self.trouble {
            Some((known, since)) if known == problem => {
                tracing::debug!(%problem, attempt, ?pause, "{reason}");
                since
            }
            _ => {
                match problem {
                    // Versions expire and connections end in the best of worlds.
                    Problem::Version | Problem::Unreachable if attempt <= 1 => {
                        tracing::info!(%problem, ?pause, "{reason}");
                    }
                    _ => tracing::warn!(%problem, ?pause, "{reason}"),
                }
                Instant::now()
            }
        };
        self.trouble = Some((problem, since));
        self.state.send_replace(ReflectorState::Waiting { problem, reason, since, attempt });
        if let Some(hook) = &self.on_error
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(error)))
        {
            tracing::error!(panic = panics::message(&*panic), "the error hook panicked");
        }
    }

    fn recovered(&mut self) {
        if let Some((problem, since)) = self.trouble.take() {
            let lasted = since.elapsed();
            tracing::info!(%problem, ?lasted, "{} can be followed again", self.resource);
        }
    }
}

/// What stands in the way, in words a person understands.
fn explain(collection: &Collection, problem: Problem, error: &Error) -> String {
    let resource = collection.resource_name();
    let place = match &collection.scope {
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
            "not allowed to {} {resource} {place}: a role must grant `list` and `watch` on it; waiting until \
             one does ({error})",
            error.operation().map_or("follow", |operation| operation.verb),
        ),
        Problem::Unauthorized => {
            format!("the server does not accept the credentials; waiting until it does ({error})")
        }
        Problem::Busy => format!("the server asks for patience with {resource} ({error})"),
        Problem::Version => format!("the version of {resource} to go on from is not at hand ({error})"),
        Problem::Refused | Problem::Server | Problem::Unreachable | Problem::Unreadable => error.to_string(),
    }
}
