//! User code that panics or blocks, and the end of an informer.

use std::{
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use futures::StreamExt;
use genclient_runtime::{
    Event, ObjectKey, SharedInformer, WorkQueue,
    informer::CatchUpError,
    reflector::{Delta, DeltaSink, InvalidObject, Scope, delta_queue},
    store::Index,
};

use crate::support::*;

/// A value whose `Hash` or `Eq` panics for one string.
#[derive(Clone, Debug)]
struct Touchy {
    text: String,
    hash_panics: bool,
    eq_panics: bool,
}

impl Touchy {
    fn of(item: &Item) -> [Self; 1] {
        let text = item.labels.get("in").cloned().unwrap_or_default();
        [Self { hash_panics: text == "hash", eq_panics: text == "eq", text }]
    }
}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(!self.hash_panics, "no hash for this");
        0.hash(state);
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        assert!(!self.eq_panics && !other.eq_panics, "not comparable");
        self.text == other.text
    }
}

impl Eq for Touchy {}

fn labelled(name: &str, version: u64, value: &str) -> Arc<Item> {
    let mut item = Item::clone(&item(name, 1, version));
    item.labels.insert("in".to_owned(), value.to_owned());
    Arc::new(item)
}

#[tokio::test]
async fn an_index_value_whose_hash_panics_is_caught_and_its_object_is_stored() {
    let (informer, feed) = running();
    let index: Index<Item, Touchy> = informer.add_index("touchy", Touchy::of).expect("a new index");
    feed.send([list(2, vec![labelled("a", 1, "x"), labelled("b", 2, "hash")])]).await;
    reached(&informer, 2).await;
    assert_eq!(informer.store().len(), 2);
    feed.send([Delta::Upsert(labelled("a", 3, "hash")), Delta::Upsert(labelled("b", 4, "y"))]).await;
    reached(&informer, 4).await;
    let found = index.get(&Touchy { text: "y".into(), hash_panics: false, eq_panics: false });
    assert_eq!(found.len(), 1);
    assert!(index.get(&Touchy { text: "x".into(), hash_panics: false, eq_panics: false }).is_empty());
    assert!(!informer.is_stopped());
}

#[tokio::test]
async fn the_informer_ends_when_applying_a_change_panics_and_so_do_all_who_wait() {
    let (informer, feed) = running();
    informer.add_index("touchy", Touchy::of).expect("a new index");
    let registration = informer.add_event_handler(|_: &Event<Item>| {});
    let mut events = informer.events();
    feed.send([list(1, vec![labelled("a", 1, "x")])]).await;
    assert!(registration.wait_for_sync().await);
    let waiting = tokio::spawn({
        let informer = informer.clone();
        async move { informer.caught_up_to_version("9", LONG).await }
    });
    assert!(events.next().await.is_some());
    feed.send([Delta::Upsert(labelled("b", 2, "eq")), Delta::Upsert(item("c", 1, 3))]).await;
    informer.stopped().await;
    assert!(informer.is_stopped());
    assert_eq!(informer.failure().as_deref(), Some("applying a change panicked: not comparable"));
    assert_eq!(waiting.await.unwrap(), Err(CatchUpError::Stopped { wanted: "9".to_owned() }));
    assert!(events.next().await.is_none(), "the stream ends");
    feed.0.closed().await;
    assert_eq!(informer.store().keys(), [ObjectKey::namespaced("ns", "a")], "the batch was not published");
    assert!(informer.add_event_handler(|_: &Event<Item>| {}).is_removed());
    assert!(!informer.add_event_handler(|_: &Event<Item>| {}).wait_for_sync().await);
}

#[tokio::test]
async fn a_panic_in_the_first_list_ends_the_wait_for_sync() {
    let (informer, feed) = running();
    informer.add_index("touchy", Touchy::of).expect("a new index");
    let handler = informer.add_event_handler(|_: &Event<Item>| {});
    feed.send([list(1, vec![labelled("a", 1, "x"), labelled("b", 1, "eq")])]).await;
    assert!(!informer.wait_for_sync().await);
    assert!(!handler.wait_for_sync().await);
    assert!(informer.failure().is_some());
}

#[tokio::test]
async fn with_an_impure_index_function_an_object_is_found_under_the_values_of_its_last_state_only() {
    let (informer, feed) = running();
    let calls = AtomicUsize::new(0);
    let index: Index<Item, usize> = informer
        .add_index("random", move |_: &Item| [calls.fetch_add(1, Ordering::SeqCst) % 7])
        .expect("a new index");
    for version in 1..200_u64 {
        let name = format!("o{}", version % 5);
        let delta = match version % 3 {
            0 => Delta::Delete(item(&name, 1, version)),
            _ => Delta::Upsert(item(&name, 1, version)),
        };
        feed.send([list(1, vec![]), delta]).await;
        feed.send([bookmark(version)]).await;
        reached(&informer, version).await;
        let found: Vec<_> = (0..7).flat_map(|value| index.get(&value)).collect();
        assert_eq!(found.len(), informer.store().len(), "each object under one value");
        assert!(found.iter().all(|object| informer.store().get(&ObjectKey::of(&**object)).is_some()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_forever_stops_no_worker_of_a_queue() {
    let (informer, feed) = running();
    let (queue, (release, blocked)) = (WorkQueue::<ObjectKey>::new("keys"), mpsc::channel::<()>());
    let adding = queue.clone();
    informer.add_event_handler(move |event: &Event<Item>| {
        adding.add(event.key());
        let _ = blocked.recv();
    });
    let adding = queue.clone();
    informer.add_event_handler(move |event: &Event<Item>| {
        adding.add(event.key());
    });
    let done = Arc::new(AtomicUsize::new(0));
    let (worker, counting) = (queue.clone(), done.clone());
    tokio::spawn(async move {
        while let Some(item) = worker.next().await {
            counting.fetch_add(1, Ordering::SeqCst);
            item.done();
        }
    });
    // Let the worker sleep, so that the handler wakes it.
    tokio::time::sleep(Duration::from_millis(50)).await;
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    feed.send((2..12).map(|version| Delta::Upsert(item(&format!("o{version}"), 1, version)))).await;
    eventually("all eleven keys are worked on", || done.load(Ordering::SeqCst) >= 11).await;
    drop(release);
}

#[test]
fn a_handler_that_blocks_delays_nothing_else_on_a_runtime_with_one_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (informer, feed) = running();
        let (release, blocked) = mpsc::channel::<()>();
        let (entered, has_entered) = mpsc::channel::<()>();
        informer.add_event_handler(move |_: &Event<Item>| {
            let _ = entered.send(());
            let _ = blocked.recv();
        });
        let recorder = Recorder::default();
        informer.add_event_handler(recorder.handler());
        feed.send([list(1, vec![item("a", 1, 1)])]).await;
        recorder.has(&["+a1 initial"]).await;
        has_entered.recv().unwrap();
        feed.send([Delta::Upsert(item("a", 1, 2))]).await;
        recorder.has(&["+a1 initial", "~a1>a2 Watch"]).await;
        reached(&informer, 2).await;
        drop(release);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_is_never_synced_before_its_informer() {
    for _ in 0..300 {
        let informer = idle(vec![Scope::All]);
        let handler = informer.add_event_handler(|_: &Event<Item>| {});
        // Another thread looks at both at the very moment at which they change.
        let checked = std::thread::spawn({
            let informer = informer.clone();
            move || {
                while !handler.has_synced() {
                    std::hint::spin_loop();
                }
                assert!(informer.has_synced());
            }
        });
        let feed = run(&informer);
        feed.send([list(1, vec![])]).await;
        tokio::task::spawn_blocking(|| checked.join()).await.unwrap().unwrap();
    }
}

/// An informer with a list that takes about a second to apply, which has just begun.
async fn applying() -> (SharedInformer<Item>, Feed, Arc<AtomicBool>) {
    let (informer, feed) = running();
    let (begun, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    informer
        .add_index("slow", {
            let begun = begun.clone();
            move |_: &Item| {
                begun.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(1));
                [0]
            }
        })
        .expect("a new index");
    feed.send([list(7, (0..1000).map(|n| item(&format!("o{n}"), 1, 1)).collect())]).await;
    tokio::spawn({
        let (informer, done) = (informer.clone(), done.clone());
        async move {
            reached(&informer, 7).await;
            done.store(true, Ordering::SeqCst);
        }
    });
    eventually("the list is being applied", || begun.load(Ordering::SeqCst)).await;
    (informer, feed, done)
}

#[tokio::test]
async fn handlers_streams_and_readers_never_wait_for_a_list_that_is_being_applied() {
    let (informer, _feed, done) = applying().await;
    let begin = Instant::now();
    let deadline = informer.caught_up_to_version("7", Duration::ZERO).await;
    assert!(matches!(deadline, Err(CatchUpError::Deadline { .. })), "{deadline:?}");
    assert!(informer.invalid().is_empty());
    let (recorder, mut events) = (Recorder::default(), informer.events());
    informer.add_event_handler(recorder.handler());
    assert_eq!(informer.store().len(), 0);
    // The only thread of the runtime is free as well.
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
    assert!(!done.load(Ordering::SeqCst), "the list is still being applied");
    eventually("the handler gets the list all the same", || recorder.len() == 1000).await;
    for _ in 0..1000 {
        assert!(events.next().await.is_some());
    }
}

#[tokio::test]
async fn stopping_does_not_wait_for_a_list_that_is_being_applied() {
    let (informer, feed, _done) = applying().await;
    let begin = Instant::now();
    informer.stop();
    assert!(informer.is_stopped());
    assert!(begin.elapsed() < Duration::from_millis(300), "{:?}", begin.elapsed());
    feed.0.closed().await;
}

#[tokio::test]
async fn the_informer_ends_when_the_future_of_run_is_dropped() {
    let informer = idle(vec![Scope::All]);
    let dropped = Arc::new(());
    let handler = informer.add_event_handler({
        let held = dropped.clone();
        move |_: &Event<Item>| drop(held.clone())
    });
    let events = informer.events();
    let (_sender, receiver) = delta_queue(8);
    {
        let running = informer.run(receiver);
        tokio::select! {
            () = running => unreachable!("nothing ends it"),
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
    assert!(informer.is_stopped());
    assert!(!informer.wait_for_sync().await);
    assert!(!handler.wait_for_sync().await);
    assert_eq!(events.count().await, 0);
    eventually("the handler is dropped", || Arc::strong_count(&dropped) == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_kept_snapshot_does_not_keep_the_informer_awake() {
    let (informer, feed) = running();
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    let _snapshot = informer.store().snapshot();
    feed.send([Delta::Upsert(item("a", 1, 2))]).await;
    reached(&informer, 2).await;
    let before = tokio::runtime::Handle::current().metrics().worker_park_count(0);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let polls = tokio::runtime::Handle::current().metrics().worker_park_count(0) - before;
    assert!(polls < 50, "{polls} wake-ups in a quiet minute");
}

#[tokio::test]
async fn catching_up_to_a_write_that_does_not_decode_is_an_error_that_says_so() {
    let (informer, feed) = running();
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    feed.send([Delta::Invalid(invalid("a", "a-1", 2)), bookmark(3)]).await;
    let written = informer.caught_up_to(&item("a", 1, 2), LONG).await;
    assert_eq!(written, Err(CatchUpError::Invalid { error: "spec.cidr: invalid type".to_owned() }));
    feed.send([Delta::Upsert(item("a", 1, 4))]).await;
    assert_eq!(informer.caught_up_to(&item("a", 1, 4), LONG).await, Ok(()));
}

#[tokio::test]
async fn a_list_with_an_object_whose_name_cannot_be_read_deletes_nothing() {
    let (informer, feed) = running();
    feed.send([list(1, vec![item("a", 1, 1), item("b", 1, 1)])]).await;
    let mut nameless = invalid("", "", 5);
    nameless.key = ObjectKey::default();
    let spoilt = |version: u64, invalid| Delta::Replace {
        scope: Scope::All,
        objects: vec![item("a", 1, 1)],
        invalid,
        resource_version: version.to_string(),
    };
    feed.send([spoilt(5, vec![nameless])]).await;
    reached(&informer, 5).await;
    assert_eq!(informer.store().len(), 2, "`b` may be the object without a name");
    feed.send([spoilt(6, vec![])]).await;
    reached(&informer, 6).await;
    assert_eq!(informer.store().len(), 1);
}

#[tokio::test]
async fn a_recreated_object_in_a_list_replaces_the_old_one_regardless_of_their_versions() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(30, vec![item("a", 1, 20)])]).await;
    recorder.has(&["+a20 initial"]).await;
    // An aggregated API server has its own versions.
    feed.send([list(31, vec![item("a", 2, 3)])]).await;
    recorder.has(&["+a20 initial", "-a20 Unknown", "+a3"]).await;
}

#[tokio::test(start_paused = true)]
async fn the_age_of_the_cache_is_the_time_since_the_last_delta() {
    let (informer, feed) = running();
    assert_eq!(informer.age(), None);
    feed.send([list(1, vec![])]).await;
    reached(&informer, 1).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(informer.age().is_some_and(|age| age >= Duration::from_secs(30)));
    feed.send([bookmark(2)]).await;
    reached(&informer, 2).await;
    assert!(informer.age().is_some_and(|age| age < Duration::from_secs(30)));
}

#[tokio::test(start_paused = true)]
async fn the_age_of_a_cache_of_several_namespaces_is_that_of_the_one_that_was_silent_longest() {
    let scopes = ["a", "b"].map(|namespace| Scope::Namespace(namespace.into()));
    let informer = idle(scopes.to_vec());
    let feed = run(&informer);
    let list = |scope: &Scope, version: u64| Delta::Replace {
        scope: scope.clone(),
        objects: vec![],
        invalid: vec![],
        resource_version: version.to_string(),
    };
    feed.send([list(&scopes[0], 1)]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(informer.age(), None, "nothing is known of the second namespace");
    feed.send([list(&scopes[1], 1)]).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    feed.send([Delta::Upsert(item_in("b", "x", 1, 2))]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(informer.age().is_some_and(|age| age > Duration::from_secs(60)), "the first is silent");
    let bookmark = Delta::Bookmark { scope: scopes[0].clone(), resource_version: "3".to_owned() };
    feed.send([bookmark]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(informer.age().is_some_and(|age| age < Duration::from_secs(60)));
}

#[tokio::test]
async fn an_invalid_object_of_no_followed_namespace_is_forgotten_with_the_next_list() {
    let scope = Scope::Namespace("a".into());
    let informer = idle(vec![scope.clone()]);
    let feed = run(&informer);
    let list = |version: u64, invalid| Delta::Replace {
        scope: scope.clone(),
        objects: vec![],
        invalid,
        resource_version: version.to_string(),
    };
    let foreign = InvalidObject::new(ObjectKey::namespaced("elsewhere", "x"), "not in namespace a");
    let unreadable = InvalidObject::new(ObjectKey::cluster("y"), "metadata.namespace: not a string");
    feed.send([list(1, vec![foreign, unreadable])]).await;
    eventually("both are reported", || informer.invalid().len() == 2).await;
    feed.send([list(2, vec![])]).await;
    eventually("both are forgotten", || informer.invalid().is_empty()).await;
}

/// An informer with two objects, while an index of it is being computed on another thread until the gate
/// is opened.
async fn indexing() -> (SharedInformer<Item>, Feed, Gate, std::thread::JoinHandle<()>) {
    let (informer, feed) = running();
    feed.send([list(1, vec![item("a", 1, 1), item("b", 1, 1)])]).await;
    reached(&informer, 1).await;
    let (gate, begun) = (Gate::default(), Arc::new(AtomicBool::new(false)));
    let indexing = std::thread::spawn({
        let (informer, gate, begun) = (informer.clone(), gate.clone(), begun.clone());
        move || {
            let slow = move |_: &Item| {
                begun.store(true, Ordering::SeqCst);
                gate.wait();
                [0]
            };
            informer.add_index("slow", slow).expect("a new index");
        }
    });
    eventually("the index is being computed", || begun.load(Ordering::SeqCst)).await;
    (informer, feed, gate, indexing)
}

/// The runtime has one thread: if anything blocked it, nothing else would run.
#[tokio::test]
async fn an_index_that_is_computed_slowly_blocks_neither_the_runtime_nor_new_handlers() {
    let (informer, feed, gate, indexing) = indexing().await;
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([Delta::Upsert(item("a", 1, 2))]).await;
    // The loop has work of both kinds now.
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        informer.add_event_handler(|_: &Event<Item>| {});
    }
    gate.open();
    reached(&informer, 2).await;
    eventually("the new handler hears of it", || recorder.texts().iter().any(|text| text.contains("a2")))
        .await;
    indexing.join().unwrap();
}
