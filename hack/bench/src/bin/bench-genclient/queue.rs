//! Keys through the work queue.

use std::{
    hash::Hash,
    sync::Arc,
    time::{Duration, Instant},
};

use genclient_bench::{
    Result,
    measure::{Run, cpu},
};
use genclient_runtime::{ObjectKey, WorkQueue};

use crate::PEER;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many keys each measure puts through the queue.
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,
    /// How many producers and how many workers contend.
    #[arg(long, default_value_t = 4)]
    tasks: usize,
}

/// So many keys are added before they are worked on, where nobody contends.
const AT_ONCE: usize = 100;

/// The delays of keys are spread over this time.
const LONGEST_DELAY: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut run = Run::new(PEER, "queue");
    runtime.block_on(async {
        run.set("100 add/get/done µs", alone(args.keys, key).await);
        run.set("100 add/get/done µs, keys that own their text", alone(args.keys, object_key).await);
        run.set("contended add/get/done ns", contended(args.keys, args.tasks).await?);
        let (late, cpu) = delayed(args.keys / 10).await?;
        run.set("delays: last key late ms", late);
        run.set("delays: CPU µs per key", cpu);
        run.print()
    })
}

/// A key that is shared, as strings are in Go.
fn key(number: usize) -> Arc<str> {
    format!("namespace-{:03}/object-{number:07}", number % 100).into()
}

/// A key that owns its name and namespace.
fn object_key(number: usize) -> ObjectKey {
    ObjectKey::namespaced(format!("namespace-{:03}", number % 100), format!("object-{number:07}"))
}

async fn alone<T: Clone + Eq + Hash + Send + Sync + 'static>(keys: usize, key: fn(usize) -> T) -> f64 {
    let queue = WorkQueue::new("alone");
    let names: Vec<_> = (0..AT_ONCE).map(key).collect();
    let rounds = keys / AT_ONCE;
    let begin = Instant::now();
    for _ in 0..rounds {
        for name in &names {
            queue.add(name.clone());
        }
        for _ in 0..AT_ONCE {
            if let Some(item) = queue.next().await {
                item.done();
            }
        }
    }
    begin.elapsed().as_secs_f64() * 1e6 / rounds as f64
}

async fn contended(keys: usize, tasks: usize) -> Result<f64> {
    let queue = WorkQueue::new("contended");
    // Every producer has keys of its own: none is added twice, so each is worked on once.
    let share = keys / tasks;
    let names: Vec<Vec<_>> =
        (0..tasks).map(|task| (task * share..(task + 1) * share).map(key).collect()).collect();
    let begin = Instant::now();
    let workers: Vec<_> = (0..tasks)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                for _ in 0..share {
                    if let Some(item) = queue.next().await {
                        item.done();
                    }
                }
            })
        })
        .collect();
    let producers: Vec<_> = names
        .into_iter()
        .map(|names| {
            let queue = queue.clone();
            tokio::spawn(async move {
                for name in names {
                    queue.add(name);
                }
            })
        })
        .collect();
    for task in producers.into_iter().chain(workers) {
        task.await?;
    }
    Ok(begin.elapsed().as_secs_f64() * 1e9 / (share * tasks) as f64)
}

async fn delayed(keys: usize) -> Result<(f64, f64)> {
    let queue = WorkQueue::new("delayed");
    let names: Vec<_> = (0..keys).map(key).collect();
    let (begin, before) = (Instant::now(), cpu());
    let worker = {
        let queue = queue.clone();
        tokio::spawn(async move {
            for _ in 0..keys {
                if let Some(item) = queue.next().await {
                    item.done();
                }
            }
        })
    };
    let mut last = Duration::ZERO;
    for (number, name) in names.into_iter().enumerate() {
        // The factor is a prime that does not divide the number of keys, so the delays are spread evenly.
        let delay = LONGEST_DELAY.mul_f64((number * 7919 % keys) as f64 / keys as f64);
        last = last.max(begin.elapsed() + delay);
        queue.add_after(name, delay);
    }
    worker.await?;
    let late = begin.elapsed().saturating_sub(last).as_secs_f64() * 1e3;
    Ok((late, (cpu() - before).as_secs_f64() * 1e6 / keys as f64))
}
