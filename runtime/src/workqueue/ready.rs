//! The order of the queued keys.

use std::collections::VecDeque;

/// How often in a row the key that has waited longest may be overtaken.
const OVERTAKES: u8 = 7;

/// The urgency of a key: a key with a higher priority runs first.
///
/// Keys with low priorities do not starve; [the guarantees of the queue](super) say how.
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

/// The position of a key in the order. No two tickets of a queue have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub number: u64,
    pub priority: Priority,
}

/// Higher priorities first, first in first out within a priority, and no starvation.
///
/// A key that moves to a higher priority leaves its old ticket behind, and the caller tells whether
/// a ticket is live. A dead ticket is removed when it reaches the front. At most eight takes happen
/// for each live ticket in front of it, because every eighth take is of the longest waiting key.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Sorted by falling priority. Empty levels stay: there are at most 256.
    levels: Vec<Level>,
    live: usize,
    issued: u64,
    /// How many takes in a row did not take the key that has waited longest.
    overtakes: u8,
}

#[derive(Debug)]
struct Level {
    priority: Priority,
    /// Rising ticket numbers with their slots.
    waiting: VecDeque<(u64, usize)>,
}

impl Ready {
    /// Returns the number of live tickets.
    #[inline]
    pub fn len(&self) -> usize {
        self.live
    }

    /// Appends a slot to a priority.
    #[inline]
    pub fn push(&mut self, slot: usize, priority: Priority) -> Ticket {
        self.live += 1;
        self.issue(slot, priority)
    }

    /// Moves a slot that has a ticket to the end of another priority. The old ticket is dead.
    #[inline]
    pub fn move_to(&mut self, slot: usize, priority: Priority) -> Ticket {
        self.issue(slot, priority)
    }

    #[inline]
    fn issue(&mut self, slot: usize, priority: Priority) -> Ticket {
        let number = self.issued;
        self.issued += 1;
        let level = match self.levels.binary_search_by(|level| priority.cmp(&level.priority)) {
            Ok(level) => level,
            Err(level) => {
                self.levels.insert(level, Level { priority, waiting: VecDeque::new() });
                level
            }
        };
        self.levels[level].waiting.push_back((number, slot));
        Ticket { number, priority }
    }

    /// Takes the next slot.
    pub fn pop(&mut self, is_live: impl Fn(usize, u64) -> bool) -> Option<usize> {
        let mut highest = None;
        let mut oldest = None;
        for (index, level) in self.levels.iter_mut().enumerate() {
            while level.waiting.front().is_some_and(|&(number, slot)| !is_live(slot, number)) {
                level.waiting.pop_front();
            }
            if let Some(&(number, _)) = level.waiting.front() {
                highest.get_or_insert(index);
                if oldest.is_none_or(|(other, _)| number < other) {
                    oldest = Some((number, index));
                }
            }
        }
        let (highest, (_, oldest)) = (highest?, oldest?);
        let chosen = if highest != oldest && self.overtakes < OVERTAKES {
            self.overtakes += 1;
            highest
        } else {
            self.overtakes = 0;
            oldest
        };
        self.live -= 1;
        self.levels[chosen].waiting.pop_front().map(|(_, slot)| slot)
    }
}
