//! Objects, handlers, deadlines and runtimes that are not what one would wish for.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Waker},
    time::{Duration, Instant},
};

use futures::StreamExt;
use genclient_runtime::{
    Event, SharedInformer,
    informer::{HandlerRegistration, InformerConfig},
    object::CacheObject,
    reflector::{Delta, DeltaSender, DeltaSink, Scope, delta_queue},
};
use parking_lot::Mutex;

use crate::support::*;

/// An object whose `Drop` and whose methods may panic.
#[derive(Default)]
struct Mine {
    name: &'static str,
    version: String,
    drop_panics: bool,
    name_panics: Arc<AtomicBool>,
}

impl Drop for Mine {
    fn drop(&mut self) {
        assert!(!self.drop_panics, "dropped on the floor");
    }
}

impl CacheObject for Mine {
    fn name(&self) -> &str {
        assert!(!self.name_panics.load(Ordering::SeqCst), "no name today");
        self.name
    }

    fn namespace(&self) -> Option<&str> {
        None
    }

    fn uid(&self) -> &str {
        self.name
    }

    fn resource_version(&self) -> &str {
        &self.version
    }

    fn label(&self, _: &str) -> Option<&str> {
        None
    }
}

fn mine(name: &'static str, version: u64) -> Mine {
    let mut mine = Mine::default();
    (mine.name, mine.version) = (name, version.to_string());
    mine
}

fn dangerous(name: &'static str, version: u64) -> Arc<Mine> {
    let mut mine = mine(name, version);
    mine.drop_panics = true;
    Arc::new(mine)
}

fn mined(version: u64, objects: Vec<Mine>) -> Delta<Mine> {
    let objects = objects.into_iter().map(Arc::new).collect();
    Delta::Replace { scope: Scope::All, objects, invalid: vec![], resource_version: version.to_string() }
}

/// An informer that runs and has applied an empty list.
async fn mining() -> (SharedInformer<Mine>, DeltaSender<Mine>) {
    let informer = SharedInformer::new(InformerConfig::new("mines.example.com"));
    let (sender, receiver) = delta_queue(8);
    let running = informer.clone();
    tokio::spawn(async move { running.run(receiver).await });
    sender.send_all([mined(1, vec![])]).await.expect("the informer receives");
    assert!(informer.wait_for_sync().await);
    (informer, sender)
}

#[tokio::test]
async fn an_object_whose_drop_panics_does_not_end_the_handler_that_held_it_last() {
    let (informer, sender) = mining().await;
    let (open, begun, done) = (Gate::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let registration = informer.add_event_handler({
        let (open, begun, done) = (open.clone(), begun.clone(), done.clone());
        move |_: &Event<Mine>| {
            begun.fetch_add(1, Ordering::SeqCst);
            open.wait();
            done.fetch_add(1, Ordering::SeqCst);
        }
    });
    sender.send_all([Delta::Upsert(Arc::new(mine("a", 2)))]).await.unwrap();
    eventually("the handler is called", || begun.load(Ordering::SeqCst) == 1).await;
    // The last state of `a` is in the handler's backlog alone.
    sender.send_all([Delta::Delete(dangerous("a", 3)), Delta::Upsert(Arc::new(mine("b", 4)))]).await.unwrap();
    informer.caught_up_to_version("4", LONG).await.expect("the cache catches up");
    open.open();
    eventually("the handler is called three times", || done.load(Ordering::SeqCst) == 3).await;
    assert!(!registration.is_removed() && !informer.is_stopped());
}

#[tokio::test]
async fn handlers_and_objects_whose_drop_panics_do_not_keep_an_informer_from_its_end() {
    struct Grenade;

    impl Drop for Grenade {
        fn drop(&mut self) {
            panic!("pulled");
        }
    }

    let informer = idle(vec![Scope::All]);
    let grenade = Grenade;
    informer.add_event_handler(move |_: &Event<Item>| {
        let _ = &grenade;
    });
    let other = informer.add_event_handler(|_: &Event<Item>| {});
    informer.stop();
    assert!(informer.is_stopped() && other.is_removed());
    assert!(!informer.wait_for_sync().await);
    assert!(!other.wait_for_sync().await);

    let (informer, sender) = mining().await;
    let streams = [informer.events(), informer.events()];
    sender.send_all([Delta::Upsert(Arc::new(mine("a", 2)))]).await.unwrap();
    eventually("both have the object", || streams.iter().all(|stream| stream.backlog() == 1)).await;
    let [mut first, second] = streams;
    assert!(first.next().await.is_some());
    sender.send_all([Delta::Delete(dangerous("a", 3))]).await.unwrap();
    eventually("the first waits with its end", || first.backlog() == 1).await;
    informer.stop();
    assert!(informer.is_stopped());
    assert_eq!(second.count().await, 0);
}

#[tokio::test]
async fn a_panic_while_an_older_generation_catches_up_is_a_failure_of_the_informer() {
    let (informer, sender) = mining().await;
    let snapshot = informer.store().snapshot();
    let name_panics = Arc::new(AtomicBool::new(false));
    let mut late = mine("a", 2);
    late.name_panics = name_panics.clone();
    sender.send_all([Delta::Upsert(Arc::new(late))]).await.unwrap();
    informer.caught_up_to_version("2", LONG).await.expect("the cache catches up");
    // The change is repeated once the reader has left.
    name_panics.store(true, Ordering::SeqCst);
    drop(snapshot);
    informer.stopped().await;
    assert_eq!(informer.failure().as_deref(), Some("applying a change panicked: no name today"));
    assert_eq!(informer.store().len(), 1);
}

#[tokio::test]
async fn an_endless_resync_period_and_an_endless_deadline_are_no_trouble() {
    let informer: SharedInformer<Item> =
        SharedInformer::new(InformerConfig::new("items.example.com").resync(Duration::MAX));
    informer.add_event_handler(|_: &Event<Item>| {});
    let own = informer.add_event_handler_with_resync(|_: &Event<Item>| {}, Duration::MAX);
    let feed = run(&informer);
    feed.send([list(1, vec![item("a", 1, 1)]), bookmark(3)]).await;
    assert_eq!(informer.caught_up_to_version("3", Duration::MAX).await, Ok(()));
    assert!(own.expect("it is long enough").wait_for_sync().await);
    assert_eq!(informer.failure(), None);
}

#[test]
fn an_informer_that_was_polled_outside_of_a_runtime_can_still_run_in_one() {
    let informer = idle(vec![Scope::All]);
    let (_sender, receiver) = delta_queue(8);
    let polled = catch_unwind(AssertUnwindSafe(|| {
        pin!(informer.run(receiver)).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }));
    assert!(polled.is_err(), "it needs a runtime");
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        run(&informer).send([list(1, vec![])]).await;
        assert!(informer.wait_for_sync().await);
    });
}

#[test]
fn a_runtime_that_ends_ends_its_handlers_and_nobody_waits_for_them() {
    let informer = idle(vec![Scope::All]);
    let calls = Arc::new(AtomicUsize::new(0));
    let slow = informer.add_event_handler({
        let calls = calls.clone();
        move |_: &Event<Item>| {
            calls.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        run(&informer).send([list(1, (0..1000).map(|n| item(&format!("o{n}"), 1, 1)).collect())]).await;
        eventually("the handler is called", || calls.load(Ordering::SeqCst) > 0).await;
    });
    let begin = Instant::now();
    drop(runtime);
    assert!(begin.elapsed() < Duration::from_secs(5), "a call ends, and not the whole backlog");
    assert!(informer.is_stopped());
    let elsewhere = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let synced = elsewhere.block_on(async { tokio::time::timeout(LONG, slow.wait_for_sync()).await });
    assert_eq!(synced, Ok(false));
}

#[tokio::test]
async fn a_handler_that_is_removed_before_the_informer_runs_leaves_nothing_behind() {
    let (informer, held) = (idle(vec![Scope::All]), Arc::new(()));
    for _ in 0..1000 {
        let held = held.clone();
        informer.add_event_handler(move |_: &Event<Item>| drop(held.clone())).remove();
    }
    assert!(Arc::strong_count(&held) < 10, "{} handlers are kept", Arc::strong_count(&held) - 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_may_do_with_its_informer_what_it_likes() {
    let (informer, feed) = running();
    let (own, calls) = (Arc::new(Mutex::new(None::<HandlerRegistration>)), Arc::new(AtomicUsize::new(0)));
    {
        let mut place = own.lock();
        let (own, calls) = (own.clone(), calls.clone());
        *place = Some(informer.add_event_handler(move |_: &Event<Item>| {
            calls.fetch_add(1, Ordering::SeqCst);
            own.lock().as_ref().expect("it was registered").remove();
        }));
    }
    feed.send([list(1, (0..10).map(|n| item(&format!("o{n}"), 1, 1)).collect())]).await;
    eventually("it removes itself", || own.lock().as_ref().is_some_and(HandlerRegistration::is_removed))
        .await;
    let further = Arc::new(AtomicUsize::new(0));
    informer.add_event_handler({
        let (informer, further) = (informer.clone(), further.clone());
        move |event: &Event<Item>| {
            let further = further.clone();
            informer.add_event_handler(move |_: &Event<Item>| {
                further.fetch_add(1, Ordering::SeqCst);
            });
            informer.add_index(&event.key().to_string(), |_: &Item| [0]).expect("a new index");
            drop(informer.events());
        }
    });
    eventually("ten handlers handle ten objects", || further.load(Ordering::SeqCst) == 100).await;
    informer.add_event_handler({
        let informer = informer.clone();
        move |_: &Event<Item>| informer.stop()
    });
    informer.stopped().await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// A list that the informer does not finish to apply before the gate is open, and whether it has begun.
fn slow_list(informer: &SharedInformer<Item>) -> (Delta<Item>, Arc<AtomicBool>, Gate) {
    let (begun, open) = (Arc::new(AtomicBool::new(false)), Gate::default());
    informer
        .add_index("slow", {
            let (begun, open) = (begun.clone(), open.clone());
            move |_: &Item| {
                begun.store(true, Ordering::SeqCst);
                open.wait();
                [0]
            }
        })
        .expect("a new index");
    (list(7, (0..600).map(|n| item(&format!("o{n}"), 1, 1)).collect()), begun, open)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_is_being_applied_when_the_informer_is_stopped_does_not_change_the_cache() {
    let (informer, feed) = running();
    let (slow, begun, open) = slow_list(&informer);
    feed.send([slow]).await;
    eventually("the list is being applied", || begun.load(Ordering::SeqCst)).await;
    informer.stop();
    open.open();
    // Whoever adds an index waits until the list has been applied.
    informer.add_index("other", |_: &Item| [0]).expect("a new index");
    assert!(informer.store().is_empty() && !informer.has_synced());
    feed.0.closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_has_ended_stays_so_although_a_list_was_being_applied() {
    let informer = idle(vec![Scope::All]);
    let (slow, begun, open) = slow_list(&informer);
    let mut events = informer.events();
    let (sender, receiver) = delta_queue(8);
    sender.send_all([slow]).await.expect("there is room");
    let running = informer.clone();
    let task = tokio::spawn(async move { running.run(receiver).await });
    eventually("the list is being applied", || begun.load(Ordering::SeqCst)).await;
    task.abort();
    tokio::time::sleep(Duration::from_millis(10)).await;
    open.open();
    assert!(task.await.is_err_and(|error| error.is_cancelled()));
    while events.next().await.is_some() {}
    informer.add_index("other", |_: &Item| [0]).expect("a new index");
    assert!(events.next().await.is_none());
}

/// Small lists are applied in place and large ones on another thread, and handlers come at any moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_that_come_while_lists_are_applied_miss_nothing_and_hear_nothing_twice() {
    for seed in 0..12_u64 {
        let (informer, feed) = running();
        let feeding = tokio::spawn(async move {
            let mut version = 1;
            for round in 0..12_u64 {
                let objects = match (seed + round) % 4 {
                    0 => 5,
                    1 => 700,
                    2 => 300,
                    _ => 1,
                };
                version += 1;
                let life = |number| 1 + (round + number) % 3;
                let objects =
                    (0..objects).map(|number| item(&format!("o{number}"), life(number), version)).collect();
                feed.send([list(version, objects)]).await;
                for number in 0..20 {
                    version += 1;
                    let object = item(&format!("o{}", (number * 7 + seed) % 40), life(number), version);
                    let delta = if number % 4 == 0 { Delta::Delete(object) } else { Delta::Upsert(object) };
                    feed.send([delta]).await;
                }
            }
            (feed, version)
        });
        let mut views = Vec::new();
        for number in 0..25 {
            let (view, faults) = (Arc::new(Mutex::new(View::default())), Arc::new(AtomicUsize::new(0)));
            let registration = informer.add_event_handler({
                let (view, faults) = (view.clone(), faults.clone());
                move |event: &Event<Item>| {
                    // Counted before, in case it does not fit.
                    faults.fetch_add(1, Ordering::SeqCst);
                    view.lock().hear(event);
                    faults.fetch_sub(1, Ordering::SeqCst);
                }
            });
            match number % 5 {
                4 => registration.remove(),
                _ => views.push((view, faults, registration)),
            }
            match (number + seed) % 3 {
                0 => tokio::time::sleep(Duration::from_micros(seed * 137 % 900)).await,
                _ => tokio::task::yield_now().await,
            }
        }
        let (_feed, version) = feeding.await.expect("it does not panic");
        reached(&informer, version).await;
        for (view, faults, registration) in views {
            assert!(registration.wait_for_sync().await);
            let is_done = || registration.backlog() == 0 && faults.load(Ordering::SeqCst) == 0;
            eventually("it has heard everything, and everything fits", || {
                is_done() && view.lock().0.len() == informer.store().len()
            })
            .await;
            eventually("its view is the cache", || view.lock().is(&informer)).await;
        }
    }
}
