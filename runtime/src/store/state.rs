//! One generation of the cache: the objects by namespace and name, and the indexes over them.
//!
//! The objects are kept in a vector of slots, roughly in the order in which they arrived. Everything
//! else refers to them by the number of their slot:
//!
//! - Iterating over many objects reads memory in the order of its allocation.
//! - A new state of an object takes the slot of the old one, so namespaces and indexes are not touched
//!   unless a value has changed.
//! - The table of keys compares with the [`Stem`] of the name beside the object, so a lookup reads the object
//!   itself only once it is found, unless its name is long. Reading an object that is in no cache of the
//!   processor takes longer than everything before it.
//! - A digest of the labels beside each object lets a selector skip objects that it cannot match. Digests are
//!   computed for the first selector, and from then on for every new state.
//!
//! Generations that applied the same changes in the same order have every object in the same slot.

use std::{
    borrow::Borrow,
    hash::{BuildHasher, Hash},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use hashbrown::{DefaultHashBuilder, HashTable};
use slab::Slab;

use super::{
    index::{IndexTable, Prepared},
    slots::Slots,
};
use crate::{
    delta::Scope,
    label_digest::LazyDigest,
    object::CacheObject,
    selector::{Selector, Sieve},
};

/// A vector with a capacity of up to this many objects is never shrunk.
const KEPT_ROOM: usize = 1024;

/// How many objects are read into the processor's cache at once.
const TOUCHED_AT_ONCE: usize = 32;

/// The namespace of an object, empty if it is cluster-scoped.
pub(crate) fn namespace_of<K: CacheObject>(object: &K) -> &str {
    object.namespace().unwrap_or_default()
}

/// One generation of the cache. The writer owns it while it changes; a published one does not change.
pub(crate) struct State<K> {
    hasher: DefaultHashBuilder,
    row: Slab<Entry<K>>,
    /// The stem of the name of the object in each slot. Apart from the entries, so that selectors, which look at
    /// all of those, read half as much.
    stems: Vec<Stem>,
    /// The slots of the objects, hashed by namespace and name.
    keys: HashTable<u32>,
    namespaces: Slab<Namespace>,
    /// The numbers of the namespaces, hashed by name.
    namespace_names: HashTable<u32>,
    /// In the order in which they were added. The position of an index is its number.
    pub(crate) indexes: Vec<Box<dyn IndexTable<K>>>,
    /// Whether objects were ever selected by their labels. All generations share it.
    has_selected: Arc<AtomicBool>,
    /// The resource version of each listed scope.
    pub(crate) versions: Vec<(Scope, String)>,
    /// Grows by one with every published batch.
    pub(crate) generation: u64,
}

/// An object in its slot.
struct Entry<K> {
    object: Arc<K>,
    labels: LazyDigest,
    /// The hash of its namespace and name.
    hash: u32,
    /// The number of its namespace.
    namespace: u32,
}

/// A namespace that has at least one object.
#[derive(Clone)]
struct Namespace {
    name: Arc<str>,
    members: Slots,
}

/// One change, prepared to be applied to every generation.
pub(crate) enum Change<K> {
    /// Inserts an object under a new key.
    Insert(Arc<K>, LazyDigest, Prepared),
    /// Replaces the object in this slot with a new state.
    Replace(u32, Arc<K>, LazyDigest, Prepared),
    /// Removes the object in this slot.
    Remove(u32),
    /// Moves the objects together and frees unused memory.
    Compact,
}

impl<K> Clone for State<K> {
    fn clone(&self) -> Self {
        Self {
            hasher: self.hasher.clone(),
            row: self.row.clone(),
            stems: self.stems.clone(),
            keys: self.keys.clone(),
            namespaces: self.namespaces.clone(),
            namespace_names: self.namespace_names.clone(),
            indexes: self.indexes.iter().map(|index| index.duplicate()).collect(),
            has_selected: self.has_selected.clone(),
            versions: self.versions.clone(),
            generation: self.generation,
        }
    }
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), labels: self.labels.clone(), ..*self }
    }
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            row: Slab::new(),
            stems: Vec::new(),
            keys: HashTable::new(),
            namespaces: Slab::new(),
            namespace_names: HashTable::new(),
            indexes: Vec::new(),
            has_selected: Arc::default(),
            versions: Vec::new(),
            generation: 0,
        }
    }
}

impl<K: CacheObject> State<K> {
    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.row.len()
    }

    /// The object with this namespace and name.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<K>> {
        Some(self.at(self.find(namespace, name)?))
    }

    /// The slot of the object with this namespace and name.
    pub(crate) fn find(&self, namespace: &str, name: &str) -> Option<u32> {
        let namespace = self.namespace_number(namespace)?;
        let (hash, stem) = (self.hash(namespace, name), Stem::of(name));
        let is_it = |slot: &u32| {
            let entry = self.entry(*slot);
            entry.hash == hash
                && entry.namespace == namespace
                && self.stems[*slot as usize] == stem
                && (stem.is_whole() || entry.object.name() == name)
        };
        self.keys.find(spread(hash), is_it).copied()
    }

    /// The object in an occupied slot.
    pub(crate) fn at(&self, slot: u32) -> &Arc<K> {
        &self.entry(slot).object
    }

    /// Every object, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.row.iter().map(|(_, entry)| &entry.object)
    }

    /// Every object with its slot.
    pub(super) fn iter_slots(&self) -> impl Iterator<Item = (u32, &Arc<K>)> {
        self.row.iter().map(|(slot, entry)| (number(slot), &entry.object))
    }

    /// Every object of one scope, in no particular order.
    pub(crate) fn iter_scope<'a>(&'a self, scope: &'a Scope) -> Box<dyn Iterator<Item = &'a Arc<K>> + 'a> {
        match scope {
            Scope::All => Box::new(self.iter()),
            Scope::Namespace(namespace) => {
                let members = self.members(namespace).into_iter().flat_map(Slots::iter);
                Box::new(members.map(|slot| self.at(slot)))
            }
        }
    }

    /// Every object that the selector matches.
    pub(crate) fn select(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.pick(self.row.iter().map(|(_, entry)| entry), self.len(), selector)
    }

    /// Every object of one namespace that the selector matches.
    pub(crate) fn select_in(&self, namespace: &str, selector: &Selector) -> Vec<Arc<K>> {
        let Some(members) = self.members(namespace) else { return Vec::new() };
        self.pick(members.iter().map(|slot| self.entry(slot)), members.len(), selector)
    }

    /// The digest of the labels of a new state, if it will be needed.
    pub(super) fn digest(&self, object: &K) -> LazyDigest {
        match self.has_selected.load(Ordering::Relaxed) {
            true => object.label_digest().into(),
            false => LazyDigest::default(),
        }
    }

    /// The objects under one value of the index with this number.
    pub(crate) fn postings<V, Q>(&self, index: usize, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let index = self.indexes.get(index).and_then(|index| super::index::typed::<K, V>(index.as_ref()));
        let Some(slots) = index.and_then(|index| index.get(value)) else { return Vec::new() };
        clone_all(slots.iter().map(|slot| self.at(slot)), slots.len())
    }

    /// The namespaces that have an object.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.namespaces.iter().map(|(_, namespace)| &namespace.name)
    }

    /// The resource version of a scope, if it was listed.
    pub(crate) fn version(&self, scope: &Scope) -> Option<&String> {
        self.versions.iter().find_map(|(listed, version)| (listed == scope).then_some(version))
    }

    /// Whether most of the allocated slots are unused.
    pub(crate) fn is_sparse(&self) -> bool {
        self.row.capacity() > KEPT_ROOM && self.row.len() < self.row.capacity() / 4
    }

    /// The number of allocated slots.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.row.capacity()
    }

    /// Reserves memory for this many additional objects.
    pub(crate) fn reserve(&mut self, objects: usize) {
        let Self { row, stems, keys, .. } = self;
        row.reserve(objects);
        stems.reserve((row.len() + objects).saturating_sub(stems.len()));
        keys.reserve(objects, |slot| spread(row[*slot as usize].hash));
    }

    /// Applies one change.
    pub(crate) fn apply(&mut self, change: &Change<K>) {
        let (slot, prepared) = match change {
            Change::Insert(object, labels, prepared) => {
                (self.insert(object.clone(), labels.clone()), prepared)
            }
            Change::Replace(slot, object, labels, prepared) => {
                let entry = &mut self.row[*slot as usize];
                entry.labels = labels.clone();
                entry.object = object.clone();
                (*slot, prepared)
            }
            Change::Remove(slot) => {
                self.indexes.iter_mut().for_each(|index| index.remove(*slot));
                return self.remove(*slot);
            }
            Change::Compact => return self.compact(),
        };
        for (index, moves) in prepared {
            self.indexes[*index].apply(moves, slot);
        }
    }

    fn insert(&mut self, object: Arc<K>, labels: LazyDigest) -> u32 {
        let name = namespace_of(object.as_ref());
        let namespace = self.namespace_number(name).unwrap_or_else(|| self.insert_namespace(name));
        let (hash, stem) = (self.hash(namespace, object.name()), Stem::of(object.name()));
        let Self { row, stems, keys, namespaces, .. } = self;
        let slot = number(row.insert(Entry { object, labels, hash, namespace }));
        match stems.get_mut(slot as usize) {
            Some(free) => *free = stem,
            // A slab fills its slots without a gap.
            None => stems.push(stem),
        }
        keys.insert_unique(spread(hash), slot, |slot| spread(row[*slot as usize].hash));
        namespaces[namespace as usize].members.insert(slot);
        slot
    }

    /// Inserts a namespace whose first object is about to be put into the next slot.
    fn insert_namespace(&mut self, name: &str) -> u32 {
        let Self { hasher, row, namespaces, namespace_names, .. } = self;
        let members = Slots::One(number(row.vacant_key()));
        let namespace = number(namespaces.insert(Namespace { name: name.into(), members }));
        namespace_names.insert_unique(hasher.hash_one(name), namespace, |other| {
            hasher.hash_one(&*namespaces[*other as usize].name)
        });
        namespace
    }

    fn remove(&mut self, slot: u32) {
        let Self { hasher, row, keys, namespaces, namespace_names, .. } = self;
        let Entry { hash, namespace, .. } = row.remove(slot as usize);
        if let Ok(key) = keys.find_entry(spread(hash), |other| *other == slot) {
            key.remove();
        }
        if namespaces[namespace as usize].members.remove(slot) {
            let name = namespaces.remove(namespace as usize).name;
            let found = namespace_names.find_entry(hasher.hash_one(&*name), |other| *other == namespace);
            if let Ok(entry) = found {
                entry.remove();
            }
        }
    }

    fn compact(&mut self) {
        let Self { row, stems, keys, namespaces, indexes, .. } = self;
        let mut moved = hashbrown::HashMap::new();
        row.compact(|entry, from, to| {
            let (from, to) = (number(from), number(to));
            if let Some(slot) = keys.find_mut(spread(entry.hash), |other| *other == from) {
                *slot = to;
            }
            stems[to as usize] = stems[from as usize];
            moved.insert(from, to);
            true
        });
        row.shrink_to_fit();
        stems.truncate(row.len());
        stems.shrink_to_fit();
        keys.shrink_to_fit(|slot| spread(row[*slot as usize].hash));
        let new_slot = |slot| moved.get(&slot).copied().unwrap_or(slot);
        namespaces.iter_mut().for_each(|(_, namespace)| namespace.members.renumber(new_slot));
        indexes.iter_mut().for_each(|index| index.renumber(&new_slot));
    }

    /// Clones the objects of these entries that the selector matches.
    fn pick<'a>(
        &self,
        entries: impl Iterator<Item = &'a Entry<K>>,
        count: usize,
        selector: &Selector,
    ) -> Vec<Arc<K>> {
        if selector.is_everything() {
            return clone_all(entries.map(|entry| &entry.object), count);
        }
        if !self.has_selected.load(Ordering::Relaxed) {
            self.has_selected.store(true, Ordering::Relaxed);
        }
        let sieve = Sieve::new(selector);
        let passes = |entry: &&Entry<K>| sieve.passes(entry.labels.get(|| entry.object.label_digest()));
        let candidates = entries.filter(passes).map(|entry| &entry.object);
        candidates.filter(|object| selector.matches(object.as_ref())).cloned().collect()
    }

    fn entry(&self, slot: u32) -> &Entry<K> {
        &self.row[slot as usize]
    }

    fn members(&self, namespace: &str) -> Option<&Slots> {
        Some(&self.namespaces[self.namespace_number(namespace)? as usize].members)
    }

    fn namespace_number(&self, name: &str) -> Option<u32> {
        let is_it = |other: &u32| &*self.namespaces[*other as usize].name == name;
        self.namespace_names.find(self.hasher.hash_one(name), is_it).copied()
    }

    fn hash(&self, namespace: u32, name: &str) -> u32 {
        // Either half of the hash would do.
        (self.hasher.hash_one((namespace, name)) >> 32) as u32
    }
}

/// A name of up to [`Stem::ROOM`] bytes, or the beginning of a longer one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stem {
    bytes: [u8; Self::ROOM],
    /// The length of the whole name, or the greatest number if it is greater.
    length: u8,
}

impl Stem {
    /// Names that people give are rarely longer.
    const ROOM: usize = 23;

    fn of(name: &str) -> Self {
        let mut bytes = [0; Self::ROOM];
        let kept = name.len().min(Self::ROOM);
        bytes[..kept].copy_from_slice(&name.as_bytes()[..kept]);
        Self { bytes, length: u8::try_from(name.len()).unwrap_or(u8::MAX) }
    }

    /// Whether it is the whole name.
    fn is_whole(self) -> bool {
        usize::from(self.length) <= Self::ROOM
    }
}

/// Expands half a hash to 64 bits: the table uses the lower bits as the position and the upper ones as a
/// tag.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

pub(super) fn number(slot: usize) -> u32 {
    u32::try_from(slot).expect("a cache has less than 2^32 objects")
}

/// Clones many `Arc`s.
///
/// Cloning an `Arc` writes to its reference count, and each write waits for its cache line. Reads of
/// several lines overlap, so a group of counts is read first. The benchmark `store` shows the
/// difference.
fn clone_all<'a, K: 'a>(mut objects: impl Iterator<Item = &'a Arc<K>>, count: usize) -> Vec<Arc<K>> {
    let mut all = Vec::with_capacity(count);
    let mut near = Vec::with_capacity(TOUCHED_AT_ONCE);
    loop {
        near.extend(objects.by_ref().take(TOUCHED_AT_ONCE));
        if near.is_empty() {
            return all;
        }
        std::hint::black_box(near.iter().map(|object| Arc::strong_count(object)).sum::<usize>());
        all.extend(near.drain(..).map(Arc::clone));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;

    use super::*;
    use crate::selector::LabelDigest;

    fn insertion(name: &str) -> Change<ConfigMap> {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let object = ConfigMap { metadata, ..ConfigMap::default() };
        Change::Insert(Arc::new(object), LazyDigest::default(), Prepared::new())
    }

    /// Names of every length around the limits of a stem, which differ in their last letter, or only in length.
    fn names() -> Vec<String> {
        let lengths = [0, 1, Stem::ROOM - 1, Stem::ROOM, Stem::ROOM + 1, 253, 254, 255, 256, 300];
        let names = lengths.into_iter().flat_map(|length| {
            let name = "x".repeat(length);
            [format!("{name}a"), format!("{name}b"), format!("{name}\0"), format!("{name}ü")]
        });
        names.collect()
    }

    #[test]
    fn an_object_is_found_by_its_whole_name_however_long_it_is() {
        let (mut state, names) = (State::default(), names());
        for name in &names {
            assert!(state.get("", name).is_none());
            state.apply(&insertion(name));
        }
        let check = |state: &State<ConfigMap>, kept: &dyn Fn(usize) -> bool| {
            for (number, name) in names.iter().enumerate() {
                assert_eq!(state.get("", name).map(|object| object.name()), kept(number).then_some(&**name));
            }
        };
        check(&state, &|_| true);
        for name in names.iter().step_by(2) {
            let slot = state.find("", name).unwrap();
            state.apply(&Change::Remove(slot));
        }
        check(&state, &|number| number % 2 == 1);
        state.apply(&Change::Compact);
        assert_eq!(state.stems.len(), names.len() / 2);
        check(&state, &|number| number % 2 == 1);
        for name in names.iter().step_by(2) {
            state.apply(&insertion(name));
        }
        check(&state, &|_| true);
        assert_eq!(state.stems.len(), names.len());
    }

    /// An object with one label, which counts how often its labels are read for a digest.
    struct Labelled {
        value: &'static str,
        digests: AtomicUsize,
    }

    impl CacheObject for Labelled {
        fn name(&self) -> &str {
            "example"
        }

        fn namespace(&self) -> Option<&str> {
            None
        }

        fn uid(&self) -> &str {
            ""
        }

        fn resource_version(&self) -> &str {
            ""
        }

        fn label(&self, key: &str) -> Option<&str> {
            (key == "app").then_some(self.value)
        }

        fn label_digest(&self) -> LabelDigest {
            self.digests.fetch_add(1, Ordering::Relaxed);
            LabelDigest::of([("app", self.value)])
        }
    }

    #[test]
    fn the_digest_of_labels_is_computed_once_for_each_state_and_only_for_selectors() {
        let object = |value| Arc::new(Labelled { value, digests: AtomicUsize::new(0) });
        let digests = |object: &Labelled| object.digests.load(Ordering::Relaxed);
        let matches = |state: &State<Labelled>, text: &str| !state.select(&text.parse().unwrap()).is_empty();
        let (web, mail) = (object("web"), object("mail"));
        let mut state = State::<Labelled>::default();
        state.apply(&Change::Insert(web.clone(), state.digest(web.as_ref()), Prepared::new()));
        let copy = state.clone();
        assert_eq!(state.select(&Selector::everything()).len(), 1);
        assert_eq!(digests(&web), 0);
        assert!(matches(&state, "app=web") && !matches(&state, "app=mail"));
        assert_eq!(digests(&web), 1);
        let replacement = Change::Replace(0, mail.clone(), copy.digest(mail.as_ref()), Prepared::new());
        assert_eq!(digests(&mail), 1, "every generation knows that there are selectors");
        state.apply(&replacement);
        assert!(matches(&state, "app=mail") && !matches(&state, "app=web"));
        assert_eq!(digests(&mail), 1);
    }
}
