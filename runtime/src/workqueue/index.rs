//! The slots of a queue by the hash of their key.
//!
//! A general hash table reads two cache lines for each lookup, one with tags and one with values. In a long
//! queue both are misses, and they are most of the time that a key takes. This table holds hash and slot
//! side by side, in the place that the hash gives or the next free one after it, so it reads one line.

/// A hash table of slots.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The length is a power of two, or zero.
    places: Vec<Place>,
    len: usize,
}

/// A place for a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Place {
    hash: u32,
    /// The slot plus one, or zero if the place is free.
    filled: u32,
}

/// The least number of places.
const FEW: usize = 16;

impl Index {
    /// Returns the number of slots.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Finds a slot with this hash that is the one.
    #[inline]
    pub fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let place = self.places.get(at)?;
            let slot = place.filled.checked_sub(1)?;
            if place.hash == hash && is_it(slot) {
                return Some(slot);
            }
            at = self.next(at);
        }
    }

    /// Adds a slot, which must not be there.
    #[inline]
    pub fn insert(&mut self, hash: u32, slot: u32) {
        // A third of the places is free, so that a slot is near the place that its hash gives.
        if self.len * 3 >= self.places.len() * 2 {
            self.grow();
        }
        self.fill(Place { hash, filled: slot + 1 });
        self.len += 1;
    }

    /// Removes a slot, if it is there.
    #[inline]
    pub fn remove(&mut self, hash: u32, slot: u32) {
        let gone = Place { hash, filled: slot + 1 };
        let mut hole = self.home(hash);
        loop {
            match self.places.get(hole) {
                Some(place) if *place == gone => break,
                Some(place) if place.filled > 0 => hole = self.next(hole),
                _ => return,
            }
        }
        self.len -= 1;
        // Those behind it move up, unless they are nearer to the place that their hash gives.
        let mut at = self.next(hole);
        while self.places[at].filled > 0 {
            let distance = at.wrapping_sub(self.home(self.places[at].hash)) & self.mask();
            if distance >= (at.wrapping_sub(hole) & self.mask()) {
                self.places[hole] = self.places[at];
                hole = at;
            }
            at = self.next(at);
        }
        self.places[hole] = Place::default();
    }

    #[cold]
    fn grow(&mut self) {
        let places = vec![Place::default(); (self.places.len() * 2).max(FEW)];
        for place in std::mem::replace(&mut self.places, places) {
            if place.filled > 0 {
                self.fill(place);
            }
        }
    }

    fn fill(&mut self, place: Place) {
        let mut at = self.home(place.hash);
        while self.places[at].filled > 0 {
            at = self.next(at);
        }
        self.places[at] = place;
    }

    /// The place that a hash gives.
    fn home(&self, hash: u32) -> usize {
        hash as usize & self.mask()
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & self.mask()
    }

    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use genclient_tally::Tally;
    use proptest::{prelude::*, test_runner::TestRunner};

    use super::*;

    #[test]
    fn a_slot_is_found_from_its_insertion_to_its_removal_whatever_else_has_its_hash() {
        let tally = Tally::new();
        let steps = prop::collection::vec((any::<bool>(), 0u32..12, 0u32..20), 0..200);
        let config = ProptestConfig::with_source_file(file!());
        let tried = TestRunner::new(config).run(&steps, |steps| {
            let (mut index, mut model) = (Index::default(), BTreeSet::new());
            // Hashes that meet at the end of the table, too.
            let hash_of = |number: u32| number.wrapping_sub(6);
            for (adds, number, slot) in steps {
                let hash = hash_of(number);
                let shares_hash = model.iter().any(|other: &(u32, u32)| other.0 == hash && other.1 != slot);
                let length = index.places.len();
                if !adds {
                    index.remove(hash, slot);
                    tally.count(match (model.remove(&(hash, slot)), shares_hash) {
                        (true, true) => "removed one of several with a hash",
                        (true, false) => "removed",
                        (false, _) => "absent",
                    });
                } else if model.insert((hash, slot)) {
                    index.insert(hash, slot);
                    tally.count(if shares_hash { "inserted another with a hash" } else { "inserted" });
                }
                tally.add("grown", usize::from(index.places.len() > length.max(FEW)));
                prop_assert_eq!(index.len(), model.len());
                for &(hash, slot) in &model {
                    prop_assert_eq!(index.find(hash, |other| other == slot), Some(slot));
                }
                let is_there = index.find(hash, |other| other == slot).is_some();
                prop_assert_eq!(is_there, model.contains(&(hash, slot)));
            }
            Ok(())
        });
        tried.unwrap_or_else(|error| panic!("{error}"));
        tally.require(&[
            ("inserted", 900),
            ("inserted another with a hash", 2500),
            ("removed", 35),
            ("removed one of several with a hash", 400),
            ("absent", 3500),
            ("grown", 150),
        ]);
    }
}
