//! What an informer measures.

use std::sync::Arc;

use metrics::{Counter, Gauge};

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
            deltas: metrics::counter!("genclient_informer_deltas_total", "resource" => resource.clone()),
            events: metrics::counter!("genclient_informer_events_total", "resource" => resource.clone()),
            relists: metrics::counter!("genclient_informer_relists_total", "resource" => resource.clone()),
            stale: metrics::counter!("genclient_informer_stale_total", "resource" => resource.clone()),
            objects: metrics::gauge!("genclient_informer_objects", "resource" => resource.clone()),
            invalid: metrics::gauge!("genclient_informer_invalid_objects", "resource" => resource.clone()),
            synced: metrics::gauge!("genclient_informer_synced", "resource" => resource.clone()),
            handler_panics: metrics::counter!(
                "genclient_informer_handler_panics_total", "resource" => resource.clone()
            ),
            index_panics: metrics::counter!(
                "genclient_informer_index_panics_total", "resource" => resource.clone()
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
