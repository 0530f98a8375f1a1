//! The events of an informer.

use std::{fmt, sync::Arc};

use crate::object::{CacheObject, ObjectKey};

/// One change of one object, as one handler sees it.
///
/// The events of one object form an unbroken sequence for each handler: `Added`, any number of `Updated`,
/// `Deleted`, and so on. The `old` of an `Updated` is the `Arc` that the handler received last. A handler
/// that is slower than the server gets fewer events, because events of one object are merged.
pub enum Event<K: ?Sized> {
    /// The object is new to the handler.
    Added {
        /// The object.
        object: Arc<K>,
        /// Whether the object existed before the handler: it is from the first list of the informer, or was
        /// in the cache when the handler was added.
        initial: bool,
    },
    /// The object changed, or is delivered again by a resync.
    Updated {
        /// The state that the handler received last.
        old: Arc<K>,
        /// The newest state. With [`Cause::Resync`] it is the same `Arc` as `old`.
        new: Arc<K>,
        /// How the informer noticed the change.
        cause: Cause,
    },
    /// The object is gone.
    Deleted {
        /// The last known state.
        last: Arc<K>,
        /// Whether `last` is the final state.
        final_state: FinalState,
    },
}

/// How an informer noticed an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The watch reported it.
    Watch,
    /// A new list differs from the cache.
    Relist,
    /// Nothing changed; the resync period of the handler has passed.
    Resync,
}

/// Whether the last known state of a deleted object is its final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinalState {
    /// The watch reported the deletion, with the final state of the object.
    Observed,
    /// The deletion was missed. The object may have changed before it was deleted.
    Unknown,
}

impl<K: ?Sized> Event<K> {
    /// Returns the newest state in the event: the added object, the new state of an updated one, or the
    /// last state of a deleted one.
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added { object, .. } => object,
            Self::Updated { new, .. } => new,
            Self::Deleted { last, .. } => last,
        }
    }

    /// Returns whether this is an `Updated` from a resync, without a change.
    pub fn is_resync(&self) -> bool {
        matches!(self, Self::Updated { cause: Cause::Resync, .. })
    }
}

impl<K: CacheObject> Event<K> {
    /// Erases the type of the object.
    pub fn erase(self) -> Event<dyn CacheObject> {
        match self {
            Self::Added { object, initial } => Event::Added { object, initial },
            Self::Updated { old, new, cause } => Event::Updated { old, new, cause },
            Self::Deleted { last, final_state } => Event::Deleted { last, final_state },
        }
    }
}

impl<K: CacheObject + ?Sized> Event<K> {
    /// Returns the key of the object.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::of(self.object().as_ref())
    }
}

impl<K: ?Sized> Clone for Event<K> {
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

impl<K: fmt::Debug + ?Sized> fmt::Debug for Event<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { object, initial } => {
                f.debug_struct("Added").field("object", object).field("initial", initial).finish()
            }
            Self::Updated { old, new, cause } => {
                f.debug_struct("Updated").field("old", old).field("new", new).field("cause", cause).finish()
            }
            Self::Deleted { last, final_state } => {
                f.debug_struct("Deleted").field("last", last).field("final_state", final_state).finish()
            }
        }
    }
}
