//! The guarantees of the queue, one sentence each.

mod delays;
mod failures;
mod metrics;
#[path = "../../src/metrics/test_recorder.rs"]
mod metrics_recorder;
mod model;
mod order;
mod retries;
mod run;
mod runtimes;
mod shutdown;

use futures::FutureExt;
use genclient_runtime::workqueue::*;
use tokio::{
    runtime::{Builder as RuntimeBuilder, Runtime},
    time::{Duration, Instant},
};

const MS: Duration = Duration::from_millis(1);

fn queue() -> WorkQueue<u32> {
    WorkQueue::new("test")
}

/// A queue whose delays after failures have no random part: 5 ms, 10 ms, 20 ms …
fn exact_queue() -> WorkQueue<u32> {
    WorkQueue::builder("test").rate_limiter(exact_backoff()).build()
}

fn exact_backoff<T>() -> ExponentialBackoff<T> {
    ExponentialBackoff::default().jitter(0.0)
}

/// The unfinished, the queued and the delayed keys of a report.
fn left<T>(report: Shutdown<T>) -> [Vec<T>; 3] {
    [report.unfinished, report.queued, report.delayed]
}

/// A runtime with one thread and a running clock.
fn runtime() -> Runtime {
    RuntimeBuilder::new_current_thread().enable_time().build().unwrap()
}

/// Takes the next key without waiting.
fn take<T: Key>(queue: &WorkQueue<T>) -> Option<Item<T>> {
    tokio::task::coop::unconstrained(queue.next()).now_or_never().flatten()
}

/// Takes and finishes the next queued key.
fn take_key(queue: &WorkQueue<u32>) -> Option<u32> {
    let item = take(queue)?;
    let key = *item.key();
    item.done();
    Some(key)
}

/// Takes and finishes all queued keys, in order.
fn drain(queue: &WorkQueue<u32>) -> Vec<u32> {
    std::iter::from_fn(|| take_key(queue)).collect()
}
