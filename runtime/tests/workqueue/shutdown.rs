//! The end of the queue.

use tokio::time::timeout;

use crate::*;

#[tokio::test(start_paused = true)]
async fn a_shutdown_returns_every_key_and_lets_running_keys_finish() {
    let queue = queue();
    queue.add(1);
    let running = take(&queue).unwrap();
    queue.add(2);
    queue.add_with(3, Priority::HIGH);
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
    let start = Instant::now();
    let report = queue.shutdown(Duration::from_secs(1)).await;
    assert_eq!(left(report), [vec![], vec![3, 2], vec![5, 4]]);
    assert_eq!(start.elapsed(), 50 * MS, "it waited for the running key and no longer");
    work.await.unwrap();
    assert!(queue.shutdown(Duration::from_secs(1)).await.is_clean(), "each key is returned once");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_returns_the_keys_that_missed_the_deadline() {
    let queue = queue();
    queue.add(1);
    let running = take(&queue).unwrap();
    queue.add(1);
    let start = Instant::now();
    let report = queue.shutdown(70 * MS).await;
    assert_eq!(left(report), [vec![1], vec![], vec![]]);
    assert_eq!(start.elapsed(), 70 * MS);
    running.done();
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_returns_a_key_that_fails_during_the_drain() {
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
    assert_eq!(left(report), [vec![], vec![2], vec![1]]);
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
    let start = Instant::now();
    assert_eq!(queue.shutdown_now().unfinished, [1]);
    assert_eq!(drain.await.unwrap().unfinished, [1]);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn a_shutdown_wakes_a_sleeping_worker() {
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
async fn a_dropped_shutdown_leaves_its_keys_to_the_next_one() {
    let queue = queue();
    queue.add(1);
    queue.add(2);
    queue.add_after(3, MS);
    let running = take(&queue).unwrap();
    let dropped = timeout(5 * MS, queue.shutdown(Duration::from_secs(3600))).await;
    assert!(dropped.is_err());
    assert!(queue.add(4).is_refused(), "the queue stays shut down");
    running.retry();
    let report = queue.shutdown(MS).await;
    assert_eq!(left(report), [vec![], vec![2], vec![3, 1]]);
}

#[tokio::test(start_paused = true)]
async fn two_shutdowns_return_each_key_once() {
    let queue = queue();
    for key in 0..10 {
        queue.add(key);
        queue.add_after(100 + key, MS);
    }
    let running = take(&queue).unwrap();
    let (first, second, ()) =
        tokio::join!(queue.shutdown(Duration::from_secs(1)), queue.shutdown(Duration::from_secs(1)), async {
            tokio::time::sleep(10 * MS).await;
            running.done();
        });
    let mut keys = [first.queued, first.delayed, second.queued, second.delayed].concat();
    keys.sort_unstable();
    assert_eq!(keys, (1..10).chain(100..110).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_shutdown_during_adds_loses_no_key() {
    for _ in 0..50 {
        let queue = WorkQueue::<u32>::new("race");
        let done = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
        let workers = tokio::spawn({
            let (queue, done) = (queue.clone(), done.clone());
            async move {
                let reconcile = move |key| {
                    done.lock().push(key);
                    async { Ok::<_, String>(Action::await_change()) }
                };
                queue.run(3, reconcile).await;
            }
        });
        let adding = tokio::spawn({
            let queue = queue.clone();
            async move { (0..1000).filter(|&key| queue.add(key).is_refused()).collect::<Vec<_>>() }
        });
        tokio::task::yield_now().await;
        let report = queue.shutdown(Duration::from_secs(10)).await;
        let mut keys = [adding.await.unwrap(), report.queued, report.delayed, report.unfinished].concat();
        workers.await.unwrap();
        keys.extend(done.lock().iter());
        keys.sort_unstable();
        assert_eq!(keys, (0..1000).collect::<Vec<_>>());
    }
}
