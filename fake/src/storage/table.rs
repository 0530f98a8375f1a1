//! The objects of one resource, and what happened to them.
//!
//! * Objects are in the order of their keys, which are those of the server: `namespace/name`.
//! * Every change is one event of the log. The log keeps the newest events, up to a limit.
//! * The state at any version that the log still reaches can be read.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::Arc,
    task::Waker,
};

use super::{Event, Object};

/// The objects of one resource.
#[derive(Debug, Default)]
pub(crate) struct Table {
    objects: BTreeMap<String, Arc<Object>>,
    log: VecDeque<Arc<Event>>,
    /// The version of the newest event that the log has dropped.
    dropped: u64,
    /// The watches that wait for an event, by their numbers.
    pub(super) waiting: BTreeMap<u64, Waker>,
}

impl Table {
    /// Creates a table whose log begins after `version`.
    pub(super) fn since(version: u64) -> Self {
        Self { dropped: version, ..Self::default() }
    }

    /// Returns the object with this key.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// Returns the objects whose keys begin with `prefix`, in the order of their keys.
    pub(crate) fn range<'t>(
        &'t self,
        prefix: &'t str,
        from: &str,
    ) -> impl Iterator<Item = (&'t str, &'t Arc<Object>)> {
        let start = if from > prefix { from } else { prefix };
        self.objects
            .range::<str, _>((Bound::Included(start), Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, object)| (key.as_str(), object))
    }

    /// Returns all objects, in the order of their keys.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Arc<Object>)> {
        self.objects.iter().map(|(key, object)| (key.as_str(), object))
    }

    /// Returns whether there are no objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns whether the state at `version` can be read, and the events after it.
    pub(crate) fn reaches(&self, version: u64) -> bool {
        version >= self.dropped
    }

    /// Returns the oldest version from which a watch can begin.
    pub(crate) fn oldest(&self) -> u64 {
        self.dropped
    }

    /// Returns the events after `version`, oldest first.
    pub(crate) fn after(&self, version: u64) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
        let start = self.log.partition_point(|event| event.version <= version);
        self.log.range(start..)
    }

    /// Returns how the objects that changed after `version` were at that version. `None` is an object that did
    /// not exist.
    pub(crate) fn changed_since(&self, version: u64) -> BTreeMap<String, Option<Arc<Object>>> {
        let mut before = BTreeMap::new();
        for event in self.after(version).rev() {
            if let Some(object) = event.object() {
                before.insert(key(&object.namespace, &object.name), event.old.clone());
            }
        }
        before
    }

    /// Replaces the object with this key, or removes it, without an event. Returns what was there.
    pub(super) fn set(&mut self, key: String, new: Option<Arc<Object>>) -> Option<Arc<Object>> {
        match new {
            Some(object) => self.objects.insert(key, object),
            None => self.objects.remove(&key),
        }
    }

    /// Replaces the object with this key, or removes it. Returns what was there, and who has to be woken.
    pub(super) fn put(
        &mut self,
        key: String,
        new: Option<Arc<Object>>,
        version: u64,
        limit: usize,
    ) -> (Option<Arc<Object>>, Vec<Waker>) {
        let old = self.set(key, new.clone());
        self.log.push_back(Arc::new(Event::new(version, old.clone(), new)));
        while self.log.len() > limit {
            if let Some(event) = self.log.pop_front() {
                self.dropped = event.version;
            }
        }
        (old, std::mem::take(&mut self.waiting).into_values().collect())
    }

    /// Takes back the newest event, if it has this version. What it replaced is put back by [`Table::set`].
    pub(super) fn take_back(&mut self, version: u64) {
        if self.log.back().is_some_and(|event| event.version == version) {
            self.log.pop_back();
        }
    }

    /// Drops the events up to `version`.
    pub(crate) fn compact(&mut self, version: u64) -> Vec<Waker> {
        while self.log.front().is_some_and(|event| event.version <= version) {
            self.log.pop_front();
        }
        self.dropped = self.dropped.max(version);
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}

/// Returns the key of an object, by whose bytes the server sorts.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
