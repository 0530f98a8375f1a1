//! The metrics of an informer.

use std::sync::Arc;

use metrics::{Counter, Gauge, counter, gauge};

use super::InformerConfig;
use crate::metrics::{self as names, Form, resource_labels};

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
        let form = Form { is_dynamic: config.kind.is_some(), is_metadata: config.metadata_only };
        let labels = resource_labels(&config.resource, form, config.name.as_deref());
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::time::{Duration, sleep};

    use crate::{
        delta::{Delta, Scope, delta_queue},
        dynamic::DynamicKind,
        informer::{Event, InformerConfig, SharedInformer},
        metrics::test_recorder::TestRecorder,
    };

    const BACKLOG: &str = "genclient_informer_handler_backlog{resource=\"configmaps\"}";

    fn config_map(name: &str, version: u64) -> Arc<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        object.metadata.resource_version = Some(version.to_string());
        Arc::new(object)
    }

    fn list(objects: Vec<Arc<ConfigMap>>) -> Delta<ConfigMap> {
        Delta::Replace { scope: Scope::All, objects, invalid: vec![], resource_version: "1".to_owned() }
    }

    /// Runs a test with a recorder and a paused clock.
    fn measured(test: impl AsyncFnOnce(TestRecorder)) {
        let (recorder, runtime) = (TestRecorder::default(), tokio::runtime::Builder::new_current_thread());
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        recorder.clone().observe(|| runtime.block_on(test(recorder)));
    }

    #[test]
    fn the_backlog_of_all_handlers_is_measured_and_returns_to_zero() {
        measured(async |recorder| {
            let informer = SharedInformer::<ConfigMap>::new(InformerConfig::new("configmaps"));
            let (sender, receiver) = delta_queue(8);
            let (release, blocked) = mpsc::channel::<()>();
            let blocked_handler = informer.add_event_handler(move |_: &Event<ConfigMap>| {
                let _ = blocked.recv();
            });
            let stream = informer.events();
            let running = informer.clone();
            tokio::spawn(async move { running.run(receiver).await });
            sender.send_all([list((0..10).map(|n| config_map(&n.to_string(), 1)).collect())]).await.unwrap();
            // The paused clock does not advance while the handler blocks, so the test yields to other tasks.
            while !informer.has_synced() || blocked_handler.backlog() == 10 {
                tokio::task::yield_now().await;
            }
            assert!((19.0..=20.0).contains(&recorder.gauge(BACKLOG)), "{}", recorder.gauge(BACKLOG));
            drop(stream);
            drop(release);
            sleep(Duration::from_secs(1)).await;
            assert_eq!(recorder.gauge(BACKLOG), 0.0);
        });
    }

    #[test]
    fn two_informers_of_one_resource_have_series_of_their_own() {
        measured(async |recorder| {
            let mut metadata = InformerConfig::new("configmaps");
            metadata.metadata_only = true;
            let mut named = InformerConfig::new("configmaps");
            named.name = Some("tenant".into());
            let mut running = Vec::new();
            let mut dynamic = InformerConfig::new("configmaps");
            dynamic.kind = Some(DynamicKind::of::<ConfigMap>());
            let mut dynamic_metadata = dynamic.clone();
            dynamic_metadata.metadata_only = true;
            for (number, config) in
                [InformerConfig::new("configmaps"), metadata, named, dynamic, dynamic_metadata]
                    .into_iter()
                    .enumerate()
            {
                let informer = SharedInformer::<ConfigMap>::new(config);
                let (sender, receiver) = delta_queue(8);
                let objects = (0..=number).map(|n| config_map(&n.to_string(), 1)).collect();
                sender.send_all([list(objects)]).await.unwrap();
                let handle = informer.clone();
                tokio::spawn(async move { handle.run(receiver).await });
                assert!(informer.wait_for_sync().await);
                running.push((informer, sender));
            }
            let objects = |labels: &str| recorder.gauge(&format!("genclient_informer_objects{{{labels}}}"));
            assert_eq!(objects("resource=\"configmaps\""), 1.0);
            assert_eq!(objects("resource=\"configmaps\",form=\"metadata\""), 2.0);
            assert_eq!(objects("resource=\"configmaps\",factory=\"tenant\""), 3.0);
            assert_eq!(objects("resource=\"configmaps\",form=\"dynamic\""), 4.0);
            assert_eq!(objects("resource=\"configmaps\",form=\"dynamic_metadata\""), 5.0);
        });
    }
}
