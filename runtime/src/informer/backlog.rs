//! The backlog of one handler: at most two events per key.
//!
//! | waiting | next change | then waiting |
//! | --- | --- | --- |
//! | Added | Updated | Added with the new state |
//! | Added | Deleted | nothing |
//! | Updated a→b | Updated b→c | Updated a→c |
//! | Updated | Deleted | Deleted |
//! | Deleted | Added, another uid | both |
//! | Deleted | Added, the same uid | Updated: the handler did not see the deletion |
//! | Deleted, Added | Updated | Deleted, Added with the new state |
//! | Deleted, Added | Deleted | Deleted |
//! | anything | a resync | unchanged |
//!
//! Keys are delivered in the order in which they entered the backlog. `old` is the `Arc` that the handler
//! received last, because the changes of the store have no gaps: the old state of each change is the new state
//! of the previous one.

use std::sync::Arc;

use hashbrown::HashTable;

use super::notice::{Notice, Step};
use crate::{
    informer::{Cause, Event, FinalState},
    object::CacheObject,
    store::namespace_of,
};

/// The largest capacity, in keys, that an empty backlog keeps.
const KEPT_ROOM: usize = 1024;

/// The index that stands for no slot.
const NONE: usize = usize::MAX;

/// The backlog of one handler.
pub(crate) struct Backlog<K> {
    /// The slots of the waiting keys, hashed by key.
    keys: HashTable<usize>,
    /// The slots form a linked list in the order of delivery. A slot that is not in the list is free.
    slots: Vec<Slot<K>>,
    free: Vec<usize>,
    head: usize,
    tail: usize,
    /// The number of waiting keys with an initial event.
    initial: usize,
}

struct Slot<K> {
    /// The hash of the key, kept so that the object need not be read again.
    hash: u64,
    before: usize,
    after: usize,
    waiting: Option<Waiting<K>>,
}

/// The events of one key: a deletion, a new state, or a deletion followed by a new state.
struct Waiting<K> {
    /// The state that the handler received last, or `None` if the object is new to it.
    given: Option<Arc<K>>,
    deleted: Option<(Arc<K>, FinalState)>,
    state: Option<NewState<K>>,
}

struct NewState<K> {
    object: Arc<K>,
    cause: Cause,
    initial: bool,
}

/// The next event to deliver.
pub(crate) struct Due<K> {
    pub(crate) event: Event<K>,
    /// Whether the handler counts as synced only after it has handled the event.
    pub(crate) initial: bool,
}

impl<K> Default for Backlog<K> {
    fn default() -> Self {
        Self {
            keys: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            head: NONE,
            tail: NONE,
            initial: 0,
        }
    }
}

impl<K: CacheObject> Backlog<K> {
    /// Returns the number of waiting keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the number of waiting keys with an initial event.
    pub(crate) fn initial(&self) -> usize {
        self.initial
    }

    /// Adds a change of the store.
    pub(crate) fn push(&mut self, notice: Notice<K>) {
        let Notice { hash, step } = notice;
        let Some(slot) = self.find(hash, step.object()) else {
            return self.append(hash, Waiting::begin(step));
        };
        let Some(waiting) = &mut self.slots[slot].waiting else { return };
        self.initial -= usize::from(waiting.is_initial());
        let something = waiting.merge(step);
        self.initial += usize::from(waiting.is_initial());
        if !something {
            self.take_out(slot);
        }
    }

    /// Reserves memory for this many additional keys.
    pub(crate) fn reserve(&mut self, keys: usize) {
        self.slots.reserve(keys.saturating_sub(self.free.len()));
        self.keys.reserve(keys, |slot| self.slots[*slot].hash);
    }

    /// Removes the next event and returns it.
    pub(crate) fn pop(&mut self) -> Option<Due<K>> {
        let slot = self.head;
        let waiting = self.slots.get_mut(slot)?.waiting.as_mut()?;
        if let (Some((last, final_state)), Some(_)) = (&waiting.deleted, &waiting.state) {
            // The key is kept at the head of the list. Its second event is an addition.
            let event = Event::Deleted { last: last.clone(), final_state: *final_state };
            waiting.given = None;
            waiting.deleted = None;
            return Some(Due { event, initial: false });
        }
        let initial = waiting.is_initial();
        self.initial -= usize::from(initial);
        let event = self.take_out(slot)?.event()?;
        if self.keys.is_empty() && self.slots.capacity() > KEPT_ROOM {
            *self = Self::default();
        }
        Some(Due { event, initial })
    }

    fn find(&self, hash: u64, object: &K) -> Option<usize> {
        let wanted = || (namespace_of(object), object.name());
        self.keys
            .find(hash, |slot| {
                let Slot { hash: other_hash, waiting, .. } = &self.slots[*slot];
                let other = waiting.as_ref().filter(|_| *other_hash == hash).and_then(Waiting::object);
                other.is_some_and(|other| (namespace_of(other), other.name()) == wanted())
            })
            .copied()
    }

    fn append(&mut self, hash: u64, waiting: Waiting<K>) {
        self.initial += usize::from(waiting.is_initial());
        let new = Slot { hash, before: self.tail, after: NONE, waiting: Some(waiting) };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = new;
                slot
            }
            None => {
                self.slots.push(new);
                self.slots.len() - 1
            }
        };
        match self.slots.get_mut(self.tail) {
            Some(last) => last.after = slot,
            None => self.head = slot,
        }
        self.tail = slot;
        let Self { keys, slots, .. } = self;
        keys.insert_unique(hash, slot, |slot| slots[*slot].hash);
    }

    fn take_out(&mut self, slot: usize) -> Option<Waiting<K>> {
        let taken = self.slots.get_mut(slot)?;
        let (hash, before, after) = (taken.hash, taken.before, taken.after);
        let waiting = taken.waiting.take()?;
        match self.slots.get_mut(before) {
            Some(before) => before.after = after,
            None => self.head = after,
        }
        match self.slots.get_mut(after) {
            Some(after) => after.before = before,
            None => self.tail = before,
        }
        self.free.push(slot);
        if let Ok(entry) = self.keys.find_entry(hash, |other| *other == slot) {
            entry.remove();
        }
        Some(waiting)
    }
}

impl<K: CacheObject> Waiting<K> {
    fn begin(step: Step<K>) -> Self {
        match step {
            Step::Put { old, new, cause, initial } => {
                let state = Some(NewState { object: new, cause, initial });
                Self { given: old, deleted: None, state }
            }
            Step::Gone { old, last, final_state } => {
                Self { given: Some(old), deleted: Some((last, final_state)), state: None }
            }
            Step::Resync(object) => {
                let state = NewState { object: object.clone(), cause: Cause::Resync, initial: false };
                Self { given: Some(object), deleted: None, state: Some(state) }
            }
        }
    }

    /// Returns one of the states, which all have the same key.
    fn object(&self) -> Option<&K> {
        self.state
            .as_ref()
            .map(|state| &state.object)
            .or(self.deleted.as_ref().map(|(last, _)| last))
            .or(self.given.as_ref())
            .map(Arc::as_ref)
    }

    fn is_initial(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.initial)
    }

    /// Merges another change of the object. Returns whether an event remains.
    fn merge(&mut self, step: Step<K>) -> bool {
        match step {
            Step::Put { new, cause, initial, .. } => {
                if self.deleted.is_some() && self.given.as_ref().is_some_and(|given| given.uid() == new.uid())
                {
                    self.deleted = None;
                }
                let initial = self.state.as_ref().map_or(initial, |state| state.initial);
                self.state = Some(NewState { object: new, cause, initial });
                true
            }
            Step::Gone { last, final_state, .. } => {
                self.state = None;
                if self.given.is_some() && self.deleted.is_none() {
                    self.deleted = Some((last, final_state));
                }
                self.deleted.is_some()
            }
            Step::Resync(_) => true,
        }
    }

    fn event(self) -> Option<Event<K>> {
        Some(match (self.deleted, self.given, self.state) {
            (Some((last, final_state)), _, _) => Event::Deleted { last, final_state },
            (None, Some(old), Some(state)) => Event::Updated { old, new: state.object, cause: state.cause },
            (None, None, Some(state)) => Event::Added { object: state.object, initial: state.initial },
            (None, _, None) => return None,
        })
    }
}
