//! What the cache tells its handlers' backlogs.

use std::sync::Arc;

use crate::{Cause, FinalState};

/// One step of one object in the store. Each backlog makes of it what its handler has still to hear.
pub(crate) enum Notice<K> {
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

// A derived impl would ask for `K: Clone`.
impl<K> Clone for Notice<K> {
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
