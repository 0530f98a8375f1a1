//! A long run under load: many objects, many events, and handlers that are fast, slow, stuck or panic.
//!
//! By default it is short; `GENCLIENT_LONG=1` runs it with 100,000 objects and 1,000,000 events.

use std::{
    collections::BTreeSet,
    sync::{Arc, mpsc::sync_channel},
    thread,
    time::Duration,
};

use genclient_runtime::{
    Event,
    reflector::{Delta, Scope},
};
use genclient_tally::Tally;
use parking_lot::Mutex;

use crate::support::*;

const HANDLERS: usize = 50;

/// The last event of every key, without the objects.
type Seen = Arc<Mutex<std::collections::HashMap<String, u64>>>;

/// Notes an event, and returns its kind.
fn hear(seen: &Seen, event: &Event<Item>) -> &'static str {
    let version = event.object().version.parse().expect("a number");
    let name = event.object().name.clone();
    let (what, _) = match event {
        Event::Added { .. } => ("heard of an addition", seen.lock().insert(name, version)),
        Event::Updated { .. } => ("heard of an update", seen.lock().insert(name, version)),
        Event::Deleted { .. } => ("heard of a deletion", seen.lock().remove(&name)),
    };
    what
}

/// The resident memory of this process in bytes, if the system reports it.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_and_memory_is_bounded_in_a_long_run() {
    let (objects, events) = genclient_tally::usual_or_long((2_000, 20_000), (100_000, 1_000_000));
    let informer = idle(vec![Scope::All]);
    let (release, blocked) = sync_channel::<()>(0);
    let stuck = informer.add_event_handler(move |_: &Event<Item>| {
        let _ = blocked.recv();
    });
    let tally = Tally::new();
    let handlers: Vec<_> = (1..HANDLERS)
        .map(|number| {
            // Each has its own tally, so that the handlers do not wait for each other.
            let (seen, heard) = (Seen::default(), Arc::new(Tally::new()));
            let registration = informer.add_event_handler({
                let (seen, heard) = (seen.clone(), heard.clone());
                let mut calls = 0_u64;
                move |event: &Event<Item>| {
                    heard.count(hear(&seen, event));
                    calls += 1;
                    if number % 10 == 1 && calls.is_multiple_of(64) {
                        heard.count("slow call");
                        thread::sleep(Duration::from_micros(200));
                    }
                    if number % 10 == 2 && calls.is_multiple_of(1000) {
                        heard.count("panic");
                        std::panic::resume_unwind(Box::new("on purpose"));
                    }
                }
            });
            (registration, seen, heard)
        })
        .collect();
    let feed = run(&informer);
    let name = |number: u64| format!("object-{number}");
    feed.send([list(1, (0..objects).map(|number| item(&name(number), 1, 1)).collect())]).await;
    assert!(informer.wait_for_sync().await);
    let before = resident();
    let (mut version, mut deleted) = (1, BTreeSet::new());
    // A fixed generator makes the test the same on every machine.
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..events {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        version += 1;
        let number = random % objects;
        let name = name(number);
        // These bits do not depend on the number, so any object is deleted at times and then created again.
        let delta = if (random >> 32).is_multiple_of(16) {
            tally.count(if deleted.insert(number) { "delete" } else { "delete what does not exist" });
            Delta::Delete(item(&name, 1, version))
        } else {
            tally.count(if deleted.remove(&number) { "create again" } else { "update" });
            Delta::Upsert(item(&name, 1, version))
        };
        feed.send([delta]).await;
    }
    reached(&informer, version).await;
    assert!(stuck.backlog() as u64 <= objects);
    for (registration, seen, heard) in &handlers {
        eventually("everything is handled", || registration.backlog() == 0 && registration.has_synced())
            .await;
        // The last event has left the backlog, and may still be in the handler's hands.
        eventually("the last event is handled", || {
            let (seen, snapshot) = (seen.lock(), informer.store().snapshot());
            let is_newest = |object: &Arc<Item>| {
                seen.get(&object.name).map(ToString::to_string).as_ref() == Some(&object.version)
            };
            seen.len() == snapshot.len() && snapshot.iter().all(is_newest)
        })
        .await;
        for what in
            ["heard of an addition", "heard of an update", "heard of a deletion", "slow call", "panic"]
        {
            tally.add(what, heard.of(what));
        }
    }
    tally.require(&[
        ("update", 5000),
        ("delete", 300),
        ("create again", 300),
        ("heard of an addition", 10000),
        ("heard of an update", 2000),
        ("heard of a deletion", 500),
        ("slow call", 50),
        ("panic", 3),
    ]);
    if let (Some(before), Some(after)) = (before, resident()) {
        // The stuck handler may hold one old and one new state per key. The tables of the test grow too.
        let bound = 2 * before + objects * HANDLERS as u64 * 128 + (64 << 20);
        assert!(after < bound, "{before} bytes grew to {after}");
    }
    drop(release);
}
