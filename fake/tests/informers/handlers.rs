//! Handlers, indexes and listers.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use genclient_fake::Server;
use genclient_runtime::{Event, InformerFactory, Selector, TypedClient};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use crate::support::{Cluster, DEADLINE, Heard, map, quiet, until};

/// The name and the value of a map.
fn shown(map: &ConfigMap) -> (String, String) {
    let name = map.metadata.name.clone().unwrap_or_default();
    (name, map.data.as_ref().map(|data| data["key"].clone()).unwrap_or_default())
}

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
async fn a_hundred_handlers_that_come_and_go_under_ten_thousand_events_lose_nothing() {
    let cluster = Cluster::streamed(&[]);
    let first = cluster.hear();
    cluster.start().await;
    let mut registrations = Vec::new();
    for number in 0..10_000 {
        cluster.server.load(&map(&format!("map-{number}"), "new")).unwrap();
        if number % 100 == 0 {
            registrations.push(cluster.informer.add_event_handler(Heard::default().handler()));
            if let Some(earlier) = registrations.get(number / 200) {
                earlier.remove();
            }
            quiet().await;
        }
    }
    cluster.settle().await;
    assert_eq!(registrations.len(), 100);
    assert_eq!(first.take().len(), 10_000);
    assert_eq!(cluster.informer.store().len(), 10_001);
}

#[tokio::test(start_paused = true)]
async fn a_transform_runs_once_for_each_state_of_an_object_also_on_a_streamed_list() {
    for streaming in [false, true] {
        let server = Server::new();
        for name in ["a", "b"] {
            server.load(&map(name, "loaded")).unwrap();
        }
        let seen = Arc::new(Mutex::new(Vec::new()));
        let transformed = seen.clone();
        let factory = InformerFactory::builder(server.client())
            .tweak_list_options(move |options| options.streaming_lists = streaming)
            .transform(move |map: &mut ConfigMap| {
                transformed.lock().push(shown(map));
                map.data = None;
            })
            .build();
        let informer = factory.informer::<ConfigMap>();
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.unwrap();
        let maps = TypedClient::<ConfigMap>::namespaced(server.client(), "default");
        let written = maps.update(&map("a", "changed")).await.unwrap();
        informer.caught_up_to(&written, DEADLINE).await.unwrap();
        let states = [("a", "changed"), ("a", "loaded"), ("b", "loaded")];
        let mut seen = seen.lock().clone();
        seen.sort();
        assert_eq!(seen, states.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(informer.store().list(&Selector::everything()).iter().all(|map| map.data.is_none()));
    }
}

#[tokio::test(start_paused = true)]
async fn the_order_is_kept_for_each_object_and_the_old_state_is_the_one_that_was_told_last() {
    let cluster = Cluster::streamed(&[]);
    let told = Arc::new(Mutex::new(BTreeMap::<String, (Arc<ConfigMap>, usize)>::new()));
    let listened = told.clone();
    cluster.informer.add_event_handler(move |event: &Event<ConfigMap>| {
        let (name, value) = shown(event.object());
        let Ok(value) = value.parse::<usize>() else { return };
        let mut told = listened.lock();
        if let Some((last, before)) = told.insert(name, (event.object().clone(), value)) {
            let Event::Updated { old, .. } = event else { panic!("{event:?} of an object that is known") };
            assert!(Arc::ptr_eq(old, &last) && before < value, "{value} comes after {before}");
        }
    });
    cluster.start().await;
    for value in 0..500 {
        for name in ["a", "b", "c"] {
            cluster.write(&format!("{name}-{}", value % 5), &value.to_string()).await;
        }
    }
    cluster.settle().await;
    let last: Vec<_> = told.lock().values().map(|(_, value)| *value).collect();
    assert_eq!(last, [495, 496, 497, 498, 499].repeat(3));
}

#[tokio::test]
async fn a_slow_handler_holds_few_events_and_ends_on_the_newest_state_of_every_object() {
    const OBJECTS: usize = 10;
    let cluster = Cluster::streamed(&[]);
    let (release, blocked) = mpsc::channel::<()>();
    let (told, newest) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(BTreeMap::new())));
    let (counted, kept) = (told.clone(), newest.clone());
    cluster.informer.add_event_handler(move |event: &Event<ConfigMap>| {
        // Until the sender is dropped.
        let _ = blocked.recv();
        counted.fetch_add(1, Ordering::SeqCst);
        let (name, value) = shown(event.object());
        kept.lock().insert(name, value);
    });
    cluster.start().await;
    for value in 0..100 {
        for object in 0..OBJECTS {
            cluster.write(&format!("map-{object}"), &value.to_string()).await;
        }
    }
    cluster.settle().await;
    assert_eq!(told.load(Ordering::SeqCst), 0, "the handler is in its first event");
    drop(release);
    let newest_are_told = || {
        let newest = newest.lock();
        newest.len() == OBJECTS + 1 && newest.iter().all(|(name, value)| name == "last" || value == "99")
    };
    until("the newest state of every object is told", newest_are_told).await;
    // The first event, and one for each object that waited behind it.
    assert!(told.load(Ordering::SeqCst) <= OBJECTS + 2, "{} events were kept", told.load(Ordering::SeqCst));
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
