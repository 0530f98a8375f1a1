//! What a handler is told.

use std::sync::Arc;

use crate::object::{CacheObject, ObjectKey};

/// One change of one object, as one handler sees it.
///
/// For one handler and one object the events form an unbroken chain: `Added`, any number of
/// `Updated`, `Deleted`, and so on, and the `old` of an `Updated` is the very `Arc` that this
/// handler was given last. A handler that is slower than the server is told of fewer steps, never
/// of wrong ones.
#[derive(Debug)]
pub enum Event<K> {
    /// The object is new to the handler.
    Added {
        /// The object.
        object: Arc<K>,
        /// Whether the object was there before the handler: it comes from the informer's first
        /// list, or from the replay that a late handler starts with.
        initial: bool,
    },
    /// The object changed, or is told of again by a resync.
    Updated {
        /// What the handler was given last.
        old: Arc<K>,
        /// The newest state. With [`Cause::Resync`] it is the same `Arc` as `old`.
        new: Arc<K>,
        /// How the change was learnt of.
        cause: Cause,
    },
    /// The object is gone.
    Deleted {
        /// The last state that is known.
        last: Arc<K>,
        /// Whether that was its final state.
        final_state: FinalState,
    },
}

/// How an update was learnt of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The watch reported it.
    Watch,
    /// It was found by comparing a new list with the cache.
    Relist,
    /// Nothing changed: the handler asked to be told of every object from time to time.
    Resync,
}

/// What is known of a deleted object's last moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinalState {
    /// The watch reported the deletion, with the state the object had then.
    Observed,
    /// The deletion itself was missed: the object is gone, and may have changed before it went.
    Unknown,
}

impl<K> Event<K> {
    /// The newest state that the event tells of: the object that was added, its new state, or the
    /// last state of what is gone.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added { object, .. } => object,
            Self::Updated { new, .. } => new,
            Self::Deleted { last, .. } => last,
        }
    }

    /// Whether this is an update that a resync made, with nothing changed.
    pub fn is_resync(&self) -> bool {
        matches!(self, Self::Updated { cause: Cause::Resync, .. })
    }
}

impl<K: CacheObject> Event<K> {
    /// The key of the object.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::of(self.object().as_ref())
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added { object: object.clone(), initial: *initial },
            Self::Updated { old, new, cause } => {
                Self::Updated { old: old.clone(), new: new.clone(), cause: *cause }
            }
            Self::Deleted { last, final_state } => {
                Self::Deleted { last: last.clone(), final_state: *final_state }
            }
        }
    }
}
