//! The order of the keys, their priorities and their exclusiveness.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use futures::FutureExt;
use tokio::{
    sync::{Barrier, Semaphore, mpsc},
    time::{advance, timeout},
};

use crate::*;

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
async fn keys_run_in_the_order_in_which_they_were_added() {
    let queue = queue();
    let keys: Vec<_> = (0..1000).map(|n| n * 7 % 1000).collect();
    for &key in &keys {
        queue.add(key);
    }
    assert_eq!(drain(&queue), keys);
}

#[tokio::test]
async fn a_key_added_while_a_worker_holds_it_runs_exactly_once_more() {
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
async fn no_two_of_fifty_workers_hold_the_same_key_at_once() {
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

#[tokio::test]
async fn priorities_order_the_queue() {
    let queue = queue();
    for key in 0..3 {
        queue.add_with(key, Priority::LOW);
    }
    for key in 10..13 {
        queue.add(key);
    }
    queue.add_with(20, Priority::HIGH);
    assert_eq!(drain(&queue), [20, 10, 11, 12, 0, 1, 2]);
}

#[tokio::test]
async fn adding_a_queued_key_with_a_higher_priority_raises_it_and_a_lower_one_changes_nothing() {
    let queue = queue();
    queue.add(1);
    queue.add(2);
    assert_eq!(queue.add_with(2, Priority::HIGH), Added::Merged);
    queue.add_with(2, Priority::LOW);
    assert_eq!(queue.len(), 2);
    assert_eq!(drain(&queue), [2, 1]);
    queue.add(1);
    let item = take(&queue).unwrap();
    queue.add(1);
    queue.add(2);
    queue.add_with(1, Priority::HIGH);
    item.done();
    assert_eq!(drain(&queue), [1, 2], "a rerun has the highest priority that was asked for");
}

#[tokio::test(start_paused = true)]
async fn a_retry_keeps_the_priority() {
    let queue = queue();
    queue.add_with(1, Priority::HIGH);
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
    queue.add_with(1, Priority::LOW);
    queue.add_with(2, Priority::LOW);
    let mut order = Vec::new();
    for urgent in 100..120 {
        queue.add_with(urgent, Priority::HIGH);
        let item = take(&queue).unwrap();
        order.push(*item.key());
        item.done();
    }
    assert_eq!((order[7], order[15]), (1, 2), "{order:?}");
}

#[tokio::test]
async fn a_dropped_next_passes_its_wake_up_on() {
    let queue = queue();
    let mut first = Box::pin(queue.next());
    let mut second = Box::pin(queue.next());
    assert!(first.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    queue.add(1);
    drop(first);
    second.await.unwrap().done();
}

#[tokio::test]
async fn a_rerun_wakes_a_sleeping_worker() {
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
async fn a_delayed_key_keeps_the_higher_priority_of_both() {
    let hour = Duration::from_secs(3600);
    let delayed = |priority| AddOptions::new().priority(priority).after(MS);
    let taken = |queue: &WorkQueue<u32>| {
        let item = take(queue).unwrap();
        let taken = (*item.key(), item.priority());
        item.done();
        taken
    };
    for [first, second] in [[Priority::HIGH, Priority::LOW], [Priority::LOW, Priority::HIGH]] {
        // Two delays, of which the second is the later one.
        let queue = queue();
        queue.add_with(1, delayed(first));
        queue.add_with(1, delayed(second).after(hour));
        advance(MS).await;
        assert_eq!(taken(&queue), (1, Priority::HIGH));

        // A delay that an add replaces.
        queue.add_with(1, delayed(first));
        queue.add_with(1, second);
        assert_eq!(taken(&queue), (1, Priority::HIGH));

        // A delay that ends while the key is queued.
        queue.add_with(1, first);
        queue.add_with(1, delayed(second));
        advance(MS).await;
        assert_eq!(taken(&queue), (1, Priority::HIGH));

        // A retry of a key that is added while a worker holds it.
        queue.add_with(1, first);
        let item = take(&queue).unwrap();
        queue.add_with(1, second);
        item.retry();
        assert_eq!(taken(&queue), (1, Priority::HIGH));
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limited_key_keeps_its_priority_and_waits_the_longer_delay_of_both() {
    let queue = exact_queue();
    let options = AddOptions::new().priority(Priority::HIGH).rate_limited();
    assert_eq!(queue.add_with(1, options), Added::Delayed);
    assert_eq!(queue.num_requeues(&1), 1);
    let start = Instant::now();
    let item = queue.next().await.unwrap();
    assert_eq!((item.priority(), start.elapsed()), (Priority::HIGH, 5 * MS));
    item.done();
    queue.add_with(1, options.after(100 * MS));
    queue.next().await.unwrap().done();
    assert_eq!(start.elapsed(), 105 * MS);
}

#[tokio::test]
async fn a_key_is_taken_within_eight_takes_for_each_older_key() {
    let queue = queue();
    for key in 0..10 {
        queue.add_with(key, Priority::LOW);
    }
    for takes in 1_u32..=80 {
        queue.add_with(1000 + takes, Priority::HIGH);
        let item = take(&queue).unwrap();
        if *item.key() < 1000 {
            assert!(takes <= 8 * (*item.key() + 1), "{} was taken in take {takes}", item.key());
        }
        item.done();
    }
    assert_eq!(queue.len(), 10, "all ten old keys were taken");
    assert!(drain(&queue).iter().all(|&key| key >= 1000));
}

#[tokio::test]
async fn a_raised_key_keeps_its_age() {
    // The key with the number 0 is the oldest of 1,001, and has a low priority.
    let oldest = || {
        let queue = queue();
        queue.add_with(0, Priority::LOW);
        (1..=1000).for_each(|key| _ = queue.add_with(key, Priority::HIGH));
        queue
    };
    let raised = oldest();
    raised.add_with(0, Priority::NORMAL);
    let takes = drain(&raised).iter().position(|&key| key == 0).unwrap() + 1;
    assert!(takes <= 8, "taken as number {takes}");

    let step_by_step = oldest();
    let mut order = Vec::new();
    for take in 0..1000_u32 {
        if take % 5 == 0 {
            let steps = i8::try_from(take / 5 + 1).unwrap_or(i8::MAX);
            step_by_step.add_with(0, Priority(Priority::LOW.0.saturating_add(steps).min(63)));
        }
        step_by_step.add_with(2000 + take, Priority::HIGH);
        order.extend(take_key(&step_by_step));
        if order.last() == Some(&0) {
            break;
        }
    }
    assert!(order.len() <= 8, "taken as number {}", order.len());
}

#[tokio::test]
async fn a_key_raised_among_others_runs_in_the_order_of_its_age() {
    let queue = queue();
    for key in 0..4 {
        queue.add_with(key, Priority::LOW);
    }
    queue.add(10);
    queue.add_with(2, Priority::NORMAL);
    queue.add_with(1, Priority(1));
    queue.add_with(1, Priority(2));
    queue.add(11);
    assert_eq!(queue.len(), 6);
    assert_eq!(drain(&queue), [1, 2, 10, 11, 0, 3]);
}

#[tokio::test]
async fn keys_with_a_low_priority_run_in_a_queue_that_is_always_busy() {
    // A thousand keys of the first list, and a new event for each take.
    let queue = queue();
    (0..1000).for_each(|key| _ = queue.add_with(key, Priority::LOW));
    let mut takes = Vec::new();
    for take in 1..=8000_u32 {
        queue.add(1000 + take);
        takes.extend(take_key(&queue).filter(|&key| key < 1000).map(|_| take));
    }
    assert_eq!(takes.len(), 1000, "every eighth take is of the oldest key");
    assert!(takes.iter().zip(1..).all(|(&take, number)| take <= 8 * number));
}

#[tokio::test]
async fn the_queue_stores_each_key_once_however_often_it_is_added() {
    let queue = queue();
    for round in 0..1000_u32 {
        for key in 0..10 {
            match round % 4 {
                0 => queue.add(key),
                1 => queue.add_with(key, Priority((round % 100) as i8)),
                2 => queue.add_after(key, round * MS),
                _ => queue.add_rate_limited(key),
            };
        }
    }
    assert_eq!(drain(&queue).len(), 10);
}

#[tokio::test(start_paused = true)]
async fn keys_are_not_lost_when_half_of_all_waits_are_dropped() {
    let queue = queue();
    let (mut left, mut turn) = (1000, 0);
    let mut waits: Vec<_> = (0..7).map(|_| Box::pin(queue.next())).collect();
    let mut key = 0;
    while left > 0 {
        if key < 1000 {
            if key % 3 == 0 {
                queue.add_after(key, MS)
            } else {
                queue.add(key)
            };
            key += 1;
        }
        advance(MS / 2).await;
        turn = (turn + 3) % waits.len();
        if key % 2 == 0 {
            waits[turn] = Box::pin(queue.next());
        }
        for wait in &mut waits {
            if let Some(item) = tokio::task::coop::unconstrained(wait.as_mut()).now_or_never() {
                item.unwrap().done();
                left -= 1;
                *wait = Box::pin(queue.next());
            }
        }
    }
    assert!(queue.shutdown_now().is_clean());
}
