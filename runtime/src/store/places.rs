//! Sets of places in the store's row: who is in a namespace, who has a value of an index.

use roaring::RoaringBitmap;

/// A set of places that is never empty. Most values of a telling index have one object.
#[derive(Clone, Debug)]
pub(super) enum Places {
    One(u32),
    Many(RoaringBitmap),
}

impl Places {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(places) => usize::try_from(places.len()).unwrap_or(usize::MAX),
        }
    }

    pub(super) fn insert(&mut self, place: u32) {
        match self {
            Self::One(only) if *only == place => {}
            Self::One(only) => *self = Self::Many([*only, place].into_iter().collect()),
            Self::Many(places) => {
                places.insert(place);
            }
        }
    }

    /// Takes a place out, and says whether nothing would be left: then the set itself must go.
    #[must_use]
    pub(super) fn remove(&mut self, place: u32) -> bool {
        match self {
            Self::One(only) => *only == place,
            Self::Many(places) => {
                places.remove(place);
                places.is_empty()
            }
        }
    }

    /// The places, rising.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let (one, many) = match self {
            Self::One(only) => (Some(*only), None),
            Self::Many(places) => (None, Some(places.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// Follows objects that were moved to other places.
    pub(super) fn renumber(&mut self, new_place: impl Fn(u32) -> u32) {
        match self {
            Self::One(only) => *only = new_place(*only),
            Self::Many(places) => *places = places.iter().map(new_place).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_grows_from_one_and_says_when_nothing_is_left() {
        let mut places = Places::One(7);
        places.insert(7);
        assert_eq!(places.len(), 1);
        places.insert(3);
        places.insert(100_000);
        assert_eq!(places.iter().collect::<Vec<_>>(), [3, 7, 100_000]);
        assert!(!places.remove(8), "it was not in");
        assert!(!places.remove(7));
        assert!(!places.remove(100_000));
        assert!(places.remove(3));
    }
}
