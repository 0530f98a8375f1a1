//! Retries and rate limiters.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use tokio::time::advance;

use crate::metrics_recorder::TestRecorder;
use crate::*;

#[tokio::test(start_paused = true)]
async fn backoff_doubles_per_key_to_its_cap_without_overflow_and_is_forgotten() {
    let backoff = exact_backoff();
    let fail = async |key| {
        let delay = backoff.when(&key);
        advance(delay).await;
        delay
    };
    for n in 0..18 {
        assert_eq!(fail("a").await, 5 * MS * (1 << n));
    }
    for _ in 18..300 {
        assert_eq!(fail("a").await, Duration::from_secs(1000));
    }
    assert_eq!((backoff.num_requeues(&"a"), backoff.num_requeues(&"b")), (300, 0));
    assert_eq!(backoff.when(&"b"), 5 * MS, "each key has its own count");
    backoff.forget(&"a");
    assert_eq!(backoff.num_requeues(&"a"), 0);
    assert_eq!(backoff.when(&"a"), 5 * MS);

    for jitter in [0.0, 1.0] {
        let wide = ExponentialBackoff::new(Duration::from_nanos(1), Duration::MAX).jitter(jitter);
        for n in 0..100 {
            let delay = wide.when(&());
            assert!(n < 50 || jitter > 0.0 || delay >= Duration::from_nanos(1 << 50));
            advance(delay).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_delay_is_shortened_by_a_random_part_of_up_to_a_half() {
    let backoff = ExponentialBackoff::default();
    let delays: Vec<_> = (0..1000).map(|key| backoff.when(&key)).collect();
    assert!(delays.iter().all(|delay| (2500..=5000).contains(&delay.as_micros())));
    let distinct: std::collections::HashSet<_> = delays.iter().collect();
    assert!(distinct.len() > 900);
    let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!((least.as_micros(), most.as_micros()) < (2600, 0) && most.as_micros() > 4900);
    let none = ExponentialBackoff::new(MS, MS).jitter(f64::NAN);
    assert_eq!(none.when(&1), MS);
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
    assert_eq!(bucket.when(&0), Duration::ZERO, "ten tokens were added, two of them were owed");
    assert_eq!((0..8).map(|_| bucket.when(&0)).max(), Some(100 * MS));
    advance(Duration::from_secs(3600)).await;
    assert!((0..100).all(|_| bucket.when(&0).is_zero()), "it holds no more than its burst");
    assert_eq!(bucket.when(&0), 100 * MS);
}

#[tokio::test(start_paused = true)]
async fn no_key_waits_longer_than_an_empty_bucket_takes_to_fill() {
    let bucket = TokenBucket::default();
    let longest = (0..10_000).map(|key| bucket.when(&key)).max();
    assert_eq!(longest, Some(Duration::from_secs(10)));
    advance(Duration::from_secs(11)).await;
    assert_eq!(bucket.when(&0), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn max_of_uses_the_longer_delay_of_both() {
    let limiter = MaxOf(exact_backoff(), TokenBucket::default());
    for key in 0..100 {
        assert_eq!(limiter.when(&key), 5 * MS, "the bucket is not empty: backoff counts");
    }
    assert_eq!(limiter.when(&100), 100 * MS, "the bucket is empty");
    for _ in 0..20 {
        advance(limiter.when(&7)).await;
    }
    assert_eq!(limiter.when(&7), Duration::from_secs(1000), "the key's backoff is longer");
    assert!(limiter.num_requeues(&7) >= 20);
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_as_long_as_the_limiter_says_and_success_forgets_the_failures() {
    let queue = exact_queue();
    queue.add(1);
    let mut waits = Vec::new();
    for _ in 0..4 {
        let start = Instant::now();
        queue.next().await.unwrap().retry();
        waits.push(start.elapsed());
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
async fn a_custom_limiter_sets_the_delays() {
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
    let start = Instant::now();
    queue.next().await.unwrap().done();
    assert_eq!((start.elapsed(), queue.num_requeues(&30)), (30 * MS, 9));
}

#[tokio::test(start_paused = true)]
async fn an_item_dropped_without_an_outcome_is_retried() {
    let queue = queue();
    queue.add(1);
    drop(take(&queue));
    assert!(take(&queue).is_none(), "not before its backoff");
    advance(5 * MS).await;
    assert_eq!(drain(&queue), [1]);
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_retry_gives_way_if_the_key_was_added_meanwhile() {
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
async fn a_requeued_key_runs_again_and_its_failures_are_forgotten() {
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

/// Panics in every call.
struct Broken;

impl RateLimiter<u32> for Broken {
    fn when(&self, _: &u32) -> Duration {
        panic!("on purpose")
    }
    fn forget(&self, _: &u32) {
        panic!("on purpose")
    }
    fn num_requeues(&self, _: &u32) -> u32 {
        panic!("on purpose")
    }
}

#[tokio::test(start_paused = true)]
async fn a_limiter_that_panics_costs_its_key_a_fixed_delay_and_nothing_else() {
    let queue = WorkQueue::builder("test").rate_limiter(Broken).build();
    queue.add(1);
    take(&queue).unwrap().retry();
    queue.add(2);
    assert_eq!(drain(&queue), [2], "other keys are not affected");
    let start = Instant::now();
    queue.next().await.unwrap().done();
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    queue.forget(&1);
    assert_eq!(queue.num_requeues(&1), 0);
    assert!(queue.shutdown(MS).await.is_clean());
}

#[tokio::test(start_paused = true)]
async fn a_limiter_that_panics_does_not_abort_an_unwinding_worker() {
    let queue = WorkQueue::builder("test").rate_limiter(Broken).build();
    queue.add(1);
    let item = take(&queue).unwrap();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _item = item;
        panic!("the worker's own panic");
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"the worker's own panic"));
    advance(Duration::from_secs(1)).await;
    assert_eq!(drain(&queue), [1]);
}

#[tokio::test(start_paused = true)]
async fn run_goes_on_with_a_limiter_that_panics() {
    let recorder = TestRecorder::default();
    let queue = recorder.observe(|| WorkQueue::builder("test").rate_limiter(Broken).build());
    queue.add(1);
    queue.add_rate_limited(2);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let run = queue.run(1, move |_| {
        let run = counted.fetch_add(1, SeqCst);
        async move { if run < 2 { Err("try again") } else { Ok(Action::await_change()) } }
    });
    assert!(tokio::time::timeout(Duration::from_secs(5), run).await.is_err(), "the workers go on");
    assert_eq!(runs.load(SeqCst), 4);
    // Three delays, two reads of the failures for the log, and two successes.
    assert_eq!(recorder.counter("genclient_workqueue_panics_total{queue=\"test\"}"), 7);
    assert!(queue.shutdown(MS).await.is_clean());
}

#[tokio::test(start_paused = true)]
async fn a_limiter_may_call_the_queue() {
    #[derive(Clone, Default)]
    struct Reentrant(Arc<std::sync::OnceLock<WorkQueue<u32>>>);
    impl RateLimiter<u32> for Reentrant {
        fn when(&self, key: &u32) -> Duration {
            self.0.get().unwrap().add(key + 1);
            MS
        }
        fn forget(&self, key: &u32) {
            self.0.get().unwrap().cancel_delay(key);
        }
        fn num_requeues(&self, _: &u32) -> u32 {
            0
        }
    }
    let limiter = Reentrant::default();
    let queue = WorkQueue::builder("test").rate_limiter(limiter.clone()).build();
    limiter.0.set(queue.clone()).unwrap();
    queue.add(1);
    take(&queue).unwrap().retry();
    assert_eq!(drain(&queue), [2]);
    advance(MS).await;
    assert_eq!(drain(&queue), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_limiter_without_end_only_delays_its_key() {
    struct Endless;
    impl RateLimiter<u32> for Endless {
        fn when(&self, _: &u32) -> Duration {
            Duration::MAX
        }
        fn forget(&self, _: &u32) {}
        fn num_requeues(&self, _: &u32) -> u32 {
            u32::MAX
        }
    }
    let queue = WorkQueue::builder("test").rate_limiter(Endless).build();
    queue.add(1);
    let failing = queue.run(1, |_| async { Err::<Action, _>("no") });
    assert!(tokio::time::timeout(MS, failing).await.is_err());
    assert_eq!(queue.shutdown(MS).await.delayed, [1]);
}
