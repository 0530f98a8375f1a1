//! One generation of the cache: the objects by namespace and name, and the indexes over them.
//!
//! An object is kept once, as an `Arc`, and no key is kept beside it: the tables hash the name that
//! the object itself holds. The objects are parted by namespace, so the namespace index costs
//! nothing per object. They stand in a row, in about the order in which they came, and the table
//! holds their places: whoever goes through all of them walks through memory in the order in which
//! it was given out, which is several times faster than in the order of their hashes.

use std::{borrow::Borrow, hash::Hash, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use super::index::{IndexTable, Prepared};
use crate::{CacheObject, Scope};

/// A row with room for so few objects keeps it, whatever it holds.
const KEPT_ROOM: usize = 1024;

/// The namespace under which an object is filed; cluster-scoped objects are filed under the empty one.
pub(crate) fn namespace_of<K: CacheObject>(object: &K) -> &str {
    object.namespace().unwrap_or_default()
}

/// One generation of the cache. The writer owns it while it changes; once published it never does.
pub(crate) struct State<K> {
    hasher: DefaultHashBuilder,
    partitions: HashTable<Partition<K>>,
    len: usize,
    /// In the order in which they were added; an index keeps its place for good.
    pub(crate) indexes: Vec<Box<dyn IndexTable<K>>>,
    /// How far each listed scope has come.
    pub(crate) versions: Vec<(Scope, String)>,
    /// Grows by one with every publication.
    pub(crate) generation: u64,
}

/// The objects of one namespace.
struct Partition<K> {
    namespace: Arc<str>,
    objects: Vec<Arc<K>>,
    /// Where each object stands, hashed by its name.
    places: HashTable<u32>,
}

/// One change of one object with the index values it brings, ready to be made to both generations.
pub(crate) struct Change<K> {
    /// What was under the key.
    pub(crate) old: Option<Arc<K>>,
    /// What is under the key now.
    pub(crate) new: Option<Arc<K>>,
    /// What each index makes of it, in the order of the indexes.
    pub(crate) prepared: Vec<Prepared>,
}

impl<K> Clone for State<K> {
    fn clone(&self) -> Self {
        Self {
            hasher: self.hasher.clone(),
            partitions: self.partitions.clone(),
            len: self.len,
            indexes: self.indexes.iter().map(|index| index.duplicate()).collect(),
            versions: self.versions.clone(),
            generation: self.generation,
        }
    }
}

impl<K> Clone for Partition<K> {
    fn clone(&self) -> Self {
        Self { namespace: self.namespace.clone(), objects: self.objects.clone(), places: self.places.clone() }
    }
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            partitions: HashTable::new(),
            len: 0,
            indexes: Vec::new(),
            versions: Vec::new(),
            generation: 0,
        }
    }
}

impl<K: CacheObject> State<K> {
    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The object of this namespace and name.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<K>> {
        let partition = self.partition(namespace)?;
        let place = partition.place(self.hasher.hash_one(name), name)?;
        partition.objects.get(place)
    }

    /// Every object, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.partitions.iter().flat_map(|partition| partition.objects.iter())
    }

    /// Every object of one namespace, in no particular order.
    pub(crate) fn iter_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<K>> {
        self.partition(namespace).into_iter().flat_map(|partition| partition.objects.iter())
    }

    /// Every object of one scope, in no particular order.
    pub(crate) fn iter_scope<'a>(&'a self, scope: &'a Scope) -> Box<dyn Iterator<Item = &'a Arc<K>> + 'a> {
        match scope {
            Scope::All => Box::new(self.iter()),
            Scope::Namespace(namespace) => Box::new(self.iter_namespace(namespace)),
        }
    }

    /// The namespaces that hold an object.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.partitions.iter().map(|partition| &partition.namespace)
    }

    /// For how many objects there is room.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.partitions.iter().map(|partition| partition.objects.capacity()).sum()
    }

    fn partition(&self, namespace: &str) -> Option<&Partition<K>> {
        self.partitions.find(self.hasher.hash_one(namespace), |partition| &*partition.namespace == namespace)
    }

    /// Makes one change. What is given as `old` is what the state holds under the key.
    pub(crate) fn apply(&mut self, change: &Change<K>) {
        match (&change.old, &change.new) {
            (_, Some(new)) => self.insert(new.clone()),
            (Some(old), None) => self.remove(old),
            (None, None) => {}
        }
        for (index, prepared) in self.indexes.iter_mut().zip(&change.prepared) {
            index.apply(prepared, change.old.as_ref(), change.new.as_ref());
        }
    }

    fn insert(&mut self, object: Arc<K>) {
        let Self { hasher, partitions, len, .. } = self;
        let namespace = namespace_of(object.as_ref());
        let partition = partitions
            .entry(
                hasher.hash_one(namespace),
                |partition| &*partition.namespace == namespace,
                |partition| hasher.hash_one(&*partition.namespace),
            )
            .or_insert_with(|| Partition::new(namespace))
            .into_mut();
        *len += usize::from(partition.insert(object, hasher));
    }

    fn remove(&mut self, object: &K) {
        let Self { hasher, partitions, len, .. } = self;
        let namespace = namespace_of(object);
        let Ok(mut partition) =
            partitions.find_entry(hasher.hash_one(namespace), |partition| &*partition.namespace == namespace)
        else {
            return;
        };
        *len -= usize::from(partition.get_mut().remove(object.name(), hasher));
        if partition.get().objects.is_empty() {
            partition.remove();
        }
    }

    /// The version that a scope has reached, if it was listed.
    pub(crate) fn version(&self, scope: &Scope) -> Option<&String> {
        self.versions.iter().find_map(|(listed, version)| (listed == scope).then_some(version))
    }

    /// The objects under one value of the index in this place.
    pub(crate) fn postings<V, Q>(&self, place: usize, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        self.indexes
            .get(place)
            .and_then(|index| super::index::typed::<K, V>(index.as_ref()))
            .map(|index| index.get(value))
            .unwrap_or_default()
    }
}

impl<K: CacheObject> Partition<K> {
    fn new(namespace: &str) -> Self {
        Self { namespace: namespace.into(), objects: Vec::new(), places: HashTable::new() }
    }

    /// Where the object of this name stands.
    fn place(&self, hash: u64, name: &str) -> Option<usize> {
        self.places
            .find(hash, |place| self.objects[*place as usize].name() == name)
            .map(|place| *place as usize)
    }

    /// Puts an object in, and says whether its name is new.
    fn insert(&mut self, object: Arc<K>, hasher: &DefaultHashBuilder) -> bool {
        let hash = hasher.hash_one(object.name());
        if let Some(place) = self.place(hash, object.name()) {
            self.objects[place] = object;
            return false;
        }
        let Self { objects, places, .. } = self;
        let place = u32::try_from(objects.len()).expect("no namespace has four thousand million objects");
        objects.push(object);
        places.insert_unique(hash, place, |place| hasher.hash_one(objects[*place as usize].name()));
        true
    }

    /// Takes an object out, and says whether it was there. The last one takes its place.
    fn remove(&mut self, name: &str, hasher: &DefaultHashBuilder) -> bool {
        let Self { objects, places, .. } = self;
        let found = places.find_entry(hasher.hash_one(name), |place| objects[*place as usize].name() == name);
        let Ok(entry) = found else { return false };
        let (place, _) = entry.remove();
        let last = objects.len() - 1;
        objects.swap_remove(place as usize);
        if let Some(moved) = objects.get(place as usize) {
            let hash = hasher.hash_one(moved.name());
            if let Some(its) = places.find_mut(hash, |other| *other as usize == last) {
                *its = place;
            }
        }
        // Room that was needed once is given back when most of it is not needed any more.
        if objects.capacity() > KEPT_ROOM && objects.len() < objects.capacity() / 4 {
            objects.shrink_to(objects.len() * 2);
            places.shrink_to(objects.len() * 2, |place| hasher.hash_one(objects[*place as usize].name()));
        }
        true
    }
}
