//! One queue's metrics: handles that are looked up once, when the queue is built.

use std::cell::Cell;

use metrics::{Counter, Gauge, Histogram, IntoF64, counter, gauge, histogram};
use tokio::time::Duration;

use crate::metrics as names;

/// Where a queue counts. All handles are commutative, so they are used outside the queue's lock.
pub(super) struct Measure {
    pub depth: Gauge,
    pub adds: Counter,
    pub waited: Histogram,
    pub worked: Histogram,
    pub unfinished: Gauge,
    pub longest: Gauge,
    pub retries: Counter,
    pub panics: Counter,
}

impl Measure {
    /// The queue's handles, or `None` where no recorder listens: then even the clock need not be read.
    pub fn new(queue: &str) -> Option<Self> {
        let labels = [("queue", queue.to_owned())];
        let depth = gauge!(names::WORKQUEUE_DEPTH, &labels);
        is_heard(&depth).then(|| Self {
            depth,
            adds: counter!(names::WORKQUEUE_ADDS, &labels),
            waited: histogram!(names::WORKQUEUE_QUEUE_DURATION, &labels),
            worked: histogram!(names::WORKQUEUE_WORK_DURATION, &labels),
            unfinished: gauge!(names::WORKQUEUE_UNFINISHED, &labels),
            longest: gauge!(names::WORKQUEUE_LONGEST_RUNNING, &labels),
            retries: counter!(names::WORKQUEUE_RETRIES, &labels),
            panics: counter!(names::WORKQUEUE_PANICS, &labels),
        })
    }

    /// Keys began to wait.
    pub fn added(&self, keys: usize) {
        self.adds.increment(keys as u64);
        self.depth.increment(keys as f64);
    }

    /// A key was handed to a worker.
    pub fn taken(&self, waited: Option<Duration>) {
        self.depth.decrement(1.0);
        if let Some(waited) = waited {
            self.waited.record(waited);
        }
    }

    /// Keys were handed back without having run.
    pub fn handed_back(&self, keys: usize) {
        self.depth.decrement(keys as f64);
    }

    /// The work on a key ended.
    pub fn finished(&self, worked: Option<Duration>) {
        if let Some(worked) = worked {
            self.worked.record(worked);
        }
    }

    /// How the work in progress stands.
    pub fn in_progress(&self, sum: Duration, longest: Duration) {
        self.unfinished.set(sum.as_secs_f64());
        self.longest.set(longest.as_secs_f64());
    }
}

/// Whether somebody stands behind a handle. Only then does it ask for the number that it is given.
fn is_heard(gauge: &Gauge) -> bool {
    struct Zero<'a>(&'a Cell<bool>);
    impl IntoF64 for Zero<'_> {
        fn into_f64(self) -> f64 {
            self.0.set(true);
            0.0
        }
    }
    let asked = Cell::new(false);
    gauge.increment(Zero(&asked));
    asked.get()
}
