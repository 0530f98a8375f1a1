//! Random histories of a key whose reconciliations and other clients write the same objects.

use genclient_tally::{Tally, usual_or_long};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use super::*;

/// The number of objects that concern the key.
const OBJECTS: usize = 2;

/// An object on the server, its state in the cache, and the events between.
#[derive(Debug, Default)]
struct Object {
    /// The versions of the object on the server, the newest last. Zero means that it does not exist.
    history: Vec<u64>,
    /// How many of them the cache has.
    cached: usize,
    /// The number of versions up to the last one that another client wrote.
    foreign: usize,
    /// The same for the writes of the key's own reconciliations.
    own: usize,
    /// The same for its creates, which show that it knew of a deletion.
    created: usize,
}

struct World {
    random: StdRng,
    ledger: Ledger,
    key: ObjectKey,
    objects: [Object; OBJECTS],
    version: u64,
    is_queued: bool,
    running: Option<Vec<Own>>,
    /// How many versions the cache had when the last reconciliation began.
    read: [usize; OBJECTS],
    /// How many of them a reconciliation wrote that the next one could not read.
    unread: [usize; OBJECTS],
    begun: usize,
    /// The events that justify a reconciliation.
    justified: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            ledger: Ledger::default(),
            key: ObjectKey::cluster("key"),
            objects: Default::default(),
            version: 0,
            is_queued: true,
            running: None,
            read: [0; OBJECTS],
            unread: [0; OBJECTS],
            begun: 0,
            justified: 1,
        }
    }

    fn cached(&self, object: usize) -> u64 {
        let Object { history, cached, .. } = &self.objects[object];
        cached.checked_sub(1).map_or(0, |last| history[last])
    }

    fn stored(&self, object: usize) -> u64 {
        self.objects[object].history.last().copied().unwrap_or_default()
    }

    /// Stores a new version, or a deletion.
    fn store(&mut self, object: usize, is_deletion: bool) -> u64 {
        self.version += 1;
        let stored = if is_deletion { 0 } else { self.version };
        self.objects[object].history.push(stored);
        stored
    }

    fn write_as_another_client(&mut self, object: usize) {
        let is_deletion = self.stored(object) > 0 && self.random.random_ratio(1, 8);
        self.store(object, is_deletion);
        self.objects[object].foreign = self.objects[object].history.len();
        self.justified += 1;
    }

    /// Delivers one event of an object, of one or several changes.
    fn deliver(&mut self, object: usize) {
        let Object { history, cached, .. } = &self.objects[object];
        let missing = history.len() - cached;
        if missing == 0 {
            return;
        }
        let old = self.cached(object);
        let steps = self.random.random_range(1..=missing);
        self.objects[object].cached += steps;
        let new = self.cached(object);
        let kind = match (old, new) {
            (0, 0) => return,
            (0, _) => ChangeKind::Added,
            (_, 0) => ChangeKind::Deleted,
            _ => ChangeKind::Updated { old: old.to_string() },
        };
        let change = Change { version: new.to_string(), kind, ..self.change(object) };
        let verdict = self.ledger.changed(&self.key, &Arc::new(change), Some(Priority::NORMAL));
        self.is_queued |= verdict == Verdict::Queue;
    }

    fn change(&self, object: usize) -> Change {
        let (resource, object) = (GroupResource::new("", "maps"), ObjectKey::cluster(object.to_string()));
        Change { source: 0, resource, object, kind: ChangeKind::Added, version: String::new() }
    }

    fn begin(&mut self, tally: &Tally) {
        if !self.is_queued || self.running.is_some() {
            return;
        }
        self.is_queued = false;
        let begun = self.ledger.begin(&self.key);
        // The worker waits for the caches, and may give up.
        let is_patient = self.random.random_bool(0.5);
        for own in &begun.writes {
            let object: usize = own.write.key.name.parse().unwrap();
            while is_patient && !self.has(own) {
                self.deliver(object);
            }
        }
        if !begun.writes.iter().all(|own| self.has(own)) {
            tally.count("reconciliations without an own write in the cache");
            self.ledger.read_behind(&self.key);
            self.justified += begun.writes.len();
            self.unread = std::array::from_fn(|object| self.objects[object].own);
        }
        self.read = std::array::from_fn(|object| self.objects[object].cached);
        self.running = Some(Vec::new());
        self.begun += 1;
    }

    /// Writes an object in the reconciliation, in one of the ways of a client.
    fn write(&mut self, object: usize, tally: &Tally) {
        if self.running.is_none() {
            return;
        }
        let (stored, cached) = (self.stored(object), self.cached(object));
        let base =
            |version: u64| if version == 0 { Base::Absent } else { Base::Version(version.to_string()) };
        let (version, base) = match self.random.random_range(0..5) {
            // With the version of the cache, or the one just read: a create or an update.
            0 | 1 if cached == stored => (self.store(object, false), base(stored)),
            0 | 1 => return tally.count("conflicts"),
            2 => (self.store(object, false), base(stored)),
            // An apply that changes nothing returns the version of another client's change.
            3 if stored > 0 => {
                tally.count("applies without a change");
                (stored, Base::Unknown)
            }
            _ => {
                tally.count("applies");
                self.justified += 1;
                (self.store(object, false), Base::Unknown)
            }
        };
        let written = self.objects[object].history.len();
        self.objects[object].own = written;
        if base == Base::Absent {
            self.objects[object].created = written;
        }
        let Change { resource, object, .. } = self.change(object);
        let effect = Effect::Stored { version: version.to_string(), base };
        tally.count("writes");
        let write = Write { resource, key: object, effect };
        self.running.as_mut().unwrap().push(Own { source: 0, write });
    }

    fn has(&self, Own { write, .. }: &Own) -> bool {
        let Effect::Stored { version, .. } = &write.effect else { return true };
        let object: usize = write.key.name.parse().unwrap();
        let Object { history, cached, .. } = &self.objects[object];
        let seen = history[..*cached].iter().max().copied().unwrap_or_default();
        seen >= version.parse().unwrap()
    }

    fn end(&mut self) {
        let Some(writes) = self.running.take() else { return };
        let again = self.ledger.end(&self.key, writes, |write| self.has(write));
        self.is_queued |= again.is_some();
    }

    /// Returns whether the key is queued.
    fn sweep(&mut self) -> bool {
        let exists = |own: &Own| self.cached(own.write.key.name.parse().unwrap()) > 0;
        let lost = self.ledger.sweep(|own| self.has(own), exists);
        self.is_queued |= !lost.is_empty();
        self.is_queued
    }

    fn settle(&mut self, tally: &Tally) {
        self.end();
        loop {
            (0..OBJECTS).for_each(|object| {
                while self.objects[object].cached < self.objects[object].history.len() {
                    self.deliver(object);
                }
            });
            if !self.is_queued && !(0..2).any(|_| self.sweep()) {
                return;
            }
            self.begin(tally);
            self.end();
        }
    }
}

#[test]
fn own_writes_cause_no_reconciliation_and_no_foreign_change_is_missed() {
    let tally = Tally::new();
    for seed in 0..usual_or_long(20_000, 1_000_000) {
        let mut world = World::new(seed as u64);
        let foreign = if seed % 3 == 0 { 0 } else { 3 };
        for _ in 0..30 {
            let object = world.random.random_range(0..OBJECTS);
            match world.random.random_range(0..10 + foreign) {
                0..=2 => world.deliver(object),
                3 | 4 => world.begin(&tally),
                5..=7 => world.write(object, &tally),
                8 => world.end(),
                9 => _ = world.sweep(),
                _ => {
                    tally.count("changes of others");
                    world.write_as_another_client(object);
                }
            }
        }
        world.settle(&tally);
        for ((object, read), unread) in world.objects.iter().zip(world.read).zip(world.unread) {
            let state = |versions: usize| versions.checked_sub(1).map_or(0, |last| object.history[last]);
            // An object that others created and deleted is as absent as it was.
            let is_unchanged = state(read) == 0 && state(object.history.len()) == 0 && object.own <= read;
            let is_recreated = state(read) == 0 && object.created > object.foreign;
            let is_seen = read >= object.foreign || is_unchanged || is_recreated;
            assert!(
                is_seen,
                "seed {seed}: a change of another client was missed: {object:?}, read up to {read}"
            );
            assert!(
                read >= unread || is_unchanged || is_recreated,
                "seed {seed}: an own write was never read: {object:?}, read up to {read}"
            );
        }
        assert!(
            world.begun <= world.justified,
            "seed {seed}: {} reconciliations for {} events",
            world.begun,
            world.justified
        );
        tally.add("reconciliations", world.begun);
        assert_eq!(world.ledger.len(), 0, "seed {seed}: nothing is kept for an idle key");
    }
    tally.require(&[
        ("writes", 40_000),
        ("changes of others", 40_000),
        ("applies", 5_000),
        ("applies without a change", 5_000),
        ("conflicts", 1_000),
        ("reconciliations", 40_000),
        ("reconciliations without an own write in the cache", 1_000),
    ]);
}

fn change(kind: ChangeKind, version: &str) -> Arc<Change> {
    let (resource, object) = (GroupResource::new("", "maps"), ObjectKey::cluster("a"));
    Arc::new(Change { source: 0, resource, object, kind, version: version.into() })
}

fn write(version: &str, base: Base) -> Own {
    let effect = Effect::Stored { version: version.into(), base };
    Own {
        source: 0,
        write: Write { resource: GroupResource::new("", "maps"), key: ObjectKey::cluster("a"), effect },
    }
}

#[test]
fn the_event_of_an_own_write_may_arrive_before_or_after_the_answer() {
    let (ledger, key) = (Ledger::default(), ObjectKey::cluster("key"));
    for arrives_late in [false, true] {
        ledger.begin(&key);
        let event = || {
            let old = "5".into();
            ledger.changed(&key, &change(ChangeKind::Updated { old }, "7"), Some(Priority::NORMAL))
        };
        if !arrives_late {
            assert_eq!(event(), Verdict::Leave);
        }
        assert_eq!(ledger.end(&key, vec![write("7", Base::Version("5".into()))], |_| false), None);
        if arrives_late {
            assert_eq!(event(), Verdict::Leave);
        }
        assert_eq!(ledger.len(), 0, "nothing is kept for an idle key");
    }
}

#[test]
fn the_events_of_several_own_writes_may_be_merged() {
    let (ledger, key) = (Ledger::default(), ObjectKey::cluster("key"));
    ledger.begin(&key);
    let writes = vec![write("5", Base::Absent), write("7", Base::Version("5".into()))];
    ledger.end(&key, writes, |_| false);
    let merged = change(ChangeKind::Added, "7");
    assert_eq!(ledger.changed(&key, &merged, Some(Priority::NORMAL)), Verdict::Leave);
    assert_eq!(ledger.len(), 0);
}

#[test]
fn a_change_that_is_merged_with_an_own_write_queues_the_key() {
    let (ledger, key) = (Ledger::default(), ObjectKey::cluster("key"));
    ledger.begin(&key);
    ledger.end(&key, vec![write("7", Base::Version("5".into()))], |_| false);
    // From 3 to 7: version 5 is of somebody else, and was not delivered separately.
    let merged = change(ChangeKind::Updated { old: "3".into() }, "7");
    assert_eq!(ledger.changed(&key, &merged, Some(Priority::NORMAL)), Verdict::Queue);
}

#[test]
fn the_event_of_an_own_write_that_a_reconciliation_could_not_read_queues_the_key() {
    let (ledger, key) = (Ledger::default(), ObjectKey::cluster("key"));
    for arrives_during_it in [false, true] {
        ledger.begin(&key);
        ledger.end(&key, vec![write("7", Base::Absent)], |_| false);
        assert_eq!(ledger.begin(&key).writes.len(), 1);
        ledger.read_behind(&key);
        let event = || ledger.changed(&key, &change(ChangeKind::Added, "7"), Some(Priority::NORMAL));
        if arrives_during_it {
            assert_eq!(event(), Verdict::Leave, "it is judged at the end");
            assert_eq!(ledger.end(&key, Vec::new(), |_| true), Some(Priority::NORMAL));
        } else {
            assert_eq!(ledger.end(&key, Vec::new(), |_| false), None);
            assert_eq!(event(), Verdict::Queue);
        }
        ledger.clear();
    }
}

#[test]
fn the_reason_is_the_first_change_that_queued_the_key() {
    let (ledger, key) = (Ledger::default(), ObjectKey::cluster("key"));
    for version in ["5", "6"] {
        ledger.changed(&key, &change(ChangeKind::Added, version), Some(Priority::NORMAL));
    }
    let reason = ledger.begin(&key).reason.expect("a change queued it");
    assert_eq!(reason.to_string(), "maps a added at 5");
    ledger.end(&key, Vec::new(), |_| true);
    assert_eq!(ledger.begin(&key).reason, None);
}
