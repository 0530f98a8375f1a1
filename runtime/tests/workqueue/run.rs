//! The loop of a controller.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use tokio::{sync::mpsc, time::timeout};

use crate::*;

#[tokio::test(start_paused = true)]
async fn run_acts_on_each_result() {
    let queue = WorkQueue::<String>::builder("run").rate_limiter(exact_backoff()).build();
    let (seen, mut log) = mpsc::channel(100);
    let start = Instant::now();
    let running = tokio::spawn({
        let queue = queue.clone();
        async move {
            let tries = Arc::new(AtomicUsize::new(0));
            let reconcile = move |key: String| {
                let (seen, tries) = (seen.clone(), tries.clone());
                async move {
                    seen.send((key.clone(), start.elapsed())).await.unwrap();
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
async fn run_returns_at_the_deadline_of_a_shutdown_even_if_a_worker_hangs() {
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
async fn the_keys_of_a_dropped_run_are_retried() {
    let queue = queue();
    queue.add(1);
    let hanging = queue.run(1, |_| std::future::pending::<Result<Action, String>>());
    assert!(timeout(MS, hanging).await.is_err());
    tokio::task::yield_now().await;
    let item = queue.next().await.unwrap();
    assert_eq!(*item.key(), 1);
    item.done();
}

#[tokio::test(start_paused = true)]
async fn run_has_at_least_one_worker() {
    let queue = queue();
    queue.add(1);
    let run = queue.run(0, |_| async { Ok::<_, String>(Action::await_change()) });
    assert!(timeout(MS, run).await.is_err());
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_panic_stops_no_worker_wherever_it_happens() {
    struct Unspeakable;
    impl std::fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("in the display of the error")
        }
    }
    let queue = queue();
    (0..4).for_each(|key| _ = queue.add(key));
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let run = queue.run(1, move |key| {
        let first = counted.fetch_add(1, SeqCst) < 4;
        assert!(key != 0 || !first, "before the future");
        async move {
            tokio::task::yield_now().await;
            assert!(key != 1 || !first, "in the future");
            if key == 2 && first { Err(Unspeakable) } else { Ok(Action::await_change()) }
        }
    });
    assert!(timeout(Duration::from_secs(1), run).await.is_err(), "the worker goes on");
    assert_eq!(runs.load(SeqCst), 7, "three keys were retried");
    assert!(queue.shutdown(MS).await.is_clean());
}
