//! Named indexes with typed values.
//!
//! - An index function returns any number of values for an object, and the object is found under each.
//! - The index function and the `Hash` of its values are called before anything is changed. If one
//!   panics, the object is stored, is found under no value of that index, and the panic is counted.
//! - The index function must be pure: it is called again when the object changes or is removed. With an
//!   impure one a lookup can return wrong objects, but never panics.
//! - A value that no object has any more is removed from the index.

use std::{
    any::Any,
    borrow::Borrow,
    fmt,
    hash::{BuildHasher, Hash},
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};

use super::{Snapshot, Store, slots::Slots};
use crate::object::{CacheObject, ObjectKey};

/// Why an index could not be added or found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another index has this name.
    #[error("there is an index `{0}` already")]
    NameTaken(String),
    /// No index has this name.
    #[error("there is no index `{0}`")]
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

/// An index over the objects of an informer, which finds them by values computed from each object.
///
/// Cheap to clone. Lookups use the newest published generation.
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
    /// There are none if the snapshot is older than the index, or belongs to another store.
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

    /// Returns every value that at least one object has, in no particular order.
    pub fn values(&self) -> Vec<V> {
        self.store.read(|state| {
            state
                .indexes
                .get(self.number)
                .and_then(|index| typed::<K, V>(index.as_ref()))
                .map(|index| index.buckets.iter().map(|bucket| bucket.value.clone()).collect())
                .unwrap_or_default()
        })
    }
}

/// The effect of one change on the indexes, by their number, computed before anything is changed. Most
/// changes affect no index.
pub(crate) type Prepared = Vec<(usize, Moves)>;

/// The effect of one change on one index.
pub(crate) struct Moves(Box<dyn Any + Send + Sync>);

/// The message of a panic in an index function.
pub(crate) type IndexPanic = String;

/// An index with values of any type.
pub(crate) trait IndexTable<K>: Send + Sync {
    /// The name of the index.
    fn name(&self) -> &Arc<str>;

    /// Computes the effect of a change on the index. A panic of the index function is caught and returned.
    fn prepare(&self, old: Option<&K>, new: Option<&K>) -> (Option<Moves>, Option<IndexPanic>);

    /// Applies a prepared change of the object in this slot. It may have been prepared by the same index
    /// of another generation.
    fn apply(&mut self, moves: &Moves, slot: u32);

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
    buckets: HashTable<Bucket<V>>,
}

/// The objects under one value.
#[derive(Clone)]
struct Bucket<V> {
    /// The hash of the value, kept so that a growing table need not compute it again.
    hash: u64,
    value: V,
    slots: Slots,
}

/// A value with its hash.
type Hashed<V> = (u64, V);

/// The values of an object before and after a change. `old` is `None` if it cannot be computed.
struct Values<V> {
    old: Option<Vec<Hashed<V>>>,
    new: Vec<Hashed<V>>,
}

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
        }
    }
}

impl<K: CacheObject, V: Hash + Eq + Clone + Send + Sync + 'static> TypedIndex<K, V> {
    /// Creates an empty index.
    pub(crate) fn new(name: Arc<str>, values_of: ValuesOf<K, V>) -> Self {
        Self { name, values_of, hasher: DefaultHashBuilder::default(), buckets: HashTable::new() }
    }

    /// The slots of the objects under a value.
    pub(super) fn get<Q>(&self, value: &Q) -> Option<&Slots>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(value);
        let bucket = self.buckets.find(hash, |bucket| bucket.hash == hash && bucket.value.borrow() == value);
        bucket.map(|bucket| &bucket.slots)
    }

    /// Hashes values before anything is changed, because the user's `Hash` may panic.
    fn hashed(&self, values: Vec<V>) -> Result<Vec<Hashed<V>>, IndexPanic> {
        caught(|| values.into_iter().map(|value| (self.hasher.hash_one(&value), value)).collect())
    }

    fn insert(&mut self, (hash, value): &Hashed<V>, slot: u32) {
        let found = self.buckets.entry(
            *hash,
            |bucket| bucket.hash == *hash && bucket.value == *value,
            |bucket| bucket.hash,
        );
        match found {
            Entry::Vacant(entry) => {
                entry.insert(Bucket { hash: *hash, value: value.clone(), slots: Slots::One(slot) });
            }
            Entry::Occupied(mut entry) => entry.get_mut().slots.insert(slot),
        }
    }

    fn remove(&mut self, (hash, value): &Hashed<V>, slot: u32) {
        let found = self.buckets.find_entry(*hash, |bucket| bucket.hash == *hash && bucket.value == *value);
        if let Ok(mut entry) = found
            && entry.get_mut().slots.remove(slot)
        {
            entry.remove();
        }
    }

    /// Removes an object from every value, for an object whose values can no longer be computed.
    fn purge(&mut self, slot: u32) {
        self.buckets.retain(|bucket| !bucket.slots.remove(slot));
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

    fn prepare(&self, old: Option<&K>, new: Option<&K>) -> (Option<Moves>, Option<IndexPanic>) {
        let values = |object: Option<&K>| match object {
            Some(object) => caught(|| (self.values_of)(object)),
            None => Ok(Vec::new()),
        };
        let (old, new) = (values(old).ok(), values(new));
        if let (Some(old), Ok(new)) = (&old, &new)
            && caught(|| old == new).unwrap_or_default()
        {
            return (None, None);
        }
        let (new, panic) = match new.and_then(|new| self.hashed(new)) {
            Ok(new) => (new, None),
            Err(panic) => (Vec::new(), Some(panic)),
        };
        let old = old.and_then(|old| self.hashed(old).ok());
        let is_nothing = new.is_empty() && old.as_ref().is_some_and(Vec::is_empty);
        ((!is_nothing).then(|| Moves(Box::new(Values { old, new }))), panic)
    }

    fn apply(&mut self, moves: &Moves, slot: u32) {
        let Some(values) = moves.0.downcast_ref::<Values<V>>() else { return };
        match &values.old {
            Some(before) => before.iter().for_each(|value| self.remove(value, slot)),
            None => self.purge(slot),
        }
        values.new.iter().for_each(|value| self.insert(value, slot));
    }

    fn renumber(&mut self, new_slot: &dyn Fn(u32) -> u32) {
        self.buckets.iter_mut().for_each(|bucket| bucket.slots.renumber(new_slot));
    }

    fn duplicate(&self) -> Box<dyn IndexTable<K>> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
