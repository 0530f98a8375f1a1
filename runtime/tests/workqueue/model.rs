//! The queue against a simple model, and under real concurrency.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
};

use genclient_tally::Tally;
use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};
use tokio::time::advance;

use crate::*;

/// Few keys, so that the steps are often about the same key.
const KEYS: u8 = 6;

#[derive(Clone, Debug)]
enum Step {
    Add(u8, Priority),
    AddAfter(u8, Priority, u64),
    Cancel(u8),
    Next,
    /// Ends the work on the nth held item.
    Done(usize),
    RequeueAfter(usize, u64),
    Retry(usize),
    Drop(usize),
    Advance(u64),
    Shutdown,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..KEYS;
    let priority = || select(vec![Priority::LOW, Priority::NORMAL, Priority::HIGH]);
    let held = || 0..4_usize;
    // A queue that is shut down refuses everything, so most sequences do not shut it down.
    prop_oneof![
        40 => (key(), priority()).prop_map(|(key, priority)| Step::Add(key, priority)),
        20 => (key(), priority(), 0..40_u64).prop_map(|(key, priority, ms)| Step::AddAfter(key, priority, ms)),
        10 => key().prop_map(Step::Cancel),
        60 => Just(Step::Next),
        25 => held().prop_map(Step::Done),
        10 => (held(), 1..40_u64).prop_map(|(held, ms)| Step::RequeueAfter(held, ms)),
        10 => held().prop_map(Step::Retry),
        5 => held().prop_map(Step::Drop),
        30 => (1..30_u64).prop_map(Step::Advance),
        1 => Just(Step::Shutdown),
    ]
}

/// A step of a sequence in which one key of low priority waits behind all others.
fn contested() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Add(0, Priority::LOW)),
        6 => (1..KEYS).prop_map(|key| Step::Add(key, Priority::HIGH)),
        4 => Just(Step::Next),
        3 => Just(Step::Done(0)),
        1 => step(),
    ]
}

/// Keys that fail again and again, and are added during their backoff.
fn failing() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..2u8).prop_map(|key| Step::Add(key, Priority::NORMAL)),
        2 => Just(Step::Next),
        2 => Just(Step::Retry(0)),
        1 => (1..4u64).prop_map(Step::Advance),
    ]
}

fn sequence() -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![3 => vec(step(), 1..120), 1 => vec(contested(), 1..120), 1 => vec(failing(), 1..60)]
}

/// The behaviour of the queue, in lists that are searched from end to end.
#[derive(Default)]
struct Model {
    /// Key, priority and the number of its entry, in the order of the numbers.
    waiting: Vec<(u8, Priority, u64)>,
    /// Key, its priority, and the priority of a rerun.
    running: Vec<(u8, Priority, Option<Priority>)>,
    /// When it ends in ms, the number of its setting, key, priority.
    delays: Vec<(u64, u64, u8, Priority)>,
    /// The number of failures of each key, and the end of its backoff.
    failures: BTreeMap<u8, (u32, u64)>,
    now: u64,
    count: u64,
    /// How many delays have ended.
    ended: usize,
    overtakes: u32,
    /// The first `next` starts the task that ends delays.
    has_alarm: bool,
    closed: bool,
}

impl Model {
    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn enqueue(&mut self, key: u8, priority: Priority) -> Added<u8> {
        let delayed = self.delays.iter().find(|delay| delay.2 == key).map(|delay| delay.3);
        let priority = delayed.map_or(priority, |delayed| priority.max(delayed));
        self.delays.retain(|delay| delay.2 != key);
        if let Some((.., again)) = self.running.iter_mut().find(|held| held.0 == key) {
            let added = if again.is_none() { Added::Rerun } else { Added::Merged };
            *again = (*again).max(Some(priority));
            return added;
        }
        match self.waiting.iter().position(|waiting| waiting.0 == key) {
            Some(at) if self.waiting[at].1 >= priority => Added::Merged,
            Some(at) => {
                self.waiting[at].1 = priority;
                Added::Merged
            }
            None => {
                let number = self.number();
                self.waiting.push((key, priority, number));
                Added::Queued
            }
        }
    }

    fn delay(&mut self, key: u8, priority: Priority, after: u64) -> Added<u8> {
        let (at, number) = (self.now + after, self.number());
        match self.delays.iter().position(|delay| delay.2 == key) {
            Some(index) => {
                let delay = &mut self.delays[index];
                delay.3 = delay.3.max(priority);
                if at < delay.0 {
                    (delay.0, delay.1) = (at, number);
                }
                Added::Merged
            }
            None => {
                self.delays.push((at, number, key, priority));
                Added::Delayed
            }
        }
    }

    fn promote(&mut self) {
        self.delays.sort();
        while let Some(&(at, _, key, priority)) = self.delays.first()
            && at <= self.now
        {
            self.ended += 1;
            self.enqueue(key, priority);
        }
    }

    fn next(&mut self) -> Option<(u8, Priority)> {
        self.promote();
        let oldest = self.waiting.iter().min_by_key(|waiting| waiting.2)?.2;
        let top = self.waiting.iter().map(|waiting| waiting.1).max()?;
        let first = self.waiting.iter().filter(|waiting| waiting.1 == top).min_by_key(|w| w.2)?.2;
        let chosen = if first != oldest && self.overtakes < 7 {
            self.overtakes += 1;
            first
        } else {
            self.overtakes = 0;
            oldest
        };
        let at = self.waiting.iter().position(|waiting| waiting.2 == chosen)?;
        let (key, priority, _) = self.waiting.remove(at);
        self.running.push((key, priority, None));
        Some((key, priority))
    }

    fn finish(&mut self, held: usize, after: Option<u64>) {
        let (key, priority, again) = self.running.remove(held);
        match (again, after) {
            (Some(again), Some(_)) => self.enqueue_rerun(key, again.max(priority)),
            (Some(again), None) => self.enqueue_rerun(key, again),
            (None, Some(after)) => _ = self.delay(key, priority, after),
            (None, None) => {}
        }
    }

    /// A rerun leaves a delay that was asked for beside it.
    fn enqueue_rerun(&mut self, key: u8, priority: Priority) {
        let number = self.number();
        self.waiting.push((key, priority, number));
    }

    fn retry_delay(&mut self, key: u8) -> u64 {
        let (failures, until) = self.failures.entry(key).or_insert((0, self.now));
        if *until <= self.now {
            *until = self.now + (5 << (*failures).min(10));
            *failures += 1;
        }
        *until - self.now
    }
}

fn name<K>(added: &Added<K>) -> &'static str {
    match added {
        Added::Queued => "queued",
        Added::Merged => "merged",
        Added::Rerun => "rerun",
        Added::Delayed => "delayed",
        Added::Refused(_) => "refused",
        _ => "unknown",
    }
}

async fn follows_the_model(steps: Vec<Step>, tally: &Tally) -> Result<(), TestCaseError> {
    let limiter = ExponentialBackoff::new(5 * MS, (5 << 10) * MS).jitter(0.0);
    let queue = WorkQueue::builder("model").rate_limiter(limiter).build();
    let mut model = Model::default();
    let mut held: Vec<Item<u8>> = Vec::new();
    for step in steps {
        match step {
            Step::Add(key, priority) => {
                let expected = if model.closed { Added::Refused(key) } else { model.enqueue(key, priority) };
                tally.count(name(&expected));
                prop_assert_eq!(queue.add_with(key, priority), expected);
            }
            Step::AddAfter(key, priority, ms) => {
                let expected = match ms {
                    _ if model.closed => Added::Refused(key),
                    0 => model.enqueue(key, priority),
                    ms => model.delay(key, priority, ms),
                };
                tally.count(name(&expected));
                let options = AddOptions::new().priority(priority).after(Duration::from_millis(ms));
                prop_assert_eq!(queue.add_with(key, options), expected);
            }
            Step::Cancel(key) => {
                let before = model.delays.len();
                model.delays.retain(|delay| delay.2 != key);
                let cancelled = model.delays.len() < before;
                tally.add("cancelled", usize::from(cancelled));
                prop_assert_eq!(queue.cancel_delay(&key), cancelled);
            }
            Step::Next => {
                model.has_alarm = true;
                let overtakes = model.overtakes;
                let expected = if model.closed { None } else { model.next() };
                tally.add("next", usize::from(expected.is_some()));
                tally.add("overtook", usize::from(model.overtakes > overtakes));
                tally.add("oldest after seven", usize::from(overtakes == 7 && model.overtakes == 0));
                let item = tokio::task::coop::unconstrained(queue.next()).now_or_never().flatten();
                prop_assert_eq!(item.as_ref().map(|item| (*item.key(), item.priority())), expected);
                held.extend(item);
            }
            Step::Done(n) if n < held.len() => {
                tally.count(if model.running[n].2.is_some() { "done with a rerun" } else { "done" });
                model.failures.remove(held[n].key());
                held.remove(n).done();
                model.finish(n, None);
            }
            Step::RequeueAfter(n, ms) if n < held.len() => {
                tally.count("requeued");
                model.failures.remove(held[n].key());
                held.remove(n).requeue_after(Duration::from_millis(ms));
                model.finish(n, Some(ms));
            }
            Step::Retry(n) | Step::Drop(n) if n < held.len() => {
                let failures = model.failures.get(held[n].key()).copied();
                let delay = model.retry_delay(*held[n].key());
                let is_early = failures == model.failures.get(held[n].key()).copied();
                tally.add("failed during its backoff", usize::from(is_early));
                match step {
                    Step::Retry(_) => {
                        tally.count("retried");
                        held.remove(n).retry();
                    }
                    _ => {
                        tally.count("dropped");
                        drop(held.remove(n));
                    }
                }
                model.finish(n, Some(delay));
            }
            Step::Advance(ms) => {
                // One by one, because the alarm adds keys at the moments their delays end.
                for _ in 0..ms {
                    model.now += 1;
                    advance(Duration::from_millis(1)).await;
                    tokio::task::yield_now().await;
                    if !model.closed && model.has_alarm {
                        model.promote();
                    }
                }
            }
            Step::Shutdown => {
                model.closed = true;
                let mut report = queue.shutdown_now();
                let mut queued = Vec::new();
                let running = std::mem::take(&mut model.running);
                model.delays.sort();
                let delays = std::mem::take(&mut model.delays);
                let waiting: Vec<_> = model.waiting.iter().map(|waiting| waiting.0).collect();
                while let Some((key, _)) = model.next() {
                    queued.push(key);
                }
                let delayed: Vec<_> =
                    delays.into_iter().map(|d| d.2).filter(|key| !waiting.contains(key)).collect();
                model.running = running.into_iter().map(|(key, priority, _)| (key, priority, None)).collect();
                let mut unfinished: Vec<_> = model.running.iter().map(|held| held.0).collect();
                unfinished.sort_unstable();
                report.unfinished.sort_unstable();
                tally.count("shut down");
                tally.add("reported as queued", queued.len());
                tally.add("reported as delayed", delayed.len());
                tally.add("reported as unfinished", unfinished.len());
                prop_assert_eq!(left(report), [unfinished, queued, delayed]);
            }
            Step::Done(_) | Step::RequeueAfter(..) | Step::Retry(_) | Step::Drop(_) => {}
        }
        prop_assert_eq!(queue.len(), model.waiting.len());
        for key in 0..KEYS {
            let failures = model.failures.get(&key).map_or(0, |failures| failures.0);
            prop_assert_eq!(queue.num_requeues(&key), failures);
        }
    }
    tally.add("ended delay", model.ended);
    // Finished keys leave nothing behind.
    held.into_iter().for_each(Item::done);
    queue.shutdown_now();
    prop_assert!(queue.shutdown_now().is_clean());
    Ok(())
}

/// `PROPTEST_CASES` sets the number of sequences.
#[test]
fn every_sequence_of_calls_does_what_the_model_does() {
    let tally = Tally::new();
    let config = ProptestConfig::with_source_file(file!());
    let tried = TestRunner::new(config).run(&sequence(), |steps| {
        let runtime = RuntimeBuilder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(follows_the_model(steps, &tally))
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
    tally.require(&[
        ("queued", 400),
        ("merged", 400),
        ("rerun", 200),
        ("delayed", 200),
        ("refused", 100),
        ("cancelled", 20),
        ("next", 600),
        ("overtook", 150),
        ("oldest after seven", 1),
        ("done", 200),
        ("done with a rerun", 100),
        ("requeued", 60),
        ("retried", 60),
        ("dropped", 30),
        ("failed during its backoff", 5),
        ("ended delay", 150),
        ("shut down", 15),
        ("reported as queued", 10),
        ("reported as delayed", 8),
        ("reported as unfinished", 20),
    ]);
}

/// Writers change numbers and add their keys; workers read them. If no key is lost, the workers have
/// read the newest number of each key in the end. If the queue is exclusive, no two workers hold the
/// same key at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_workers_lose_no_key_and_never_share_one() {
    const NUMBERS: usize = 200;
    const CHANGES: usize = 50_000;
    struct Cell {
        newest: AtomicU64,
        seen: AtomicU64,
        held: AtomicBool,
    }
    let cells: Arc<Vec<Cell>> = Arc::new(
        (0..NUMBERS)
            .map(|_| Cell {
                newest: AtomicU64::new(0),
                seen: AtomicU64::new(0),
                held: AtomicBool::new(false),
            })
            .collect(),
    );
    let limiter = ExponentialBackoff::new(Duration::from_micros(10), Duration::from_millis(1));
    let queue = WorkQueue::builder("concurrent").rate_limiter(limiter).build();
    let tally = Arc::new(Tally::new());
    let running = tokio::spawn({
        let (queue, cells, tally) = (queue.clone(), cells.clone(), tally.clone());
        async move {
            let reconcile = move |key: usize| {
                let (cells, tally) = (cells.clone(), tally.clone());
                async move {
                    let cell = &cells[key];
                    assert!(!cell.held.swap(true, SeqCst), "two workers hold {key}");
                    let newest = cell.newest.load(SeqCst);
                    tokio::task::yield_now().await;
                    cell.held.store(false, SeqCst);
                    if newest % 17 == 3 && cell.seen.load(SeqCst) + 1 < newest {
                        cell.seen.store(newest - 1, SeqCst);
                        tally.count("retried");
                        return Err("try again");
                    }
                    cell.seen.store(newest, SeqCst);
                    Ok(if newest % 5 == 0 {
                        tally.count("requeued");
                        Action::requeue(Duration::from_millis(1))
                    } else {
                        tally.count("done");
                        Action::await_change()
                    })
                }
            };
            queue.run(50, reconcile).await;
        }
    });
    let writers: Vec<_> = (0..4_usize)
        .map(|writer| {
            let (queue, cells, tally) = (queue.clone(), cells.clone(), tally.clone());
            tokio::spawn(async move {
                for change in 0..CHANGES {
                    let key = change * (writer * 2 + 7) % NUMBERS;
                    cells[key].newest.fetch_add(1, SeqCst);
                    let added = match change % 50 {
                        0 => queue.add_with(key, Priority::HIGH),
                        1 => queue.add_with(key, Priority::LOW),
                        _ => queue.add(key),
                    };
                    tally.count(name(&added));
                    if change % 64 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let settled = || cells.iter().all(|cell| cell.newest.load(SeqCst) == cell.seen.load(SeqCst));
    let start = std::time::Instant::now();
    while !settled() {
        assert!(start.elapsed() < std::time::Duration::from_secs(30), "some key was lost");
        tokio::task::yield_now().await;
    }
    let report = queue.shutdown(Duration::from_secs(10)).await;
    assert!(report.unfinished.is_empty());
    running.await.unwrap();
    tally.require(&[
        ("queued", 1000),
        ("merged", 10000),
        ("rerun", 500),
        ("done", 1000),
        ("requeued", 500),
        ("retried", 100),
    ]);
}
