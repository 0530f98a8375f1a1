//! Applies deltas to the cache.
//!
//! - **The cache never goes back in time.** A state that is older than the cached one is dropped, and a
//!   list that is older than a cached object neither changes nor removes that object, if their
//!   versions can be ordered (see `resource_version`). The exception is a server whose history was set
//!   back: after a [`Delta::Reset`] the next list is applied as it is.
//! - **The same uid and version is the same state.** The cache keeps its `Arc`, and there is no event.
//! - **Another uid under the same key is another object.** The old object is deleted and the new one is
//!   added, in a list regardless of their versions.
//! - **An object that does not decode keeps its last good state**, unless its uid differs from that of
//!   the cached object.
//! - **A list that contains an object without a readable name deletes nothing**, because any missing object
//!   may be that one.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use hashbrown::HashTable;

use super::notice::{Notice, Step, key_hash};
use crate::{
    delta::{Delta, InvalidObject, Scope},
    informer::{Cause, FinalState},
    object::{CacheObject, ObjectKey},
    resource_version::{compare, has_reached, is_older},
    store::{Batch, namespace_of},
};

/// The state of an informer besides its cached objects.
pub(crate) struct Progress {
    /// The scopes that must be listed before the cache is synced.
    scopes: Vec<Scope>,
    /// Whether a delta of each scope was applied since the last call of `take_heard`.
    heard: Vec<bool>,
    /// The scopes that have been listed.
    listed: HashSet<Scope>,
    /// The scopes whose history was set back and that have not been listed since.
    set_back: HashSet<Scope>,
    /// The objects that do not decode.
    invalid: HashMap<ObjectKey, InvalidObject>,
    /// Whether `invalid` has changed since it was published.
    invalid_changed: bool,
}

/// The origin of a state.
#[derive(Clone, Copy)]
enum Origin<'a> {
    Watch,
    List {
        version: &'a str,
        /// Whether it is the first list of its scope.
        initial: bool,
        /// Whether the server's history was set back, so that an older version is not stale.
        set_back: bool,
    },
}

/// The result of applying a batch of deltas.
pub(crate) struct Outcome<K> {
    /// The changes for the handlers, in order.
    pub(crate) notices: Vec<Notice<K>>,
    /// The number of states that were dropped because the cache has a newer one.
    pub(crate) stale: u64,
}

// A derived impl would require `K: Default`.
impl<K> Default for Outcome<K> {
    fn default() -> Self {
        Self { notices: Vec::new(), stale: 0 }
    }
}

/// The relation of an incoming state to the cached one with the same key.
#[derive(Debug, PartialEq, Eq)]
enum Relation {
    Stale,
    Same,
    Changed,
    OtherObject,
}

fn relation<K: CacheObject>(cached: &K, incoming: &K, origin: Origin<'_>) -> Relation {
    let versions = (incoming.resource_version(), cached.resource_version());
    let is_other = is_other_uid(cached.uid(), incoming.uid());
    let is_stale = match origin {
        Origin::List { set_back: true, .. } => false,
        // The versions of two objects need not be comparable, so the version of the list decides.
        Origin::List { version, .. } if is_other => is_older(version, versions.1),
        _ => is_older(versions.0, versions.1),
    };
    match is_stale {
        true => Relation::Stale,
        false if is_other => Relation::OtherObject,
        false if versions.0 == versions.1 && !versions.0.is_empty() => Relation::Same,
        false => Relation::Changed,
    }
}

/// Returns whether two uids belong to different objects. An empty uid is unknown and matches any other.
fn is_other_uid(left: &str, right: &str) -> bool {
    !left.is_empty() && !right.is_empty() && left != right
}

impl Progress {
    pub(crate) fn new(scopes: Vec<Scope>) -> Self {
        Self {
            heard: vec![false; scopes.len()],
            scopes,
            listed: HashSet::new(),
            set_back: HashSet::new(),
            invalid: HashMap::new(),
            invalid_changed: false,
        }
    }

    /// Returns whether every scope has been listed.
    pub(crate) fn is_complete(&self) -> bool {
        self.scopes.iter().all(|scope| self.listed.contains(scope))
    }

    /// Returns the objects that do not decode, if they changed since the last call.
    pub(crate) fn take_changed_invalid(&mut self) -> Option<Arc<[InvalidObject]>> {
        std::mem::take(&mut self.invalid_changed).then(|| self.invalid.values().cloned().collect())
    }

    /// Returns the indices of the scopes to which deltas were applied since the last call.
    pub(crate) fn take_heard(&mut self) -> Vec<usize> {
        let heard = self.heard.iter_mut().enumerate();
        heard.filter_map(|(number, heard)| std::mem::take(heard).then_some(number)).collect()
    }

    /// Applies one delta to the batch.
    pub(crate) fn apply<K: CacheObject>(
        &mut self,
        delta: Delta<K>,
        batch: &mut Batch<'_, K>,
        outcome: &mut Outcome<K>,
    ) {
        match delta {
            Delta::Upsert(object) => {
                self.reached(object.namespace(), object.resource_version(), batch);
                self.forget_invalid(object.as_ref());
                put(object, Origin::Watch, batch, outcome);
            }
            Delta::Delete(last) => {
                self.reached(last.namespace(), last.resource_version(), batch);
                self.forget_invalid(last.as_ref());
                remove(last, batch, outcome);
            }
            Delta::Invalid(object) => {
                self.reached(object.key.namespace.as_deref(), &object.resource_version, batch);
                remove_other(&object, batch, outcome);
                self.invalid.insert(object.key.clone(), object);
                self.invalid_changed = true;
            }
            Delta::DeleteInvalid(object) => {
                self.reached(object.key.namespace.as_deref(), &object.resource_version, batch);
                self.invalid_changed |= self.invalid.remove(&object.key).is_some();
                if let Some(slot) = find(batch, &object.key)
                    && !is_older(&object.resource_version, batch.state().at(slot).resource_version())
                {
                    vanish(slot, batch, outcome);
                }
            }
            Delta::Bookmark { scope, resource_version } => {
                self.hear(&scope);
                batch.reached(&scope, &resource_version);
            }
            Delta::Reset { scope } => {
                self.set_back.insert(scope);
            }
            Delta::Replace { scope, objects, invalid, resource_version } => {
                self.replace(scope, objects, invalid, &resource_version, batch, outcome);
            }
        }
    }

    fn replace<K: CacheObject>(
        &mut self,
        scope: Scope,
        objects: Vec<Arc<K>>,
        invalid: Vec<InvalidObject>,
        version: &str,
        batch: &mut Batch<'_, K>,
        outcome: &mut Outcome<K>,
    ) {
        let set_back = self.set_back.remove(&scope);
        let origin = Origin::List { version, initial: !self.listed.contains(&scope), set_back };
        if set_back {
            batch.forget_version(&scope);
        }
        let is_nameless = |object: &InvalidObject| object.key.name.is_empty();
        let missing = match invalid.iter().any(is_nameless) {
            true => Vec::new(),
            false => missing(&scope, &objects, &invalid, version, set_back, batch),
        };
        for gone in missing {
            // Look up the slot only now, because removing an object can move others.
            if let Some(slot) = batch.state().find(namespace_of(gone.as_ref()), gone.name()) {
                vanish(slot, batch, outcome);
            }
        }
        for object in &invalid {
            remove_other(object, batch, outcome);
        }
        let further = objects.len().saturating_sub(batch.state().len());
        batch.reserve(further);
        outcome.notices.reserve(further);
        for object in objects {
            put(object, origin, batch, outcome);
        }
        self.invalid_changed |= !(self.invalid.is_empty() && invalid.is_empty());
        // An object outside of all scopes, with an unreadable or foreign namespace, may belong to any scope. So
        // every list removes it.
        self.invalid.retain(|key, _| {
            let is_in = |scope: &Scope| scope.contains(key.namespace.as_deref());
            !is_in(&scope) && self.scopes.iter().any(is_in)
        });
        for object in invalid {
            self.invalid.insert(object.key.clone(), object);
        }
        batch.reached(&scope, version);
        self.hear(&scope);
        self.listed.insert(scope);
    }

    fn reached<K: CacheObject>(&mut self, namespace: Option<&str>, version: &str, batch: &mut Batch<'_, K>) {
        let own = |scope: &Scope| namespace.is_some_and(|namespace| scope.is_namespace(namespace));
        let own = self.scopes.iter().position(own);
        let own = own.or_else(|| self.scopes.iter().position(|scope| *scope == Scope::All));
        if let Some(own) = own {
            self.heard[own] = true;
        }
        batch.reached(own.map_or(&Scope::All, |own| &self.scopes[own]), version);
    }

    fn hear(&mut self, scope: &Scope) {
        if let Some(own) = self.scopes.iter().position(|own| own == scope) {
            self.heard[own] = true;
        }
    }

    fn forget_invalid<K: CacheObject>(&mut self, object: &K) {
        if !self.invalid.is_empty() {
            self.invalid_changed |= self.invalid.remove(&ObjectKey::of(object)).is_some();
        }
    }
}

fn find<K: CacheObject>(batch: &Batch<'_, K>, key: &ObjectKey) -> Option<u32> {
    batch.state().find(key.namespace.as_deref().unwrap_or_default(), &key.name)
}

/// Stores a state, unless the cache already holds it or a newer one.
fn put<K: CacheObject>(new: Arc<K>, origin: Origin<'_>, batch: &mut Batch<'_, K>, outcome: &mut Outcome<K>) {
    let mut slot = batch.state().find(namespace_of(new.as_ref()), new.name());
    let mut old = slot.map(|slot| batch.state().at(slot).clone());
    let (cause, initial) = match origin {
        Origin::Watch => (Cause::Watch, false),
        Origin::List { initial, .. } => (Cause::Relist, initial),
    };
    match old.as_deref().map(|old| relation(old, new.as_ref(), origin)) {
        Some(Relation::Same) => return,
        Some(Relation::Stale) => {
            outcome.stale += 1;
            return;
        }
        None | Some(Relation::Changed) => {}
        Some(Relation::OtherObject) => {
            old = None;
            if let Some(slot) = slot.take() {
                vanish(slot, batch, outcome);
            }
        }
    }
    batch.put(slot, &new);
    outcome.notices.push(Notice::new(Step::Put { old, new, cause, initial }));
}

/// Removes an object that the watch reported as deleted.
fn remove<K: CacheObject>(last: Arc<K>, batch: &mut Batch<'_, K>, outcome: &mut Outcome<K>) {
    let Some(slot) = batch.state().find(namespace_of(last.as_ref()), last.name()) else { return };
    let old = batch.state().at(slot).clone();
    match relation(old.as_ref(), last.as_ref(), Origin::Watch) {
        Relation::Stale => outcome.stale += 1,
        // A later object with the same name was deleted, so the deletion of the cached one was missed.
        Relation::OtherObject if has_reached(last.resource_version(), old.resource_version()) => {
            vanish(slot, batch, outcome);
        }
        Relation::OtherObject => outcome.stale += 1,
        Relation::Same | Relation::Changed => {
            batch.remove(slot);
            outcome.notices.push(Notice::new(Step::Gone { old, last, final_state: FinalState::Observed }));
        }
    }
}

/// Removes an object whose deletion was missed.
fn vanish<K: CacheObject>(slot: u32, batch: &mut Batch<'_, K>, outcome: &mut Outcome<K>) {
    let old = batch.state().at(slot).clone();
    batch.remove(slot);
    let final_state = FinalState::Unknown;
    outcome.notices.push(Notice::new(Step::Gone { last: old.clone(), old, final_state }));
}

/// Removes the cached object if the invalid object with its key is another object.
fn remove_other<K: CacheObject>(invalid: &InvalidObject, batch: &mut Batch<'_, K>, outcome: &mut Outcome<K>) {
    let Some(slot) = find(batch, &invalid.key) else { return };
    let cached = batch.state().at(slot);
    if is_other_uid(cached.uid(), &invalid.uid)
        && !is_older(&invalid.resource_version, cached.resource_version())
    {
        vanish(slot, batch, outcome);
    }
}

/// Returns the cached objects of a scope that are missing from a list, except those newer than the list.
fn missing<K: CacheObject>(
    scope: &Scope,
    objects: &[Arc<K>],
    invalid: &[InvalidObject],
    version: &str,
    set_back: bool,
    batch: &Batch<'_, K>,
) -> Vec<Arc<K>> {
    let mut cached = batch.state().iter_scope(scope).peekable();
    if cached.peek().is_none() {
        return Vec::new();
    }
    let mut listed = HashTable::with_capacity(objects.len());
    for object in objects {
        listed.insert_unique(key_hash(object.as_ref()), object, |object| key_hash(object.as_ref()));
    }
    let kept: HashSet<_> = invalid.iter().map(|object| &object.key).collect();
    cached
        .filter(|object| {
            let key = (namespace_of(object.as_ref()), object.name());
            let is_listed = listed
                .find(key_hash(object.as_ref()), |other| (namespace_of(other.as_ref()), other.name()) == key)
                .is_some();
            let is_newer =
                !set_back && compare(object.resource_version(), version).is_some_and(|order| order.is_gt());
            !is_listed && !is_newer && (kept.is_empty() || !kept.contains(&ObjectKey::of(object.as_ref())))
        })
        .cloned()
        .collect()
}
