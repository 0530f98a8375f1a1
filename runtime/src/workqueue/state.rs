//! The state of a queue, without locks, clocks or tasks.
//!
//! Each key that is queued, delayed or running has one slot, which owns the key. The order, the
//! delays and the set of running keys hold slot numbers.

use std::{collections::BTreeMap, mem};

use hashbrown::HashTable;
use slab::Slab;
use tokio::time::{Duration, Instant};

use super::{
    Added, Priority, Shutdown,
    ready::{Ready, Ticket},
    shutdown::Stage,
};

/// The end of a delay, with a number that orders delays with the same end.
type Due = (Instant, u64);

#[derive(Debug)]
struct Slot<T> {
    key: T,
    /// Stored so that the index never hashes a key again.
    hash: u64,
    phase: Phase,
    delay: Option<(Due, Priority)>,
}

/// What a slot waits for. `since` is `None` if the queue is not measured.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The end of its delay, or nothing: then the slot is about to be removed.
    Delayed,
    Queued {
        ticket: Ticket,
        since: Option<Instant>,
    },
    Running {
        /// The index of the slot in `running`.
        position: usize,
        since: Option<Instant>,
        /// Set if the key was added while it was running.
        again: Option<(Priority, Option<Instant>)>,
    },
}

/// A key that a worker takes.
pub(super) struct Taken<T> {
    pub slot: usize,
    pub key: T,
    pub priority: Priority,
    /// How long the key was queued, if that is measured.
    pub waited: Option<Duration>,
}

/// The result of finishing a key.
pub(super) struct Finished<T> {
    /// How long the work took, if that is measured.
    pub worked: Option<Duration>,
    /// The key is queued again.
    pub requeued: bool,
    /// The key is delayed, and its delay is the first to end.
    pub first_delay: bool,
    /// The key, if the queue holds it no longer. The caller drops it without the lock.
    pub removed: Option<T>,
}

#[derive(Debug)]
pub(super) struct State<T> {
    /// The slots by key. Small, because every key is looked up in it twice, and seldom found in the
    /// processor's cache where many keys are queued.
    index: HashTable<u32>,
    slots: Slab<Slot<T>>,
    ready: Ready,
    delays: BTreeMap<Due, usize>,
    delays_set: u64,
    /// The slots of the running keys, in no order.
    running: Vec<usize>,
    stage: Stage,
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
            stage: Stage::Open,
        }
    }

    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Enters a stage, unless the queue is in a later one.
    pub fn close(&mut self, stage: Stage) {
        self.stage = self.stage.max(stage);
    }

    /// Returns the number of queued keys.
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Returns the number of running keys.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns the number of slots.
    #[cfg(test)]
    pub fn slots(&self) -> usize {
        assert_eq!(self.slots.len(), self.index.len());
        self.slots.len()
    }

    pub fn has_delays(&self) -> bool {
        !self.delays.is_empty()
    }

    /// Returns the end of the delay that ends first.
    pub fn first_delay(&self) -> Option<Instant> {
        self.delays.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Queues a key, and removes its delay.
    pub fn add(&mut self, hash: u64, key: T, priority: Priority, now: Option<Instant>) -> Added<T> {
        if self.stage != Stage::Open {
            return Added::Refused(key);
        }
        let slot = self.find(hash, &key).unwrap_or_else(|| self.insert(hash, key));
        self.enqueue(slot, priority, now)
    }

    /// Queues a key at a later time. Also returns whether its delay is the first to end.
    pub fn delay(&mut self, hash: u64, key: T, priority: Priority, at: Instant) -> (Added<T>, bool) {
        if self.stage != Stage::Open {
            return (Added::Refused(key), false);
        }
        let slot = self.find(hash, &key).unwrap_or_else(|| self.insert(hash, key));
        self.delay_slot(slot, priority, at)
    }

    /// Removes the delay of a key. Returns `false` if it has none.
    pub fn cancel_delay(&mut self, hash: u64, key: &T) -> bool {
        let Some(slot) = self.find(hash, key) else { return false };
        let had = self.clear_delay(slot).is_some();
        self.remove_if_unused(slot);
        had
    }

    /// Queues the keys whose delays have ended, in the order of these ends.
    pub fn promote(&mut self, now: Instant) -> Promoted {
        let mut promoted = Promoted::default();
        if self.stage != Stage::Open {
            return promoted;
        }
        while let Some(first) = self.delays.first_entry().filter(|first| first.key().0 <= now) {
            let &slot = first.get();
            // The delay's own priority is higher or the same.
            match self.enqueue(slot, Priority::LOWEST, Some(now)) {
                Added::Queued => (promoted.added, promoted.ready) = (promoted.added + 1, promoted.ready + 1),
                Added::Rerun => promoted.added += 1,
                Added::Merged | Added::Delayed | Added::Refused(_) => {}
            }
        }
        promoted
    }

    /// Takes the next key.
    pub fn take(&mut self, now: Option<Instant>) -> Option<Taken<T>> {
        if self.stage != Stage::Open {
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

    /// Ends the work on a slot, which runs again at `retry` if that is set.
    ///
    /// A key that was added while it was running is queued at once instead, because that run will
    /// have an outcome of its own. It keeps the higher priority of both.
    pub fn finish(
        &mut self,
        slot: usize,
        retry: Option<(Priority, Instant)>,
        now: Option<Instant>,
    ) -> Finished<T> {
        let held = &mut self.slots[slot];
        let Phase::Running { position, since, again } = mem::replace(&mut held.phase, Phase::Delayed) else {
            return Finished { worked: None, requeued: false, first_delay: false, removed: None };
        };
        let worked = elapsed(since, now);
        self.running.swap_remove(position);
        if let Some(&moved) = self.running.get(position)
            && let Phase::Running { position: old, .. } = &mut self.slots[moved].phase
        {
            *old = position;
        }
        let (mut first_delay, mut removed) = (false, None);
        if let Some((priority, since)) = again {
            let priority = retry.map_or(priority, |(retried, _)| priority.max(retried));
            let ticket = self.ready.push(slot, priority);
            self.slots[slot].phase = Phase::Queued { ticket, since };
        } else if let Some((priority, at)) = retry {
            (_, first_delay) = self.delay_slot(slot, priority, at);
        } else {
            removed = self.remove_if_unused(slot);
        }
        Finished { worked, requeued: again.is_some(), first_delay, removed }
    }

    /// Returns the sum and the maximum of the times since the running keys were taken.
    pub fn work_in_progress(&self, now: Instant) -> (Duration, Duration) {
        let ages = self.running.iter().filter_map(|&slot| match self.slots[slot].phase {
            Phase::Running { since, .. } => elapsed(since, Some(now)),
            Phase::Queued { .. } | Phase::Delayed => None,
        });
        ages.fold((Duration::ZERO, Duration::ZERO), |(sum, longest), age| (sum + age, longest.max(age)))
    }

    /// Removes and returns all keys, except that the slots of running keys stay.
    pub fn drain(&mut self) -> Shutdown<T> {
        let mut report = Shutdown::empty();
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

    /// Returns the number of queued keys and of running keys that will run once more.
    pub fn depth(&self) -> usize {
        let reruns = self
            .running
            .iter()
            .filter(|&&slot| matches!(self.slots[slot].phase, Phase::Running { again: Some(_), .. }));
        self.ready.len() + reruns.count()
    }

    fn find(&self, hash: u64, key: &T) -> Option<usize> {
        self.index.find(hash, |&slot| self.slots[slot as usize].key == *key).map(|&slot| slot as usize)
    }

    fn insert(&mut self, hash: u64, key: T) -> usize {
        let slot = self.slots.insert(Slot { key, hash, phase: Phase::Delayed, delay: None });
        self.index.insert_unique(hash, number(slot), |&slot| self.slots[slot as usize].hash);
        slot
    }

    fn remove(&mut self, slot: usize) -> T {
        let held = self.slots.remove(slot);
        if let Ok(entry) = self.index.find_entry(held.hash, |&other| other == number(slot)) {
            entry.remove();
        }
        held.key
    }

    fn remove_if_unused(&mut self, slot: usize) -> Option<T> {
        let held = &self.slots[slot];
        (matches!(held.phase, Phase::Delayed) && held.delay.is_none()).then(|| self.remove(slot))
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
        let priority = self.clear_delay(slot).map_or(priority, |delayed| priority.max(delayed));
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

    /// Removes the delay of a slot, and returns the priority that the key was to have at its end.
    fn clear_delay(&mut self, slot: usize) -> Option<Priority> {
        let (due, priority) = self.slots[slot].delay.take()?;
        self.delays.remove(&due);
        Some(priority)
    }
}

/// How many keys were added because their delays ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Promoted {
    /// Keys that are queued now or will run once more.
    pub added: usize,
    /// Those of them that are queued.
    pub ready: usize,
}

/// The number of a slot. There cannot be more: a slot takes more than a hundred bytes.
fn number(slot: usize) -> u32 {
    u32::try_from(slot).expect("fewer than four billion keys")
}

fn elapsed(since: Option<Instant>, now: Option<Instant>) -> Option<Duration> {
    Some(now?.saturating_duration_since(since?))
}
