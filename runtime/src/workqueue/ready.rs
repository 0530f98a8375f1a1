//! The order in which ready keys are handed out.

use std::collections::VecDeque;

/// How many times in a row the key that has waited longest may be overtaken.
const OVERTAKES: u8 = 7;

/// How urgent a key is: the higher is handed out first.
///
/// Priorities order the queue without starving anybody; [the queue's contracts](super) say how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priority(pub i8);

impl Priority {
    /// For work that can wait, such as the keys of the first list.
    pub const LOW: Self = Self(-64);
    /// What `add` gives.
    pub const NORMAL: Self = Self(0);
    /// For work that somebody waits for.
    pub const HIGH: Self = Self(64);
}

/// A place in the order. No two tickets of a queue have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub number: u64,
    pub priority: Priority,
}

/// First in, first out within a priority; higher priorities first; nobody starves.
///
/// A key that moves to a higher priority leaves its old ticket behind, and the caller says whether
/// a ticket still counts. Dead tickets go when they come to the front. There are at most eight for
/// each live one in front of them, because the longest waiting key is served at every eighth take.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Sorted by falling priority. A level stays when it is empty: there are at most 256.
    levels: Vec<Level>,
    live: usize,
    issued: u64,
    /// How many takes in a row did not take the key that has waited longest.
    overtakes: u8,
}

#[derive(Debug)]
struct Level {
    priority: Priority,
    /// Ticket numbers with their slots, rising.
    waiting: VecDeque<(u64, usize)>,
}

impl Ready {
    /// How many live tickets there are.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Puts a slot at the end of its priority.
    pub fn push(&mut self, slot: usize, priority: Priority) -> Ticket {
        self.live += 1;
        self.issue(slot, priority)
    }

    /// Moves a slot that has a ticket to the end of another priority; the old ticket is dead.
    pub fn move_to(&mut self, slot: usize, priority: Priority) -> Ticket {
        self.issue(slot, priority)
    }

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

    /// Takes the slot whose turn it is.
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
