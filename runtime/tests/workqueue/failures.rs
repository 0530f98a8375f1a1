//! Many failures at once, and events for failing keys.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::time::{sleep, sleep_until};

use crate::*;

/// A queue with four workers whose runs all fail while `fails` says so, and the moments of the runs.
fn failing(fails: impl Fn(u32) -> bool + Clone + Send + Sync + 'static) -> (WorkQueue<u32>, Runs) {
    let (queue, runs) = (queue(), Runs::default());
    let (workers, log) = (queue.clone(), runs.clone());
    tokio::spawn(async move {
        workers
            .run(4, move |key| {
                log.0.lock().entry(key).or_default().push(Instant::now());
                let outcome = if fails(key) { Err("no") } else { Ok(Action::await_change()) };
                async move { outcome }
            })
            .await;
    });
    (queue, runs)
}

#[derive(Clone, Default)]
struct Runs(Arc<Mutex<BTreeMap<u32, Vec<Instant>>>>);

impl Runs {
    fn of(&self, key: u32) -> Vec<Instant> {
        self.0.lock().get(&key).cloned().unwrap_or_default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_failing_key_delays_no_other_key_and_is_retried_as_without_its_events() {
    const BUSY: u32 = 1;
    let (queue, runs) = failing(|_| true);
    let begin = Instant::now();
    for event in 0..6000 {
        sleep_until(begin + event * 10 * MS).await;
        queue.add(BUSY);
    }
    let last_event = Instant::now();
    // A minute of doubled delays from 5 ms on is 13 or 14 failures.
    assert!((13..=15).contains(&queue.num_requeues(&BUSY)), "{}", queue.num_requeues(&BUSY));
    sleep(MS).await;
    let busy_runs = runs.of(BUSY).len();
    assert!((6000..6020).contains(&busy_runs), "{busy_runs} runs: one for each event, and the retries");

    queue.add(2);
    sleep(10 * MS).await;
    assert!(runs.of(2).len() >= 2, "the first retry is within 5 ms");

    sleep(Duration::from_secs(82)).await;
    let retry = runs.of(BUSY)[busy_runs..].first().copied().expect("its delay is at most 82 s");
    assert!(retry > last_event);
}

#[tokio::test(start_paused = true)]
async fn a_key_without_events_is_retried_at_the_same_moments_as_a_key_with_events() {
    let retries = async |events: u32| {
        let queue = exact_queue();
        let begin = Instant::now();
        queue.add(1);
        let mut due = Vec::new();
        let work = async {
            while let Some(item) = queue.next().await {
                let before = queue.num_requeues(&1);
                item.retry();
                if queue.num_requeues(&1) > before {
                    due.push(begin.elapsed());
                }
            }
        };
        let add = async {
            for _ in 0..events {
                sleep(3 * MS).await;
                queue.add(1);
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(10), async { tokio::join!(work, add) }).await;
        due
    };
    let alone = retries(0).await;
    assert_eq!(alone[..4], [Duration::ZERO, 5 * MS, 15 * MS, 35 * MS]);
    assert_eq!(retries(3000).await, alone);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_longer_than_its_backoff_counts_as_a_failure() {
    let queue = exact_queue();
    queue.add(1);
    for failures in 1..=5 {
        let item = queue.next().await.unwrap();
        // An event during each run makes the next one start at once.
        queue.add(1);
        sleep(Duration::from_secs(1)).await;
        item.retry();
        assert_eq!(queue.num_requeues(&1), failures);
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_keys_that_fail_at_once_recover_within_seconds_and_not_all_at_once() {
    let back = Instant::now() + Duration::from_secs(2);
    let (queue, runs) = failing(move |_| Instant::now() < back);
    (0..10_000).for_each(|key| _ = queue.add(key));
    sleep_until(back + Duration::from_secs(3)).await;
    assert!(queue.shutdown_now().is_clean(), "all keys are done 3 s after the server is back");
    let mut done: Vec<_> = runs.0.lock().values().map(|runs| *runs.last().unwrap() - back).collect();
    done.sort();
    let mut by_tenth = BTreeMap::<_, usize>::new();
    done.iter().for_each(|done| *by_tenth.entry(done.as_millis() / 100).or_default() += 1);
    let busiest = by_tenth.values().max();
    assert!(busiest < Some(&3000), "retries in each tenth of a second: {by_tenth:?}");
}
