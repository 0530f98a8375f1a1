//! The metrics of a queue.

use std::cell::Cell;

use metrics::{Counter, Gauge, Histogram, IntoF64, counter, gauge, histogram};
use tokio::time::Duration;

use crate::metrics as names;

/// The handles of a queue's metrics. All updates commute, so no lock is needed.
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
    /// Registers the metrics of a queue that holds `depth` keys, or returns `None` if no recorder is
    /// installed.
    pub fn new(queue: &str, depth: usize) -> Option<Self> {
        let labels = [("queue", queue.to_owned())];
        let gauge = gauge!(names::WORKQUEUE_DEPTH, &labels);
        is_recorded(&gauge).then(|| {
            gauge.increment(depth as f64);
            Self {
                depth: gauge,
                adds: counter!(names::WORKQUEUE_ADDS, &labels),
                waited: histogram!(names::WORKQUEUE_QUEUE_DURATION, &labels),
                worked: histogram!(names::WORKQUEUE_WORK_DURATION, &labels),
                unfinished: gauge!(names::WORKQUEUE_UNFINISHED, &labels),
                longest: gauge!(names::WORKQUEUE_LONGEST_RUNNING, &labels),
                retries: counter!(names::WORKQUEUE_RETRIES, &labels),
                panics: counter!(names::WORKQUEUE_PANICS, &labels),
            }
        })
    }

    /// Counts keys that were added.
    pub fn added(&self, keys: usize) {
        self.adds.increment(keys as u64);
        self.depth.increment(keys as f64);
    }

    /// Counts a key that a worker took.
    pub fn taken(&self, waited: Option<Duration>) {
        self.depth.decrement(1.0);
        if let Some(waited) = waited {
            self.waited.record(waited);
        }
    }

    /// Counts keys that a shutdown removed.
    pub fn drained(&self, keys: usize) {
        self.depth.decrement(keys as f64);
    }

    /// Updates the gauges of running keys.
    pub fn in_progress(&self, sum: Duration, longest: Duration) {
        self.unfinished.set(sum.as_secs_f64());
        self.longest.set(longest.as_secs_f64());
    }
}

/// Returns whether a gauge has a recorder: only then does it convert its argument.
fn is_recorded(gauge: &Gauge) -> bool {
    struct Zero<'a>(&'a Cell<bool>);
    impl IntoF64 for Zero<'_> {
        fn into_f64(self) -> f64 {
            self.0.set(true);
            0.0
        }
    }
    let converted = Cell::new(false);
    gauge.increment(Zero(&converted));
    converted.get()
}
