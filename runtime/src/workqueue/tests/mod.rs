//! The guarantees of the queue, one sentence each.

mod delays;
mod metrics;
mod model;
mod order;
mod retries;
mod run;
mod runtimes;
mod shutdown;

use futures::FutureExt;
use tokio::time::{Duration, Instant};

use super::*;

const MS: Duration = Duration::from_millis(1);

fn queue() -> WorkQueue<u32> {
    WorkQueue::new("test")
}

/// Takes the next key without waiting.
fn take<T: Key>(queue: &WorkQueue<T>) -> Option<Item<T>> {
    tokio::task::coop::unconstrained(queue.next()).now_or_never().flatten()
}

/// Takes and finishes all queued keys, in order.
fn drain(queue: &WorkQueue<u32>) -> Vec<u32> {
    std::iter::from_fn(|| {
        let item = take(queue)?;
        let key = *item.key();
        item.done();
        Some(key)
    })
    .collect()
}
