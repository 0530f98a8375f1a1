//! What an informer measures.

use std::sync::Arc;

use metrics::{Counter, Gauge};

use crate::metrics as names;

/// The counters of one informer, looked up once.
#[derive(Clone)]
pub(crate) struct InformerMetrics {
    resource: Arc<str>,
    pub(super) deltas: Counter,
    pub(super) events: Counter,
    pub(super) relists: Counter,
    pub(super) stale: Counter,
    pub(super) objects: Gauge,
    pub(super) invalid: Gauge,
    pub(super) synced: Gauge,
    handler_panics: Counter,
    pub(super) index_panics: Counter,
}

impl InformerMetrics {
    /// The counters of the informer for a resource such as `networks.samplecrd.k8s.io`.
    pub(crate) fn new(resource: Arc<str>) -> Self {
        Self {
            deltas: metrics::counter!(names::INFORMER_DELTAS, "resource" => resource.clone()),
            events: metrics::counter!(names::INFORMER_EVENTS, "resource" => resource.clone()),
            relists: metrics::counter!(names::INFORMER_RELISTS, "resource" => resource.clone()),
            stale: metrics::counter!(names::INFORMER_STALE, "resource" => resource.clone()),
            objects: metrics::gauge!(names::INFORMER_OBJECTS, "resource" => resource.clone()),
            invalid: metrics::gauge!(names::INFORMER_INVALID, "resource" => resource.clone()),
            synced: metrics::gauge!(names::INFORMER_SYNCED, "resource" => resource.clone()),
            handler_panics: metrics::counter!(
                names::INFORMER_HANDLER_PANICS, "resource" => resource.clone()
            ),
            index_panics: metrics::counter!(
                names::INFORMER_INDEX_PANICS, "resource" => resource.clone()
            ),
            resource,
        }
    }

    pub(super) fn resource(&self) -> &str {
        &self.resource
    }

    pub(super) fn handler_panicked(&self) {
        self.handler_panics.increment(1);
    }
}
