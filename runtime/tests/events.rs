//! The event recorder against a real API server, which validates events strictly.

use std::time::Duration;

use genclient_runtime::{
    TypedClient,
    events::{EventRecorder, Reporter},
};
use genclient_testenv::{TestEnv, require_servers};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Namespace},
    events::v1::Event,
    rbac::v1::ClusterRole,
};
use kube::{
    Api, Resource,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::json;

const DEADLINE: Duration = Duration::from_secs(30);

/// Waits until everything is sent, and returns the events of the controller.
async fn events(recorder: &EventRecorder, api: &Api<Event>, controller: &str) -> Vec<Event> {
    assert_eq!(recorder.flush(DEADLINE).await, 0);
    let mut events = api.list(&ListParams::default()).await.unwrap().items;
    events.retain(|event| event.reporting_controller.as_deref() == Some(controller));
    events.sort_by(|a, b| a.event_time.cmp(&b.event_time));
    events
}

fn count(event: &Event) -> i32 {
    event.series.as_ref().map_or(1, |series| series.count)
}

#[tokio::test]
async fn an_event_becomes_a_series_and_is_created_again_after_it_was_deleted() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let namespace = serde_json::from_value(json!({"metadata": {"name": "event-series"}})).unwrap();
    TypedClient::<Namespace>::cluster(client.clone()).create(&namespace).await.unwrap();
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "example"}})).unwrap();
    let map = Api::<ConfigMap>::namespaced(client.clone(), "event-series")
        .create(&PostParams::default(), &map)
        .await
        .unwrap();
    let api = Api::<Event>::namespaced(client.clone(), "event-series");
    let recorder = EventRecorder::new(client, Reporter::from("samplecrd.k8s.io/series-test"));
    let events = async || events(&recorder, &api, "samplecrd.k8s.io/series-test").await;

    recorder.warning(&map, "Failed", "no quota");
    let created = events().await.pop().unwrap();
    assert_eq!((created.type_.as_deref(), count(&created)), (Some("Warning"), 1));
    assert_eq!((created.reason.as_deref(), created.note.as_deref()), (Some("Failed"), Some("no quota")));
    assert_eq!(created.regarding.unwrap().uid, map.meta().uid);
    assert!(created.metadata.name.as_deref().unwrap().starts_with("example."));

    recorder.warning(&map, "Failed", "no quota");
    recorder.warning(&map, "Failed", "no quota");
    recorder.warning(&map, "Failed", "no address");
    let [series, other] = events().await.try_into().unwrap();
    assert_eq!((count(&series), count(&other)), (3, 1));
    assert_eq!(series.event_time, created.event_time);
    assert!(series.series.unwrap().last_observed_time > series.event_time.unwrap());

    api.delete(series.metadata.name.as_deref().unwrap(), &DeleteParams::default()).await.unwrap();
    recorder.warning(&map, "Failed", "no quota");
    recorder.warning(&map, "Failed", "no quota");
    let [other, anew] = events().await.try_into().unwrap();
    assert_eq!((other.note.as_deref(), anew.note.as_deref()), (Some("no address"), Some("no quota")));
    assert_eq!(count(&anew), 2);
    assert_ne!(anew.metadata.name, series.metadata.name);
}

#[tokio::test]
async fn the_server_accepts_the_events_of_odd_objects_and_reporters() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let api = Api::<Event>::namespaced(client.clone(), "default");
    let instance = Some("host".repeat(100));
    let reporter = Reporter { controller: "odd-test".into(), instance };
    let recorder = EventRecorder::new(client, reporter);

    // A cluster-scoped object whose name is not a DNS name, which the server need not have.
    let mut role = ClusterRole::default();
    role.metadata.name = Some("system:Example".into());
    recorder.normal(&role, "Synced", "ok");
    recorder.normal(&role, "Synced", "ok");
    // The longest name, reason and message.
    let mut space = Namespace::default();
    space.metadata.name = Some("a".repeat(253));
    recorder.normal(&space, &"ä".repeat(200), "ö".repeat(2000));

    let [odd, long] = events(&recorder, &api, "odd-test").await.try_into().unwrap();
    assert_eq!((count(&odd), odd.regarding.unwrap().name.as_deref()), (2, Some("system:Example")));
    assert!(long.note.unwrap().ends_with("ö…"));
    assert!(long.reason.unwrap().ends_with("ä…"));
}
