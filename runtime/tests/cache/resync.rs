//! Resyncs follow each handler's own schedule and never replace a change.

use std::time::Duration;

use futures::{FutureExt, StreamExt};
use genclient_runtime::{
    SharedInformer,
    informer::{InformerConfig, ResyncTooShort},
    reflector::{Delta, Scope},
};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn each_handler_has_its_own_resync_schedule() {
    let informer = SharedInformer::new(InformerConfig::new("items").resync(Duration::from_secs(5)));
    let recorders: [Recorder; 4] = Default::default();
    let every = |seconds, recorder: &Recorder| {
        informer
            .add_event_handler_with_resync(recorder.handler(), Duration::from_secs(seconds))
            .expect("a good period")
    };
    every(2, &recorders[0]);
    every(0, &recorders[2]);
    informer.add_event_handler(recorders[3].handler());
    let feed = run(&informer);
    feed.send([list(1, vec![item("a", 1, 1), item("b", 1, 1)])]).await;
    assert!(informer.wait_for_sync().await);
    // The schedule of a handler starts when it is added.
    every(3, &recorders[1]);
    tokio::time::sleep(Duration::from_millis(12_500)).await;
    let resyncs = |recorder: &Recorder| recorder.events().iter().filter(|event| event.is_resync()).count();
    assert_eq!(recorders.each_ref().map(resyncs), [2 * 6, 2 * 4, 0, 2 * 2]);
}

#[tokio::test(start_paused = true)]
async fn a_resync_never_replaces_a_change() {
    let informer = resyncing();
    let feed = run(&informer);
    feed.send([list(1, vec![item("a", 1, 1), item("b", 1, 1)])]).await;
    assert!(informer.wait_for_sync().await);
    let mut events = informer.events();
    quiet().await;
    let mut next = || events.next().now_or_never().flatten().map(|event| text(&event));
    assert!(next().is_some() && next().is_some());
    // The resync comes while the update waits, and the other way round.
    feed.send([Delta::Upsert(item("a", 1, 2))]).await;
    tokio::time::sleep(RESYNC).await;
    feed.send([Delta::Upsert(item("b", 1, 3))]).await;
    tokio::time::sleep(RESYNC).await;
    let mut told = [next(), next()];
    told.sort();
    assert_eq!(told, [Some("~a1>a2 Watch".to_owned()), Some("~b1>b3 Watch".to_owned())]);
    assert_eq!(next(), None);
}

#[tokio::test(start_paused = true)]
async fn a_resync_does_not_bring_back_a_deleted_object() {
    let informer = resyncing();
    let feed = run(&informer);
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    assert!(informer.wait_for_sync().await);
    let mut events = informer.events();
    quiet().await;
    let mut next = || events.next().now_or_never().flatten().map(|event| text(&event));
    assert!(next().is_some());
    tokio::time::sleep(RESYNC).await;
    feed.send([Delta::Delete(item("a", 1, 2)), bookmark(3)]).await;
    tokio::time::sleep(RESYNC).await;
    assert_eq!(next().as_deref(), Some("-a2 Observed"));
    assert_eq!(next(), None);
}

#[test]
fn a_resync_under_a_second_is_refused() {
    let informer = idle(vec![Scope::All]);
    let period = Duration::from_millis(999);
    let refused = informer.add_event_handler_with_resync(Recorder::default().handler(), period);
    assert_eq!(refused.err(), Some(ResyncTooShort(period)));
}
