//! The one writer of a store.

use std::{hash::Hash, sync::Arc};

use super::{
    Index, IndexError, Store,
    index::{IndexTable, TypedIndex},
    state::{Change, State},
};
use crate::{CacheObject, ObjectKey, Scope};

/// Beyond this many changes it is cheaper to copy the published tables than to repeat the changes.
const REPEATED_CHANGES: usize = 4096;

/// How often the writer looks whether the readers have left the older generation before it gives
/// that one up and copies the newer. A reader that only gets an object is gone after one look.
const LOOKS: usize = 32;

/// The one writer of a store.
pub(crate) struct Writer<K> {
    store: Store<K>,
    /// The generation that is not published, equal to the published one.
    spare: Option<State<K>>,
}

/// Changes that are made aside, and that readers see all at once when it is published.
///
/// A batch that is dropped, or that unwinds, has changed nothing.
pub(crate) struct Batch<'w, K> {
    writer: &'w mut Writer<K>,
    state: State<K>,
    /// What was changed, to repeat it on the other generation; `None` when it became too much.
    changes: Option<Vec<Change<K>>>,
    /// What index functions said when they panicked: the name of the index, the object, the message.
    pub(crate) index_panics: Vec<(Arc<str>, ObjectKey, String)>,
}

impl<K: CacheObject> Writer<K> {
    pub(super) fn new(store: Store<K>) -> Self {
        Self { store, spare: None }
    }

    /// Begins a batch of changes.
    pub(crate) fn begin(&mut self) -> Batch<'_, K> {
        let state = self.spare.take().unwrap_or_else(|| self.store.read(State::clone));
        Batch { writer: self, state, changes: Some(Vec::new()), index_panics: Vec::new() }
    }

    /// Adds an index over what the store holds and will hold.
    pub(crate) fn add_index<V, I>(
        &mut self,
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
        for object in batch.state.iter() {
            let (prepared, panic) = index.prepare(None, Some(object));
            if let Some(message) = panic {
                let key = ObjectKey::of(object.as_ref());
                return Err(IndexError::Panicked { name: name.to_string(), key, message });
            }
            index.apply(&prepared, None, Some(object));
        }
        let place = batch.state.indexes.len();
        batch.state.indexes.push(Box::new(index));
        batch.changes = None;
        batch.publish();
        Ok(Index::new(self.store.clone(), name, place))
    }
}

impl<K: CacheObject> Batch<'_, K> {
    /// The state with the changes made so far.
    pub(crate) fn state(&self) -> &State<K> {
        &self.state
    }

    /// Puts an object under its key, in the place of `old`.
    pub(crate) fn put(&mut self, old: Option<&Arc<K>>, new: &Arc<K>) {
        self.change(old.cloned(), Some(new.clone()));
    }

    /// Takes an object away.
    pub(crate) fn remove(&mut self, old: &Arc<K>) {
        self.change(Some(old.clone()), None);
    }

    fn change(&mut self, old: Option<Arc<K>>, new: Option<Arc<K>>) {
        let mut prepared = Vec::with_capacity(self.state.indexes.len());
        for index in &self.state.indexes {
            let (made, panic) = index.prepare(old.as_deref(), new.as_deref());
            if let (Some(message), Some(new)) = (panic, &new) {
                self.index_panics.push((index.name().clone(), ObjectKey::of(new.as_ref()), message));
            }
            prepared.push(made);
        }
        let change = Change { old, new, prepared };
        self.state.apply(&change);
        self.changes = self.changes.take().filter(|changes| changes.len() < REPEATED_CHANGES);
        if let Some(changes) = &mut self.changes {
            changes.push(change);
        }
    }

    /// Notes the version that a scope has reached. It never goes back.
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

    /// Forgets the version that a scope has reached, so that it can go back.
    pub(crate) fn forget_version(&mut self, scope: &Scope) {
        self.state.versions.retain(|(listed, _)| listed != scope);
    }

    /// Shows the changes to the readers, all at once.
    pub(crate) fn publish(mut self) {
        self.state.generation += 1;
        let (generation, versions) = (self.state.generation, self.state.versions.clone());
        let older = self.writer.store.published.swap(Arc::new(self.state));
        let Some(changes) = self.changes else { return };
        if let Some(mut spare) = unshare(older) {
            changes.iter().for_each(|change| spare.apply(change));
            spare.generation = generation;
            spare.versions = versions;
            self.writer.spare = Some(spare);
        }
    }
}

/// Takes back a generation once its last reader has left it. A reader that stays keeps it.
fn unshare<K>(mut generation: Arc<State<K>>) -> Option<State<K>> {
    for _ in 0..LOOKS {
        match Arc::try_unwrap(generation) {
            Ok(state) => return Some(state),
            Err(shared) => generation = shared,
        }
        std::thread::yield_now();
    }
    None
}
