//! Handlers, indexes and listers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use genclient_runtime::{Event, Selector};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{Cluster, Heard, map, quiet};

#[tokio::test(start_paused = true)]
async fn a_handler_hears_each_change_once_and_in_order() {
    let cluster = Cluster::streamed(&["a"]);
    let heard = cluster.hear();
    cluster.start().await;
    // A handler that is slower than the server may hear of several changes at once.
    for step in ["one", "two", "three"] {
        let written = cluster.write("b", step).await;
        cluster.informer.caught_up_to(&written, Duration::from_secs(1)).await.unwrap();
        quiet().await;
    }
    cluster.delete("b").await;
    cluster.settle().await;
    assert_eq!(heard.take(), ["initial a", "added b", "updated b watch", "updated b watch", "deleted b"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_is_replayed_the_cache_and_a_removed_one_hears_nothing_more() {
    let cluster = Cluster::streamed(&["a", "b"]);
    cluster.start().await;
    let late = Heard::default();
    let registration = cluster.informer.add_event_handler(late.handler());
    quiet().await;
    let mut replayed = late.take();
    replayed.sort();
    assert_eq!(replayed, ["initial a", "initial b"]);
    assert!(registration.has_synced());
    registration.remove();
    registration.remove();
    cluster.write("c", "new").await;
    cluster.settle().await;
    assert_eq!(late.take(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_stops_nobody_and_gets_the_next_event() {
    let cluster = Cluster::streamed(&["a"]);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    cluster.informer.add_event_handler(move |_: &Event<ConfigMap>| {
        assert_ne!(counted.fetch_add(1, Ordering::SeqCst), 0, "the first event is too much");
    });
    let heard = cluster.hear();
    cluster.start().await;
    cluster.write("b", "new").await;
    cluster.settle().await;
    assert_eq!(heard.take(), ["initial a", "added b"]);
    assert_eq!(calls.load(Ordering::SeqCst), 3, "with that of `settle`");
}

#[tokio::test(start_paused = true)]
async fn each_handler_has_its_own_resync_period() {
    let cluster = Cluster::streamed(&["a"]);
    let (often, seldom, never) = (Heard::default(), Heard::default(), Heard::default());
    for (heard, seconds) in [(&often, 60), (&seldom, 600), (&never, 0)] {
        let period = Duration::from_secs(seconds);
        cluster.informer.add_event_handler_with_resync(heard.handler(), period).unwrap();
    }
    cluster.start().await;
    quiet().await;
    for heard in [&often, &seldom, &never] {
        assert_eq!(heard.take(), ["initial a"]);
    }
    tokio::time::sleep(Duration::from_secs(1210)).await;
    assert_eq!((often.take().len(), seldom.take().len(), never.take().len()), (20, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_handlers_that_come_and_go_under_two_thousand_events_lose_nothing() {
    let cluster = Cluster::streamed(&[]);
    let first = cluster.hear();
    cluster.start().await;
    let mut registrations = Vec::new();
    for number in 0..2_000 {
        cluster.server.load(&map(&format!("map-{number}"), "new")).unwrap();
        if number % 20 == 0 {
            registrations.push(cluster.informer.add_event_handler(Heard::default().handler()));
            if let Some(earlier) = registrations.get(number / 40) {
                earlier.remove();
            }
            quiet().await;
        }
    }
    cluster.settle().await;
    assert_eq!(registrations.len(), 100);
    assert_eq!(first.take().len(), 2_000);
    assert_eq!(cluster.informer.store().len(), 2_001);
}

#[tokio::test(start_paused = true)]
async fn indexes_and_listers_follow_the_server() {
    let cluster = Cluster::streamed(&["a", "b"]);
    let by_value = cluster
        .informer
        .add_index("value", |map: &ConfigMap| map.data.clone().unwrap_or_default().into_values())
        .unwrap();
    cluster.start().await;
    assert_eq!(by_value.get("loaded").len(), 2);
    cluster.write("a", "changed").await;
    cluster.delete("b").await;
    cluster.settle().await;
    assert_eq!((by_value.get("loaded").len(), by_value.get("changed").len()), (0, 1));
    let lister = cluster.informer.lister();
    assert!(lister.namespace("default").get("b").is_none());
    assert_eq!(lister.list(&Selector::everything()).len(), 2, "with that of `settle`");
    assert!(lister.namespace("other").list(&Selector::everything()).is_empty());
}
