//! One generation of the cache: the objects by namespace and name, and the indexes over them.
//!
//! The objects are kept in a vector of slots. Everything else refers to them by the number of their slot, so
//! a new state of an object takes the slot of the old one, and namespaces and indexes change only if a value
//! has changed.
//!
//! Generations that applied the same changes in the same order have every object in the same slot.

use std::{
    borrow::Borrow,
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use slab::Slab;

use super::{
    index::{IndexTable, Prepared},
    slots::Slots,
};
use crate::{delta::Scope, object::CacheObject, selector::Selector};

/// A vector with a capacity of up to this many objects is never shrunk.
const KEPT_CAPACITY: usize = 1024;

/// The namespace of an object, empty if it is cluster-scoped.
pub(crate) fn namespace_of<K: CacheObject>(object: &K) -> &str {
    object.namespace().unwrap_or_default()
}

/// One generation of the cache. Only the writer changes it, before it is published.
pub(crate) struct State<K> {
    hasher: DefaultHashBuilder,
    entries: Slab<Entry<K>>,
    /// The slots of the objects, hashed by namespace and name.
    keys: HashTable<u32>,
    /// The slots of the objects of each namespace.
    namespaces: HashMap<Arc<str>, Slots>,
    /// The indexes in the order in which they were added. The position of an index is its number.
    pub(crate) indexes: Vec<Box<dyn IndexTable<K>>>,
    /// The resource version of each listed scope.
    pub(crate) versions: Vec<(Scope, String)>,
    /// Grows by one with every published batch.
    pub(crate) generation: u64,
}

/// An object in its slot.
struct Entry<K> {
    object: Arc<K>,
    /// The hash of its namespace and name.
    hash: u64,
}

/// One change, prepared to be applied to every generation.
pub(crate) enum Change<K> {
    /// Inserts an object under a new key.
    Insert(Arc<K>, Prepared),
    /// Replaces the object in this slot with a new state.
    Replace(u32, Arc<K>, Prepared),
    /// Removes the object in this slot.
    Remove(u32),
    /// Moves the objects to the first slots and frees unused memory.
    Compact,
}

impl<K> Clone for State<K> {
    fn clone(&self) -> Self {
        Self {
            hasher: self.hasher.clone(),
            entries: self.entries.clone(),
            keys: self.keys.clone(),
            namespaces: self.namespaces.clone(),
            indexes: self.indexes.iter().map(|index| index.duplicate()).collect(),
            versions: self.versions.clone(),
            generation: self.generation,
        }
    }
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), hash: self.hash }
    }
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            entries: Slab::new(),
            keys: HashTable::new(),
            namespaces: HashMap::new(),
            indexes: Vec::new(),
            versions: Vec::new(),
            generation: 0,
        }
    }
}

impl<K: CacheObject> State<K> {
    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The object with this namespace and name.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<K>> {
        Some(self.at(self.find(namespace, name)?))
    }

    /// The slot of the object with this namespace and name.
    pub(crate) fn find(&self, namespace: &str, name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one((namespace, name));
        let has_key = |slot: &u32| {
            let entry = &self.entries[*slot as usize];
            let object = entry.object.as_ref();
            entry.hash == hash && object.name() == name && namespace_of(object) == namespace
        };
        self.keys.find(hash, has_key).copied()
    }

    /// The object in an occupied slot.
    pub(crate) fn at(&self, slot: u32) -> &Arc<K> {
        &self.entries[slot as usize].object
    }

    /// Every object, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.entries.iter().map(|(_, entry)| &entry.object)
    }

    /// Every object with its slot.
    pub(super) fn iter_slots(&self) -> impl Iterator<Item = (u32, &Arc<K>)> {
        self.entries.iter().map(|(slot, entry)| (number(slot), &entry.object))
    }

    /// Every object of one namespace, in no particular order.
    pub(crate) fn iter_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<K>> {
        self.namespaces.get(namespace).into_iter().flat_map(Slots::iter).map(|slot| self.at(slot))
    }

    /// Every object of one scope, in no particular order.
    pub(crate) fn iter_scope<'a>(&'a self, scope: &'a Scope) -> Box<dyn Iterator<Item = &'a Arc<K>> + 'a> {
        match scope {
            Scope::All => Box::new(self.iter()),
            Scope::Namespace(namespace) => Box::new(self.iter_namespace(namespace)),
        }
    }

    /// Every object that the selector matches.
    pub(crate) fn select(&self, selector: &Selector) -> Vec<Arc<K>> {
        matching(self.iter(), selector)
    }

    /// Every object of one namespace that the selector matches.
    pub(crate) fn select_in(&self, namespace: &str, selector: &Selector) -> Vec<Arc<K>> {
        matching(self.iter_namespace(namespace), selector)
    }

    /// The objects under one value of the index with this number.
    pub(crate) fn postings<V, Q>(&self, index: usize, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let index = self.indexes.get(index).and_then(|index| super::index::typed::<K, V>(index.as_ref()));
        let slots = index.and_then(|index| index.get(value));
        slots.into_iter().flat_map(Slots::iter).map(|slot| self.at(slot).clone()).collect()
    }

    /// The namespaces that have an object.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.namespaces.keys()
    }

    /// The resource version of a scope, if it was listed.
    pub(crate) fn version(&self, scope: &Scope) -> Option<&String> {
        self.versions.iter().find_map(|(listed, version)| (listed == scope).then_some(version))
    }

    /// Whether most of the allocated slots are unused.
    pub(crate) fn is_sparse(&self) -> bool {
        self.entries.capacity() > KEPT_CAPACITY && self.entries.len() < self.entries.capacity() / 4
    }

    /// The number of allocated slots.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Reserves memory for this many additional objects.
    pub(crate) fn reserve(&mut self, objects: usize) {
        let Self { entries, keys, .. } = self;
        entries.reserve(objects);
        keys.reserve(objects, |slot| entries[*slot as usize].hash);
    }

    /// Applies one change.
    pub(crate) fn apply(&mut self, change: &Change<K>) {
        let (slot, prepared) = match change {
            Change::Insert(object, prepared) => (self.insert(object.clone()), prepared),
            Change::Replace(slot, object, prepared) => {
                self.entries[*slot as usize].object = object.clone();
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

    fn insert(&mut self, object: Arc<K>) -> u32 {
        let Self { hasher, entries, keys, namespaces, .. } = self;
        let namespace = namespace_of(object.as_ref());
        let hash = hasher.hash_one((namespace, object.name()));
        let slot = number(entries.vacant_key());
        match namespaces.get_mut(namespace) {
            Some(slots) => slots.insert(slot),
            None => {
                namespaces.insert(namespace.into(), Slots::One(slot));
            }
        }
        entries.insert(Entry { object, hash });
        keys.insert_unique(hash, slot, |slot| entries[*slot as usize].hash);
        slot
    }

    fn remove(&mut self, slot: u32) {
        let Self { entries, keys, namespaces, .. } = self;
        let Entry { object, hash } = entries.remove(slot as usize);
        if let Ok(key) = keys.find_entry(hash, |other| *other == slot) {
            key.remove();
        }
        let namespace = namespace_of(object.as_ref());
        if namespaces.get_mut(namespace).is_some_and(|slots| slots.remove(slot)) {
            namespaces.remove(namespace);
        }
    }

    fn compact(&mut self) {
        let Self { entries, keys, namespaces, indexes, .. } = self;
        let mut moved = HashMap::new();
        entries.compact(|entry, from, to| {
            let (from, to) = (number(from), number(to));
            if let Some(slot) = keys.find_mut(entry.hash, |other| *other == from) {
                *slot = to;
            }
            moved.insert(from, to);
            true
        });
        entries.shrink_to_fit();
        keys.shrink_to_fit(|slot| entries[*slot as usize].hash);
        let new_slot = |slot| moved.get(&slot).copied().unwrap_or(slot);
        namespaces.values_mut().for_each(|slots| slots.renumber(new_slot));
        indexes.iter_mut().for_each(|index| index.renumber(&new_slot));
    }
}

/// Clones the objects that the selector matches.
fn matching<'a, K: CacheObject>(
    objects: impl Iterator<Item = &'a Arc<K>>,
    selector: &Selector,
) -> Vec<Arc<K>> {
    objects.filter(|object| selector.matches(object.as_ref())).cloned().collect()
}

pub(super) fn number(slot: usize) -> u32 {
    u32::try_from(slot).expect("a cache has fewer than 2^32 objects")
}
