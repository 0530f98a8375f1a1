//! The metrics of the queue.

use tokio::time::{advance, timeout};

use crate::metrics_recorder::TestRecorder;
use crate::*;
use genclient_runtime::metrics as names;

#[tokio::test(start_paused = true)]
async fn the_gauges_of_running_reconciliations_are_updated_every_half_second() {
    let recorder = TestRecorder::default();
    let queue = recorder.observe(|| WorkQueue::<u32>::new("gauges"));
    queue.add(1);
    let _running = queue.next().await;
    for passed in 1..=6_u32 {
        tokio::time::sleep(500 * MS).await;
        for name in [names::WORKQUEUE_UNFINISHED, names::WORKQUEUE_LONGEST_RUNNING] {
            let shown = recorder.gauge(&format!("{name}{{queue=\"gauges\"}}"));
            let lag = 0.5 * f64::from(passed) - shown;
            assert!((0.0..=0.5).contains(&lag), "{name} is {shown} after {passed} half seconds");
        }
    }
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
    assert_eq!((depth(), adds()), (2.0, 2), "a merged add does not count");
    advance(100 * MS).await;
    let first = take(&queue).unwrap();
    assert_eq!((depth(), adds()), (2.0, 3), "the delay has ended");
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
    assert_eq!(depth(), 0.0, "a shutdown empties the queue");
}

#[test]
fn a_queue_is_measured_only_if_a_recorder_is_installed() {
    let recorder = TestRecorder::default();
    let before = queue();
    before.add(1);
    assert!(recorder.is_empty());
    recorder.observe(queue);
    assert!(!recorder.is_empty());
}

fn panics() -> Result<Action, String> {
    panic!("on purpose")
}

#[tokio::test(start_paused = true)]
async fn an_unmeasured_queue_still_ends_delays_and_registers_nothing() {
    let recorder = TestRecorder::default();
    let queue = recorder.observe(|| WorkQueue::<u32>::builder("quiet").without_metrics().build());
    let hour = Duration::from_secs(3600);
    queue.add_after(1, hour);
    let start = Instant::now();
    queue.next().await.unwrap().done();
    assert_eq!(start.elapsed(), hour);
    assert!(recorder.is_empty());
}

#[tokio::test]
async fn a_delay_that_ends_as_a_rerun_is_counted() {
    let recorder = TestRecorder::default();
    let queue = recorder.observe(|| WorkQueue::<u32>::new("measured"));
    for round in 1..=3 {
        queue.add(1);
        let item = take(&queue).unwrap();
        queue.add_after(1, MS);
        // The alarm cannot run, so the worker is the one that notices the end.
        std::thread::sleep(2 * MS);
        assert!(take(&queue).is_none(), "a worker holds the key");
        item.done();
        assert_eq!(drain(&queue), [1]);
        assert_eq!(recorder.gauge("genclient_workqueue_depth{queue=\"measured\"}"), 0.0);
        assert_eq!(recorder.counter("genclient_workqueue_adds_total{queue=\"measured\"}"), 2 * round);
    }
}

#[tokio::test]
async fn a_recorder_that_is_installed_before_a_worker_waits_is_used() {
    let recorder = TestRecorder::default();
    let queue = queue();
    queue.add(1);
    queue.add(2);
    let item = recorder.observe(|| take(&queue)).unwrap();
    let depth = || recorder.gauge("genclient_workqueue_depth{queue=\"test\"}");
    assert_eq!(depth(), 1.0, "keys from before count");
    queue.add(1);
    item.done();
    assert_eq!(depth(), 2.0);
    drain(&queue);
    assert_eq!(depth(), 0.0);
}
