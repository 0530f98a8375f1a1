//! The queue in several runtimes.

use std::{collections::BTreeSet, sync::Arc};

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::*;

#[test]
fn a_queue_can_be_used_in_one_runtime_after_another() {
    let queue = queue();
    for _ in 0..2 {
        let runtime = RuntimeBuilder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            queue.add_after(1, MS);
            queue.next().await.unwrap().done();
        });
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_ends_the_tasks_of_the_queue() {
    let queue = queue();
    assert!(queue.next().now_or_never().is_none());
    tokio::task::yield_now().await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks(), 1);
    drop(queue);
    tokio::task::yield_now().await;
    assert_eq!(tasks(), 0);
}

#[test]
fn delays_end_after_the_runtime_that_used_the_queue_first_has_ended() {
    let queue = queue();
    let first = runtime();
    first.block_on(async { assert!(queue.next().now_or_never().is_none()) });
    let second = runtime();
    second.block_on(async {
        let worker = tokio::spawn({
            let queue = queue.clone();
            async move { queue.next().await.unwrap().done() }
        });
        tokio::task::yield_now().await;
        // A runtime must be dropped where blocking is allowed.
        std::thread::spawn(move || drop(first)).join().unwrap();
        queue.add_after(1, MS);
        timeout(Duration::from_secs(10), worker).await.expect("the delay ends").unwrap();
    });
}

#[test]
fn delays_end_although_the_runtime_that_used_the_queue_first_stands_still() {
    let (queue, idle) = (queue(), runtime());
    // The runtime lives on with the queue's task in it, but nothing drives it.
    idle.block_on(async { assert!(queue.next().now_or_never().is_none()) });
    runtime().block_on(async {
        queue.add_after(1, MS);
        timeout(Duration::from_secs(10), queue.next()).await.expect("the delay ends").unwrap().done();
    });
}

#[test]
fn a_key_reaches_another_runtime_when_the_one_that_was_woken_for_it_ends() {
    let queue = queue();
    let (ending, lasting) = (runtime(), runtime());
    let sleep = |runtime: &Runtime| {
        let queue = queue.clone();
        let worker = runtime.spawn(async move { queue.next().await.map(Item::done) });
        runtime.block_on(tokio::task::yield_now());
        worker
    };
    let _first = sleep(&ending);
    let second = sleep(&lasting);
    // This wakes the first worker, which never runs again.
    queue.add(1);
    drop(ending);
    let taken = lasting.block_on(async { timeout(Duration::from_secs(10), second).await });
    assert_eq!(taken.expect("the second worker is woken instead").unwrap(), Some(()));
}

#[test]
fn a_queue_keeps_one_task_for_each_runtime() {
    let queue = queue();
    let runtimes: Vec<_> = (0..3).map(|_| runtime()).collect();
    for runtime in &runtimes {
        for _ in 0..5 {
            runtime.block_on(async { assert!(queue.next().now_or_never().is_none()) });
        }
    }
    assert!(runtimes.iter().all(|runtime| runtime.metrics().num_alive_tasks() == 1));
}

#[test]
fn adds_and_a_forced_shutdown_need_no_runtime() {
    let queue = queue();
    queue.add(1);
    queue.add_after(2, MS);
    queue.add_rate_limited(3);
    assert!(queue.cancel_delay(&3));
    let report = queue.shutdown_now();
    assert_eq!(left(report), [vec![], vec![1], vec![2]]);
}

#[test]
fn no_key_is_lost_while_runtimes_start_and_end() {
    const KEYS: u32 = 2000;
    let limiter = ExponentialBackoff::new(Duration::from_micros(50), MS);
    let queue = WorkQueue::<u32>::builder("runtimes").rate_limiter(limiter).build();
    let done = Arc::new(Mutex::new(BTreeSet::new()));
    let work = |queue: WorkQueue<u32>, done: Arc<Mutex<BTreeSet<u32>>>| async move {
        while let Some(item) = queue.next().await {
            // A runtime that ends here drops the item, which is then retried.
            tokio::task::yield_now().await;
            done.lock().insert(*item.key());
            item.done();
        }
    };
    let runtime = || RuntimeBuilder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let lasting = runtime();
    let worker = lasting.spawn(work(queue.clone(), done.clone()));
    let mut key = 0;
    while key < KEYS {
        let ending = runtime();
        for _ in 0..3 {
            ending.spawn(work(queue.clone(), done.clone()));
        }
        for _ in 0..KEYS / 20 {
            if key % 2 == 0 {
                queue.add(key)
            } else {
                queue.add_after(key, (key % 7) * MS / 4)
            };
            key += 1;
        }
        ending.shutdown_background();
    }
    let all_done = async {
        while done.lock().len() < KEYS as usize {
            tokio::time::sleep(MS).await;
        }
        queue.shutdown(Duration::from_secs(10)).await
    };
    let report = lasting.block_on(async { timeout(Duration::from_secs(30), all_done).await });
    assert!(report.expect("every key is worked on").unfinished.is_empty());
    lasting.block_on(worker).unwrap();
}
