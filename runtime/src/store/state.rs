//! One generation of the cache: the objects by namespace and name, and the indexes over them.
//!
//! The objects stand in a row, in about the order in which they came, each once and as an `Arc`, and
//! everything else speaks of them by their place in it:
//!
//! * Whoever goes through many objects walks through memory in the order in which it was given out.
//! * A new state of an object takes the old one's place, so namespaces and indexes need not be
//!   touched unless a value has changed.
//! * No key is kept: the table of keys compares with the name that the object itself holds, after a
//!   part of its hash has told nearly all others apart.
//! * Beside each object stands a [`LabelDigest`], so that a selector looks only at objects that it
//!   may match.
//!
//! Generations to which the same changes are made in the same order have every object in the same
//! place.

use std::{
    borrow::Borrow,
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use hashbrown::{DefaultHashBuilder, HashTable};
use slab::Slab;

use super::{
    index::{IndexTable, Prepared},
    places::Places,
};
use crate::{
    delta::Scope,
    object::CacheObject,
    selector::{LabelDigest, Selector, Sieve},
};

/// A row with room for so few objects keeps it, whatever it holds.
const KEPT_ROOM: usize = 1024;

/// So many objects are brought into the processor's cache together.
const TOUCHED_AT_ONCE: usize = 32;

/// The namespace under which an object is filed; cluster-scoped objects are filed under the empty one.
pub(crate) fn namespace_of<K: CacheObject>(object: &K) -> &str {
    object.namespace().unwrap_or_default()
}

/// One generation of the cache. The writer owns it while it changes; once published it never does.
pub(crate) struct State<K> {
    hasher: DefaultHashBuilder,
    row: Slab<Slot<K>>,
    /// The places of the objects, hashed by namespace and name.
    keys: HashTable<u32>,
    namespaces: Slab<Namespace>,
    /// The numbers of the namespaces, hashed by name.
    namespace_names: HashTable<u32>,
    /// In the order in which they were added; an index keeps its place for good.
    pub(crate) indexes: Vec<Box<dyn IndexTable<K>>>,
    /// How far each listed scope has come.
    pub(crate) versions: Vec<(Scope, String)>,
    /// Grows by one with every publication.
    pub(crate) generation: u64,
}

/// An object in its place.
struct Slot<K> {
    object: Arc<K>,
    labels: LabelDigest,
    /// Of its namespace and name.
    hash: u32,
    /// The number of its namespace.
    namespace: u32,
}

/// A namespace that holds at least one object.
#[derive(Clone)]
struct Namespace {
    name: Arc<str>,
    members: Places,
}

/// One change, ready to be made to every generation.
pub(crate) enum Change<K> {
    /// An object under a new key.
    Insert(Arc<K>, Prepared),
    /// A new state of the object in this place.
    Replace(u32, Arc<K>, Prepared),
    /// The object in this place is gone.
    Remove(u32, Prepared),
    /// The objects close ranks, and the room that is not needed any more is given back.
    Compact,
}

impl<K> Clone for State<K> {
    fn clone(&self) -> Self {
        Self {
            hasher: self.hasher.clone(),
            row: self.row.clone(),
            keys: self.keys.clone(),
            namespaces: self.namespaces.clone(),
            namespace_names: self.namespace_names.clone(),
            indexes: self.indexes.iter().map(|index| index.duplicate()).collect(),
            versions: self.versions.clone(),
            generation: self.generation,
        }
    }
}

impl<K> Clone for Slot<K> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), ..*self }
    }
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            row: Slab::new(),
            keys: HashTable::new(),
            namespaces: Slab::new(),
            namespace_names: HashTable::new(),
            indexes: Vec::new(),
            versions: Vec::new(),
            generation: 0,
        }
    }
}

impl<K: CacheObject> State<K> {
    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.row.len()
    }

    /// The object of this namespace and name.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<K>> {
        Some(self.at(self.find(namespace, name)?))
    }

    /// The place of the object of this namespace and name.
    pub(crate) fn find(&self, namespace: &str, name: &str) -> Option<u32> {
        let namespace = self.namespace_number(namespace)?;
        let hash = self.hash(namespace, name);
        self.keys.find(spread(hash), |place| self.slot(*place).is(hash, namespace, name)).copied()
    }

    /// The object in a place that is taken.
    pub(crate) fn at(&self, place: u32) -> &Arc<K> {
        &self.slot(place).object
    }

    /// Every object, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.row.iter().map(|(_, slot)| &slot.object)
    }

    /// Every object with its place.
    pub(super) fn iter_places(&self) -> impl Iterator<Item = (u32, &Arc<K>)> {
        self.row.iter().map(|(place, slot)| (number(place), &slot.object))
    }

    /// Every object of one scope, in no particular order.
    pub(crate) fn iter_scope<'a>(&'a self, scope: &'a Scope) -> Box<dyn Iterator<Item = &'a Arc<K>> + 'a> {
        match scope {
            Scope::All => Box::new(self.iter()),
            Scope::Namespace(namespace) => {
                let members = self.members(namespace).into_iter().flat_map(Places::iter);
                Box::new(members.map(|place| self.at(place)))
            }
        }
    }

    /// Every object that the selector matches.
    pub(crate) fn select(&self, selector: &Selector) -> Vec<Arc<K>> {
        pick(self.row.iter().map(|(_, slot)| slot), self.len(), selector)
    }

    /// Every object of one namespace that the selector matches.
    pub(crate) fn select_in(&self, namespace: &str, selector: &Selector) -> Vec<Arc<K>> {
        let Some(members) = self.members(namespace) else { return Vec::new() };
        pick(members.iter().map(|place| self.slot(place)), members.len(), selector)
    }

    /// The objects under one value of the index in this place.
    pub(crate) fn postings<V, Q>(&self, index: usize, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let index = self.indexes.get(index).and_then(|index| super::index::typed::<K, V>(index.as_ref()));
        let Some(places) = index.and_then(|index| index.get(value)) else { return Vec::new() };
        clone_all(places.iter().map(|place| self.at(place)), places.len())
    }

    /// The namespaces that hold an object.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.namespaces.iter().map(|(_, namespace)| &namespace.name)
    }

    /// The version that a scope has reached, if it was listed.
    pub(crate) fn version(&self, scope: &Scope) -> Option<&String> {
        self.versions.iter().find_map(|(listed, version)| (listed == scope).then_some(version))
    }

    /// Whether most of the row's room is not needed any more.
    pub(crate) fn is_sparse(&self) -> bool {
        self.row.capacity() > KEPT_ROOM && self.row.len() < self.row.capacity() / 4
    }

    /// For how many objects there is room.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.row.capacity()
    }

    /// Makes room for so many further objects.
    pub(crate) fn reserve(&mut self, objects: usize) {
        let Self { row, keys, .. } = self;
        row.reserve(objects);
        keys.reserve(objects, |place| spread(row[*place as usize].hash));
    }

    /// Makes one change.
    pub(crate) fn apply(&mut self, change: &Change<K>) {
        let (place, prepared) = match change {
            Change::Insert(object, prepared) => (self.insert(object.clone()), prepared),
            Change::Replace(place, object, prepared) => {
                let slot = &mut self.row[*place as usize];
                slot.labels = object.label_digest();
                slot.object = object.clone();
                (*place, prepared)
            }
            Change::Remove(place, prepared) => {
                self.remove(*place);
                (*place, prepared)
            }
            Change::Compact => return self.compact(),
        };
        for (index, moves) in prepared {
            self.indexes[*index].apply(moves, place);
        }
    }

    fn insert(&mut self, object: Arc<K>) -> u32 {
        let name = namespace_of(object.as_ref());
        let namespace = self.namespace_number(name).unwrap_or_else(|| self.insert_namespace(name));
        let hash = self.hash(namespace, object.name());
        let labels = object.label_digest();
        let Self { row, keys, namespaces, .. } = self;
        let place = number(row.insert(Slot { object, labels, hash, namespace }));
        keys.insert_unique(spread(hash), place, |place| spread(row[*place as usize].hash));
        namespaces[namespace as usize].members.insert(place);
        place
    }

    /// A new namespace, whose first member is about to be put into the next place of the row.
    fn insert_namespace(&mut self, name: &str) -> u32 {
        let Self { hasher, row, namespaces, namespace_names, .. } = self;
        let members = Places::One(number(row.vacant_key()));
        let namespace = number(namespaces.insert(Namespace { name: name.into(), members }));
        namespace_names.insert_unique(hasher.hash_one(name), namespace, |other| {
            hasher.hash_one(&*namespaces[*other as usize].name)
        });
        namespace
    }

    fn remove(&mut self, place: u32) {
        let Self { hasher, row, keys, namespaces, namespace_names, .. } = self;
        let Slot { hash, namespace, .. } = row.remove(place as usize);
        if let Ok(key) = keys.find_entry(spread(hash), |other| *other == place) {
            key.remove();
        }
        if namespaces[namespace as usize].members.remove(place) {
            let name = namespaces.remove(namespace as usize).name;
            let found = namespace_names.find_entry(hasher.hash_one(&*name), |other| *other == namespace);
            if let Ok(entry) = found {
                entry.remove();
            }
        }
    }

    fn compact(&mut self) {
        let Self { row, keys, namespaces, indexes, .. } = self;
        let mut moved = hashbrown::HashMap::new();
        row.compact(|slot, from, to| {
            let (from, to) = (number(from), number(to));
            if let Some(place) = keys.find_mut(spread(slot.hash), |other| *other == from) {
                *place = to;
            }
            moved.insert(from, to);
            true
        });
        row.shrink_to_fit();
        keys.shrink_to_fit(|place| spread(row[*place as usize].hash));
        let new_place = |place| moved.get(&place).copied().unwrap_or(place);
        namespaces.iter_mut().for_each(|(_, namespace)| namespace.members.renumber(new_place));
        indexes.iter_mut().for_each(|index| index.renumber(&new_place));
    }

    fn slot(&self, place: u32) -> &Slot<K> {
        &self.row[place as usize]
    }

    fn members(&self, namespace: &str) -> Option<&Places> {
        Some(&self.namespaces[self.namespace_number(namespace)? as usize].members)
    }

    fn namespace_number(&self, name: &str) -> Option<u32> {
        let is_it = |other: &u32| &*self.namespaces[*other as usize].name == name;
        self.namespace_names.find(self.hasher.hash_one(name), is_it).copied()
    }

    fn hash(&self, namespace: u32, name: &str) -> u32 {
        // The half of the hash that is kept is as good as the other.
        (self.hasher.hash_one((namespace, name)) >> 32) as u32
    }
}

impl<K: CacheObject> Slot<K> {
    fn is(&self, hash: u32, namespace: u32, name: &str) -> bool {
        self.hash == hash && self.namespace == namespace && self.object.name() == name
    }
}

/// A hash as the table wants it: it takes its place from the lower end and a tag from the upper.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("no cache has four thousand million objects")
}

/// The objects of these slots that the selector matches.
fn pick<'a, K: CacheObject>(
    slots: impl Iterator<Item = &'a Slot<K>>,
    count: usize,
    selector: &Selector,
) -> Vec<Arc<K>> {
    if selector.is_everything() {
        return clone_all(slots.map(|slot| &slot.object), count);
    }
    let sieve = Sieve::new(selector);
    let candidates = slots.filter(|slot| sieve.passes(slot.labels)).map(|slot| &slot.object);
    candidates.filter(|object| selector.matches(object.as_ref())).cloned().collect()
}

/// Further handles of many objects.
///
/// To count a handle is to write to the object, and such writes wait for one another, each for its
/// piece of memory. Reading does not, so the objects are looked at together first.
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
