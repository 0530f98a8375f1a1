//! The delta queue.

use futures::FutureExt;
use genclient_runtime::reflector::{Delta, SinkClosed, delta_queue};

use crate::support::*;

fn name(delta: &Delta<Item>) -> String {
    match delta {
        Delta::Upsert(object) => format!("{}{}", object.name, object.version),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn deltas_are_received_in_the_order_in_which_they_were_sent() {
    let (sender, mut receiver) = delta_queue(4);
    let sending = tokio::spawn(async move {
        for version in 1..=1000 {
            sender.send_all([Delta::Upsert(item(["a", "b", "c"][version % 3], 1, version as u64))]).await?;
        }
        Ok::<_, SinkClosed>(())
    });
    let mut seen = Vec::new();
    while receiver.receive(&mut seen, 7).await > 0 {}
    sending.await.expect("no panic").expect("the queue is open");
    let expected: Vec<_> =
        (1..=1000).map(|version| format!("{}{version}", ["a", "b", "c"][version % 3])).collect();
    assert_eq!(seen.iter().map(name).collect::<Vec<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_sender_waits_while_the_queue_is_full() {
    let (sender, mut receiver) = delta_queue(2);
    let mut sending = Box::pin(sender.send_all((1..=3).map(|version| Delta::Upsert(item("a", 1, version)))));
    assert!((&mut sending).now_or_never().is_none(), "the third does not fit");
    assert_eq!(receiver.len(), 2);
    let mut seen = Vec::new();
    assert_eq!(receiver.receive(&mut seen, 1).await, 1);
    assert_eq!((&mut sending).now_or_never(), Some(Ok(())));
    assert_eq!(receiver.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_receiver_notices_at_once_that_the_sender_is_dropped() {
    let (sender, mut receiver) = delta_queue::<Item>(2);
    let receiving = tokio::spawn(async move { receiver.receive(&mut Vec::new(), 1).await });
    quiet().await;
    assert!(!receiving.is_finished());
    drop(sender);
    assert_eq!(receiving.await.expect("no panic"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_sender_notices_at_once_that_the_receiver_is_dropped() {
    let (sender, receiver) = delta_queue(1);
    let sending = tokio::spawn(async move {
        sender.send_all([Delta::Upsert(item("a", 1, 1)), Delta::Upsert(item("a", 1, 2))]).await
    });
    quiet().await;
    assert!(!sending.is_finished());
    drop(receiver);
    assert_eq!(sending.await.expect("no panic"), Err(SinkClosed));
}

#[tokio::test(start_paused = true)]
async fn deltas_sent_before_the_sender_is_dropped_are_still_received() {
    let (sender, mut receiver) = delta_queue(2);
    sender.send_all([Delta::Upsert(item("a", 1, 1))]).await.expect("open");
    drop(sender);
    let mut seen = Vec::new();
    assert_eq!(receiver.receive(&mut seen, 8).await, 1);
    assert_eq!(receiver.receive(&mut seen, 8).await, 0);
}

#[tokio::test(start_paused = true)]
async fn the_events_of_each_object_reach_a_handler_in_the_order_of_the_queue() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![])]).await;
    for version in 2..=301 {
        feed.send([Delta::Upsert(item(["a", "b", "c"][version % 3], 1, version as u64))]).await;
    }
    reached(&informer, 301).await;
    quiet().await;
    for name in ["a", "b", "c"] {
        let versions: Vec<u64> = recorder
            .events()
            .iter()
            .filter(|event| event.key().name == name)
            .map(|event| event.object().version.parse().expect("a number"))
            .collect();
        assert!(versions.is_sorted() && !versions.is_empty(), "{name}: {versions:?}");
        assert!(versions.last() >= Some(&299));
    }
}
