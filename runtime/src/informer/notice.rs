//! Notices: the changes of the store that are added to the backlogs of handlers.

use std::{
    hash::BuildHasher,
    sync::{Arc, LazyLock},
};

use hashbrown::DefaultHashBuilder;

use crate::{
    informer::{Cause, FinalState},
    object::CacheObject,
    store::namespace_of,
};

/// One change of one object in the store. Each backlog merges it into the events of its handler.
pub(crate) struct Notice<K> {
    /// The hash of the key of the object. It is computed once, right after the object was read. Reading the
    /// name after it has left the processor's cache would cost more than all other work on the notice.
    pub(super) hash: u64,
    pub(super) step: Step<K>,
}

impl<K: CacheObject> Notice<K> {
    pub(super) fn new(step: Step<K>) -> Self {
        Self { hash: key_hash(step.object()), step }
    }
}

/// Returns the hash of an object's key. It is the same in every backlog.
pub(super) fn key_hash<K: CacheObject>(object: &K) -> u64 {
    static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    HASHER.hash_one((namespace_of(object), object.name()))
}

/// What happened to the object.
pub(crate) enum Step<K> {
    /// The object was added or changed.
    Put {
        /// The previous state in the store.
        old: Option<Arc<K>>,
        /// The new state in the store.
        new: Arc<K>,
        /// How the informer noticed the change.
        cause: Cause,
        /// Whether it belongs to the first list or to a replay of the store.
        initial: bool,
    },
    /// The object is gone.
    Gone {
        /// The previous state in the store.
        old: Arc<K>,
        /// The last known state.
        last: Arc<K>,
        /// Whether `last` is the final state.
        final_state: FinalState,
    },
    /// The object has not changed, and is delivered again.
    Resync(Arc<K>),
}

impl<K> Step<K> {
    /// Returns one of the states of the object.
    pub(super) fn object(&self) -> &K {
        match self {
            Self::Put { new, .. } => new,
            Self::Gone { old, .. } => old,
            Self::Resync(object) => object,
        }
    }
}

// A derived impl would require `K: Clone`.
impl<K> Clone for Notice<K> {
    fn clone(&self) -> Self {
        Self { hash: self.hash, step: self.step.clone() }
    }
}

impl<K> Clone for Step<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Put { old, new, cause, initial } => {
                Self::Put { old: old.clone(), new: new.clone(), cause: *cause, initial: *initial }
            }
            Self::Gone { old, last, final_state } => {
                Self::Gone { old: old.clone(), last: last.clone(), final_state: *final_state }
            }
            Self::Resync(object) => Self::Resync(object.clone()),
        }
    }
}
