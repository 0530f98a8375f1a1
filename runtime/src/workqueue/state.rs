//! What the queue knows, without locks, clocks or tasks.
//!
//! Every key that is queued, delayed or worked on has one slot, and the key is stored there alone:
//! the order, the delays and the running set hold slot numbers.

use std::{collections::BTreeMap, mem};

use hashbrown::HashTable;
use slab::Slab;
use tokio::time::{Duration, Instant};

use super::ready::{Priority, Ready, Ticket};

/// What became of a key that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added<T> {
    /// It waits for a worker.
    Queued,
    /// It is being worked on, and will run once more after that.
    Rerun,
    /// It will be queued when its delay is over.
    Delayed,
    /// It waited already, so nothing new waits.
    Merged,
    /// The queue is shut down; here is the key again.
    Refused(T),
}

impl<T> Added<T> {
    /// Whether the queue was shut down and did not take the key.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// The keys that a queue gave back when it was shut down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shutdown<T> {
    /// Keys that were still worked on when the deadline passed.
    pub unfinished: Vec<T>,
    /// Keys that waited for a worker, in the order in which they would have run.
    pub queued: Vec<T>,
    /// Keys that waited for a delay or for another try, the earliest first.
    pub delayed: Vec<T>,
}

impl<T> Shutdown<T> {
    /// Whether every key was worked on to its end and none waited.
    pub fn is_clean(&self) -> bool {
        self.unfinished.is_empty() && self.queued.is_empty() && self.delayed.is_empty()
    }
}

/// How far the queue is on its way from open to ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Life {
    /// Keys come and go.
    Open,
    /// No key comes in or is handed out; those that are worked on may finish.
    Draining,
    /// Nobody waits for anything any more.
    Ended,
}

/// When a delay is over; the number keeps delays apart that end together.
type Due = (Instant, u64);

#[derive(Debug)]
struct Slot<T> {
    key: T,
    /// Kept so that neither growing the index nor leaving it hashes the key again.
    hash: u64,
    phase: Phase,
    delay: Option<(Due, Priority)>,
}

/// `since` is `None` where the queue is not measured.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing but the slot's delay keeps it.
    Delayed,
    Queued {
        ticket: Ticket,
        since: Option<Instant>,
    },
    Running {
        /// Where in `running` the slot stands.
        position: usize,
        since: Option<Instant>,
        /// Set when the key was added meanwhile.
        again: Option<(Priority, Option<Instant>)>,
    },
}

/// A key that was handed out.
pub(super) struct Taken<T> {
    pub slot: usize,
    pub key: T,
    pub priority: Priority,
    /// How long it waited, where the queue is measured.
    pub waited: Option<Duration>,
}

/// What the end of a piece of work led to.
pub(super) struct Finished {
    /// How long it took, where the queue is measured.
    pub worked: Option<Duration>,
    /// The key waits for a worker again.
    pub requeued: bool,
    /// A delay was set and is now the first to end.
    pub new_alarm: bool,
}

#[derive(Debug)]
pub(super) struct State<T> {
    /// The slots by key.
    index: HashTable<usize>,
    slots: Slab<Slot<T>>,
    ready: Ready,
    delays: BTreeMap<Due, usize>,
    delays_set: u64,
    /// The slots of the keys that are worked on, in no order.
    running: Vec<usize>,
    life: Life,
}

impl<T: Clone + Eq> State<T> {
    pub fn new() -> Self {
        Self {
            index: HashTable::new(),
            slots: Slab::new(),
            ready: Ready::default(),
            delays: BTreeMap::new(),
            delays_set: 0,
            running: Vec::new(),
            life: Life::Open,
        }
    }

    pub fn life(&self) -> Life {
        self.life
    }

    /// Moves the queue's life on; it never goes back.
    pub fn close(&mut self, to: Life) {
        self.life = self.life.max(to);
    }

    /// How many keys wait for a worker.
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// How many keys are worked on.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// How many keys are known at all.
    #[cfg(test)]
    pub fn slots(&self) -> usize {
        assert_eq!(self.slots.len(), self.index.len());
        self.slots.len()
    }

    pub fn has_delays(&self) -> bool {
        !self.delays.is_empty()
    }

    /// When the first delay is over.
    pub fn alarm(&self) -> Option<Instant> {
        self.delays.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Makes a key ready now; a delay that it has is superseded.
    pub fn add(&mut self, hash: u64, key: T, priority: Priority, now: Option<Instant>) -> Added<T> {
        if self.life != Life::Open {
            return Added::Refused(key);
        }
        let slot = self.find(hash, &key).unwrap_or_else(|| self.insert(hash, key));
        self.enqueue(slot, priority, now)
    }

    /// Makes a key ready when `at` has come, and says whether this delay is the first to end.
    pub fn delay(&mut self, hash: u64, key: T, priority: Priority, at: Instant) -> (Added<T>, bool) {
        if self.life != Life::Open {
            return (Added::Refused(key), false);
        }
        let slot = self.find(hash, &key).unwrap_or_else(|| self.insert(hash, key));
        self.delay_slot(slot, priority, at)
    }

    /// Takes a key's delay away. `false` if it had none.
    pub fn cancel_delay(&mut self, hash: u64, key: &T) -> bool {
        let Some(slot) = self.find(hash, key) else { return false };
        let had = self.clear_delay(slot).is_some();
        self.remove_if_unused(slot);
        had
    }

    /// Makes every key ready whose delay is over, in the order of the delays' ends, and says how
    /// many are new among those that wait and how many of them wait for a worker.
    pub fn promote(&mut self, now: Instant) -> Promoted {
        let mut promoted = Promoted::default();
        if self.life != Life::Open {
            return promoted;
        }
        while let Some(first) = self.delays.first_entry().filter(|first| first.key().0 <= now) {
            let &slot = first.get();
            let priority = self.slots[slot].delay.map_or(Priority::NORMAL, |(_, priority)| priority);
            match self.enqueue(slot, priority, Some(now)) {
                Added::Queued => (promoted.added, promoted.ready) = (promoted.added + 1, promoted.ready + 1),
                Added::Rerun => promoted.added += 1,
                Added::Merged | Added::Delayed | Added::Refused(_) => {}
            }
        }
        promoted
    }

    /// Hands out the key whose turn it is.
    pub fn take(&mut self, now: Option<Instant>) -> Option<Taken<T>> {
        if self.life != Life::Open {
            return None;
        }
        let slot = self.pop()?;
        let position = self.running.len();
        let held = &mut self.slots[slot];
        let running = Phase::Running { position, since: now, again: None };
        let (priority, since) = match mem::replace(&mut held.phase, running) {
            Phase::Queued { ticket, since } => (ticket.priority, since),
            Phase::Delayed | Phase::Running { .. } => (Priority::NORMAL, None),
        };
        let key = held.key.clone();
        self.running.push(slot);
        Some(Taken { slot, key, priority, waited: elapsed(since, now) })
    }

    /// Ends the work on a slot, which is to run again at `retry` if that is given.
    ///
    /// A key that was added meanwhile runs at once, and that run decides anew: `retry` gives way.
    pub fn finish(
        &mut self,
        slot: usize,
        retry: Option<(Priority, Instant)>,
        now: Option<Instant>,
    ) -> Finished {
        let held = &mut self.slots[slot];
        let Phase::Running { position, since, again } = mem::replace(&mut held.phase, Phase::Delayed) else {
            return Finished { worked: None, requeued: false, new_alarm: false };
        };
        let worked = elapsed(since, now);
        self.running.swap_remove(position);
        if let Some(&moved) = self.running.get(position)
            && let Phase::Running { position: old, .. } = &mut self.slots[moved].phase
        {
            *old = position;
        }
        let mut new_alarm = false;
        if let Some((priority, since)) = again {
            let ticket = self.ready.push(slot, priority);
            self.slots[slot].phase = Phase::Queued { ticket, since };
        } else if let Some((priority, at)) = retry {
            (_, new_alarm) = self.delay_slot(slot, priority, at);
        } else {
            self.remove_if_unused(slot);
        }
        Finished { worked, requeued: again.is_some(), new_alarm }
    }

    /// How long all running keys together, and the longest of them, have been worked on.
    pub fn work_in_progress(&self, now: Instant) -> (Duration, Duration) {
        let ages = self.running.iter().filter_map(|&slot| match self.slots[slot].phase {
            Phase::Running { since, .. } => elapsed(since, Some(now)),
            Phase::Queued { .. } | Phase::Delayed => None,
        });
        ages.fold((Duration::ZERO, Duration::ZERO), |(sum, longest), age| (sum + age, longest.max(age)))
    }

    /// Empties the queue and gives back what was in it; the slots of running keys stay.
    pub fn hand_back(&mut self) -> Shutdown<T> {
        let mut report = Shutdown { unfinished: Vec::new(), queued: Vec::new(), delayed: Vec::new() };
        while let Some(slot) = self.pop() {
            self.clear_delay(slot);
            report.queued.push(self.remove(slot));
        }
        while let Some((_, slot)) = self.delays.pop_first() {
            self.slots[slot].delay = None;
            match self.slots[slot].phase {
                Phase::Running { .. } => report.delayed.push(self.slots[slot].key.clone()),
                Phase::Queued { .. } | Phase::Delayed => report.delayed.push(self.remove(slot)),
            }
        }
        for &slot in &self.running {
            let held = &mut self.slots[slot];
            if let Phase::Running { again, .. } = &mut held.phase {
                *again = None;
            }
            report.unfinished.push(held.key.clone());
        }
        report
    }

    /// How many keys wait for a worker or for their own current run to end.
    pub fn depth(&self) -> usize {
        let reruns = self
            .running
            .iter()
            .filter(|&&slot| matches!(self.slots[slot].phase, Phase::Running { again: Some(_), .. }));
        self.ready.len() + reruns.count()
    }

    fn find(&self, hash: u64, key: &T) -> Option<usize> {
        self.index.find(hash, |&slot| self.slots[slot].key == *key).copied()
    }

    fn insert(&mut self, hash: u64, key: T) -> usize {
        let slot = self.slots.insert(Slot { key, hash, phase: Phase::Delayed, delay: None });
        self.index.insert_unique(hash, slot, |&slot| self.slots[slot].hash);
        slot
    }

    fn remove(&mut self, slot: usize) -> T {
        let held = self.slots.remove(slot);
        if let Ok(entry) = self.index.find_entry(held.hash, |&other| other == slot) {
            entry.remove();
        }
        held.key
    }

    fn remove_if_unused(&mut self, slot: usize) {
        let held = &self.slots[slot];
        if matches!(held.phase, Phase::Delayed) && held.delay.is_none() {
            self.remove(slot);
        }
    }

    fn pop(&mut self) -> Option<usize> {
        let slots = &self.slots;
        self.ready.pop(|slot, number| {
            slots.get(slot).is_some_and(
                |held| matches!(held.phase, Phase::Queued { ticket, .. } if ticket.number == number),
            )
        })
    }

    fn enqueue(&mut self, slot: usize, priority: Priority, now: Option<Instant>) -> Added<T> {
        self.clear_delay(slot);
        let held = &mut self.slots[slot];
        match &mut held.phase {
            Phase::Delayed => {
                let ticket = self.ready.push(slot, priority);
                held.phase = Phase::Queued { ticket, since: now };
                Added::Queued
            }
            Phase::Queued { ticket, .. } => {
                if priority > ticket.priority {
                    *ticket = self.ready.move_to(slot, priority);
                }
                Added::Merged
            }
            Phase::Running { again: again @ None, .. } => {
                *again = Some((priority, now));
                Added::Rerun
            }
            Phase::Running { again: Some((known, _)), .. } => {
                *known = priority.max(*known);
                Added::Merged
            }
        }
    }

    fn delay_slot(&mut self, slot: usize, priority: Priority, at: Instant) -> (Added<T>, bool) {
        let held = &mut self.slots[slot];
        let mut added = Added::Delayed;
        let mut due = (at, self.delays_set);
        let mut highest = priority;
        if let Some((known, known_priority)) = held.delay {
            added = Added::Merged;
            highest = priority.max(known_priority);
            if known.0 <= at {
                due = known;
            } else {
                self.delays.remove(&known);
            }
        }
        self.delays_set += 1;
        held.delay = Some((due, highest));
        self.delays.insert(due, slot);
        let first = self.delays.first_key_value().is_some_and(|(&first, _)| first == due);
        (added, first)
    }

    fn clear_delay(&mut self, slot: usize) -> Option<Due> {
        let (due, _) = self.slots[slot].delay.take()?;
        self.delays.remove(&due);
        Some(due)
    }
}

/// How many keys a passing of time made ready.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Promoted {
    /// Keys that wait now and did not wait before.
    pub added: usize,
    /// Those of them that wait for a worker, not for their own current run.
    pub ready: usize,
}

fn elapsed(since: Option<Instant>, now: Option<Instant>) -> Option<Duration> {
    Some(now?.saturating_duration_since(since?))
}
