//! From a change to a reconciliation, with failures.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use genclient_fake::{Action as Request, Fault, PatchType, Verb};
use genclient_runtime::{Action, Error, ObjectKey, Patch, WorkQueue, enqueue};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Cluster, until};

/// What the reconciler writes.
fn patch() -> serde_json::Value {
    json!({ "data": { "key": "reconciled" } })
}

/// Reconciles until a map is as it should be.
async fn reconcile(cluster: &Cluster, queue: &WorkQueue<ObjectKey>) {
    cluster.informer.add_event_handler(enqueue::changed(queue));
    cluster.start().await;
    let maps = cluster.maps.clone();
    let lister = cluster.informer.lister();
    let run = queue.run(4, move |key: ObjectKey| {
        let (maps, lister) = (maps.clone(), lister.clone());
        async move {
            let done = |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data["key"] == "reconciled");
            if lister.store().get(&key).is_some_and(|map| !done(&map)) {
                maps.patch(&key.name, &Patch::merge(&patch())).await?;
            }
            Ok::<_, Error>(Action::await_change())
        }
    });
    let done = async {
        until("everything is reconciled", || {
            cluster.cached().iter().all(|map| map.ends_with("=reconciled")) && queue.is_empty()
        })
        .await;
        queue.shutdown(Duration::from_secs(1)).await
    };
    tokio::join!(run, done);
}

#[tokio::test(start_paused = true)]
async fn every_object_is_reconciled_once_and_written_once() {
    let cluster = Cluster::paged(&["a"]);
    reconcile(&cluster, &WorkQueue::new("maps")).await;
    cluster.server.actions().assert_eq([
        Request::list::<ConfigMap>(""),
        Request::watch::<ConfigMap>(""),
        Request::patch::<ConfigMap>("default", "a", PatchType::Merge, &patch()),
    ]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_fails_is_retried_with_growing_pauses_until_it_succeeds() {
    let cluster = Cluster::paged(&["a"]);
    // 5 ms, 10 ms, 20 ms … make 5 ms * (2^12 - 1), and each is shortened at random, by a half at most.
    let reactor = cluster.server.on(Verb::Patch, "configmaps").times(12).fail(Fault::conflict());
    let start = Instant::now();
    reconcile(&cluster, &WorkQueue::new("maps")).await;
    assert_eq!((reactor.acted(), cluster.count(Verb::Patch)), (12, 13));
    assert!(start.elapsed() >= Duration::from_millis(5 * 4095 / 2), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_is_found_in_the_cache() {
    let cluster = Cluster::paged(&["a", "b"]);
    cluster.server.on(Verb::Patch, "configmaps").name("a").once().lose_answer();
    reconcile(&cluster, &WorkQueue::new("maps")).await;
    assert_eq!(cluster.cached(), ["a=reconciled", "b=reconciled"]);
    assert_eq!(cluster.count(Verb::Patch), 2, "the write that nobody answered is not repeated");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_never_worked_on_twice_at_once_and_changes_meanwhile_are_one_more_run() {
    let cluster = Cluster::paged(&["a"]);
    let queue = WorkQueue::new("maps");
    cluster.informer.add_event_handler(enqueue::changed(&queue));
    cluster.start().await;
    // Every read takes a minute, in which the object changes many times.
    cluster.server.on(Verb::Get, "configmaps").delay(Duration::from_secs(60));
    let (running, runs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, maps) = (runs.clone(), cluster.maps.clone());
    let run = queue.run(50, move |key: ObjectKey| {
        let (running, runs, maps) = (running.clone(), counted.clone(), maps.clone());
        async move {
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two workers have one key");
            let read = maps.get(&key.name).timeout(Duration::from_secs(120)).await?;
            running.fetch_sub(1, Ordering::SeqCst);
            runs.fetch_add(1, Ordering::SeqCst);
            assert!(read.metadata.name.is_some());
            Ok::<_, Error>(Action::await_change())
        }
    });
    let change = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        for number in 0..50 {
            let written = cluster.write("a", &number.to_string()).await;
            cluster.informer.caught_up_to(&written, Duration::from_secs(1)).await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(300)).await;
        queue.shutdown(Duration::from_secs(1)).await
    };
    tokio::join!(run, change);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}
