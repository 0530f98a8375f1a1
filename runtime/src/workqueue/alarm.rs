//! The tasks that end delays and keep the gauges up to date.
//!
//! Each runtime in which a caller of `next` waits has one task, the runtime's alarm. So a delay ends as
//! long as one of these runtimes runs, and callers need no timers. All alarms wake at the end of the
//! first delay, and the first one to run queues the keys.

use std::sync::{Arc, Weak};

use tokio::{
    runtime::{self, Handle},
    sync::Notify,
    task::JoinHandle,
    time::{Duration, Instant, sleep_until},
};

use super::{
    Key,
    queue::{Inner, Locked},
    shutdown::Stage,
};
use crate::bucket::later;

/// How often the gauges of running keys are updated.
const GAUGE_INTERVAL: Duration = Duration::from_millis(500);

/// The alarms of a queue. A task ends with its runtime.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    tasks: Vec<(runtime::Id, JoinHandle<()>)>,
}

impl Alarms {
    /// Returns whether the first alarm still runs.
    #[inline]
    pub fn are_set(&self) -> bool {
        self.tasks.first().is_some_and(|(_, task)| !task.is_finished())
    }
}

impl<T: Key> Inner<T> {
    /// Starts the alarm of the current runtime, unless it runs already.
    pub fn set_alarm(self: &Arc<Self>, locked: &mut Locked<T>) {
        let Ok(runtime) = Handle::try_current() else { return };
        let tasks = &mut locked.alarms.tasks;
        tasks.retain(|(_, task)| !task.is_finished());
        if tasks.iter().all(|&(id, _)| id != runtime.id()) {
            // A runtime that is shutting down drops the future here, under the lock, so the future
            // must own nothing that takes the lock when it is dropped.
            let task = runtime.spawn(alarm(Arc::downgrade(self), Arc::clone(&self.alarm_changed)));
            tasks.push((runtime.id(), task));
            self.find_recorder(locked);
        }
    }

    /// Queues the keys whose delays have ended. Returns when to look again, or `None` if the queue
    /// has ended.
    fn tick(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut locked = self.locked.lock();
        if locked.state.stage() == Stage::Ended {
            return None;
        }
        let promoted = locked.state.promote(now);
        // A draining queue keeps its delayed keys for the report.
        let next = locked.state.first_delay().filter(|_| locked.state.stage() == Stage::Open);
        let measure = self.measure.get().map(|measure| (measure, locked.state.work_in_progress(now)));
        drop(locked);
        self.announce(promoted, measure.map(|(measure, _)| measure));
        let idle = if let Some((measure, (sum, longest))) = measure {
            measure.in_progress(sum, longest);
            GAUGE_INTERVAL
        } else {
            Duration::MAX
        };
        let idle = later(now, idle);
        Some(next.map_or(idle, |next| next.min(idle)))
    }
}

/// Has no strong reference while it sleeps, so that the last handle drops the queue.
async fn alarm<T: Key>(inner: Weak<Inner<T>>, changed: Arc<Notify>) {
    loop {
        // Created before `tick`, so that no later change is missed.
        let changed = changed.notified();
        let Some(next) = inner.upgrade().and_then(|inner| inner.tick()) else { return };
        tokio::select! {
            () = changed => {}
            () = sleep_until(next) => {}
        }
    }
}
