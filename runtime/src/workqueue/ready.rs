//! The order of the queued keys.

use std::collections::{BTreeMap, VecDeque};

/// How often in a row the key that has waited longest may be overtaken.
const OVERTAKES: u8 = 7;

/// The urgency of a key: a key with a higher priority runs first.
///
/// Keys with low priorities do not starve; see [the guarantees of the queue](super).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priority(pub i8);

impl Priority {
    /// For work that can wait, such as the keys of the first list.
    pub const LOW: Self = Self(-64);
    /// The default.
    pub const NORMAL: Self = Self(0);
    /// For work that a user waits for.
    pub const HIGH: Self = Self(64);

    pub(super) const LOWEST: Self = Self(i8::MIN);
}

/// The position of a slot in the order. No two tickets of a queue have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub number: u64,
    pub priority: Priority,
}

/// Higher priorities first, first in first out within a priority, and no starvation.
///
/// A slot keeps its number when its priority is raised, so its age is never lost. Every eighth take in a
/// row is of the slot with the lowest number.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Sorted by falling priority. Empty levels are kept: there are at most 256.
    levels: Vec<Level>,
    len: usize,
    issued: u64,
    /// The number of takes in a row that did not take the slot that has waited longest.
    overtakes: u8,
}

impl Ready {
    /// Returns the number of waiting slots.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a slot to a priority.
    pub fn push(&mut self, slot: usize, priority: Priority) -> Ticket {
        let number = self.issued;
        self.issued += 1;
        self.len += 1;
        self.level(priority).added.push_back((number, Some(slot)));
        Ticket { number, priority }
    }

    /// Moves a waiting slot to a higher priority. It keeps its number.
    pub fn raise(&mut self, ticket: Ticket, priority: Priority) -> Ticket {
        if let Some(slot) = self.level(ticket.priority).remove(ticket.number) {
            self.level(priority).raised.insert(ticket.number, slot);
        }
        Ticket { priority, ..ticket }
    }

    fn level(&mut self, priority: Priority) -> &mut Level {
        let level = self.levels.binary_search_by(|level| priority.cmp(&level.priority));
        let level = level.unwrap_or_else(|level| {
            self.levels.insert(level, Level { priority, added: VecDeque::new(), raised: BTreeMap::new() });
            level
        });
        &mut self.levels[level]
    }

    /// Takes the next slot.
    pub fn pop(&mut self) -> Option<usize> {
        let firsts = self.levels.iter().enumerate();
        let mut firsts = firsts.filter_map(|(level, slots)| Some((slots.first()?, level)));
        let (number, highest) = firsts.next()?;
        let (_, oldest) = firsts.fold((number, highest), Ord::min);
        let chosen = if highest != oldest && self.overtakes < OVERTAKES {
            self.overtakes += 1;
            highest
        } else {
            self.overtakes = 0;
            oldest
        };
        self.len -= 1;
        self.levels[chosen].pop()
    }
}

/// The waiting slots of one priority.
#[derive(Debug)]
struct Level {
    priority: Priority,
    /// The slots that were added with this priority, by rising numbers. A slot that was raised to a higher
    /// one is `None`, but never the first.
    added: VecDeque<(u64, Option<usize>)>,
    /// The slots that were raised to this priority, by number.
    raised: BTreeMap<u64, usize>,
}

impl Level {
    /// Returns the lowest number.
    #[inline]
    fn first(&self) -> Option<u64> {
        let added = self.added.front().map(|&(number, _)| number);
        match self.raised.first_key_value() {
            Some((&raised, _)) => Some(added.map_or(raised, |added| added.min(raised))),
            None => added,
        }
    }

    /// Removes the slot with the lowest number.
    #[inline]
    fn pop(&mut self) -> Option<usize> {
        self.remove(self.first()?)
    }

    fn remove(&mut self, number: u64) -> Option<usize> {
        if let Some(slot) = self.raised.remove(&number) {
            return Some(slot);
        }
        let at = match self.added.front() {
            Some(&(first, _)) if first == number => 0,
            _ => self.added.binary_search_by_key(&number, |&(number, _)| number).ok()?,
        };
        let slot = self.added[at].1.take();
        while let Some((_, None)) = self.added.front() {
            self.added.pop_front();
        }
        slot
    }
}
