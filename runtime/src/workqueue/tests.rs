//! The queue's contracts, one sentence each.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use futures::FutureExt;
use tokio::{
    sync::{Barrier, Semaphore, mpsc},
    time::advance,
};

use super::*;
use crate::metrics::{self as names, test_recorder::TestRecorder};

const MS: Duration = Duration::from_millis(1);

fn queue() -> WorkQueue<u32> {
    WorkQueue::new("test")
}

/// The next key, without waiting.
fn take<T: Key>(queue: &WorkQueue<T>) -> Option<Item<T>> {
    tokio::task::coop::unconstrained(queue.next()).now_or_never().flatten()
}

/// All keys that are ready, in order, each finished at once.
fn drain(queue: &WorkQueue<u32>) -> Vec<u32> {
    std::iter::from_fn(|| {
        let item = take(queue)?;
        let key = *item.key();
        item.done();
        Some(key)
    })
    .collect()
}

#[tokio::test]
async fn a_key_that_is_added_many_times_runs_once() {
    let queue = queue();
    assert_eq!(queue.add(1), Added::Queued);
    assert_eq!(queue.add(1), Added::Merged);
    queue.add(2);
    queue.add(1);
    assert_eq!(queue.len(), 2);
    assert_eq!(drain(&queue), [1, 2]);
    assert!(queue.is_empty());
}

#[tokio::test]
async fn keys_come_out_in_the_order_in_which_they_went_in() {
    let queue = queue();
    let keys: Vec<_> = (0..1000).map(|n| n * 7 % 1000).collect();
    for &key in &keys {
        queue.add(key);
    }
    assert_eq!(drain(&queue), keys);
}

#[tokio::test]
async fn a_key_added_while_it_is_worked_on_runs_once_more_and_never_in_parallel() {
    let queue = queue();
    queue.add(1);
    let item = take(&queue).unwrap();
    assert_eq!(queue.add(1), Added::Rerun);
    for _ in 0..100 {
        assert_eq!(queue.add(1), Added::Merged);
        assert!(take(&queue).is_none(), "the key is held by a worker");
    }
    item.done();
    assert_eq!(drain(&queue), [1], "the hundred adds led to one more run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn adding_while_processing_requeues_once_under_fifty_workers() {
    let queue = queue();
    let runs = Arc::new(AtomicUsize::new(0));
    let running = Arc::new(AtomicBool::new(false));
    let (started, mut has_started) = mpsc::channel(1);
    let go_on = Arc::new(Semaphore::new(0));
    let barrier = Arc::new(Barrier::new(51));
    let workers: Vec<_> = (0..50)
        .map(|_| {
            let (queue, runs, running) = (queue.clone(), runs.clone(), running.clone());
            let (started, go_on, barrier) = (started.clone(), go_on.clone(), barrier.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                while let Some(item) = queue.next().await {
                    assert!(!running.swap(true, SeqCst), "two workers hold one key");
                    runs.fetch_add(1, SeqCst);
                    started.send(()).await.unwrap();
                    go_on.acquire().await.unwrap().forget();
                    running.store(false, SeqCst);
                    item.done();
                }
            })
        })
        .collect();
    barrier.wait().await;
    queue.add(1);
    has_started.recv().await.unwrap();
    for _ in 0..1000 {
        queue.add(1);
    }
    go_on.add_permits(1);
    has_started.recv().await.unwrap();
    go_on.add_permits(1);
    let report = queue.shutdown(Duration::from_secs(10)).await;
    assert!(report.is_clean());
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!(runs.load(SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn shutdown_lets_running_keys_finish_and_hands_everything_else_back() {
    let queue = queue();
    queue.add(1);
    let running = take(&queue).unwrap();
    queue.add(2);
    queue.add_with_priority(3, Priority::HIGH);
    queue.add_after(4, 10 * MS);
    queue.add_after(5, 5 * MS);
    let worker = queue.clone();
    let work = tokio::spawn(async move {
        tokio::time::sleep(50 * MS).await;
        assert_eq!(worker.add(6), Added::Refused(6));
        assert_eq!(worker.add_after(6, MS), Added::Refused(6));
        assert_eq!(worker.add_rate_limited(6), Added::Refused(6));
        assert!(worker.next().await.is_none());
        running.done();
    });
    let begun = Instant::now();
    let report = queue.shutdown(Duration::from_secs(1)).await;
    assert_eq!(report, Shutdown { unfinished: vec![], queued: vec![3, 2], delayed: vec![5, 4] });
    assert_eq!(begun.elapsed(), 50 * MS, "it waited for the running key and no longer");
    work.await.unwrap();
    assert!(queue.shutdown(Duration::from_secs(1)).await.is_clean(), "keys are given back once");
}

#[tokio::test(start_paused = true)]
async fn shutdown_names_the_keys_that_missed_the_deadline() {
    let queue = queue();
    queue.add(1);
    let running = take(&queue).unwrap();
    queue.add(1);
    let begun = Instant::now();
    let report = queue.shutdown(70 * MS).await;
    assert_eq!(report, Shutdown { unfinished: vec![1], queued: vec![], delayed: vec![] });
    assert_eq!(begun.elapsed(), 70 * MS);
    running.done();
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_key_that_fails_during_the_drain_is_handed_back() {
    let queue = queue();
    queue.add(1);
    queue.add(2);
    let (failing, rerun) = (take(&queue).unwrap(), take(&queue).unwrap());
    queue.add(2);
    let draining = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shutdown(Duration::from_secs(60)).await }
    });
    tokio::task::yield_now().await;
    failing.retry();
    rerun.done();
    let report = draining.await.unwrap();
    assert_eq!(report, Shutdown { unfinished: vec![], queued: vec![2], delayed: vec![1] });
}

#[tokio::test(start_paused = true)]
async fn a_forced_shutdown_ends_a_drain() {
    let queue = queue();
    queue.add(1);
    let _running = take(&queue).unwrap();
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shutdown(Duration::from_secs(3600)).await }
    });
    tokio::task::yield_now().await;
    assert!(!drain.is_finished());
    let begun = Instant::now();
    assert_eq!(queue.shutdown_now().unfinished, [1]);
    assert_eq!(drain.await.unwrap().unfinished, [1]);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn shutdown_wakes_a_waiting_worker() {
    let queue = queue();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.next().await.is_none() }
    });
    tokio::task::yield_now().await;
    queue.shutdown_now();
    assert!(waiting.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_comes_when_its_delay_is_over_and_not_before() {
    let queue = queue();
    assert_eq!(queue.add_after(1, 50 * MS), Added::Delayed);
    assert_eq!(queue.len(), 0);
    let begun = Instant::now();
    let item = queue.next().await.unwrap();
    assert_eq!((*item.key(), begun.elapsed()), (1, 50 * MS));
    item.done();
}

#[tokio::test(start_paused = true)]
async fn of_two_delays_the_earlier_wins_in_either_order() {
    for delays in [[50, 20], [20, 50]] {
        let queue = queue();
        assert_eq!(queue.add_after(1, delays[0] * MS), Added::Delayed);
        assert_eq!(queue.add_after(1, delays[1] * MS), Added::Merged);
        let begun = Instant::now();
        queue.next().await.unwrap().done();
        assert_eq!(begun.elapsed(), 20 * MS);
        advance(Duration::from_secs(1)).await;
        assert!(take(&queue).is_none(), "the later delay is gone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleeping_worker_is_woken_by_a_delay_that_ends_before_the_one_it_waits_for() {
    let queue = queue();
    queue.add_after(1, Duration::from_secs(100));
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let item = queue.next().await.unwrap();
            let key = *item.key();
            item.done();
            (key, Instant::now())
        }
    });
    tokio::task::yield_now().await;
    queue.add_after(2, 5 * MS);
    let due = Instant::now() + 5 * MS;
    assert_eq!(worker.await.unwrap(), (2, due));
}

#[tokio::test(start_paused = true)]
async fn delays_of_keys_come_in_the_order_of_their_ends() {
    let queue = queue();
    for key in [5, 1, 4, 2, 3] {
        queue.add_after(key, key * MS);
    }
    queue.add_after(6, 3 * MS);
    advance(10 * MS).await;
    assert_eq!(drain(&queue), [1, 2, 3, 6, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_can_be_cancelled() {
    let queue = queue();
    queue.add_after(1, MS);
    assert!(queue.cancel_delay(&1));
    assert!(!queue.cancel_delay(&1));
    advance(Duration::from_secs(1)).await;
    assert!(take(&queue).is_none());
    assert_eq!(queue.add_after(1, MS), Added::Delayed, "the key can be delayed anew");
}

#[tokio::test(start_paused = true)]
async fn an_add_supersedes_a_delay() {
    let queue = queue();
    queue.add_after(1, 10 * MS);
    assert_eq!(queue.add(1), Added::Queued);
    assert_eq!(drain(&queue), [1]);
    advance(20 * MS).await;
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_ends_while_the_key_is_worked_on_leads_to_one_rerun() {
    let queue = queue();
    queue.add(1);
    let item = take(&queue).unwrap();
    queue.add_after(1, MS);
    advance(5 * MS).await;
    assert!(take(&queue).is_none());
    item.done();
    assert_eq!(drain(&queue), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_set_while_the_key_is_worked_on_survives_the_end_of_the_work() {
    let queue = queue();
    queue.add(1);
    let item = take(&queue).unwrap();
    queue.add_after(1, 10 * MS);
    item.done();
    assert!(take(&queue).is_none());
    advance(10 * MS).await;
    assert_eq!(drain(&queue), [1]);
}

#[tokio::test(start_paused = true)]
async fn an_endless_delay_is_no_overflow() {
    let queue = queue();
    assert_eq!(queue.add_after(1, Duration::MAX), Added::Delayed);
    advance(Duration::from_secs(1 << 20)).await;
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn backoff_doubles_per_key_to_its_cap_without_overflow_and_is_forgotten() {
    let backoff = ExponentialBackoff::default();
    for n in 0..18 {
        assert_eq!(backoff.when(&"a"), 5 * MS * (1 << n));
    }
    for _ in 18..300 {
        assert_eq!(backoff.when(&"a"), Duration::from_secs(1000));
    }
    assert_eq!((backoff.num_requeues(&"a"), backoff.num_requeues(&"b")), (300, 0));
    assert_eq!(backoff.when(&"b"), 5 * MS, "each key has its own count");
    backoff.forget(&"a");
    assert_eq!(backoff.num_requeues(&"a"), 0);
    assert_eq!(backoff.when(&"a"), 5 * MS);

    let wide = ExponentialBackoff::new(Duration::from_nanos(1), Duration::MAX);
    let waits: Vec<_> = (0..200).map(|_| wide.when(&())).collect();
    assert_eq!(waits[63], Duration::from_nanos(1 << 63));
    assert!(waits[64..].iter().all(|&wait| wait == Duration::MAX));
}

#[tokio::test(start_paused = true)]
async fn the_bucket_limits_all_keys_together() {
    let bucket = TokenBucket::default();
    for key in 0..100 {
        assert_eq!(bucket.when(&key), Duration::ZERO);
    }
    assert_eq!(bucket.when(&0), 100 * MS);
    assert_eq!(bucket.when(&1), 200 * MS);
    advance(Duration::from_secs(1)).await;
    assert_eq!(bucket.when(&0), Duration::ZERO, "ten tokens came, two of them were owed");
    assert_eq!((0..8).map(|_| bucket.when(&0)).max(), Some(100 * MS));
    advance(Duration::from_secs(3600)).await;
    assert!((0..100).all(|_| bucket.when(&0).is_zero()), "it holds no more than its burst");
    assert_eq!(bucket.when(&0), 100 * MS);
}

#[tokio::test(start_paused = true)]
async fn the_default_limiter_is_the_larger_of_both() {
    let limiter = DefaultRateLimiter::<u32>::default();
    for key in 0..100 {
        assert_eq!(limiter.when(&key), 5 * MS, "the bucket is not empty: backoff counts");
    }
    assert_eq!(limiter.when(&100), 100 * MS, "the bucket is empty");
    for _ in 0..20 {
        limiter.when(&7);
    }
    assert_eq!(limiter.when(&7), Duration::from_secs(1000), "the key's backoff is longer");
    assert_eq!(limiter.num_requeues(&7), 22);
}

#[tokio::test(start_paused = true)]
async fn retries_wait_longer_each_time_until_the_key_succeeds() {
    let queue = queue();
    queue.add(1);
    let mut waits = Vec::new();
    for _ in 0..4 {
        let begun = Instant::now();
        queue.next().await.unwrap().retry();
        waits.push(begun.elapsed());
    }
    assert_eq!(waits, [Duration::ZERO, 5 * MS, 10 * MS, 20 * MS]);
    assert_eq!(queue.num_requeues(&1), 4);
    queue.next().await.unwrap().done();
    assert_eq!(queue.num_requeues(&1), 0);
    queue.add_rate_limited(1);
    assert_eq!(queue.num_requeues(&1), 1);
    queue.forget(&1);
    assert_eq!(queue.num_requeues(&1), 0);
}

#[tokio::test(start_paused = true)]
async fn a_limiter_of_ones_own_can_be_given() {
    struct Steady;
    impl RateLimiter<u32> for Steady {
        fn when(&self, key: &u32) -> Duration {
            *key * MS
        }
        fn forget(&self, _: &u32) {}
        fn num_requeues(&self, _: &u32) -> u32 {
            9
        }
    }
    let queue = WorkQueue::builder("test").rate_limiter(Steady).build();
    queue.add_rate_limited(30);
    let begun = Instant::now();
    queue.next().await.unwrap().done();
    assert_eq!((begun.elapsed(), queue.num_requeues(&30)), (30 * MS, 9));
}

#[tokio::test(start_paused = true)]
async fn an_item_dropped_without_a_verdict_is_retried() {
    let queue = queue();
    queue.add(1);
    drop(take(&queue));
    assert!(take(&queue).is_none(), "not before its backoff");
    advance(5 * MS).await;
    assert_eq!(drain(&queue), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_gives_way_to_a_rerun_that_is_due() {
    let queue = queue();
    queue.add(1);
    let item = take(&queue).unwrap();
    queue.add(1);
    item.retry();
    assert_eq!(drain(&queue), [1]);
    advance(Duration::from_secs(1)).await;
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_requeued_key_comes_again_and_its_failures_are_forgotten() {
    let queue = queue();
    queue.add_rate_limited(1);
    advance(5 * MS).await;
    take(&queue).unwrap().requeue_after(Duration::from_secs(30));
    assert_eq!(queue.num_requeues(&1), 0);
    advance(Duration::from_secs(29)).await;
    assert!(take(&queue).is_none());
    advance(Duration::from_secs(1)).await;
    assert_eq!(drain(&queue), [1]);
}

#[tokio::test]
async fn priorities_order_the_queue() {
    let queue = queue();
    for key in 0..3 {
        queue.add_with_priority(key, Priority::LOW);
    }
    for key in 10..13 {
        queue.add(key);
    }
    queue.add_with_priority(20, Priority::HIGH);
    assert_eq!(drain(&queue), [20, 10, 11, 12, 0, 1, 2]);
}

#[tokio::test]
async fn adding_a_waiting_key_with_a_higher_priority_raises_it_and_a_lower_one_changes_nothing() {
    let queue = queue();
    queue.add(1);
    queue.add(2);
    assert_eq!(queue.add_with_priority(2, Priority::HIGH), Added::Merged);
    queue.add_with_priority(2, Priority::LOW);
    assert_eq!(queue.len(), 2);
    assert_eq!(drain(&queue), [2, 1]);
    queue.add(1);
    let item = take(&queue).unwrap();
    queue.add(1);
    queue.add(2);
    queue.add_with_priority(1, Priority::HIGH);
    item.done();
    assert_eq!(drain(&queue), [1, 2], "a rerun has the highest priority that was asked for");
}

#[tokio::test(start_paused = true)]
async fn a_retry_keeps_the_priority() {
    let queue = queue();
    queue.add_with_priority(1, Priority::HIGH);
    take(&queue).unwrap().retry();
    advance(5 * MS).await;
    queue.add(2);
    let item = take(&queue).unwrap();
    assert_eq!((*item.key(), item.priority()), (1, Priority::HIGH));
    item.done();
}

#[tokio::test]
async fn the_longest_waiting_key_is_overtaken_at_most_seven_times_in_a_row() {
    let queue = queue();
    queue.add_with_priority(1, Priority::LOW);
    queue.add_with_priority(2, Priority::LOW);
    let mut order = Vec::new();
    for urgent in 100..120 {
        queue.add_with_priority(urgent, Priority::HIGH);
        let item = take(&queue).unwrap();
        order.push(*item.key());
        item.done();
    }
    assert_eq!((order[7], order[15]), (1, 2), "{order:?}");
}

#[tokio::test]
async fn a_cancelled_wait_passes_its_wake_up_on() {
    let queue = queue();
    let mut first = Box::pin(queue.next());
    let mut second = Box::pin(queue.next());
    assert!(first.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    queue.add(1);
    drop(first);
    second.await.unwrap().done();
    assert_eq!(queue.inner.locked.lock().sleepers, 0);
}

#[tokio::test]
async fn a_rerun_wakes_a_worker_that_sleeps() {
    let queue = queue();
    queue.add(1);
    let item = take(&queue).unwrap();
    queue.add(1);
    let sleeping = tokio::spawn({
        let queue = queue.clone();
        async move { queue.next().await.unwrap().done() }
    });
    tokio::task::yield_now().await;
    item.done();
    timeout(Duration::from_secs(10), sleeping).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn run_acts_on_each_outcome() {
    let queue = WorkQueue::<String>::new("run");
    let (seen, mut log) = mpsc::channel(100);
    let begun = Instant::now();
    let running = tokio::spawn({
        let queue = queue.clone();
        async move {
            let tries = Arc::new(AtomicUsize::new(0));
            let reconcile = move |key: String| {
                let (seen, tries) = (seen.clone(), tries.clone());
                async move {
                    seen.send((key.clone(), begun.elapsed())).await.unwrap();
                    match key.as_str() {
                        "again" => Ok(Action::requeue(Duration::from_secs(10))),
                        "fails" if tries.fetch_add(1, SeqCst) < 2 => Err("no luck"),
                        "panics" if tries.fetch_add(1, SeqCst) < 5 => panic!("on purpose"),
                        _ => Ok(Action::await_change()),
                    }
                }
            };
            queue.run(2, reconcile).await;
        }
    });
    let mut expect = async |key: &str, at: Duration| {
        assert_eq!(log.recv().await.unwrap(), (key.to_owned(), at));
    };
    queue.add("once".into());
    expect("once", Duration::ZERO).await;
    queue.add("fails".into());
    expect("fails", Duration::ZERO).await;
    expect("fails", 5 * MS).await;
    expect("fails", 15 * MS).await;
    queue.add("panics".into());
    expect("panics", 15 * MS).await;
    expect("panics", 20 * MS).await;
    expect("panics", 30 * MS).await;
    queue.add("again".into());
    expect("again", 30 * MS).await;
    expect("again", 10_030 * MS).await;
    assert_eq!(queue.num_requeues(&"fails".into()), 0, "success forgets");
    assert_eq!(queue.num_requeues(&"panics".into()), 0);
    assert_eq!(queue.shutdown(Duration::from_secs(1)).await.delayed, ["again"]);
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn run_ends_at_the_deadline_of_a_shutdown_even_if_a_worker_hangs() {
    let queue = queue();
    queue.add(1);
    let running = tokio::spawn({
        let queue = queue.clone();
        async move { queue.run(3, |_| std::future::pending::<Result<Action, String>>()).await }
    });
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    assert_eq!(queue.shutdown(Duration::from_secs(2)).await.unfinished, [1]);
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_gives_its_keys_another_try() {
    let queue = queue();
    queue.add(1);
    let hanging = queue.run(1, |_| std::future::pending::<Result<Action, String>>());
    assert!(timeout(MS, hanging).await.is_err());
    tokio::task::yield_now().await;
    let item = queue.next().await.unwrap();
    assert_eq!(*item.key(), 1);
    item.done();
}

#[test]
fn a_queue_outlives_the_runtime_in_which_it_was_first_used() {
    let queue = queue();
    for _ in 0..2 {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            queue.add_after(1, MS);
            queue.next().await.unwrap().done();
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_nobody_holds_takes_its_task_with_it() {
    let queue = queue();
    assert!(queue.next().now_or_never().is_none());
    let alarm = queue.inner.locked.lock().alarm.take().unwrap();
    tokio::task::yield_now().await;
    drop(queue);
    alarm.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn everything_a_queue_does_is_measured() {
    let recorder = TestRecorder::default();
    let of = |name: &str| format!("{name}{{queue=\"measured\"}}");
    let depth = || recorder.gauge(&of(names::WORKQUEUE_DEPTH));
    let adds = || recorder.counter(&of(names::WORKQUEUE_ADDS));
    let in_progress = || {
        let [sum, longest] = [names::WORKQUEUE_UNFINISHED, names::WORKQUEUE_LONGEST_RUNNING];
        (recorder.gauge(&of(sum)), recorder.gauge(&of(longest)))
    };
    let queue = recorder.observe(|| WorkQueue::<u32>::new("measured"));

    queue.add(1);
    queue.add(1);
    queue.add(2);
    queue.add_after(3, 10 * MS);
    assert_eq!((depth(), adds()), (2.0, 2), "an add that is merged is no add");
    advance(100 * MS).await;
    let first = take(&queue).unwrap();
    assert_eq!((depth(), adds()), (2.0, 3), "the delay is over");
    assert_eq!(recorder.samples(&of(names::WORKQUEUE_QUEUE_DURATION)), [0.1]);
    queue.add(1);
    assert_eq!((depth(), adds()), (3.0, 4), "2, 3 and the rerun of 1 wait");

    advance(1000 * MS).await;
    let second = take(&queue).unwrap();
    advance(1000 * MS).await;
    tokio::task::yield_now().await;
    assert_eq!(in_progress(), (3.0, 2.0));
    first.retry();
    second.done();
    assert_eq!(recorder.samples(&of(names::WORKQUEUE_WORK_DURATION)), [2.0, 1.0]);
    assert_eq!(recorder.counter(&of(names::WORKQUEUE_RETRIES)), 1);
    tokio::time::sleep(600 * MS).await;
    assert_eq!(in_progress(), (0.0, 0.0));

    queue.add_rate_limited(4);
    assert_eq!(recorder.counter(&of(names::WORKQUEUE_RETRIES)), 2);
    drain(&queue);
    assert_eq!(depth(), 0.0);
    queue.add(9);
    let _ = timeout(MS, queue.run(1, |_| async { panics() })).await;
    assert_eq!(recorder.counter(&of(names::WORKQUEUE_PANICS)), 1);
    queue.add(1);
    queue.add(2);
    let running = take(&queue).unwrap();
    queue.add(1);
    assert_eq!(depth(), 2.0);
    queue.shutdown_now();
    running.done();
    assert_eq!(depth(), 0.0, "what is handed back does not wait");
}

#[test]
fn a_queue_is_measured_only_where_a_recorder_listens() {
    assert!(queue().inner.measure.is_none());
    assert!(TestRecorder::default().observe(queue).inner.measure.is_some());
}

fn panics() -> Result<Action, String> {
    panic!("on purpose")
}

#[tokio::test(start_paused = true)]
async fn an_unmeasured_queue_still_delays_and_registers_nothing() {
    let recorder = TestRecorder::default();
    let queue = recorder.observe(|| WorkQueue::<u32>::builder("quiet").without_metrics().build());
    let hour = Duration::from_secs(3600);
    queue.add_after(1, hour);
    let begun = Instant::now();
    queue.next().await.unwrap().done();
    assert_eq!(begun.elapsed(), hour);
    assert!(recorder.is_empty());
}
