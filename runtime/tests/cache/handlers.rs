//! Handlers that are added, removed, slow, blocked or panic.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    time::Duration,
};

use futures::{FutureExt, StreamExt};
use genclient_runtime::{
    Event, SharedInformer,
    informer::{HandlerRegistration, quick},
    reflector::{Delta, DeltaSink, Scope},
};
use parking_lot::Mutex;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_added_late_is_called_with_every_object_and_has_its_own_synced_signal() {
    let (informer, feed) = running();
    feed.send([list(2, vec![item("a", 1, 1), item("b", 1, 2)]), Delta::Upsert(item("b", 1, 3))]).await;
    reached(&informer, 3).await;
    let recorder = Recorder::default();
    let registration = informer.add_event_handler(recorder.handler());
    assert!(!registration.has_synced(), "it has not been called yet");
    assert!(registration.wait_for_sync().await);
    let mut told = recorder.texts();
    told.sort();
    assert_eq!(told, ["+a1 initial", "+b3 initial"]);
    feed.send([Delta::Upsert(item("c", 1, 4))]).await;
    eventually("it is told of c", || recorder.texts().last().is_some_and(|last| last == "+c4")).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_synced_only_after_it_has_handled_the_whole_first_list() {
    let informer = idle(vec![Scope::All]);
    let recorder = Recorder::default();
    let mut record = recorder.handler();
    let (heard, seen) = (Arc::new(Mutex::new(None::<HandlerRegistration>)), Arc::new(Mutex::new(Vec::new())));
    let registration = informer.add_event_handler({
        let (heard, seen) = (heard.clone(), seen.clone());
        move |event: &Event<Item>| {
            record(event);
            if let Some(registration) = &*heard.lock() {
                seen.lock().push(registration.has_synced());
            }
        }
    });
    *heard.lock() = Some(registration.clone());
    let feed = run(&informer);
    quiet().await;
    assert!(!registration.has_synced());
    feed.send([list(2, vec![item("a", 1, 1), item("b", 1, 2)])]).await;
    assert!(registration.wait_for_sync().await);
    assert_eq!(recorder.len(), 2);
    assert_eq!(*seen.lock(), [false, false], "not while it handles the last of them");
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_an_empty_cache_is_synced_by_the_empty_list() {
    let (informer, feed) = running();
    let registration = informer.add_event_handler(Recorder::default().handler());
    feed.send([list(1, vec![])]).await;
    assert!(registration.wait_for_sync().await);
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_gets_no_more_events_and_removing_it_twice_is_harmless() {
    let (informer, feed) = running();
    let (stays, goes) = (Recorder::default(), Recorder::default());
    informer.add_event_handler(stays.handler());
    let registration = informer.add_event_handler(goes.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    goes.has(&["+a1 initial"]).await;
    feed.send([Delta::Upsert(item("a", 1, 2))]).await;
    registration.remove();
    registration.remove();
    assert!(registration.is_removed());
    feed.send([Delta::Upsert(item("a", 1, 3)), Delta::Delete(item("a", 1, 4))]).await;
    reached(&informer, 4).await;
    eventually("the other one hears the end", || {
        stays.texts().last().is_some_and(|last| last.starts_with('-'))
    })
    .await;
    quiet().await;
    assert_eq!(goes.texts(), ["+a1 initial"]);
    assert_eq!(registration.backlog(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_remove_itself_while_it_is_called() {
    let (informer, feed) = running();
    let own = Arc::new(Mutex::new(None::<HandlerRegistration>));
    let calls = Arc::new(AtomicUsize::new(0));
    let registration = informer.add_event_handler({
        let (own, calls) = (own.clone(), calls.clone());
        move |_: &Event<Item>| {
            calls.fetch_add(1, Ordering::Relaxed);
            own.lock().take().expect("only one call").remove();
        }
    });
    *own.lock() = Some(registration);
    feed.send([list(2, vec![item("a", 1, 1), item("b", 1, 2)])]).await;
    reached(&informer, 2).await;
    quiet().await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_removed_handler_ends() {
    let (informer, _feed) = running();
    let registration = informer.add_event_handler(Recorder::default().handler());
    let waiting = tokio::spawn({
        let registration = registration.clone();
        async move { registration.wait_for_sync().await }
    });
    quiet().await;
    registration.remove();
    assert!(!waiting.await.expect("no panic"));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_registration_does_not_remove_the_handler() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    drop(informer.add_event_handler(recorder.handler()));
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    recorder.has(&["+a1 initial"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_disturbs_no_other_handler_and_gets_the_next_event() {
    let (informer, feed) = running();
    let (calm, nervous) = (Recorder::default(), Recorder::default());
    let mut record = nervous.handler();
    let registration = informer.add_event_handler(move |event: &Event<Item>| {
        record(event);
        panic!("on purpose");
    });
    informer.add_event_handler(calm.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    assert!(registration.wait_for_sync().await, "an event on which it panicked counts as handled");
    feed.send([Delta::Upsert(item("a", 1, 2))]).await;
    nervous.has(&["+a1 initial", "~a1>a2 Watch"]).await;
    calm.has(&["+a1 initial", "~a1>a2 Watch"]).await;
}

#[tokio::test(start_paused = true)]
async fn readers_see_a_change_before_any_handler_is_called_with_it() {
    let (informer, feed) = running();
    let ahead = Arc::new(AtomicUsize::new(0));
    let heard = Arc::new(AtomicUsize::new(0));
    informer.add_event_handler({
        let (ahead, heard, store) = (ahead.clone(), heard.clone(), informer.store());
        move |event: &Event<Item>| {
            let told: u64 = event.object().version.parse().expect("a number");
            let stored =
                store.get(&event.key()).map(|object| object.version.parse::<u64>().expect("a number"));
            let fits = match event {
                Event::Deleted { .. } => stored.is_none_or(|stored| stored > told),
                _ => stored.is_none_or(|stored| stored >= told),
            };
            let reached: u64 = store.resource_version().and_then(|v| v.parse().ok()).unwrap_or_default();
            ahead.fetch_add(usize::from(!fits || reached < told), Ordering::Relaxed);
            heard.fetch_add(1, Ordering::Relaxed);
        }
    });
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    for version in (2..400).step_by(2) {
        feed.send([Delta::Upsert(item("a", version, version))]).await;
        if version % 8 == 0 {
            quiet().await;
        }
        feed.send([Delta::Delete(item("a", version, version + 1))]).await;
    }
    reached(&informer, 399).await;
    quiet().await;
    assert!(heard.load(Ordering::Relaxed) > 2);
    assert_eq!(ahead.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn the_backlog_of_a_slow_handler_has_at_most_two_events_per_key() {
    let (informer, feed) = running();
    let mut view = View::default();
    let mut events = informer.events();
    feed.send([list(1, (0..10).map(|n| item(&format!("k{n}"), 1, 1)).collect())]).await;
    for version in 2..5000_u64 {
        let name = format!("k{}", version % 10);
        let delta = match version % 7 {
            0 => Delta::Delete(item(&name, version / 70, version)),
            _ => Delta::Upsert(item(&name, version / 70, version)),
        };
        feed.send([delta]).await;
        if version == 2500 {
            // In the middle it takes a few events, so that it knows some objects.
            for _ in 0..15 {
                if let Some(Some(event)) = events.next().now_or_never() {
                    view.hear(&event);
                }
            }
        }
    }
    feed.send([bookmark(5000)]).await;
    reached(&informer, 5000).await;
    assert!(events.backlog() <= 10);
    let mut count = 0;
    while let Some(Some(event)) = events.next().now_or_never() {
        view.hear(&event);
        count += 1;
    }
    assert!(count <= 20, "{count} events for ten keys");
    view.assert_is(&informer);
}

#[tokio::test(start_paused = true)]
async fn a_backlog_merges_events_as_the_table_says() {
    // The state that the stream knows, the changes while it is not polled, and the events that it gets then.
    let put = |life, version| Some(Delta::Upsert(item("a", life, version)));
    let gone = |life, version| Some(Delta::Delete(item("a", life, version)));
    let resync = None::<Delta<Item>>;
    type Steps = Vec<Option<Delta<Item>>>;
    type Case = (&'static str, Steps, Steps, &'static [&'static str]);
    let cases: Vec<Case> = vec![
        ("added, updated", vec![], vec![put(1, 2), put(1, 3)], &["+a3"]),
        ("added, deleted", vec![], vec![put(1, 2), gone(1, 3)], &[]),
        ("added, deleted, added", vec![], vec![put(1, 2), gone(1, 3), put(2, 4)], &["+a4"]),
        ("updated twice", vec![put(1, 2)], vec![put(1, 3), put(1, 4)], &["~a2>a4 Watch"]),
        ("updated, deleted", vec![put(1, 2)], vec![put(1, 3), gone(1, 4)], &["-a4 Observed"]),
        ("deleted, added anew", vec![put(1, 2)], vec![gone(1, 3), put(2, 4)], &["-a3 Observed", "+a4"]),
        (
            "deleted, added anew, updated",
            vec![put(1, 2)],
            vec![gone(1, 3), put(2, 4), put(2, 5)],
            &["-a3 Observed", "+a5"],
        ),
        (
            "deleted, added anew, deleted",
            vec![put(1, 2)],
            vec![gone(1, 3), put(2, 4), gone(2, 5)],
            &["-a3 Observed"],
        ),
        (
            "deleted, added, deleted, added: still two",
            vec![put(1, 2)],
            vec![gone(1, 3), put(2, 4), gone(2, 5), put(3, 6)],
            &["-a3 Observed", "+a6"],
        ),
        (
            "left a selector and came back",
            vec![put(1, 2)],
            vec![put(1, 3), gone(1, 4), put(1, 5)],
            &["~a2>a5 Watch"],
        ),
        ("resync, updated", vec![put(1, 2)], vec![resync.clone(), put(1, 3)], &["~a2>a3 Watch"]),
        ("updated, resync", vec![put(1, 2)], vec![put(1, 3), resync.clone()], &["~a2>a3 Watch"]),
        ("resync twice", vec![put(1, 2)], vec![resync.clone(), resync.clone()], &["~a2>a2 Resync"]),
        ("deleted, resync", vec![put(1, 2)], vec![gone(1, 3), resync], &["-a3 Observed"]),
    ];
    for (name, before, after, expected) in cases {
        for apart in [false, true] {
            let informer = resyncing();
            let feed = run(&informer);
            let mut events = informer.events();
            feed.send([list(1, vec![])]).await;
            feed.send(before.clone().into_iter().flatten()).await;
            quiet().await;
            while events.next().now_or_never().is_some() {}
            for step in after.clone() {
                match step {
                    Some(delta) => feed.send([delta]).await,
                    None => tokio::time::sleep(RESYNC).await,
                }
                if apart {
                    quiet().await;
                }
            }
            quiet().await;
            let mut told = Vec::new();
            while let Some(Some(event)) = events.next().now_or_never() {
                told.push(text(&event));
            }
            assert_eq!(told, expected, "{name}, in {}", if apart { "many batches" } else { "one batch" });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_delivered_in_the_order_in_which_they_began_to_wait() {
    let (informer, feed) = running();
    let mut events = informer.events();
    feed.send([list(1, vec![])]).await;
    feed.send([
        Delta::Upsert(item("a", 1, 2)),
        Delta::Upsert(item("b", 1, 3)),
        Delta::Upsert(item("c", 1, 4)),
        Delta::Delete(item("b", 1, 5)),
        Delta::Upsert(item("a", 1, 6)),
        Delta::Upsert(item("b", 2, 7)),
    ])
    .await;
    quiet().await;
    let mut told = Vec::new();
    while let Some(Some(event)) = events.next().now_or_never() {
        told.push(text(&event));
    }
    assert_eq!(told, ["+a6", "+c4", "+b7"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_forever_disturbs_no_other_handler_and_its_backlog_is_bounded() {
    let (informer, feed) = running();
    let (release, blocked) = sync_channel::<()>(0);
    let stuck = informer.add_event_handler(move |_: &Event<Item>| {
        let _ = blocked.recv();
    });
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1), item("b", 1, 1)])]).await;
    for version in 2..2000 {
        feed.send([Delta::Upsert(item(["a", "b"][version % 2], 1, version as u64))]).await;
    }
    eventually("the free one hears the newest", || {
        recorder.events().iter().any(|event| event.object().version == "1999")
    })
    .await;
    assert!(stuck.backlog() <= 2);
    assert!(!stuck.has_synced());
    drop(release);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_handlers_added_and_removed_during_ten_thousand_events_miss_nothing() {
    let (informer, feed) = running();
    let steady: Vec<_> = (0..4).map(|_| listen(&informer)).collect();
    let events = tokio::spawn({
        let feed = feed.clone();
        async move {
            feed.send([list(1, vec![])]).await;
            for version in 2..=10_001_u64 {
                let name = format!("k{}", version % 97);
                let life = version / 970;
                let delta = match version % 10 {
                    9 => Delta::Delete(item(&name, life, version)),
                    _ => Delta::Upsert(item(&name, life, version)),
                };
                feed.send([delta]).await;
            }
        }
    });
    let mut kept = Vec::new();
    for round in 0..100 {
        let (registration, view) = listen(&informer);
        tokio::task::yield_now().await;
        if round % 2 == 0 {
            registration.remove();
        } else {
            kept.push((registration, view));
        }
    }
    events.await.expect("no panic");
    reached(&informer, 10_001).await;
    for (registration, view) in steady.iter().chain(&kept) {
        eventually("everything is heard", || registration.backlog() == 0 && registration.has_synced()).await;
        // The handler may still be handling the last event.
        eventually("the view is the cache", || view.lock().is(&informer)).await;
    }
}

fn listen(informer: &SharedInformer<Item>) -> (HandlerRegistration, Arc<Mutex<View>>) {
    let view = Arc::new(Mutex::new(View::default()));
    let registration = informer.add_event_handler({
        let view = view.clone();
        move |event: &Event<Item>| view.lock().hear(event)
    });
    (registration, view)
}

#[tokio::test(start_paused = true)]
async fn stopping_an_informer_ends_its_handlers_and_streams_and_leaves_the_cache_readable() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    let registration = informer.add_event_handler(recorder.handler());
    let events = informer.events();
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    recorder.has(&["+a1 initial"]).await;
    informer.stop();
    informer.stop();
    feed.0.closed().await;
    assert!(registration.is_removed() && informer.is_stopped() && informer.has_synced());
    assert_eq!(events.count().await, 0, "the backlog is dropped");
    assert_eq!(informer.store().len(), 1);
    let late = informer.add_event_handler(recorder.handler());
    assert!(late.is_removed());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_informer_that_is_stopped_before_it_synced_ends() {
    let informer = idle(vec![Scope::All]);
    let registration = informer.add_event_handler(Recorder::default().handler());
    informer.stop();
    assert!(!informer.wait_for_sync().await);
    assert!(!registration.wait_for_sync().await);
}

#[tokio::test(start_paused = true)]
async fn when_its_source_ends_the_backlog_is_still_delivered() {
    let (informer, feed) = running();
    let events = informer.events();
    feed.send([list(2, vec![item("a", 1, 1), item("b", 1, 2)])]).await;
    drop(feed);
    assert_eq!(events.count().await, 2);
}

#[tokio::test(start_paused = true)]
async fn an_informer_runs_once() {
    let (informer, _feed) = running();
    quiet().await;
    let (sender, receiver) = genclient_runtime::reflector::delta_queue(1);
    informer.run(receiver).await;
    sender.closed().await;
}

#[test]
fn handlers_can_be_added_outside_of_a_runtime() {
    let informer = idle(vec![Scope::All]);
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let feed = run(&informer);
        feed.send([list(1, vec![item("a", 1, 1)])]).await;
        recorder.has(&["+a1 initial"]).await;
    });
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_is_removed_from_the_informer() {
    let (informer, feed) = running();
    drop(informer.events());
    let objects = informer.events();
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    drop(feed);
    let names: Vec<_> = objects.map(|event| event.object().name.clone()).collect().await;
    assert_eq!(names, ["a"]);
}

#[test]
fn a_removed_handler_takes_no_further_event_although_one_waited_for_its_thread() {
    for stops in [false, true] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let (release, blocked) = std::sync::mpsc::channel::<()>();
        runtime.spawn_blocking(move || blocked.recv());
        runtime.block_on(async {
            let (informer, feed) = running();
            let recorder = Recorder::default();
            let registration = informer.add_event_handler(recorder.handler());
            feed.send([list(1, vec![item("a", 1, 1)])]).await;
            reached(&informer, 1).await;
            // The event has been handed to the pool, whose only thread is busy.
            tokio::time::sleep(Duration::from_millis(5)).await;
            match stops {
                true => informer.stop(),
                false => registration.remove(),
            }
            drop(release);
            tokio::task::spawn_blocking(|| {}).await.unwrap();
            assert_eq!(recorder.len(), 0);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn events_at_long_intervals_do_not_hold_a_paused_clock() {
    let begin = std::time::Instant::now();
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![])]).await;
    for version in 2..102 {
        feed.send([Delta::Upsert(item("a", 1, version))]).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(recorder.len() as u64, version - 1, "the clock waited for the handler");
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_quick_handler_is_called_on_the_thread_of_the_informer() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    let (here, threads) = (std::thread::current().id(), Arc::new(Mutex::new(Vec::new())));
    let early = informer.add_event_handler(quick({
        let (mut record, threads) = (recorder.handler(), threads.clone());
        move |event: &Event<Item>| {
            threads.lock().push(std::thread::current().id());
            record(event);
            assert_ne!(event.object().version, "2", "a panic disturbs nothing");
        }
    }));
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    assert!(early.wait_for_sync().await);
    for version in 2..5 {
        feed.send([Delta::Upsert(item("a", 1, version))]).await;
        reached(&informer, version).await;
    }
    assert_eq!(recorder.texts(), ["+a1 initial", "~a1>a2 Watch", "~a2>a3 Watch", "~a3>a4 Watch"]);
    assert!(threads.lock().iter().all(|thread| *thread == here));

    let late = Recorder::default();
    let registration = informer.add_event_handler(quick(late.handler()));
    assert!(registration.wait_for_sync().await);
    early.remove();
    feed.send([Delta::Delete(item("a", 1, 5))]).await;
    reached(&informer, 5).await;
    assert_eq!(late.texts(), ["+a4 initial", "-a5 Observed"]);
    assert_eq!(recorder.len(), 4, "it was removed");
}

#[tokio::test(start_paused = true)]
async fn a_quick_handler_that_owns_its_informer_is_dropped_when_the_informer_ends() {
    let (informer, feed) = running();
    let alive = Arc::new(());
    let (owned, held) = (informer.clone(), alive.clone());
    informer.add_event_handler(quick(move |_: &Event<Item>| {
        let _ = (owned.has_synced(), &held);
    }));
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    informer.stop();
    informer.stopped().await;
    quiet().await;
    assert_eq!(Arc::strong_count(&alive), 1);
}
