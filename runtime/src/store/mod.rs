//! The store behind the cache of an informer: one writer, any number of readers, and indexes.
//!
//! - **Readers take no lock and never wait.** Every read uses one published generation, which does not
//!   change, so its objects and indexes are consistent.
//! - **A batch of changes, or a whole relist, becomes visible at once.** The writer changes a generation
//!   that no reader sees, and publishes it with one pointer swap.
//! - **A slow reader keeps its generation and does not block the writer.** There are usually two
//!   generations, which the writer updates in turn. If a reader still holds the older one, the writer
//!   continues with a third. Generations share the objects.
//! - **Index values are computed before anything is changed**; see [`Index`].

mod index;
mod slots;
mod state;
mod writer;

use std::{fmt, hash::Hash, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::watch;

pub use index::{Index, IndexError};
pub(crate) use state::{State, namespace_of};
pub(crate) use writer::{Batch, Writer};

use crate::{
    delta::{InvalidObject, Scope},
    object::{CacheObject, ObjectKey},
    selector::Selector,
};

/// Reads the cache of an informer. Cheap to clone.
///
/// An informer runs while a handle to it or to its store exists.
pub struct Store<K> {
    published: Arc<Published<K>>,
}

/// The state that all readers share.
pub(crate) struct Published<K> {
    state: ArcSwap<State<K>>,
    invalid: ArcSwap<Arc<[InvalidObject]>>,
    /// Set when the last reader is dropped.
    unused: watch::Sender<bool>,
}

impl<K> Drop for Published<K> {
    fn drop(&mut self) {
        self.unused.send_replace(true);
    }
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { published: self.published.clone() }
    }
}

impl<K: CacheObject> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<K: CacheObject> Store<K> {
    /// Creates an empty store and its only writer. `unused` is set when the last handle of the store is
    /// dropped.
    pub(crate) fn new(unused: watch::Sender<bool>) -> (Self, Writer<K>) {
        let (state, invalid) = (ArcSwap::default(), ArcSwap::from_pointee(Arc::default()));
        let store = Self { published: Arc::new(Published { state, invalid, unused }) };
        let writer = Writer::new(&store);
        (store, writer)
    }

    /// Creates a store of these objects, for unit tests. It does not change and has no index.
    ///
    /// Of several objects with the same key, the store holds the last one.
    pub fn of(objects: impl IntoIterator<Item = K>) -> Self {
        let (store, mut writer) = Self::new(watch::Sender::new(false));
        let mut batch = writer.begin();
        for object in objects {
            let slot = batch.state().find(namespace_of(&object), object.name());
            batch.put(slot, &Arc::new(object));
        }
        batch.publish();
        store
    }

    /// Reads the newest generation.
    pub(crate) fn read<R>(&self, f: impl FnOnce(&State<K>) -> R) -> R {
        f(&self.published.state.load())
    }

    /// Returns the objects on the server that do not decode.
    pub(crate) fn invalid(&self) -> Arc<[InvalidObject]> {
        Arc::clone(&self.published.invalid.load())
    }

    /// Returns the newest generation. It does not change, so all reads of it are consistent with each other.
    ///
    /// Do not hold a snapshot for long: it keeps every object of its generation alive.
    pub fn snapshot(&self) -> Snapshot<K> {
        Snapshot { state: self.published.state.load_full() }
    }

    /// Returns the object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.find(key.namespace.as_deref(), &key.name)
    }

    /// Returns the object with this namespace (`None` for a cluster-scoped kind) and name.
    pub fn find(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        self.read(|state| state.get(namespace.unwrap_or_default(), name).cloned())
    }

    /// Returns the objects that the selector matches, in no particular order.
    ///
    /// Checks the labels of every object. For frequent lookups in a large cache, add an [`Index`].
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.read(|state| state.select(selector))
    }

    /// Returns the objects of one namespace that the selector matches, in no particular order.
    pub fn list_namespace(&self, namespace: &str, selector: &Selector) -> Vec<Arc<K>> {
        self.read(|state| state.select_in(namespace, selector))
    }

    /// Returns the key of every object, in no particular order.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.read(|state| state.iter().map(|object| ObjectKey::of(object.as_ref())).collect())
    }

    /// Returns the namespaces that have an object, in no particular order. A cluster-scoped kind has none.
    pub fn namespaces(&self) -> Vec<Arc<str>> {
        self.read(|state| state.namespaces().filter(|namespace| !namespace.is_empty()).cloned().collect())
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.read(State::len)
    }

    /// Returns whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the resource version of the last list, change or bookmark, or `None` before the first list.
    ///
    /// The version of a cache of several namespaces is the oldest version of a namespace.
    pub fn resource_version(&self) -> Option<String> {
        self.read(|state| {
            state
                .versions
                .iter()
                .map(|(_, version)| version)
                .reduce(
                    |least, other| {
                        if crate::resource_version::is_older(other, least) { other } else { least }
                    },
                )
                .cloned()
        })
    }

    /// Returns the resource version of one scope.
    pub(crate) fn scope_version(&self, scope: &Scope) -> Option<String> {
        self.read(|state| state.version(scope).cloned())
    }

    /// Returns the index with this name, if its values are of type `V`.
    pub fn index<V>(&self, name: &str) -> Result<Index<K, V>, IndexError>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        self.read(|state| {
            let number = state
                .indexes
                .iter()
                .position(|index| &**index.name() == name)
                .ok_or_else(|| IndexError::Unknown(name.to_owned()))?;
            let index = state.indexes[number].as_ref();
            match index::typed::<K, V>(index) {
                Some(_) => Ok(Index::new(self.clone(), index.name().clone(), number)),
                None => {
                    Err(IndexError::OtherType { name: name.to_owned(), wanted: std::any::type_name::<V>() })
                }
            }
        })
    }
}

/// One generation of a [`Store`], which does not change.
pub struct Snapshot<K> {
    state: Arc<State<K>>,
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone() }
    }
}

impl<K: CacheObject> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("generation", &self.generation())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<K: CacheObject> Snapshot<K> {
    pub(crate) fn state(&self) -> &State<K> {
        &self.state
    }

    /// Returns the number of the generation, which grows with every batch of changes.
    pub fn generation(&self) -> u64 {
        self.state.generation
    }

    /// Returns the object with this namespace (`None` for a cluster-scoped kind) and name.
    pub fn find(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<K>> {
        self.state.get(namespace.unwrap_or_default(), name)
    }

    /// Returns an iterator over the objects, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.state.iter()
    }

    /// Returns the objects that the selector matches, in no particular order.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.state.select(selector)
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Returns whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
