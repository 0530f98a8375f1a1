//! A metrics recorder for tests.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use parking_lot::Mutex;

/// Keeps every value; metrics are named as Prometheus prints them, `name{label="value"}`.
#[derive(Clone, Default)]
pub(crate) struct TestRecorder {
    counters: Values<AtomicU64>,
    gauges: Values<AtomicU64>,
    histograms: Values<Samples>,
}

type Values<V> = Arc<Mutex<BTreeMap<String, Arc<V>>>>;

#[derive(Default)]
struct Samples(Mutex<Vec<f64>>);

impl HistogramFn for Samples {
    fn record(&self, value: f64) {
        self.0.lock().push(value);
    }
}

impl TestRecorder {
    /// Runs `build` with this recorder in place of the global one.
    pub fn observe<R>(&self, build: impl FnOnce() -> R) -> R {
        metrics::with_local_recorder(self, build)
    }

    /// The value of a counter, or 0 if it was not registered.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.lock().get(name).map_or(0, |value| value.load(SeqCst))
    }

    /// The value of a gauge, or NaN if it was not registered.
    pub fn gauge(&self, name: &str) -> f64 {
        self.gauges.lock().get(name).map_or(f64::NAN, |value| f64::from_bits(value.load(SeqCst)))
    }

    /// All samples of a histogram.
    pub fn samples(&self, name: &str) -> Vec<f64> {
        self.histograms.lock().get(name).map(|samples| samples.0.lock().clone()).unwrap_or_default()
    }

    /// Whether nothing was registered.
    pub fn is_empty(&self) -> bool {
        self.counters.lock().is_empty() && self.gauges.lock().is_empty() && self.histograms.lock().is_empty()
    }
}

fn entry<V: Default>(values: &Values<V>, key: &Key) -> Arc<V> {
    let labels: Vec<_> = key.labels().map(|label| format!("{}={:?}", label.key(), label.value())).collect();
    let name = format!("{}{{{}}}", key.name(), labels.join(","));
    Arc::clone(values.lock().entry(name).or_default())
}

impl Recorder for TestRecorder {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(entry(&self.counters, key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(entry(&self.gauges, key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(entry(&self.histograms, key))
    }
}
