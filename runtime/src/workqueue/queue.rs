//! The queue: adding keys and taking them.

use std::{
    fmt,
    hash::BuildHasher,
    ops::ControlFlow,
    pin::pin,
    sync::{Arc, OnceLock},
};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};

use super::{
    AddOptions, Added, Builder, Item, Key, Priority, RateLimiter,
    alarm::Alarms,
    measure::Measure,
    shutdown::Stage,
    state::{Finished, Promoted, State},
};
use crate::bucket::later;

/// A handle to a queue of keys; clones share the queue. [The module](super) states the guarantees.
pub struct WorkQueue<T: Key> {
    pub(super) inner: Arc<Inner<T>>,
}

pub(super) struct Inner<T: Key> {
    pub name: Box<str>,
    hasher: DefaultHashBuilder,
    /// Called outside the lock and through the guard only.
    pub limiter: Box<dyn RateLimiter<T>>,
    measured: bool,
    /// Empty if nothing is measured, which saves reading the clock. It is filled and read under the
    /// lock, so that each change of the state is either part of the first depth or counted.
    pub measure: OnceLock<Measure>,
    pub locked: Mutex<Locked<T>>,
    /// Wakes callers of `next`, one for each queued key.
    pub ready: Notify,
    /// Wakes the alarms when an earlier delay is set or the queue ends.
    pub alarm_changed: Arc<Notify>,
    /// Wakes callers that wait for the next stage or for the last running key.
    pub closing: Notify,
}

pub(super) struct Locked<T> {
    pub state: State<T>,
    pub alarms: Alarms,
}

impl<T: Key> WorkQueue<T> {
    /// Creates a queue with the default [`ExponentialBackoff`](super::ExponentialBackoff).
    ///
    /// Its metrics carry this name, if a recorder is installed before a worker first waits for a key.
    pub fn new(name: &str) -> Self {
        Self::builder(name).build()
    }

    /// Starts the configuration of a queue. The name is the `queue` label of its metrics.
    pub fn builder(name: &str) -> Builder<T> {
        Builder::new(name)
    }

    pub(super) fn from_inner(inner: Inner<T>) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// Returns the name of the queue.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the number of queued keys. Delayed and running keys do not count.
    pub fn len(&self) -> usize {
        self.inner.locked.lock().state.len()
    }

    /// Returns whether no key is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues a key, unless it is queued already. This replaces the delay of the key.
    pub fn add(&self, key: T) -> Added<T> {
        self.inner.add_now(key, Priority::NORMAL)
    }

    /// Queues a key when `delay` has passed. Of two delays for one key the earlier one counts.
    pub fn add_after(&self, key: T, delay: Duration) -> Added<T> {
        self.add_with(key, AddOptions::new().after(delay))
    }

    /// Reports a failure of the key to the rate limiter, and queues the key when that allows it.
    pub fn add_rate_limited(&self, key: T) -> Added<T> {
        self.add_with(key, AddOptions::new().rate_limited())
    }

    /// Adds a key with options, or with just a [`Priority`].
    pub fn add_with(&self, key: T, options: impl Into<AddOptions>) -> Added<T> {
        let AddOptions { priority, mut after, rate_limited } = options.into();
        if rate_limited {
            after = after.max(self.inner.failure_delay(&key));
        }
        if after.is_zero() {
            self.inner.add_now(key, priority)
        } else {
            self.inner.add_later(key, priority, after)
        }
    }

    /// Removes the delay of a key. Returns `false` if it has none.
    pub fn cancel_delay(&self, key: &T) -> bool {
        let hash = self.inner.hasher.hash_one(key);
        self.inner.locked.lock().state.cancel_delay(hash, key)
    }

    /// Removes all queued and delayed keys. Running keys are not affected, except that they do not run once more.
    pub(crate) fn clear(&self) {
        self.inner.drain();
    }

    /// Forgets the failures of a key, so that its next failure counts as the first.
    pub fn forget(&self, key: &T) {
        self.inner.forget(key);
    }

    /// Returns the number of failures that are counted for a key.
    pub fn num_requeues(&self, key: &T) -> u32 {
        self.inner.failures(key)
    }

    /// Waits for a key. Returns `None` once the queue is shut down.
    ///
    /// This is cancel safe: dropping the future loses no key.
    pub async fn next(&self) -> Option<Item<T>> {
        // A worker that always finds a key must still let other tasks run.
        tokio::task::coop::consume_budget().await;
        loop {
            if let ControlFlow::Break(next) = self.take() {
                return next;
            }
            // From here on each new key wakes a caller, so the second look misses none.
            let mut woken = pin!(self.inner.ready.notified());
            woken.as_mut().enable();
            self.inner.set_alarm(&mut self.inner.locked.lock());
            if let ControlFlow::Break(next) = self.take() {
                return next;
            }
            woken.await;
        }
    }

    /// Breaks with a key, or with `None` if the queue is shut down.
    fn take(&self) -> ControlFlow<Option<Item<T>>> {
        let inner = &self.inner;
        let mut locked = inner.locked.lock();
        if !locked.alarms.are_set() {
            inner.set_alarm(&mut locked);
        }
        let mut now = inner.now();
        let mut promoted = Promoted::default();
        if locked.state.has_delays() {
            promoted = locked.state.promote(*now.get_or_insert_with(Instant::now));
        }
        let taken = locked.state.take(now);
        let (is_open, measure) = (locked.state.stage() == Stage::Open, inner.measure.get());
        drop(locked);
        inner.announce(promoted, measure);
        match taken {
            None if is_open => ControlFlow::Continue(()),
            None => ControlFlow::Break(None),
            Some(taken) => {
                if let Some(measure) = measure {
                    measure.taken(taken.waited);
                }
                ControlFlow::Break(Some(Item::new(self.clone(), taken)))
            }
        }
    }
}

impl<T: Key> Inner<T> {
    pub fn new(name: Box<str>, limiter: Box<dyn RateLimiter<T>>, measured: bool) -> Self {
        let locked = Locked { state: State::new(), alarms: Alarms::default() };
        let inner = Self {
            name,
            hasher: DefaultHashBuilder::default(),
            limiter,
            measured,
            measure: OnceLock::new(),
            locked: Mutex::new(locked),
            ready: Notify::new(),
            alarm_changed: Arc::default(),
            closing: Notify::new(),
        };
        inner.find_recorder(&inner.locked.lock());
        inner
    }

    /// Looks for a metrics recorder, if none was found before.
    pub fn find_recorder(&self, locked: &Locked<T>) {
        if self.measured
            && self.measure.get().is_none()
            && let Some(measure) = Measure::new(&self.name, locked.state.depth())
        {
            // It is set under the lock only, and was empty.
            let _ = self.measure.set(measure);
        }
    }

    /// Returns the time if the queue is measured.
    pub fn now(&self) -> Option<Instant> {
        self.measure.get().map(|_| Instant::now())
    }

    fn add_now(&self, key: T, priority: Priority) -> Added<T> {
        let (hash, now) = (self.hasher.hash_one(&key), self.now());
        let mut locked = self.locked.lock();
        let added = locked.state.add(hash, key, priority, now);
        let measure = self.measure.get();
        drop(locked);
        if added == Added::Queued {
            self.ready.notify_one();
        }
        if let (Added::Queued | Added::Rerun, Some(measure)) = (&added, measure) {
            measure.added(1);
        }
        added
    }

    fn add_later(&self, key: T, priority: Priority, delay: Duration) -> Added<T> {
        let (hash, at) = (self.hasher.hash_one(&key), later(Instant::now(), delay));
        let (added, is_first) = self.locked.lock().state.delay(hash, key, priority, at);
        if is_first {
            self.alarm_changed.notify_waiters();
        }
        added
    }

    /// Ends the work on a key, which runs again after the delay if there is one.
    pub fn finish(&self, slot: usize, retry: Option<(Priority, Duration)>) {
        let now = self.now();
        let retry = retry.map(|(priority, delay)| (priority, later(Instant::now(), delay)));
        let mut locked = self.locked.lock();
        let Finished { worked, requeued, first_delay, removed } = locked.state.finish(slot, retry, now);
        let drained = locked.state.stage() != Stage::Open && locked.state.running() == 0;
        drop(locked);
        drop(removed);
        if requeued {
            self.ready.notify_one();
        }
        if first_delay {
            self.alarm_changed.notify_waiters();
        }
        if drained {
            self.closing.notify_waiters();
        }
        if let (Some(worked), Some(measure)) = (worked, self.measure.get()) {
            measure.worked.record(worked);
        }
    }

    /// Counts the keys whose delays ended, and wakes a caller of `next` for each queued one.
    pub fn announce(&self, promoted: Promoted, measure: Option<&Measure>) {
        for _ in 0..promoted.ready {
            self.ready.notify_one();
        }
        if let (1.., Some(measure)) = (promoted.added, measure) {
            measure.added(promoted.added);
        }
    }
}

impl<T: Key> Drop for Inner<T> {
    fn drop(&mut self) {
        self.alarm_changed.notify_waiters();
    }
}

impl<T: Key> Clone for WorkQueue<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T: Key> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").field("name", &self.inner.name).finish_non_exhaustive()
    }
}
