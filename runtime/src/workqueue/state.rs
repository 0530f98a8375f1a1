//! The state of a queue, without locks, clocks or tasks.
//!
//! Each key that is queued, delayed or running has one slot, which owns the key. The order, the
//! delays and the set of running keys hold slot numbers.

use std::{collections::BTreeSet, mem};

use hashbrown::{HashTable, hash_table::Entry};
use slab::Slab;
use tokio::time::{Duration, Instant};

use super::{
    Added, Priority, Shutdown,
    ready::{Ready, Ticket},
    shutdown::Stage,
};

/// The delay of a slot.
#[derive(Clone, Copy, Debug)]
struct Delay {
    at: Instant,
    /// Orders delays that end at the same moment.
    number: u64,
    /// The lowest priority that the key has at the end.
    priority: Priority,
}

/// A delay in the order of their ends, with its slot.
type Due = (Instant, u64, usize);

#[derive(Debug)]
struct Slot<T> {
    key: T,
    hash: u64,
    phase: Phase,
    delay: Option<Delay>,
}

/// What a slot waits for. A time is `None` if the queue is not measured.
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
        /// The priority of the next run, if the key was added while it was running.
        again: Option<Priority>,
        /// When it was added.
        added: Option<Instant>,
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
    /// The key, if the queue no longer has it. The caller drops it without the lock.
    pub removed: Option<T>,
}

#[derive(Debug)]
pub(super) struct State<T> {
    /// The slots by key.
    index: HashTable<usize>,
    slots: Slab<Slot<T>>,
    ready: Ready,
    delays: BTreeSet<Due>,
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
            delays: BTreeSet::new(),
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

    pub fn has_delays(&self) -> bool {
        !self.delays.is_empty()
    }

    /// Returns the end of the delay that ends first.
    pub fn first_delay(&self) -> Option<Instant> {
        self.delays.first().map(|&(at, ..)| at)
    }

    /// Queues a key, and removes its delay.
    pub fn add(&mut self, hash: u64, key: T, priority: Priority, now: Option<Instant>) -> Added<T> {
        if self.stage != Stage::Open {
            return Added::Refused(key);
        }
        let slot = self.find_or_insert(hash, key);
        self.enqueue(slot, priority, now)
    }

    /// Queues a key at a later time. Also returns whether its delay is the first to end.
    pub fn delay(&mut self, hash: u64, key: T, priority: Priority, at: Instant) -> (Added<T>, bool) {
        if self.stage != Stage::Open {
            return (Added::Refused(key), false);
        }
        let slot = self.find_or_insert(hash, key);
        self.delay_slot(slot, priority, at)
    }

    /// Removes the delay of a key. Returns `false` if it has none.
    pub fn cancel_delay(&mut self, hash: u64, key: &T) -> bool {
        let slots = &self.slots;
        let Some(&slot) = self.index.find(hash, |&slot| slots[slot].key == *key) else { return false };
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
        while let Some(&(_, _, slot)) = self.delays.first().filter(|(at, ..)| *at <= now) {
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
        let slot = self.ready.pop()?;
        let held = &mut self.slots[slot];
        let running = Phase::Running { position: self.running.len(), since: now, again: None, added: None };
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
        let Phase::Running { position, since, again, added } = mem::replace(&mut held.phase, Phase::Delayed)
        else {
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
        if let Some(priority) = again {
            let priority = retry.map_or(priority, |(retried, _)| priority.max(retried));
            let ticket = self.ready.push(slot, priority);
            self.slots[slot].phase = Phase::Queued { ticket, since: added };
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

    /// Removes and returns all keys, but keeps the slots of the running keys.
    pub fn drain(&mut self) -> Shutdown<T> {
        let mut report = Shutdown::empty();
        while let Some(slot) = self.ready.pop() {
            self.clear_delay(slot);
            report.queued.push(self.remove(slot));
        }
        while let Some((_, _, slot)) = self.delays.pop_first() {
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

    fn find_or_insert(&mut self, hash: u64, key: T) -> usize {
        let slots = &mut self.slots;
        match self.index.entry(hash, |&slot| slots[slot].key == key, |&slot| slots[slot].hash) {
            Entry::Occupied(slot) => *slot.get(),
            Entry::Vacant(vacant) => {
                let slot = slots.insert(Slot { key, hash, phase: Phase::Delayed, delay: None });
                vacant.insert(slot);
                slot
            }
        }
    }

    fn remove(&mut self, slot: usize) -> T {
        let Slot { key, hash, .. } = self.slots.remove(slot);
        if let Ok(entry) = self.index.find_entry(hash, |&other| other == slot) {
            entry.remove();
        }
        key
    }

    fn remove_if_unused(&mut self, slot: usize) -> Option<T> {
        let held = &self.slots[slot];
        (matches!(held.phase, Phase::Delayed) && held.delay.is_none()).then(|| self.remove(slot))
    }

    fn enqueue(&mut self, slot: usize, priority: Priority, now: Option<Instant>) -> Added<T> {
        let priority = self.clear_delay(slot).map_or(priority, |delayed| priority.max(delayed));
        match &mut self.slots[slot].phase {
            phase @ Phase::Delayed => {
                *phase = Phase::Queued { ticket: self.ready.push(slot, priority), since: now };
                Added::Queued
            }
            Phase::Queued { ticket, .. } => {
                if priority > ticket.priority {
                    *ticket = self.ready.raise(*ticket, priority);
                }
                Added::Merged
            }
            Phase::Running { again: Some(known), .. } => {
                *known = priority.max(*known);
                Added::Merged
            }
            Phase::Running { again, added, .. } => {
                (*again, *added) = (Some(priority), now);
                Added::Rerun
            }
        }
    }

    fn delay_slot(&mut self, slot: usize, priority: Priority, at: Instant) -> (Added<T>, bool) {
        let mut delay = Delay { at, number: self.delays_set, priority };
        self.delays_set += 1;
        let known = self.slots[slot].delay;
        if let Some(known) = known {
            delay.priority = priority.max(known.priority);
            if known.at <= delay.at {
                (delay.at, delay.number) = (known.at, known.number);
            } else {
                self.delays.remove(&known.due(slot));
            }
        }
        self.slots[slot].delay = Some(delay);
        self.delays.insert(delay.due(slot));
        let is_first = self.delays.first() == Some(&delay.due(slot));
        (if known.is_some() { Added::Merged } else { Added::Delayed }, is_first)
    }

    /// Removes the delay of a slot, and returns the priority that the key was to have at its end.
    fn clear_delay(&mut self, slot: usize) -> Option<Priority> {
        let delay = self.slots[slot].delay.take()?;
        self.delays.remove(&delay.due(slot));
        Some(delay.priority)
    }
}

impl Delay {
    fn due(self, slot: usize) -> Due {
        (self.at, self.number, slot)
    }
}

/// The number of keys that were added because their delays ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Promoted {
    /// Keys that are queued now or will run once more.
    pub added: usize,
    /// The queued keys among them.
    pub ready: usize,
}

fn elapsed(since: Option<Instant>, now: Option<Instant>) -> Option<Duration> {
    Some(now?.saturating_duration_since(since?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_slot_however_often_it_is_added_and_none_when_it_is_finished() {
        let mut state = State::new();
        let now = Instant::now();
        for round in 0..1000 {
            for key in 0..10_u64 {
                // All keys share four hashes.
                match round % 3 {
                    0 => _ = state.add(key % 4, key, Priority((round % 100) as i8), None),
                    1 => _ = state.delay(key % 4, key, Priority::LOW, now),
                    _ => _ = state.cancel_delay(key % 4, &key),
                }
            }
        }
        assert_eq!((state.slots.len(), state.index.len(), state.len()), (10, 10, 10));
        while let Some(taken) = state.take(None) {
            state.finish(taken.slot, None, None);
        }
        assert_eq!((state.slots.len(), state.index.len(), state.len()), (0, 0, 0));
    }
}
