//! Random histories: at the end of each, the cache equals the server, and so does every listener's view.
//!
//! A history is a sequence of changes on the server, cuts of the watch, relists, objects that do not
//! decode, listeners that come and go and take a few events, and resyncs. A failing history is shrunk and
//! printed, and its seed is written to `model.proptest-regressions` beside this file, from which it is
//! replayed first the next time. `GENCLIENT_LONG=1` runs 10,000 histories.

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt};
use genclient_runtime::{
    Event, FinalState, ObjectKey, SharedInformer,
    informer::{Cause, EventStream},
    reflector::{Delta, InvalidObject, Scope},
};
use genclient_tally::Tally;
use proptest::{
    prelude::*,
    test_runner::{FileFailurePersistence, TestRunner},
};

use crate::support::*;

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// The server creates or changes the object with this number.
    Put(usize),
    /// The server deletes it.
    Delete(usize),
    /// The server deletes it and creates another one with the same name.
    Recreate(usize),
    /// The object leaves the selector and comes back, with the same uid.
    Flicker(usize),
    /// The object is stored in a form that does not decode.
    Spoil(usize),
    /// The watch is lost: the cache gets no changes until the next relist.
    Cut,
    /// The cache gets a new list.
    Relist,
    /// The cache gets a list that is older than its contents.
    StaleRelist,
    Bookmark,
    Resync,
    /// The task of the informer runs.
    Run,
    /// A listener is added.
    Join,
    /// The listener with this number is dropped.
    Leave(usize),
    /// The listener with this number takes at most this many events.
    Hear(usize, usize),
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const NAMESPACES: [&str; 2] = ["x", "y"];
const OBJECTS: usize = NAMES.len() * NAMESPACES.len();

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..OBJECTS).prop_map(Step::Put),
        3 => (0..OBJECTS).prop_map(Step::Delete),
        2 => (0..OBJECTS).prop_map(Step::Recreate),
        1 => (0..OBJECTS).prop_map(Step::Flicker),
        1 => (0..OBJECTS).prop_map(Step::Spoil),
        1 => Just(Step::Cut),
        2 => Just(Step::Relist),
        1 => Just(Step::StaleRelist),
        1 => Just(Step::Bookmark),
        1 => Just(Step::Resync),
        6 => Just(Step::Run),
        1 => Just(Step::Join),
        1 => (0..4_usize).prop_map(Step::Leave),
        4 => (0..4_usize, 1..6_usize).prop_map(|(who, count)| Step::Hear(who, count)),
    ]
}

/// The state of a key on the server.
#[derive(Clone, Debug)]
struct Stored {
    life: u64,
    version: u64,
    decodes: bool,
}

/// The server, and the deltas that the cache gets of it.
struct Server {
    objects: BTreeMap<usize, Stored>,
    version: u64,
    lives: u64,
    watched: bool,
    /// An earlier state of the list.
    stale: Option<Delta<Item>>,
    feed: Feed,
}

fn place(number: usize) -> (&'static str, &'static str) {
    (NAMESPACES[number % NAMESPACES.len()], NAMES[number / NAMESPACES.len()])
}

fn good(number: usize, stored: &Stored) -> std::sync::Arc<Item> {
    let (namespace, name) = place(number);
    item_in(namespace, name, stored.life, stored.version)
}

fn bad(number: usize, stored: &Stored) -> InvalidObject {
    let (namespace, name) = place(number);
    let mut bad = InvalidObject::new(ObjectKey::namespaced(namespace, name), "spec: missing field");
    bad.uid = format!("{name}-{}", stored.life);
    bad.resource_version = stored.version.to_string();
    bad
}

impl Server {
    async fn tell(&self, delta: Delta<Item>) {
        if self.watched {
            self.feed.send([delta]).await;
        }
    }

    async fn put(&mut self, number: usize, decodes: bool) {
        self.version += 1;
        let life = match self.objects.get(&number) {
            Some(stored) => stored.life,
            None => {
                self.lives += 1;
                self.lives
            }
        };
        let stored = Stored { life, version: self.version, decodes };
        self.objects.insert(number, stored.clone());
        self.tell(if decodes {
            Delta::Upsert(good(number, &stored))
        } else {
            Delta::Invalid(bad(number, &stored))
        })
        .await;
    }

    async fn delete(&mut self, number: usize) -> Option<Stored> {
        let mut stored = self.objects.remove(&number)?;
        self.version += 1;
        stored.version = self.version;
        self.tell(if stored.decodes {
            Delta::Delete(good(number, &stored))
        } else {
            Delta::DeleteInvalid(bad(number, &stored))
        })
        .await;
        Some(stored)
    }

    fn list(&self) -> Delta<Item> {
        let (decode, spoilt): (Vec<_>, Vec<_>) = self.objects.iter().partition(|(_, stored)| stored.decodes);
        Delta::Replace {
            scope: Scope::All,
            objects: decode.into_iter().map(|(number, stored)| good(*number, stored)).collect(),
            invalid: spoilt.into_iter().map(|(number, stored)| bad(*number, stored)).collect(),
            resource_version: self.version.to_string(),
        }
    }

    async fn relist(&mut self) {
        self.watched = true;
        self.tell(self.list()).await;
    }
}

/// A listener that takes events from time to time.
struct Listener {
    events: EventStream<Item>,
    view: View,
}

impl Listener {
    fn hear(&mut self, at_most: usize, tally: &Tally) {
        for _ in 0..at_most {
            let Some(Some(event)) = self.events.next().now_or_never() else { return };
            tally.count(match &event {
                Event::Added { .. } => "heard of an addition",
                Event::Updated { cause: Cause::Resync, .. } => "heard of a resync",
                Event::Updated { .. } => "heard of an update",
                Event::Deleted { final_state: FinalState::Unknown, .. } => "heard of a missed deletion",
                Event::Deleted { .. } => "heard of a deletion",
            });
            self.view.hear(&event);
        }
    }
}

async fn live_through(steps: Vec<Step>, tally: &Tally) {
    let informer = resyncing();
    let mut listeners = vec![Listener { events: informer.events(), view: View::default() }];
    let feed = run(&informer);
    let mut server = Server {
        objects: BTreeMap::new(),
        version: 1,
        lives: 0,
        watched: true,
        stale: None,
        feed: feed.clone(),
    };
    server.relist().await;
    for step in steps {
        match step {
            Step::Put(number) => {
                tally.count(match server.objects.get(&number) {
                    None => "create",
                    Some(stored) if stored.decodes => "update",
                    Some(_) => "repair",
                });
                server.put(number, true).await;
            }
            Step::Spoil(number) => {
                let exists = server.objects.contains_key(&number);
                tally.count(if exists { "spoil" } else { "create what does not decode" });
                server.put(number, false).await;
            }
            Step::Delete(number) => {
                if server.delete(number).await.is_some() {
                    tally.count("delete");
                }
            }
            Step::Recreate(number) => {
                if server.delete(number).await.is_some() {
                    tally.count("recreate");
                }
                server.put(number, true).await;
            }
            Step::Flicker(number) => {
                if let Some(stored) = server.delete(number).await {
                    tally.count("flicker");
                    server.objects.insert(number, stored);
                    server.put(number, true).await;
                }
            }
            Step::Cut => {
                tally.add("cut", usize::from(server.watched));
                server.stale = Some(server.list());
                server.watched = false;
            }
            Step::Relist => {
                tally.count(if server.watched { "relist" } else { "relist after a cut" });
                server.relist().await;
            }
            Step::StaleRelist => {
                // An old list is followed by the watch with which a reflector continues, which begins
                // at the old version: at its end the cache has got every change again.
                if let (true, Some(stale)) = (server.watched, server.stale.take()) {
                    tally.count("stale relist");
                    server.tell(stale).await;
                    server.relist().await;
                }
            }
            Step::Bookmark => {
                tally.add("bookmark", usize::from(server.watched));
                let resource_version = server.version.to_string();
                server.tell(Delta::Bookmark { scope: Scope::All, resource_version }).await;
            }
            Step::Resync => {
                tally.add("resync of objects", usize::from(!informer.store().is_empty()));
                tokio::time::sleep(RESYNC).await;
            }
            Step::Run => quiet().await,
            Step::Join => {
                if listeners.len() < 4 {
                    tally.add("join after the first object", usize::from(!informer.store().is_empty()));
                    listeners.push(Listener { events: informer.events(), view: View::default() });
                }
            }
            Step::Leave(who) => {
                if who > 0 && who < listeners.len() {
                    tally.count("leave");
                    listeners.swap_remove(who);
                }
            }
            Step::Hear(who, count) => {
                if let Some(listener) = listeners.get_mut(who) {
                    listener.hear(count, tally);
                }
            }
        }
        for listener in &listeners {
            assert!(listener.events.backlog() <= OBJECTS, "at most one slot per key");
        }
    }
    server.relist().await;
    server.version += 1;
    server.tell(Delta::Bookmark { scope: Scope::All, resource_version: server.version.to_string() }).await;
    reached(&informer, server.version).await;
    assert_is_server(&informer, &server);
    for listener in &mut listeners {
        listener.hear(2 * OBJECTS, tally);
        assert_eq!(listener.events.backlog(), 0, "at most two events per key");
        listener.view.assert_is(&informer);
    }
}

/// Asserts that the cache equals the server. An object that does not decode has its last good state, or is
/// absent.
fn assert_is_server(informer: &SharedInformer<Item>, server: &Server) {
    let mut cached: BTreeMap<_, _> = informer
        .store()
        .snapshot()
        .iter()
        .map(|object| ((object.namespace.clone(), object.name.clone()), object.clone()))
        .collect();
    for (number, stored) in &server.objects {
        let expected = good(*number, stored);
        let found = cached.remove(&(expected.namespace.clone(), expected.name.clone()));
        if stored.decodes {
            assert_eq!(found, Some(expected));
        } else if let Some(found) = found {
            assert_eq!(found.uid, expected.uid, "a good state of another object is not kept");
        }
    }
    assert!(cached.is_empty(), "not on the server: {cached:?}");
    let spoilt = server.objects.values().filter(|stored| !stored.decodes).count();
    assert_eq!(informer.invalid().len(), spoilt);
}

fn cases() -> u32 {
    genclient_tally::usual_or_long(300, 10_000)
}

#[test]
fn at_rest_the_cache_is_the_server_and_every_view_is_the_cache() {
    let tally = Tally::new();
    let config = ProptestConfig {
        cases: cases(),
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/cache/model.proptest-regressions"
        )))),
        ..ProptestConfig::default()
    };
    let tried = TestRunner::new(config).run(&prop::collection::vec(step(), 1..120), |steps| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(live_through(steps, &tally));
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
    tally.require(&[
        ("create", 500),
        ("update", 700),
        ("repair", 50),
        ("spoil", 80),
        ("create what does not decode", 50),
        ("delete", 250),
        ("recreate", 150),
        ("flicker", 80),
        ("cut", 100),
        ("relist", 200),
        ("relist after a cut", 80),
        ("stale relist", 25),
        ("bookmark", 100),
        ("resync of objects", 120),
        ("join after the first object", 100),
        ("leave", 30),
        ("heard of an addition", 1200),
        ("heard of an update", 150),
        ("heard of a resync", 40),
        ("heard of a deletion", 100),
        ("heard of a missed deletion", 80),
    ]);
}
