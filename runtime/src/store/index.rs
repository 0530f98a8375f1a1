//! Named indexes with typed values.
//!
//! - An index function returns any number of values for an object, and the object is found under each.
//! - The index function and the `Hash` of its values are called before anything is changed. If one
//!   panics, the object is stored, is found under no value of that index, and the panic is counted.
//! - The index function is called once for each state of an object. The index records the values that it
//!   returned, so an object is never found under an outdated value, even if the function is not pure.
//! - A value without objects is removed from the index.

use std::{
    any::Any,
    borrow::Borrow,
    fmt,
    hash::{BuildHasher, Hash},
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use slab::Slab;

use super::{Snapshot, Store, slots::Slots, state::number};
use crate::object::{CacheObject, ObjectKey};

/// Why an index could not be added or found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another index has this name.
    #[error("an index named `{0}` already exists")]
    NameTaken(String),
    /// No index has this name.
    #[error("no index is named `{0}`")]
    Unknown(String),
    /// The index has values of another type.
    #[error("the values of index `{name}` are not of type `{wanted}`")]
    OtherType {
        /// The name of the index.
        name: String,
        /// The requested type.
        wanted: &'static str,
    },
    /// The index function panicked on an object in the cache. The index was not added.
    #[error("the function of index `{name}` panicked on `{key}`: {message}")]
    Panicked {
        /// The name of the index.
        name: String,
        /// The object on which it panicked.
        key: ObjectKey,
        /// The message of the panic.
        message: String,
    },
}

/// Finds the objects of an informer by values computed from each object. Cheap to clone.
///
/// Lookups read the newest published generation.
pub struct Index<K, V> {
    store: Store<K>,
    name: Arc<str>,
    /// The position of the index in the store.
    number: usize,
    values: PhantomData<fn() -> V>,
}

impl<K, V> Clone for Index<K, V> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), name: self.name.clone(), number: self.number, values: PhantomData }
    }
}

impl<K, V> fmt::Debug for Index<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<K: CacheObject, V: Hash + Eq + Clone + Send + Sync + 'static> Index<K, V> {
    pub(super) fn new(store: Store<K>, name: Arc<str>, number: usize) -> Self {
        Self { store, name, number, values: PhantomData }
    }

    /// Returns the name of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the objects with this value, in no particular order.
    pub fn get<Q>(&self, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.store.read(|state| state.postings::<V, Q>(self.number, value))
    }

    /// Returns the objects with this value in a snapshot of the store.
    ///
    /// Returns nothing if the snapshot is older than the index or belongs to another store.
    pub fn get_in<Q>(&self, snapshot: &Snapshot<K>, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let state = snapshot.state();
        match state.indexes.get(self.number) {
            Some(index) if Arc::ptr_eq(index.name(), &self.name) => {
                state.postings::<V, Q>(self.number, value)
            }
            _ => Vec::new(),
        }
    }

    /// Returns every value of at least one object, in no particular order.
    pub fn values(&self) -> Vec<V> {
        self.store.read(|state| {
            state
                .indexes
                .get(self.number)
                .and_then(|index| typed::<K, V>(index.as_ref()))
                .map(|index| index.buckets.iter().map(|(_, bucket)| bucket.value.clone()).collect())
                .unwrap_or_default()
        })
    }
}

/// The effect of one change on the indexes, by the number of the index. It is computed before anything
/// changes. Most changes affect no index.
pub(crate) type Prepared = Vec<(usize, Moves)>;

/// The effect of one change on one index.
pub(crate) struct Moves(Box<dyn Any + Send + Sync>);

/// The message of a panic in an index function.
pub(crate) type IndexPanic = String;

/// An index with values of any type.
pub(crate) trait IndexTable<K>: Send + Sync {
    /// The name of the index.
    fn name(&self) -> &Arc<str>;

    /// Computes the effect of a new state of the object in this slot, or of a new object. A panic of the
    /// index function is caught and returned.
    fn prepare(&self, slot: Option<u32>, new: &K) -> (Option<Moves>, Option<IndexPanic>);

    /// Applies a change of the object in this slot. The same index of another generation may have prepared
    /// it.
    fn apply(&mut self, moves: &Moves, slot: u32);

    /// Removes the object in this slot from every value.
    fn remove(&mut self, slot: u32);

    /// Replaces the numbers of objects that were moved to other slots.
    fn renumber(&mut self, new_slot: &dyn Fn(u32) -> u32);

    /// Copies the index for another generation.
    fn duplicate(&self) -> Box<dyn IndexTable<K>>;

    /// The index as `Any`, for downcasts.
    fn as_any(&self) -> &dyn Any;
}

/// Downcasts an index to its type.
pub(crate) fn typed<K: 'static, V: 'static>(index: &dyn IndexTable<K>) -> Option<&TypedIndex<K, V>> {
    index.as_any().downcast_ref()
}

type ValuesOf<K, V> = Arc<dyn Fn(&K) -> Vec<V> + Send + Sync>;

/// An index with values of one type.
pub(crate) struct TypedIndex<K, V> {
    name: Arc<str>,
    values_of: ValuesOf<K, V>,
    hasher: DefaultHashBuilder,
    buckets: Slab<Bucket<V>>,
    /// The numbers of the buckets, hashed by value.
    numbers: HashTable<u32>,
    recorded: Recorded,
}

/// The objects under one value.
#[derive(Clone)]
struct Bucket<V> {
    /// The hash of the value, kept so that a growing table need not compute it again.
    hash: u64,
    value: V,
    slots: Slots,
}

/// The buckets of each object, by the number of its slot. Most objects have one value.
#[derive(Clone, Default)]
struct Recorded {
    /// The first bucket of each slot, or [`NONE`](Self::NONE).
    first: Vec<u32>,
    /// The other buckets of the slots that have several.
    others: HashMap<u32, Vec<u32>>,
}

impl Recorded {
    const NONE: u32 = u32::MAX;

    /// The buckets of a slot.
    fn of(&self, slot: u32) -> impl Iterator<Item = u32> {
        let first = self.first.get(slot as usize).copied().filter(|bucket| *bucket != Self::NONE);
        let others = first.and_then(|_| if self.others.is_empty() { None } else { self.others.get(&slot) });
        first.into_iter().chain(others.into_iter().flatten().copied())
    }

    /// Replaces the buckets of a slot.
    fn set(&mut self, slot: u32, buckets: &[u32]) {
        let index = slot as usize;
        let (first, others) =
            buckets.split_first().map_or((Self::NONE, buckets), |(first, others)| (*first, others));
        if index >= self.first.len() {
            self.first.resize(index + 1, Self::NONE);
        }
        self.first[index] = first;
        if !others.is_empty() {
            self.others.insert(slot, others.to_vec());
        } else if !self.others.is_empty() {
            self.others.remove(&slot);
        }
    }

    fn renumber(&mut self, new_slot: &dyn Fn(u32) -> u32) {
        let mut renumbered = Self::default();
        for slot in 0..number(self.first.len()) {
            let buckets: Vec<_> = self.of(slot).collect();
            if !buckets.is_empty() {
                renumbered.set(new_slot(slot), &buckets);
            }
        }
        *self = renumbered;
    }
}

/// A value with its hash.
type Hashed<V> = (u64, V);

/// The values of an object after a change.
struct Values<V>(Vec<Hashed<V>>);

impl<K, V> Clone for TypedIndex<K, V>
where
    V: Clone,
{
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            values_of: self.values_of.clone(),
            hasher: self.hasher.clone(),
            buckets: self.buckets.clone(),
            numbers: self.numbers.clone(),
            recorded: self.recorded.clone(),
        }
    }
}

impl<K: CacheObject, V: Hash + Eq + Clone + Send + Sync + 'static> TypedIndex<K, V> {
    /// Creates an empty index.
    pub(crate) fn new(name: Arc<str>, values_of: ValuesOf<K, V>) -> Self {
        Self {
            name,
            values_of,
            hasher: DefaultHashBuilder::default(),
            buckets: Slab::new(),
            numbers: HashTable::new(),
            recorded: Recorded::default(),
        }
    }

    /// The slots of the objects under a value.
    pub(super) fn get<Q>(&self, value: &Q) -> Option<&Slots>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find(self.hasher.hash_one(value), value).map(|bucket| &self.buckets[bucket as usize].slots)
    }

    /// The number of the bucket of a value.
    fn find<Q>(&self, hash: u64, value: &Q) -> Option<u32>
    where
        V: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let has_value = |bucket: &u32| {
            let bucket = &self.buckets[*bucket as usize];
            bucket.hash == hash && bucket.value.borrow() == value
        };
        self.numbers.find(hash, has_value).copied()
    }

    /// Whether the object in this slot is recorded under these values, in this order.
    fn has(&self, slot: Option<u32>, values: &[Hashed<V>]) -> bool {
        let mut recorded = slot.into_iter().flat_map(|slot| self.recorded.of(slot));
        let all = values.iter().all(|(hash, value)| {
            recorded.next().is_some_and(|bucket| self.find(*hash, value) == Some(bucket))
        });
        all && recorded.next().is_none()
    }

    /// Adds a slot to the bucket of a value and returns the number of the bucket.
    fn insert(&mut self, (hash, value): &Hashed<V>, slot: u32) -> u32 {
        if let Some(bucket) = self.find(*hash, value) {
            self.buckets[bucket as usize].slots.insert(slot);
            return bucket;
        }
        let Self { buckets, numbers, .. } = self;
        let bucket = Bucket { hash: *hash, value: value.clone(), slots: Slots::One(slot) };
        let bucket = number(buckets.insert(bucket));
        numbers.insert_unique(*hash, bucket, |other| buckets[*other as usize].hash);
        bucket
    }

    /// Removes a slot from its buckets.
    fn remove_from_buckets(&mut self, slot: u32) {
        let Self { buckets, numbers, recorded, .. } = self;
        for bucket in recorded.of(slot) {
            // An index function may return a value twice.
            let Some(Bucket { hash, slots, .. }) = buckets.get_mut(bucket as usize) else { continue };
            if slots.remove(slot) {
                if let Ok(entry) = numbers.find_entry(*hash, |other| *other == bucket) {
                    entry.remove();
                }
                buckets.remove(bucket as usize);
            }
        }
    }
}

/// Calls the user's code. A panic is caught and returned as its message.
fn caught<T>(call: impl FnOnce() -> T) -> Result<T, IndexPanic> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| crate::panics::message(&*panic))
}

impl<K: CacheObject, V: Hash + Eq + Clone + Send + Sync + 'static> IndexTable<K> for TypedIndex<K, V> {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn prepare(&self, slot: Option<u32>, new: &K) -> (Option<Moves>, Option<IndexPanic>) {
        let moves = caught(|| {
            let values = (self.values_of)(new).into_iter();
            let values: Vec<_> = values.map(|value| (self.hasher.hash_one(&value), value)).collect();
            (!self.has(slot, &values)).then(|| Moves(Box::new(Values(values))))
        });
        match moves {
            Ok(moves) => (moves, None),
            Err(panic) => (Some(Moves(Box::new(Values::<V>(Vec::new())))), Some(panic)),
        }
    }

    fn apply(&mut self, moves: &Moves, slot: u32) {
        let Some(Values(values)) = moves.0.downcast_ref::<Values<V>>() else { return };
        self.remove_from_buckets(slot);
        let buckets: Vec<_> = values.iter().map(|value| self.insert(value, slot)).collect();
        self.recorded.set(slot, &buckets);
    }

    fn remove(&mut self, slot: u32) {
        self.remove_from_buckets(slot);
        self.recorded.set(slot, &[]);
    }

    fn renumber(&mut self, new_slot: &dyn Fn(u32) -> u32) {
        self.buckets.iter_mut().for_each(|(_, bucket)| bucket.slots.renumber(new_slot));
        self.recorded.renumber(new_slot);
    }

    fn duplicate(&self) -> Box<dyn IndexTable<K>> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
