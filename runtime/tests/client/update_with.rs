//! Reads, changes and writes of the difference, and their retries.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::FutureExt as _;
use genclient_runtime::{
    TypedClient,
    error::{Cause, InvalidRequest},
    retry::RetryPolicy,
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus};
use serde_json::{Value, json};

use crate::{object, served_by, support::*};

const PATH: &str = "/api/v1/namespaces/default/configmaps/a";

/// A server with one object whose version grows with every patch, and which refuses the first `conflicts`
/// patches because somebody else was quicker.
fn changing(conflicts: usize) -> (TypedClient<ConfigMap>, Log) {
    let version = AtomicUsize::new(5);
    let left = AtomicUsize::new(conflicts);
    served_by(move |request: Received| {
        if request.method == "PATCH" {
            let now = version.fetch_add(1, Ordering::SeqCst);
            if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
                || request.json()["metadata"]["resourceVersion"] != *now.to_string()
            {
                return Answer::status(409, "Conflict", "the object has been modified");
            }
        }
        Answer::json(config_map("a", version.load(Ordering::SeqCst) as u64))
    })
}

fn paint(object: &mut ConfigMap) {
    object.data.get_or_insert_default().insert("colour".into(), "green".into());
}

fn requests(log: &Log) -> Vec<String> {
    log.all().into_iter().map(|request| format!("{} {}", request.method, request.path)).collect()
}

fn bodies(log: &Log) -> Vec<Value> {
    log.all().into_iter().filter(|request| request.method == "PATCH").map(|request| request.json()).collect()
}

#[tokio::test]
async fn the_difference_is_written_with_the_version_that_was_read() {
    let (client, log) = changing(0);
    let updated = client.update_with("a", paint).field_manager("me").dry_run().await.unwrap();
    assert_eq!(updated.metadata.resource_version.as_deref(), Some("6"));
    assert_eq!(requests(&log), [format!("GET {PATH}"), format!("PATCH {PATH}")]);
    let patch = log.all().pop().unwrap();
    assert_eq!(patch.headers["content-type"], "application/merge-patch+json");
    assert_eq!((patch.query("fieldManager"), patch.query("dryRun")), (Some("me"), Some("All")));
    assert_eq!(
        patch.json(),
        json!({ "metadata": { "resourceVersion": "5" }, "data": { "colour": "green" } })
    );
}

#[tokio::test(start_paused = true)]
async fn after_a_conflict_the_change_runs_on_the_newer_state() {
    let (client, log) = changing(1);
    let mut seen = Vec::new();
    let updated = client
        .update_with("a", |object| {
            seen.push(object.metadata.resource_version.clone().unwrap());
            paint(object);
        })
        .await
        .unwrap();
    assert_eq!(updated.metadata.resource_version.as_deref(), Some("7"));
    assert_eq!(seen, ["5", "6"]);
    let (get, patch) = (format!("GET {PATH}"), format!("PATCH {PATH}"));
    assert_eq!(requests(&log), [get.clone(), patch.clone(), get, patch]);
    assert_eq!(bodies(&log)[1]["metadata"]["resourceVersion"], "6");
}

#[tokio::test]
async fn without_a_difference_nothing_is_written() {
    let (client, log) = changing(0);
    let same = client.update_with("a", |_| {}).await.unwrap();
    assert_eq!(same, object("a"));
    assert_eq!(requests(&log), [format!("GET {PATH}")]);
    let cached = Arc::new(object("a"));
    assert_eq!(client.update_with("a", |_| {}).from(Arc::clone(&cached)).await.unwrap(), *cached);
    // What only the server sets is not a change.
    let touch = |object: &mut ConfigMap| object.metadata.managed_fields = None;
    client.update_with("a", touch).from(cached).await.unwrap();
    assert_eq!(log.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cached_object_saves_the_read_and_a_stale_one_costs_a_conflict() {
    let (client, log) = changing(0);
    client.update_with("a", paint).from(object("a")).await.unwrap();
    assert_eq!(requests(&log), [format!("PATCH {PATH}")]);

    // The object is at version 6 now, and the cache still at 5.
    let updated = client.update_with("a", paint).from(Arc::new(object("a"))).await.unwrap();
    assert_eq!(updated.metadata.resource_version.as_deref(), Some("8"));
    assert_eq!(
        requests(&log)[1..],
        [format!("PATCH {PATH}"), format!("GET {PATH}"), format!("PATCH {PATH}")]
    );
    assert_eq!(bodies(&log)[2]["metadata"]["resourceVersion"], "7");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_created_anew_is_not_changed() {
    let (client, log) = served_by(|request: Received| match &*request.method {
        "PATCH" => Answer::status(409, "Conflict", "the object has been modified"),
        _ => {
            let mut other = config_map("a", 9);
            other["metadata"]["uid"] = json!("another");
            Answer::json(other)
        }
    });
    let error = client.update_with("a", paint).from(object("a")).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert_eq!(requests(&log), [format!("PATCH {PATH}"), format!("GET {PATH}")]);
}

#[tokio::test(start_paused = true)]
async fn the_conflict_is_returned_when_the_retries_are_exhausted() {
    let (client, log) = changing(usize::MAX);
    let error = client.update_with("a", paint).await.unwrap_err();
    assert!(error.is_conflict());
    assert!(error.to_string().starts_with("cannot update ConfigMap default/a: "), "{error}");
    assert_eq!(bodies(&log).len(), 5);
    let once = RetryPolicy::CONFLICT.attempts(1);
    assert!(client.update_with("a", paint).retry(once).await.unwrap_err().is_conflict());
    assert_eq!(bodies(&log).len(), 6);
}

#[tokio::test]
async fn another_error_is_returned_at_once() {
    let (client, log) = served_by(|_: Received| Answer::status(404, "NotFound", "no such object"));
    assert!(client.update_with("a", paint).await.unwrap_err().is_not_found());
    assert!(client.update_with("a", paint).from(object("a")).await.unwrap_err().is_not_found());
    assert_eq!(log.len(), 2);
}

#[tokio::test]
async fn a_change_that_panics_leaves_nothing_behind() {
    let (client, log) = changing(0);
    let update = client.update_with("a", |object| {
        paint(object);
        panic!("the change failed");
    });
    let cached = Arc::new(object("a"));
    let panicked = AssertUnwindSafe(update.from(Arc::clone(&cached)).into_future()).catch_unwind().await;
    assert!(panicked.is_err());
    assert_eq!((log.len(), &*cached), (0, &object("a")));
    client.update_with("a", paint).await.unwrap();
}

#[tokio::test]
async fn what_identifies_the_object_cannot_be_changed() {
    let (client, log) = changing(0);
    type Change = fn(&mut ConfigMap);
    let changes: [(&str, Change); 3] = [
        ("metadata.name", |object| object.metadata.name = Some("b".to_owned())),
        ("metadata.namespace", |object| object.metadata.namespace = None),
        ("metadata.uid", |object| object.metadata.uid = Some("another".to_owned())),
    ];
    for (changed, change) in changes {
        let error = client.update_with("a", change).from(object("a")).await.unwrap_err();
        let Cause::InvalidRequest(InvalidRequest::OtherObject { field, .. }) = error.cause() else {
            panic!("{error}")
        };
        assert_eq!(*field, changed);
    }
    let error = client.update_with("a", paint).from(object("b")).await.unwrap_err();
    assert!(error.to_string().contains("the object's metadata.name is `b`, not `a`"), "{error}");
    let mut unversioned = object("a");
    unversioned.metadata.resource_version = None;
    let error = client.update_with("a", paint).from(unversioned).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::ResourceVersionMissing)));
    let error = client.update_with("a", paint).field_manager("").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::FieldManager(_))));
    assert_eq!(log.len(), 0);
}

#[tokio::test]
async fn the_status_is_read_with_the_object_and_written_alone() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default", "resourceVersion": "5"}});
    let (client, log) = in_process(move |_: Received| Answer::json(pod.clone()));
    let pods = TypedClient::<Pod>::namespaced(client, "default");
    let run = |pod: &mut Pod| {
        pod.status = Some(PodStatus { phase: Some("Running".into()), ..PodStatus::default() })
    };
    pods.update_status_with("a", run).await.unwrap();
    let path = "/api/v1/namespaces/default/pods/a";
    assert_eq!(requests(&log), [format!("GET {path}"), format!("PATCH {path}/status")]);
    assert_eq!(
        bodies(&log),
        [json!({ "metadata": { "resourceVersion": "5" }, "status": { "phase": "Running" } })]
    );
    let label = |pod: &mut Pod| {
        run(pod);
        pod.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    };
    let error = pods.update_status_with("a", label).await.unwrap_err();
    assert!(
        matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::OutsideStatus(fields)) if *fields == [".metadata"]),
        "{error}"
    );
    assert_eq!(bodies(&log).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_timeout_covers_reads_writes_and_pauses_together() {
    let (client, log) = changing(usize::MAX);
    let patient = RetryPolicy::CONFLICT.attempts(u32::MAX).pause(Duration::from_secs(2)).jitter(0.0);
    let begin = tokio::time::Instant::now();
    let update = client.update_with("a", paint).retry(patient).timeout(Duration::from_secs(7));
    let error = update.await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(begin.elapsed(), Duration::from_secs(7));
    assert_eq!(bodies(&log).len(), 4);
}

#[tokio::test]
async fn a_change_may_borrow() {
    let (client, _log) = changing(0);
    let colour = String::from("green");
    let mut runs = 0;
    let change = |object: &mut ConfigMap| {
        runs += 1;
        object.data.get_or_insert_default().insert("colour".into(), colour.clone());
    };
    client.update_with("a", change).await.unwrap();
    assert_eq!(runs, 1);
}
