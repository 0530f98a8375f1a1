//! The writer of a store.
//!
//! The writer never waits for a reader. It keeps a spare generation that equals the published one, applies a
//! batch of changes to the spare, and publishes it. Then it repeats the changes on the previous generation,
//! which becomes the spare. While a reader holds the previous generation, the writer records the missing
//! changes and continues with a copy of the published generation. After too many changes it drops the
//! generation, which then belongs to the reader alone.
//!
//! A copy takes time proportional to the size of the cache, so it is made on a blocking thread:
//! [`Writer::prepare`] makes it at the end of a list, and [`Writer::is_ready`] returns whether the next batch
//! begins without one.

use std::{
    hash::Hash,
    sync::{Arc, Weak},
};

use super::{
    Index, IndexError, Published, Store,
    index::{IndexTable, Prepared, TypedIndex},
    state::{Change, State},
};
use crate::{
    delta::{InvalidObject, Scope},
    object::{CacheObject, ObjectKey},
};

/// The most changes that are repeated on another generation. After more changes the published generation is
/// copied, which bounds the work of [`Writer::catch_up`] and the old objects that recorded changes keep
/// alive.
const REPEATED_CHANGES: usize = 4096;

/// The most generations that are kept beside the published one.
const SPARES: usize = 3;

/// A generation that was not needed for this many batches is dropped.
const UNNEEDED_BATCHES: u32 = 256;

/// The writer of a store.
pub(crate) struct Writer<K> {
    /// The state that the readers share. It is dropped with the last reader.
    published: Weak<Published<K>>,
    /// The unpublished generations.
    spares: Vec<Spare<K>>,
    /// The number of consecutive batches for which one spare would have been enough.
    unneeded: u32,
}

/// An unpublished generation. A reader may still hold it.
struct Spare<K> {
    state: Arc<State<K>>,
    /// The missing batches, oldest first.
    lacks: Vec<Arc<Changes<K>>>,
}

/// The changes of one batch, and the generation and versions after it.
struct Changes<K> {
    changes: Vec<Change<K>>,
    generation: u64,
    versions: Vec<(Scope, String)>,
}

/// Changes that become visible at once when the batch is published.
///
/// A batch that is dropped, for example by a panic, changes nothing.
pub(crate) struct Batch<'w, K> {
    writer: &'w mut Writer<K>,
    state: State<K>,
    /// The changes to repeat on the other generations, or `None` if there are too many.
    changes: Option<Vec<Change<K>>>,
    /// The panics of index functions: the name of the index, the key of the object, the message.
    pub(crate) index_panics: Vec<(Arc<str>, ObjectKey, String)>,
}

impl<K: CacheObject> Writer<K> {
    pub(super) fn new(store: &Store<K>) -> Self {
        Self { published: Arc::downgrade(&store.published), spares: Vec::new(), unneeded: 0 }
    }

    /// Reads the published generation. Returns `None` if all readers were dropped.
    pub(crate) fn read<R>(&self, f: impl FnOnce(&State<K>) -> R) -> Option<R> {
        self.published.upgrade().map(|published| f(&published.state.load()))
    }

    /// Begins a batch of changes.
    pub(crate) fn begin(&mut self) -> Batch<'_, K> {
        self.catch_up();
        let state = self.take_spare().or_else(|| self.read(State::clone)).unwrap_or_default();
        Batch { writer: self, state, changes: Some(Vec::new()), index_panics: Vec::new() }
    }

    /// Updates the generations that no reader holds. Returns whether all generations are up to date.
    ///
    /// An outdated generation keeps objects alive that the cache no longer holds.
    pub(crate) fn catch_up(&mut self) -> bool {
        // If a change panics, all spares are dropped: one of them may be half changed.
        let mut spares = std::mem::take(&mut self.spares);
        spares.iter_mut().for_each(Spare::catch_up);
        spares.retain(|spare| {
            spare.lacks.iter().map(|lack| lack.changes.len()).sum::<usize>() <= REPEATED_CHANGES
        });
        self.spares = spares;
        self.spares.iter().all(|spare| spare.lacks.is_empty())
    }

    /// Copies the published generation if there is no other.
    pub(crate) fn prepare(&mut self) {
        if self.spares.is_empty()
            && let Some(copy) = self.read(State::clone)
        {
            self.spares.push(Spare { state: Arc::new(copy), lacks: Vec::new() });
        }
    }

    /// Returns whether the next batch begins without copying or dropping a generation.
    pub(crate) fn is_ready(&self) -> bool {
        self.unneeded < UNNEEDED_BATCHES && self.spares.iter().any(|spare| spare.lacks.is_empty())
    }

    /// Takes a spare that equals the published generation.
    fn take_spare(&mut self) -> Option<State<K>> {
        let ready = self.spares.iter().filter(|spare| spare.lacks.is_empty()).count();
        self.unneeded = if ready > 1 { self.unneeded + 1 } else { 0 };
        let position = self.spares.iter().position(|spare| spare.lacks.is_empty())?;
        let spare = self.spares.swap_remove(position);
        if self.unneeded > UNNEEDED_BATCHES {
            self.unneeded = 0;
            self.spares.clear();
        }
        // A spare that lacks nothing was updated after its last reader had dropped it.
        Arc::try_unwrap(spare.state).ok()
    }

    /// Adds an index over the present and future objects of the store.
    pub(crate) fn add_index<V, I>(
        &mut self,
        store: &Store<K>,
        name: &str,
        values_of: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Result<Index<K, V>, IndexError>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
    {
        let name: Arc<str> = name.into();
        let mut index = TypedIndex::new(
            name.clone(),
            Arc::new(move |object: &K| values_of(object).into_iter().collect()),
        );
        let mut batch = self.begin();
        if batch.state.indexes.iter().any(|other| *other.name() == name) {
            return Err(IndexError::NameTaken(name.to_string()));
        }
        for (slot, object) in batch.state.iter_slots() {
            let (moves, panic) = index.prepare(None, object);
            if let Some(message) = panic {
                let key = ObjectKey::of(object.as_ref());
                return Err(IndexError::Panicked { name: name.to_string(), key, message });
            }
            if let Some(moves) = moves {
                index.apply(&moves, slot);
            }
        }
        let number = batch.state.indexes.len();
        batch.state.indexes.push(Box::new(index));
        batch.changes = None;
        batch.publish();
        self.prepare();
        Ok(Index::new(store.clone(), name, number))
    }
}

impl<K: CacheObject> Batch<'_, K> {
    /// The state, including the changes of the batch.
    pub(crate) fn state(&self) -> &State<K> {
        &self.state
    }

    /// Reserves memory for this many additional objects.
    pub(crate) fn reserve(&mut self, objects: usize) {
        self.state.reserve(objects);
    }

    /// Replaces the object in `slot`, or inserts an object under a new key.
    pub(crate) fn put(&mut self, slot: Option<u32>, new: &Arc<K>) {
        let prepared = self.prepare(slot, new);
        self.change(match slot {
            Some(slot) => Change::Replace(slot, new.clone(), prepared),
            None => Change::Insert(new.clone(), prepared),
        });
    }

    /// Removes the object in a slot.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.change(Change::Remove(slot));
        if self.state.is_sparse() {
            self.change(Change::Compact);
        }
    }

    /// Computes the effect of a new state on every index.
    fn prepare(&mut self, slot: Option<u32>, new: &K) -> Prepared {
        let mut prepared = Vec::new();
        for (number, index) in self.state.indexes.iter().enumerate() {
            let (moves, panic) = index.prepare(slot, new);
            if let Some(message) = panic {
                self.index_panics.push((index.name().clone(), ObjectKey::of(new), message));
            }
            prepared.extend(moves.map(|moves| (number, moves)));
        }
        prepared
    }

    fn change(&mut self, change: Change<K>) {
        self.state.apply(&change);
        self.changes = self.changes.take().filter(|changes| changes.len() < REPEATED_CHANGES);
        if let Some(changes) = &mut self.changes {
            changes.push(change);
        }
    }

    /// Sets the resource version of a scope, unless it is older than the current one.
    pub(crate) fn reached(&mut self, scope: &Scope, version: &str) {
        if version.is_empty() {
            return;
        }
        match self.state.versions.iter_mut().find(|(listed, _)| listed == scope) {
            Some((_, reached)) if crate::resource_version::is_older(version, reached) => {}
            Some((_, reached)) => {
                reached.clear();
                reached.push_str(version);
            }
            None => self.state.versions.push((scope.clone(), version.into())),
        }
    }

    /// Removes the resource version of a scope, which allows an older one.
    pub(crate) fn forget_version(&mut self, scope: &Scope) {
        self.state.versions.retain(|(listed, _)| listed != scope);
    }

    /// Publishes the objects that do not decode, before the changes of the batch.
    pub(crate) fn publish_invalid(&self, invalid: Arc<[InvalidObject]>) {
        if let Some(published) = self.writer.published.upgrade() {
            published.invalid.store(Arc::new(invalid));
        }
    }

    /// Makes all changes visible to readers at once.
    pub(crate) fn publish(mut self) {
        self.state.generation += 1;
        let changes = self.changes.map(|changes| {
            let (generation, versions) = (self.state.generation, self.state.versions.clone());
            Arc::new(Changes { changes, generation, versions })
        });
        let Some(published) = self.writer.published.upgrade() else { return };
        let older = published.state.swap(Arc::new(self.state));
        let Some(changes) = changes else {
            self.writer.spares.clear();
            return;
        };
        let spares = &mut self.writer.spares;
        spares.push(Spare { state: older, lacks: Vec::new() });
        spares.iter_mut().for_each(|spare| spare.lacks.push(changes.clone()));
        drop(changes);
        if spares.len() > SPARES {
            spares.remove(0);
        }
        self.writer.catch_up();
    }
}

impl<K: CacheObject> Spare<K> {
    /// Applies the missing changes, unless a reader holds the generation.
    fn catch_up(&mut self) {
        let Some(state) = Arc::get_mut(&mut self.state) else { return };
        for lack in self.lacks.drain(..) {
            lack.changes.iter().for_each(|change| state.apply(change));
            state.generation = lack.generation;
            state.versions.clone_from(&lack.versions);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::store::Snapshot;

    struct Numbered(String, u64);

    impl CacheObject for Numbered {
        fn name(&self) -> &str {
            &self.0
        }

        fn namespace(&self) -> Option<&str> {
            Some(if self.1.is_multiple_of(2) { "even" } else { "odd" })
        }

        fn uid(&self) -> &str {
            ""
        }

        fn resource_version(&self) -> &str {
            ""
        }

        fn label(&self, _: &str) -> Option<&str> {
            None
        }
    }

    /// A store and its expected contents.
    struct Pair {
        store: Store<Numbered>,
        writer: Writer<Numbered>,
        expected: BTreeMap<u64, u64>,
        last: u64,
    }

    impl Pair {
        fn new() -> Self {
            let (store, writer) = Store::new(tokio::sync::watch::Sender::new(false));
            Self { store, writer, expected: BTreeMap::new(), last: 0 }
        }

        /// Changes a few objects in one batch.
        fn change(&mut self, changes: u64) {
            let mut batch = self.writer.begin();
            for _ in 0..changes {
                self.last += 1;
                let number = self.last * 7919 % 61;
                let namespace = if number.is_multiple_of(2) { "even" } else { "odd" };
                let slot = batch.state().find(namespace, &format!("n{number}"));
                if let (Some(slot), true) = (slot, self.last.is_multiple_of(3)) {
                    batch.remove(slot);
                    self.expected.remove(&number);
                } else {
                    // The version is hidden in the number: only its parity and its name count.
                    let object = Arc::new(Numbered(format!("n{number}"), number + 1000 * self.last));
                    batch.put(slot, &object);
                    self.expected.insert(number, object.1);
                }
            }
            batch.publish();
        }

        fn assert_equal(&self) {
            assert_eq!(contents(&self.store.snapshot()), self.expected);
            assert_eq!(self.store.len(), self.expected.len());
        }
    }

    fn contents(snapshot: &Snapshot<Numbered>) -> BTreeMap<u64, u64> {
        snapshot.iter().map(|object| (object.1 % 1000, object.1)).collect()
    }

    #[test]
    fn the_generations_are_equal_after_many_batches() {
        let mut pair = Pair::new();
        for changes in 0..200 {
            pair.change(changes % 9);
            pair.assert_equal();
        }
        assert_eq!(pair.writer.spares.len(), 1, "two generations are enough without slow readers");
    }

    #[test]
    fn snapshots_do_not_change_while_the_writer_continues() {
        let mut pair = Pair::new();
        let mut reading: Vec<(Snapshot<Numbered>, BTreeMap<u64, u64>)> = Vec::new();
        for round in 0..1000 {
            if round % 3 == 0 {
                reading.push((pair.store.snapshot(), pair.expected.clone()));
            }
            if reading.len() > round % 4 {
                let (snapshot, then) = reading.remove(0);
                assert_eq!(contents(&snapshot), then, "the snapshot has not changed");
            }
            pair.change(round as u64 % 5);
            pair.assert_equal();
            assert!(pair.writer.spares.len() <= SPARES);
        }
    }

    #[test]
    fn a_slow_reader_keeps_its_generation_and_does_not_block_the_writer() {
        let mut pair = Pair::new();
        pair.change(50);
        let (snapshot, then) = (pair.store.snapshot(), pair.expected.clone());
        for _ in 0..(REPEATED_CHANGES / 50 + 2) {
            pair.change(50);
        }
        assert!(pair.writer.catch_up(), "the writer dropped the generation of the reader");
        pair.assert_equal();
        assert_eq!(contents(&snapshot), then);
        assert_eq!(Arc::strong_count(&snapshot.state), 1);
    }

    #[test]
    fn a_third_generation_is_dropped_when_it_is_no_longer_needed() {
        let mut pair = Pair::new();
        for _ in 0..4 {
            let snapshot = pair.store.snapshot();
            pair.change(3);
            pair.change(3);
            drop(snapshot);
        }
        pair.change(1);
        assert!(pair.writer.spares.len() > 1);
        for _ in 0..=UNNEEDED_BATCHES + 1 {
            pair.change(1);
        }
        assert_eq!(pair.writer.spares.len(), 1);
        pair.assert_equal();
    }

    #[test]
    fn a_batch_that_is_dropped_changes_nothing() {
        let mut pair = Pair::new();
        pair.change(20);
        pair.change(20);
        let mut batch = pair.writer.begin();
        batch.put(None, &Arc::new(Numbered("stray".to_owned(), 1)));
        drop(batch);
        pair.assert_equal();
        pair.change(20);
        pair.assert_equal();
    }

    #[test]
    fn the_version_of_a_scope_does_not_go_back_until_it_is_forgotten() {
        let mut pair = Pair::new();
        for (version, expected) in [("7", "7"), ("5", "7"), ("", "7"), ("10", "10"), ("9", "10")] {
            let mut batch = pair.writer.begin();
            batch.reached(&Scope::All, version);
            batch.publish();
            assert_eq!(pair.store.scope_version(&Scope::All).as_deref(), Some(expected), "after {version:?}");
        }
        let mut batch = pair.writer.begin();
        batch.forget_version(&Scope::All);
        batch.reached(&Scope::All, "3");
        batch.publish();
        assert_eq!(pair.store.scope_version(&Scope::All).as_deref(), Some("3"));
    }

    #[test]
    fn memory_that_is_no_longer_needed_is_freed() {
        let mut pair = Pair::new();
        let last_digit =
            pair.writer.add_index(&pair.store, "last digit", |object: &Numbered| [object.1 % 10]).unwrap();
        let objects: Vec<_> = (0..10_000).map(|n| Arc::new(Numbered(format!("n{n}"), n))).collect();
        let mut batch = pair.writer.begin();
        objects.iter().for_each(|object| batch.put(None, object));
        batch.publish();
        for removed in objects[100..].chunks(500) {
            let mut batch = pair.writer.begin();
            for object in removed {
                let slot = batch.state().find(object.namespace().unwrap(), object.name()).unwrap();
                batch.remove(slot);
            }
            batch.publish();
        }
        assert_eq!(pair.store.len(), 100);
        for object in &objects[..100] {
            assert!(pair.store.find(object.namespace(), object.name()).is_some());
        }
        for digit in 0..10 {
            let found = last_digit.get(&digit);
            assert_eq!(found.len(), 10);
            assert!(found.iter().all(|object| object.1 % 10 == digit), "an object that moved is still found");
        }
        assert!(pair.store.read(State::capacity) < 5_000);
    }
}
