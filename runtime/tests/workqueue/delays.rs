//! Delayed keys.

use tokio::time::advance;

use crate::*;

#[tokio::test(start_paused = true)]
async fn a_delayed_key_is_added_at_the_moment_its_delay_ends() {
    let queue = queue();
    assert_eq!(queue.add_after(1, 50 * MS), Added::Delayed);
    assert_eq!(queue.len(), 0);
    let start = Instant::now();
    let item = queue.next().await.unwrap();
    assert_eq!((*item.key(), start.elapsed()), (1, 50 * MS));
    item.done();
}

#[tokio::test(start_paused = true)]
async fn of_two_delays_the_earlier_counts_in_either_order() {
    for delays in [[50, 20], [20, 50]] {
        let queue = queue();
        assert_eq!(queue.add_after(1, delays[0] * MS), Added::Delayed);
        assert_eq!(queue.add_after(1, delays[1] * MS), Added::Merged);
        let start = Instant::now();
        queue.next().await.unwrap().done();
        assert_eq!(start.elapsed(), 20 * MS);
        advance(Duration::from_secs(1)).await;
        assert!(take(&queue).is_none(), "the later delay is gone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_delay_that_ends_first_wakes_a_sleeping_worker_first() {
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
async fn keys_are_added_in_the_order_in_which_their_delays_end() {
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
    assert_eq!(queue.add_after(1, MS), Added::Delayed, "the key can be delayed again");
}

#[tokio::test(start_paused = true)]
async fn an_add_without_a_delay_replaces_the_delay() {
    let queue = queue();
    queue.add_after(1, 10 * MS);
    assert_eq!(queue.add(1), Added::Queued);
    assert_eq!(drain(&queue), [1]);
    advance(20 * MS).await;
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_ends_while_the_key_is_running_leads_to_one_rerun() {
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
async fn a_delay_that_is_set_while_the_key_is_running_is_kept() {
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
async fn an_endless_delay_does_not_overflow() {
    let queue = queue();
    assert_eq!(queue.add_after(1, Duration::MAX), Added::Delayed);
    advance(Duration::from_secs(1 << 20)).await;
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_is_set_while_the_key_is_queued_is_kept() {
    let queue = queue();
    queue.add(1);
    assert_eq!(queue.add_after(1, 10 * MS), Added::Delayed);
    assert_eq!(drain(&queue), [1]);
    assert!(take(&queue).is_none());
    advance(10 * MS).await;
    assert_eq!(drain(&queue), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_requeue_does_not_postpone_an_earlier_delay() {
    let queue = queue();
    queue.add(1);
    let item = take(&queue).unwrap();
    queue.add_after(1, 10 * MS);
    item.requeue_after(Duration::from_secs(3600));
    let start = Instant::now();
    queue.next().await.unwrap().done();
    assert_eq!(start.elapsed(), 10 * MS);
    assert!(queue.shutdown_now().is_clean());
}
