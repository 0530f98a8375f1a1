//! Sets of slots: the objects of a namespace, or of one value of an index.

use roaring::RoaringBitmap;

/// A set of slots that is never empty. Most values of a selective index have only one object.
#[derive(Clone, Debug)]
pub(super) enum Slots {
    One(u32),
    Many(RoaringBitmap),
}

impl Slots {
    pub(super) fn insert(&mut self, slot: u32) {
        match self {
            Self::One(only) if *only == slot => {}
            Self::One(only) => *self = Self::Many([*only, slot].into_iter().collect()),
            Self::Many(slots) => {
                slots.insert(slot);
            }
        }
    }

    /// Removes a slot. Returns `true` if the set would be empty; the caller then removes the set.
    #[must_use]
    pub(super) fn remove(&mut self, slot: u32) -> bool {
        match self {
            Self::One(only) => *only == slot,
            Self::Many(slots) => {
                slots.remove(slot);
                slots.is_empty()
            }
        }
    }

    /// The slots in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let (one, many) = match self {
            Self::One(only) => (Some(*only), None),
            Self::Many(slots) => (None, Some(slots.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// Replaces the numbers of objects that were moved to other slots.
    pub(super) fn renumber(&mut self, new_slot: impl Fn(u32) -> u32) {
        match self {
            Self::One(only) => *only = new_slot(*only),
            Self::Many(slots) => *slots = slots.iter().map(new_slot).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_grows_from_one_slot_and_reports_when_it_would_be_empty() {
        let mut slots = Slots::One(7);
        slots.insert(7);
        assert_eq!(slots.iter().count(), 1);
        slots.insert(3);
        slots.insert(100_000);
        assert_eq!(slots.iter().collect::<Vec<_>>(), [3, 7, 100_000]);
        assert!(!slots.remove(8), "it was not in");
        assert!(!slots.remove(7));
        assert!(!slots.remove(100_000));
        assert!(slots.remove(3));
    }
}
