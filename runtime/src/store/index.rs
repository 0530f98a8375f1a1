//! Named indexes, typed in their value.
//!
//! * An index function may give any number of values for an object; the object is found under each.
//! * The function is called before anything is changed. Where it panics the object is stored all
//!   the same, is found under no value of that index, and the panic is counted.
//! * The function must be pure: it is asked again for an object's values when the object leaves.
//! * A value that no object has any more leaves nothing behind.

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

use super::{Snapshot, Store, places::Places};
use crate::object::{CacheObject, ObjectKey};

/// Why an index could not be added, or was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Another index has the name.
    #[error("there is an index `{0}` already")]
    NameTaken(String),
    /// No index has the name.
    #[error("there is no index `{0}`")]
    Unknown(String),
    /// The index has values of another type.
    #[error("the values of index `{name}` are not of type `{wanted}`")]
    OtherType {
        /// The name of the index.
        name: String,
        /// The type that was asked for.
        wanted: &'static str,
    },
    /// The index function panicked for an object that the cache holds; the index was not added.
    #[error("the function of index `{name}` panicked on `{key}`: {message}")]
    Panicked {
        /// The name of the index.
        name: String,
        /// The object on which it panicked.
        key: ObjectKey,
        /// What the panic said.
        message: String,
    },
}

/// An index over the objects of an informer: finds them by a value computed from each.
///
/// It is a cheap handle; answers come from the newest published generation.
pub struct Index<K, V> {
    store: Store<K>,
    name: Arc<str>,
    place: usize,
    values: PhantomData<fn() -> V>,
}

impl<K, V> Clone for Index<K, V> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), name: self.name.clone(), place: self.place, values: PhantomData }
    }
}

impl<K, V> fmt::Debug for Index<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<K: CacheObject, V: Hash + Eq + Clone + Send + Sync + 'static> Index<K, V> {
    pub(super) fn new(store: Store<K>, name: Arc<str>, place: usize) -> Self {
        Self { store, name, place, values: PhantomData }
    }

    /// The name under which the index was added.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The objects that have this value, in no particular order.
    pub fn get<Q>(&self, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.store.read(|state| state.postings::<V, Q>(self.place, value))
    }

    /// The objects that have this value in one snapshot of the store.
    pub fn get_in<Q>(&self, snapshot: &Snapshot<K>, value: &Q) -> Vec<Arc<K>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        snapshot.state().postings::<V, Q>(self.place, value)
    }

    /// Every value that at least one object has, in no particular order.
    pub fn values(&self) -> Vec<V> {
        self.store.read(|state| {
            state
                .indexes
                .get(self.place)
                .and_then(|index| typed::<K, V>(index.as_ref()))
                .map(|index| index.buckets.iter().map(|(value, _)| value.clone()).collect())
                .unwrap_or_default()
        })
    }
}

/// What the indexes make of one change, each by its number, computed before anything is changed. Most
/// changes mean nothing to any.
pub(crate) type Prepared = Vec<(usize, Moves)>;

/// What one index makes of one change.
pub(crate) struct Moves(Box<dyn Any + Send + Sync>);

/// What a call of an index function said when it panicked.
pub(crate) type IndexPanic = String;

/// An index of any value type, as the state holds it.
pub(crate) trait IndexTable<K>: Send + Sync {
    /// The name of the index.
    fn name(&self) -> &Arc<str>;

    /// Computes what a change means to the index. A panic of the index function is caught and told.
    fn prepare(&self, old: Option<&K>, new: Option<&K>) -> (Option<Moves>, Option<IndexPanic>);

    /// Makes a change of the object in this place that this index prepared, in any generation.
    fn apply(&mut self, moves: &Moves, place: u32);

    /// Follows objects that were moved to other places.
    fn renumber(&mut self, new_place: &dyn Fn(u32) -> u32);

    /// A copy for the other generation.
    fn duplicate(&self) -> Box<dyn IndexTable<K>>;

    /// The index as its own type.
    fn as_any(&self) -> &dyn Any;
}

/// The index as the type it was added with.
pub(crate) fn typed<K: 'static, V: 'static>(index: &dyn IndexTable<K>) -> Option<&TypedIndex<K, V>> {
    index.as_any().downcast_ref()
}

type ValuesOf<K, V> = Arc<dyn Fn(&K) -> Vec<V> + Send + Sync>;

/// An index with values of one type.
pub(crate) struct TypedIndex<K, V> {
    name: Arc<str>,
    values_of: ValuesOf<K, V>,
    hasher: DefaultHashBuilder,
    buckets: HashTable<(V, Places)>,
}

/// The values of an object before and after a change. `old` is `None` where they cannot be told.
struct Values<V> {
    old: Option<Vec<V>>,
    new: Vec<V>,
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
    /// An index without objects.
    pub(crate) fn new(name: Arc<str>, values_of: ValuesOf<K, V>) -> Self {
        Self { name, values_of, hasher: DefaultHashBuilder::default(), buckets: HashTable::new() }
    }

    /// The places of the objects under a value.
    pub(super) fn get<Q>(&self, value: &Q) -> Option<&Places>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let bucket = self.buckets.find(self.hasher.hash_one(value), |(other, _)| other.borrow() == value);
        bucket.map(|(_, places)| places)
    }

    fn values(&self, object: &K) -> Result<Vec<V>, IndexPanic> {
        catch_unwind(AssertUnwindSafe(|| (self.values_of)(object)))
            .map_err(|panic| crate::panics::message(panic.as_ref()))
    }

    fn insert(&mut self, value: &V, place: u32) {
        let Self { hasher, buckets, .. } = self;
        let found = buckets.entry(
            hasher.hash_one(value),
            |(other, _)| other == value,
            |(other, _)| hasher.hash_one(other),
        );
        match found {
            Entry::Vacant(entry) => {
                entry.insert((value.clone(), Places::One(place)));
            }
            Entry::Occupied(mut entry) => entry.get_mut().1.insert(place),
        }
    }

    fn remove(&mut self, value: &V, place: u32) {
        let Self { hasher, buckets, .. } = self;
        if let Ok(mut entry) = buckets.find_entry(hasher.hash_one(value), |(other, _)| other == value)
            && entry.get_mut().1.remove(place)
        {
            entry.remove();
        }
    }

    /// Takes an object out of every value: for the case that its values can no longer be computed.
    fn purge(&mut self, place: u32) {
        self.buckets.retain(|(_, places)| !places.remove(place));
    }
}

impl<K: CacheObject, V: Hash + Eq + Clone + Send + Sync + 'static> IndexTable<K> for TypedIndex<K, V> {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn prepare(&self, old: Option<&K>, new: Option<&K>) -> (Option<Moves>, Option<IndexPanic>) {
        let old = old.map_or(Some(Vec::new()), |old| self.values(old).ok());
        let (new, panic) = match new.map_or(Ok(Vec::new()), |new| self.values(new)) {
            Ok(new) => (new, None),
            Err(panic) => (Vec::new(), Some(panic)),
        };
        let moves = (old.as_ref() != Some(&new)).then(|| Moves(Box::new(Values { old, new })));
        (moves, panic)
    }

    fn apply(&mut self, moves: &Moves, place: u32) {
        let Some(values) = moves.0.downcast_ref::<Values<V>>() else { return };
        match &values.old {
            Some(before) => before.iter().for_each(|value| self.remove(value, place)),
            None => self.purge(place),
        }
        values.new.iter().for_each(|value| self.insert(value, place));
    }

    fn renumber(&mut self, new_place: &dyn Fn(u32) -> u32) {
        self.buckets.iter_mut().for_each(|(_, places)| places.renumber(new_place));
    }

    fn duplicate(&self) -> Box<dyn IndexTable<K>> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
