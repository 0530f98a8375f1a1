//! The metrics of an informer.

use std::sync::Arc;

use metrics::{Counter, Gauge, counter, gauge};

use super::InformerConfig;
use crate::metrics::{self as names, resource_labels};

/// The metrics of one informer, looked up once.
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
    pub(super) backlog: Gauge,
    pub(super) failures: Counter,
    pub(super) handler_panics: Counter,
    pub(super) index_panics: Counter,
}

impl InformerMetrics {
    pub(crate) fn new(config: &InformerConfig) -> Self {
        let labels = resource_labels(&config.resource, config.metadata_only, config.name.as_deref());
        Self {
            deltas: counter!(names::INFORMER_DELTAS, labels.clone()),
            events: counter!(names::INFORMER_EVENTS, labels.clone()),
            relists: counter!(names::INFORMER_RELISTS, labels.clone()),
            stale: counter!(names::INFORMER_STALE, labels.clone()),
            objects: gauge!(names::INFORMER_OBJECTS, labels.clone()),
            invalid: gauge!(names::INFORMER_INVALID, labels.clone()),
            synced: gauge!(names::INFORMER_SYNCED, labels.clone()),
            backlog: gauge!(names::INFORMER_BACKLOG, labels.clone()),
            failures: counter!(names::INFORMER_FAILURES, labels.clone()),
            handler_panics: counter!(names::INFORMER_HANDLER_PANICS, labels.clone()),
            index_panics: counter!(names::INFORMER_INDEX_PANICS, labels),
            resource: config.resource.clone(),
        }
    }

    pub(super) fn resource(&self) -> &str {
        &self.resource
    }
}
