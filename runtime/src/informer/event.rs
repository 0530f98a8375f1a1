//! What a handler is called with.

use std::{fmt, sync::Arc};

use crate::object::{CacheObject, ObjectKey};

/// One change of one object, as one handler sees it.
///
/// For one handler and one object the events form an unbroken chain: `Added`, any number of
/// `Updated`, `Deleted`, and so on, and the `old` of an `Updated` is the very `Arc` that this
/// handler got last. A handler that is slower than the server gets fewer events, and never wrong
/// ones.
pub enum Event<K: ?Sized> {
    /// The object is new to the handler.
    Added {
        /// The object.
        object: Arc<K>,
        /// Whether the object was there before the handler: it comes from the informer's first list, or
        /// from the cache when the handler was added.
        initial: bool,
    },
    /// The object changed, or a resync repeats it.
    Updated {
        /// What the handler got last.
        old: Arc<K>,
        /// The newest state. With [`Cause::Resync`] it is the same `Arc` as `old`.
        new: Arc<K>,
        /// How the informer learnt of the change.
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

/// How an informer learnt of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The watch reported it.
    Watch,
    /// It was found by comparing a new list with the cache.
    Relist,
    /// Nothing changed: the handler has a resync period.
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

impl<K: ?Sized> Event<K> {
    /// The newest state in the event: the object that was added, its new state, or the last state of a
    /// deleted object.
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
    /// The event without the type of its object.
    pub fn erase(self) -> Event<dyn CacheObject> {
        match self {
            Self::Added { object, initial } => Event::Added { object, initial },
            Self::Updated { old, new, cause } => Event::Updated { old, new, cause },
            Self::Deleted { last, final_state } => Event::Deleted { last, final_state },
        }
    }
}

impl<K: CacheObject + ?Sized> Event<K> {
    /// The key of the object.
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
