//! The indexed store: the cache, for any number of readers and one writer.
//!
//! * Readers take no lock and never wait: every answer is computed from one published generation,
//!   which does not change any more. Objects and indexes of an answer belong together.
//! * The writer changes a generation that no reader sees and publishes it with one pointer swap, so
//!   that a batch of changes, or a whole relist, appears at once.
//! * There are two generations, which the writer brings up to date in turn. A generation costs about
//!   forty bytes per object, and a few per index. While a reader still holds the older one, the writer
//!   does not wait, but goes on with a third.
//! * Index values are computed before anything is changed; see [`Index`].

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

/// A cheap handle to read the cache, which follows the server.
///
/// An informer runs while a handle of it, or of its store, exists.
pub struct Store<K> {
    published: Arc<Published<K>>,
}

/// What readers share.
pub(crate) struct Published<K> {
    state: ArcSwap<State<K>>,
    invalid: ArcSwap<Arc<[InvalidObject]>>,
    /// Set when the last reader is gone.
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
    /// An empty store and the one writer that may change it. `unused` is set when the last handle of
    /// the store is dropped.
    pub(crate) fn new(unused: watch::Sender<bool>) -> (Self, Writer<K>) {
        let (state, invalid) = (ArcSwap::default(), ArcSwap::from_pointee(Arc::default()));
        let store = Self { published: Arc::new(Published { state, invalid, unused }) };
        let writer = Writer::new(&store);
        (store, writer)
    }

    /// Answers a question from the newest generation.
    pub(crate) fn read<R>(&self, question: impl FnOnce(&State<K>) -> R) -> R {
        question(&self.published.state.load())
    }

    /// The objects that the server holds and that do not decode.
    pub(crate) fn invalid(&self) -> Arc<[InvalidObject]> {
        Arc::clone(&self.published.invalid.load())
    }

    /// The newest generation, which does not change: everything read from it belongs together.
    ///
    /// Do not hold it for long: it keeps every object of its generation alive.
    pub fn snapshot(&self) -> Snapshot<K> {
        Snapshot { state: self.published.state.load_full() }
    }

    /// The object of this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.find(key.namespace.as_deref(), &key.name)
    }

    /// The object of this namespace (`None` for a cluster-scoped kind) and name.
    pub fn find(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        self.read(|state| state.get(namespace.unwrap_or_default(), name).cloned())
    }

    /// Every object that the selector matches, in no particular order.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.read(|state| state.select(selector))
    }

    /// Every object of one namespace that the selector matches, in no particular order.
    pub fn list_namespace(&self, namespace: &str, selector: &Selector) -> Vec<Arc<K>> {
        self.read(|state| state.select_in(namespace, selector))
    }

    /// The keys of every object, in no particular order.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.read(|state| state.iter().map(|object| ObjectKey::of(object.as_ref())).collect())
    }

    /// The namespaces that hold an object, in no particular order; of a cluster-scoped kind, none.
    pub fn namespaces(&self) -> Vec<Arc<str>> {
        self.read(|state| state.namespaces().filter(|namespace| !namespace.is_empty()).cloned().collect())
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read(State::len)
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The resource version that the cache has reached: that of the last list, change or bookmark.
    ///
    /// `None` before the first list. For a cache of several namespaces it is the version of the one
    /// that is furthest behind.
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

    /// The resource version that one scope has reached.
    pub(crate) fn scope_version(&self, scope: &Scope) -> Option<String> {
        self.read(|state| state.version(scope).cloned())
    }

    /// The index of this name, if its values are of this type.
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

    /// The number of the generation; it grows with every publication.
    pub fn generation(&self) -> u64 {
        self.state.generation
    }

    /// The object of this namespace (`None` for a cluster-scoped kind) and name.
    pub fn find(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<K>> {
        self.state.get(namespace.unwrap_or_default(), name)
    }

    /// Every object, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.state.iter()
    }

    /// Every object that the selector matches, in no particular order.
    pub fn list(&self, selector: &Selector) -> Vec<Arc<K>> {
        self.state.select(selector)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
