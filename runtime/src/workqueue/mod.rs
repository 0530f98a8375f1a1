//! The work queue: keys that wait for a worker.
//!
//! # Contracts
//! - **Stingy.** A key that is added many times before a worker takes it runs once.
//! - **Never twice at once.** While one worker holds a key, no other is given the same key. A key
//!   that is added meanwhile runs exactly once more, after the holder's verdict.
//! - **Fair.** Keys of one priority are handed out in the order in which they came. A key whose
//!   delay ends comes at that moment.
//! - **Priorities do not starve.** The highest [`Priority`] goes first, but the key that has waited
//!   longest is overtaken at most seven times in a row. A key with `n` older ones before it is
//!   therefore handed out within `8 × (n + 1)` takes, whatever is added. Adding a waiting key with
//!   a higher priority raises it, to the end of the keys of that priority; nothing lowers it.
//! - **Delays.** Of two delays for one key the earlier wins. An [`add`](WorkQueue::add) supersedes
//!   the key's delay: it runs now, and that run decides anew. For the same reason the delay of a
//!   verdict (a retry, a requeue) gives way when the key was added while it was worked on. A delay
//!   that is asked for while the key waits or is worked on counts beside that.
//! - **Backoff.** [`Item::retry`] and [`add_rate_limited`](WorkQueue::add_rate_limited) ask the
//!   [`RateLimiter`] for the delay; success forgets the failures.
//! - **No work is lost silently.** An [`Item`] that is dropped without a verdict is retried. After
//!   a shutdown an added key comes back to the caller, and [`shutdown`](WorkQueue::shutdown) gives
//!   back every key that was queued, delayed or not finished in time.
//! - **Bounded.** A queue holds each key once, so it is as large as the set of keys, whatever the
//!   rate of adds. Nothing here blocks a thread: only `next`, `run` and `shutdown` wait, and they
//!   are async.
//!
//! The clock is tokio's, so a test can pause it. `next` and `run` must be awaited inside a tokio
//! runtime, where the queue keeps one small task that ends delays; everything else can be called
//! from anywhere.
//!
//! ```
//! # use genclient_runtime::{Action, WorkQueue};
//! # use tokio::time::Duration;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let queue = WorkQueue::new("networks");
//! queue.add("default/example-network".to_owned());
//!
//! let workers = queue.clone();
//! let running = tokio::spawn(async move {
//!     workers
//!         .run(2, |key: String| async move {
//!             println!("reconciling {key}");
//!             Ok::<_, std::io::Error>(Action::requeue(Duration::from_secs(300)))
//!         })
//!         .await
//! });
//!
//! # tokio::task::yield_now().await;
//! let left = queue.shutdown(Duration::from_secs(5)).await;
//! assert!(left.unfinished.is_empty());
//! running.await.unwrap();
//! # }
//! ```

mod item;
mod measure;
#[cfg(test)]
mod model_tests;
mod rate_limit;
mod ready;
mod run;
mod state;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    hash::{BuildHasher, Hash},
    ops::ControlFlow,
    pin::pin,
    sync::{Arc, Weak},
};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::Notify,
    task::JoinHandle,
    time::{Duration, Instant, sleep_until, timeout},
};

pub use self::{
    item::Item,
    rate_limit::{DefaultRateLimiter, ExponentialBackoff, MaxOf, RateLimiter, TokenBucket},
    ready::Priority,
    run::Action,
    state::{Added, Shutdown},
};
use self::{
    measure::Measure,
    state::{Finished, Life, Promoted, State},
};

/// How often the gauges of the work in progress are brought up to date.
const GAUGE_INTERVAL: Duration = Duration::from_millis(500);

/// What can be queued. Every type with these properties can, and nothing else is needed of it.
///
/// A key is cloned when a worker takes it: where speed matters, a key is a number or an `Arc`.
pub trait Key: Clone + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Key for T {}

/// A handle to a queue of keys; clones share the queue. [The module](self) states the contracts.
pub struct WorkQueue<T: Key> {
    inner: Arc<Inner<T>>,
}

struct Inner<T: Key> {
    name: Box<str>,
    hasher: DefaultHashBuilder,
    limiter: Box<dyn RateLimiter<T>>,
    /// `None` where nothing is measured, which saves reading the clock.
    measure: Option<Measure>,
    locked: Mutex<Locked<T>>,
    /// Wakes callers of `next`; rung only while somebody sleeps.
    ready: Notify,
    /// Tells the alarm task that an earlier delay was set or that the queue has ended.
    alarm_changed: Arc<Notify>,
    /// Wakes those who wait for the queue's life to move on or for the last running key.
    closing: Notify,
}

struct Locked<T> {
    state: State<T>,
    /// How many callers of `next` sleep.
    sleepers: usize,
    /// How many of them were woken and have not noticed it yet.
    woken: usize,
    /// The task that ends delays. It belongs to one runtime, which can end before the queue.
    alarm: Option<JoinHandle<()>>,
}

/// Sets a queue up.
pub struct Builder<T: Key> {
    name: Box<str>,
    limiter: Box<dyn RateLimiter<T>>,
    measured: bool,
}

impl<T: Key> Builder<T> {
    /// Uses this limiter instead of [`DefaultRateLimiter`].
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Measures nothing, even where a metrics recorder is installed. The queue then reads the clock for
    /// delays only.
    pub fn without_metrics(mut self) -> Self {
        self.measured = false;
        self
    }

    /// The queue.
    pub fn build(self) -> WorkQueue<T> {
        let measure = self.measured.then(|| Measure::new(&self.name)).flatten();
        WorkQueue {
            inner: Arc::new(Inner {
                name: self.name,
                hasher: DefaultHashBuilder::default(),
                limiter: self.limiter,
                measure,
                locked: Mutex::new(Locked { state: State::new(), sleepers: 0, woken: 0, alarm: None }),
                ready: Notify::new(),
                alarm_changed: Arc::default(),
                closing: Notify::new(),
            }),
        }
    }
}

impl<T: Key> WorkQueue<T> {
    /// A queue with [`DefaultRateLimiter`], measured under this name if a metrics recorder is installed.
    pub fn new(name: &str) -> Self {
        Self::builder(name).build()
    }

    /// Begins a queue of this name. The name is the `queue` label of its metrics.
    pub fn builder(name: &str) -> Builder<T> {
        let limiter = Box::new(DefaultRateLimiter::<T>::default());
        Builder { name: name.into(), limiter, measured: true }
    }

    /// The queue's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// How many keys wait for a worker; delayed keys and those in work are not counted.
    pub fn len(&self) -> usize {
        self.inner.locked.lock().state.len()
    }

    /// Whether no key waits for a worker.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues a key, unless it waits already. It supersedes the key's delay.
    pub fn add(&self, key: T) -> Added<T> {
        self.add_with_priority(key, Priority::NORMAL)
    }

    /// Queues a key with a priority, or raises it to that priority if it waits already.
    pub fn add_with_priority(&self, key: T, priority: Priority) -> Added<T> {
        let inner = &*self.inner;
        let (hash, now) = (inner.hasher.hash_one(&key), inner.now());
        let mut locked = inner.locked.lock();
        let added = locked.state.add(hash, key, priority, now);
        let wake = added == Added::Queued && locked.wake(1) > 0;
        drop(locked);
        if wake {
            inner.ready.notify_one();
        }
        if let (Added::Queued | Added::Rerun, Some(measure)) = (&added, &inner.measure) {
            measure.added(1);
        }
        added
    }

    /// Queues a key when `delay` has passed. Of two delays for one key the earlier wins.
    pub fn add_after(&self, key: T, delay: Duration) -> Added<T> {
        if delay.is_zero() {
            return self.add(key);
        }
        let inner = &*self.inner;
        let (hash, at) = (inner.hasher.hash_one(&key), later(Instant::now(), delay));
        let (added, new_alarm) = inner.locked.lock().state.delay(hash, key, Priority::NORMAL, at);
        if new_alarm {
            inner.alarm_changed.notify_one();
        }
        added
    }

    /// Queues a key again when the rate limiter allows it, and counts a failure of the key.
    pub fn add_rate_limited(&self, key: T) -> Added<T> {
        let delay = self.inner.put_off(&key);
        self.add_after(key, delay)
    }

    /// Takes a key's delay away. `false` if it had none.
    pub fn cancel_delay(&self, key: &T) -> bool {
        let hash = self.inner.hasher.hash_one(key);
        self.inner.locked.lock().state.cancel_delay(hash, key)
    }

    /// Forgets the key's failures: its next one is its first.
    pub fn forget(&self, key: &T) {
        self.inner.limiter.forget(key);
    }

    /// How many failures of the key are counted.
    pub fn num_requeues(&self, key: &T) -> u32 {
        self.inner.limiter.num_requeues(key)
    }

    /// Waits for a key to work on. `None` says that the queue is shut down.
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&self) -> Option<Item<T>> {
        // A worker whose work never waits must still let other tasks run.
        tokio::task::coop::consume_budget().await;
        loop {
            if let ControlFlow::Break(next) = self.take(|_| ()) {
                return next;
            }
            let mut woken = pin!(self.inner.ready.notified());
            let asleep = self.take(|locked| {
                woken.as_mut().enable();
                locked.sleepers += 1;
                Sleeper(&self.inner)
            });
            match asleep {
                ControlFlow::Break(next) => return next,
                ControlFlow::Continue(sleeper) => {
                    woken.await;
                    drop(sleeper);
                }
            }
        }
    }

    /// Takes a key, or learns that there will be none; where there is none now, goes on with
    /// `otherwise` before another key can come.
    fn take<R>(&self, otherwise: impl FnOnce(&mut Locked<T>) -> R) -> ControlFlow<Option<Item<T>>, R> {
        let inner = &*self.inner;
        let mut locked = inner.locked.lock();
        if locked.alarm.as_ref().is_none_or(JoinHandle::is_finished) {
            locked.alarm = inner.set_alarm(Arc::downgrade(&self.inner));
        }
        let mut now = inner.now();
        let mut promoted = Promoted::default();
        if locked.state.has_delays() {
            promoted = locked.state.promote(*now.get_or_insert_with(Instant::now));
        }
        let taken = locked.state.take(now);
        if taken.is_none() && locked.state.life() == Life::Open {
            return ControlFlow::Continue(otherwise(&mut locked));
        }
        let others = locked.wake(promoted.ready);
        drop(locked);
        inner.announce(promoted, others);
        ControlFlow::Break(taken.map(|taken| {
            if let Some(measure) = &inner.measure {
                measure.taken(taken.waited);
            }
            Item::new(self.clone(), taken)
        }))
    }

    /// Ends the queue, and waits until the keys that are worked on are finished or `deadline` has passed.
    ///
    /// From the moment of the call added keys are refused, and `next` gives `None`. What waited is
    /// given back. Dropping the future leaves the queue closed and its keys in it; another call of
    /// `shutdown` gives them back.
    pub async fn shutdown(&self, deadline: Duration) -> Shutdown<T> {
        let inner = &*self.inner;
        inner.close(Life::Draining);
        let drained = inner.until(|state| state.running() == 0 || state.life() == Life::Ended);
        // Whether the work ended or the deadline came first shows in the report.
        let _ = timeout(deadline, drained).await;
        self.shutdown_now()
    }

    /// Ends the queue without waiting; also ends a [`shutdown`](Self::shutdown) that still waits.
    ///
    /// Each queued and delayed key is given back once, to whoever asks first.
    pub fn shutdown_now(&self) -> Shutdown<T> {
        let inner = &*self.inner;
        inner.close(Life::Ended);
        let mut locked = inner.locked.lock();
        let depth = locked.state.depth();
        let report = locked.state.hand_back();
        drop(locked);
        if let Some(measure) = &inner.measure {
            measure.handed_back(depth);
        }
        report
    }

    /// Waits until the queue is ended, by force or at a shutdown's deadline.
    async fn ended(&self) {
        self.inner.until(|state| state.life() == Life::Ended).await;
    }

    fn count_panic(&self) {
        if let Some(measure) = &self.inner.measure {
            measure.panics.increment(1);
        }
    }
}

impl<T> Locked<T> {
    /// How many sleepers are to be woken for so many keys: none that was woken already and will look
    /// for a key anyway.
    fn wake(&mut self, keys: usize) -> usize {
        let woken = keys.min(self.sleepers.saturating_sub(self.woken));
        self.woken += woken;
        woken
    }
}

impl<T: Key> Inner<T> {
    /// The time, where it is measured.
    fn now(&self) -> Option<Instant> {
        self.measure.as_ref().map(|_| Instant::now())
    }

    /// Asks the limiter for how long a failed key must wait.
    fn put_off(&self, key: &T) -> Duration {
        if let Some(measure) = &self.measure {
            measure.retries.increment(1);
        }
        self.limiter.when(key)
    }

    /// Ends the work on a key, which runs again after the delay if there is one.
    fn finish(&self, slot: usize, retry: Option<(Priority, Duration)>) {
        let now = self.now();
        let retry = retry.map(|(priority, delay)| (priority, later(Instant::now(), delay)));
        let mut locked = self.locked.lock();
        let Finished { worked, requeued, new_alarm } = locked.state.finish(slot, retry, now);
        let wake = requeued && locked.wake(1) > 0;
        let drained = locked.state.life() != Life::Open && locked.state.running() == 0;
        drop(locked);
        if wake {
            self.ready.notify_one();
        }
        if new_alarm {
            self.alarm_changed.notify_one();
        }
        if drained {
            self.closing.notify_waiters();
        }
        if let Some(measure) = &self.measure {
            measure.finished(worked);
        }
    }

    /// Moves the queue's life on; it never goes back.
    fn close(&self, to: Life) {
        self.locked.lock().state.close(to);
        self.ready.notify_waiters();
        self.closing.notify_waiters();
        self.alarm_changed.notify_one();
    }

    /// Waits until the state is as wanted; looked at whenever `closing` is rung.
    async fn until(&self, reached: impl Fn(&State<T>) -> bool) {
        loop {
            let mut rung = pin!(self.closing.notified());
            rung.as_mut().enable();
            if reached(&self.locked.lock().state) {
                return;
            }
            rung.await;
        }
    }

    /// Counts keys whose delay is over, and wakes as many sleepers.
    fn announce(&self, promoted: Promoted, sleepers: usize) {
        for _ in 0..sleepers {
            self.ready.notify_one();
        }
        if let (1.., Some(measure)) = (promoted.added, &self.measure) {
            measure.added(promoted.added);
        }
    }

    /// Starts the task that ends delays and keeps the gauges, where there is a runtime.
    fn set_alarm(&self, inner: Weak<Self>) -> Option<JoinHandle<()>> {
        let changed = Arc::clone(&self.alarm_changed);
        let task = async move {
            // The task holds the queue only while it looks at it, so that a forgotten queue goes away.
            while let Some(wake_at) = inner.upgrade().and_then(|inner| inner.tick()) {
                tokio::select! {
                    () = changed.notified() => {}
                    () = sleep_until(wake_at) => {}
                }
            }
        };
        Handle::try_current().ok().map(|runtime| runtime.spawn(task))
    }

    /// Ends what delays are over, and says when to look again, or `None` if the queue has ended.
    fn tick(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut locked = self.locked.lock();
        if locked.state.life() == Life::Ended {
            return None;
        }
        let promoted = locked.state.promote(now);
        let sleepers = locked.wake(promoted.ready);
        let (sum, longest) = locked.state.work_in_progress(now);
        // A draining queue keeps its delayed keys for the report.
        let alarm = locked.state.alarm().filter(|_| locked.state.life() == Life::Open);
        drop(locked);
        self.announce(promoted, sleepers);
        let Some(measure) = &self.measure else {
            return Some(alarm.unwrap_or_else(|| later(now, Duration::MAX)));
        };
        measure.in_progress(sum, longest);
        let gauges = later(now, GAUGE_INTERVAL);
        Some(alarm.map_or(gauges, |alarm| alarm.min(gauges)))
    }
}

impl<T: Key> Drop for Inner<T> {
    fn drop(&mut self) {
        self.alarm_changed.notify_one();
    }
}

/// Counts a caller of `next` that sleeps, until it wakes or is dropped.
struct Sleeper<'a, T: Key>(&'a Inner<T>);

impl<T: Key> Drop for Sleeper<'_, T> {
    fn drop(&mut self) {
        let mut locked = self.0.locked.lock();
        locked.sleepers -= 1;
        locked.woken = locked.woken.saturating_sub(1);
    }
}

/// `start + delay`, or the far future where no clock reaches that.
fn later(start: Instant, delay: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    start + delay.min(FAR)
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

impl<T: Key> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("name", &self.name).finish_non_exhaustive()
    }
}
