//! Why each key is queued, and which events are those of its own writes.
//!
//! An event can arrive before the answer to the write that caused it. The events of a key are therefore held back
//! while the key is reconciled, and judged when all its writes are known.
//!
//! An event is that of an own write only if nothing else can have changed the object: the write named the version
//! that it replaced, or created the object, and the event leads from exactly that state to the version that the
//! server returned, possibly through other own writes. Any other event queues the key. In particular, an apply or a
//! patch without a precondition may have changed nothing, and then returns the version of somebody else's change.
//!
//! The informer may never deliver the event of an own write, because a deletion by another client can cancel it out. A
//! [sweep](Ledger::sweep) finds such writes.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt, sync::Arc};

use parking_lot::Mutex;

use crate::{
    informer::Event,
    meta::GroupResource,
    object::{CacheObject, ObjectKey},
    workqueue::Priority,
    written::{Base, Effect, Write},
};

/// The most events that are held back for a key. With more of them the key is queued at once.
const HELD: usize = 1024;

/// The keys of a controller that are queued or reconciled, or whose writes are not in the caches yet.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    keys: Mutex<HashMap<ObjectKey, Entry>>,
}

#[derive(Debug, Default)]
struct Entry {
    reason: Option<Arc<Change>>,
    is_running: bool,
    /// Whether the reconciliation reads caches without earlier writes.
    is_behind: bool,
    /// The changes during the reconciliation. Those without a priority need no further one.
    held: Vec<(Arc<Change>, Option<Priority>)>,
    /// The writes of the last reconciliation whose events have not arrived.
    writes: Vec<Own>,
    /// Those that the caches had at the last sweep.
    overdue: Vec<Own>,
}

/// A write of a reconciliation, as one of the controller's sources will show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Own {
    /// The number of the source.
    pub(super) source: usize,
    pub(super) write: Write,
}

/// A change of an object that queues keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The number of the source that showed it.
    source: usize,
    resource: GroupResource,
    object: ObjectKey,
    kind: ChangeKind,
    version: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ChangeKind {
    Added,
    Updated { old: String },
    Deleted,
}

/// What to do with a key whose object or dependent has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Queue,
    /// The change is an own write, or is judged at the end of the reconciliation.
    Leave,
}

impl Change {
    pub(super) fn of<K: CacheObject>(source: usize, resource: &GroupResource, event: &Event<K>) -> Self {
        let kind = match event {
            Event::Added { .. } => ChangeKind::Added,
            Event::Updated { old, .. } => ChangeKind::Updated { old: old.resource_version().to_owned() },
            Event::Deleted { .. } => ChangeKind::Deleted,
        };
        let version = event.object().resource_version().to_owned();
        Self { source, resource: resource.clone(), object: event.key(), kind, version }
    }

    /// Removes the writes that made the change, if nothing else took part in it. An informer can merge the events
    /// of several writes.
    fn take_own(&self, writes: &mut Vec<Own>) -> bool {
        let start = match &self.kind {
            ChangeKind::Added => Base::Absent,
            ChangeKind::Updated { old } => Base::Version(old.clone()),
            ChangeKind::Deleted => return false,
        };
        let (mut chain, mut reached) = (Vec::new(), &self.version);
        while chain.len() <= writes.len() {
            let own = writes.iter().enumerate().find_map(|(index, own)| match &own.write.effect {
                Effect::Stored { version, base } if version == reached && self.concerns(own) => {
                    Some((index, base))
                }
                _ => None,
            });
            let Some((index, base)) = own else { return false };
            chain.push(index);
            match base {
                base if *base == start => {
                    chain.sort_unstable();
                    chain.into_iter().rev().for_each(|index| _ = writes.swap_remove(index));
                    return true;
                }
                Base::Version(base) => reached = base,
                Base::Absent | Base::Unknown => return false,
            }
        }
        false
    }

    fn concerns(&self, Own { source, write }: &Own) -> bool {
        write.is_conclusive() && *source == self.source && write.key == self.object
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.kind {
            ChangeKind::Added => "added",
            ChangeKind::Updated { .. } => "updated",
            ChangeKind::Deleted => "deleted",
        };
        let Self { resource, object, version, .. } = self;
        write!(f, "{resource} {object} {verb} at {version}")
    }
}

impl Ledger {
    /// Records a change that concerns a key, and decides whether to queue the key. Without a priority the change
    /// needs no reconciliation.
    pub(super) fn changed(
        &self,
        key: &ObjectKey,
        change: &Arc<Change>,
        priority: Option<Priority>,
    ) -> Verdict {
        let mut keys = self.keys.lock();
        let entry = keys.entry(key.clone()).or_default();
        if entry.is_running {
            if entry.held.len() < HELD {
                entry.held.push((change.clone(), priority));
                return Verdict::Leave;
            }
        } else if change.take_own(&mut entry.writes) {
            if entry.is_idle() {
                keys.remove(key);
            }
            return Verdict::Leave;
        }
        if priority.is_none() {
            if entry.is_idle() {
                keys.remove(key);
            }
            return Verdict::Leave;
        }
        entry.reason.get_or_insert_with(|| change.clone());
        Verdict::Queue
    }

    /// Begins the reconciliation of a key.
    pub(super) fn begin(&self, key: &ObjectKey) -> Begun {
        let mut keys = self.keys.lock();
        let entry = keys.entry(key.clone()).or_default();
        entry.is_running = true;
        Begun { reason: entry.reason.take(), writes: entry.writes.clone() }
    }

    /// Records that a key is reconciled although the caches lack earlier writes of it. Their events then queue the
    /// key, as those of other clients do.
    pub(super) fn read_behind(&self, key: &ObjectKey) {
        let mut keys = self.keys.lock();
        let Some(entry) = keys.get_mut(key) else { return };
        entry.is_behind = true;
        for own in &mut entry.writes {
            if let Effect::Stored { base, .. } = &mut own.write.effect {
                *base = Base::Unknown;
            }
        }
    }

    /// Ends the reconciliation of a key, which made these writes. `has` returns whether the caches have the state
    /// of a write. Returns the highest priority of the changes that were held back and were not made by these
    /// writes: the key must then be queued again.
    pub(super) fn end(
        &self,
        key: &ObjectKey,
        writes: Vec<Own>,
        has: impl Fn(&Own) -> bool,
    ) -> Option<Priority> {
        let mut keys = self.keys.lock();
        let entry = keys.entry(key.clone()).or_default();
        entry.is_running = false;
        let is_behind = std::mem::take(&mut entry.is_behind);
        let earlier = std::mem::take(&mut entry.writes);
        entry.overdue.clear();
        let mut unseen: Vec<_> = writes.into_iter().chain(earlier.iter().cloned()).collect();
        let mut again = None;
        for (change, priority) in std::mem::take(&mut entry.held) {
            if !change.take_own(&mut unseen) && priority.is_some() {
                entry.reason.get_or_insert(change);
                again = again.max(priority);
            }
        }
        // Unless it was behind, this reconciliation has read the states of the earlier writes that the caches have.
        unseen.retain(|own| is_behind || !has(own) || !earlier.contains(own));
        entry.writes = unseen;
        if entry.is_idle() {
            keys.remove(key);
        }
        again
    }

    /// Forgets the writes that the caches have had since the last sweep, and whose events have not arrived, because
    /// they were merged with a deletion or do not concern the key. Returns the keys of those whose object does not
    /// exist: another client deleted it, so the key must be queued.
    pub(super) fn sweep(&self, has: impl Fn(&Own) -> bool, exists: impl Fn(&Own) -> bool) -> Vec<ObjectKey> {
        let mut again = Vec::new();
        self.keys.lock().retain(|key, entry| {
            if entry.is_running || entry.writes.is_empty() {
                return true;
            }
            let overdue = std::mem::take(&mut entry.overdue);
            let mut is_lost = false;
            entry.writes.retain(|own| {
                // An event follows its state in the cache immediately.
                let is_overdue = overdue.contains(own);
                is_lost |= is_overdue && matches!(own.write.effect, Effect::Stored { .. }) && !exists(own);
                !is_overdue
            });
            entry.overdue = entry.writes.iter().filter(|own| has(own)).cloned().collect();
            if is_lost {
                again.push(key.clone());
            }
            !entry.is_idle()
        });
        again
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.keys.lock().clear();
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.keys.lock().len()
    }
}

impl Entry {
    fn is_idle(&self) -> bool {
        !self.is_running && self.reason.is_none() && self.held.is_empty() && self.writes.is_empty()
    }
}

impl Write {
    /// Returns whether the write changed the object for certain, so that its event can be recognised.
    pub(super) fn is_conclusive(&self) -> bool {
        match &self.effect {
            Effect::Stored { base: Base::Absent, .. } => true,
            Effect::Stored { base: Base::Version(base), version } => base != version,
            _ => false,
        }
    }
}

/// The reconciliation of a key begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Begun {
    /// The change that queued the key first.
    pub(super) reason: Option<Arc<Change>>,
    /// The writes of the last reconciliation that may not be in the caches yet.
    pub(super) writes: Vec<Own>,
}
