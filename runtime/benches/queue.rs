//! The work queue: adding, taking and finishing keys.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use divan::{Bencher, black_box};
use genclient_runtime::WorkQueue;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime needs no resources")
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("namespace-{:03}/object-{number:07}", number % 100)).collect()
}

/// Adds keys, takes each and finishes it.
#[divan::bench(args = [1, 100, 10_000])]
fn add_next_done(bencher: Bencher<'_, '_>, count: usize) {
    let (runtime, queue, keys) = (runtime(), WorkQueue::new("bench"), keys(count));
    bencher.counter(count).bench_local(|| {
        runtime.block_on(async {
            for key in &keys {
                queue.add(key.clone());
            }
            for _ in 0..count {
                if let Some(item) = queue.next().await {
                    black_box(item.key());
                    item.done();
                }
            }
        });
    });
}

/// Adds keys that are queued already.
#[divan::bench]
fn add_of_a_waiting_key(bencher: Bencher<'_, '_>) {
    let (queue, keys) = (WorkQueue::new("bench"), keys(1000));
    for key in &keys {
        queue.add(key.clone());
    }
    let mut turn = 0;
    bencher.bench_local(|| {
        turn = (turn + 1) % keys.len();
        queue.add(keys[turn].clone())
    });
}

/// Adds a key for a worker that sleeps, and waits until the worker has finished it.
#[divan::bench]
fn wake_a_sleeping_worker(bencher: Bencher<'_, '_>) {
    let (runtime, queue) = (runtime(), WorkQueue::new("bench"));
    let finished = Arc::new(AtomicU64::new(0));
    runtime.spawn({
        let (queue, finished) = (queue.clone(), Arc::clone(&finished));
        async move {
            while let Some(item) = queue.next().await {
                item.done();
                finished.fetch_add(1, Relaxed);
            }
        }
    });
    let mut added = 0_u64;
    bencher.bench_local(|| {
        runtime.block_on(async {
            queue.add(added);
            added += 1;
            while finished.load(Relaxed) < added {
                tokio::task::yield_now().await;
            }
        });
    });
}
