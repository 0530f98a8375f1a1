//! What the cache tells its handlers' backlogs.

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

/// One step of one object in the store. Each backlog makes of it what its handler has still to hear.
pub(crate) struct Notice<K> {
    /// Of the object's key. It is computed once, where the object has just been looked at: to read a
    /// name from an object that has left the processor's cache costs more than all the rest.
    pub(super) hash: u64,
    pub(super) step: Step<K>,
}

impl<K: CacheObject> Notice<K> {
    pub(super) fn new(step: Step<K>) -> Self {
        Self { hash: key_hash(step.object()), step }
    }
}

/// The hash of an object's key, the same wherever it is computed.
pub(super) fn key_hash<K: CacheObject>(object: &K) -> u64 {
    static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    HASHER.hash_one((namespace_of(object), object.name()))
}

/// What happened to the object.
pub(crate) enum Step<K> {
    /// The object came, or changed.
    Put {
        /// What the store held before.
        old: Option<Arc<K>>,
        /// What it holds now.
        new: Arc<K>,
        /// How it was learnt of.
        cause: Cause,
        /// Whether it comes from the first list, or from a replay of the store.
        initial: bool,
    },
    /// The object is gone.
    Gone {
        /// What the store held before.
        old: Arc<K>,
        /// The last state that is known.
        last: Arc<K>,
        /// Whether that was its final state.
        final_state: FinalState,
    },
    /// The object is as it was, and is to be told of again.
    Resync(Arc<K>),
}

impl<K> Step<K> {
    /// The object, in one of its states.
    pub(super) fn object(&self) -> &K {
        match self {
            Self::Put { new, .. } => new,
            Self::Gone { old, .. } => old,
            Self::Resync(object) => object,
        }
    }
}

// A derived impl would ask for `K: Clone`.
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
