//! How lists change the cache, and the events that handlers get.

use std::sync::Arc;

use genclient_runtime::{
    Cause, Event, FinalState, Selector,
    reflector::{Delta, Scope},
};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_relist_deletes_missing_objects_with_their_last_known_state() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(2, vec![item("a", 1, 1), item("b", 1, 2)])]).await;
    reached(&informer, 2).await;
    quiet().await;
    let known = informer.store().get(&key("b")).expect("b is there");
    feed.send([list(5, vec![item("a", 1, 1)])]).await;
    reached(&informer, 5).await;
    quiet().await;
    assert_eq!(recorder.texts()[2..], ["-b2 Unknown"]);
    let Event::Deleted { last, final_state: FinalState::Unknown } = &recorder.events()[2] else {
        panic!("not a deletion")
    };
    assert!(Arc::ptr_eq(last, &known));
    assert_eq!(informer.store().keys(), [key("a")]);
}

#[tokio::test(start_paused = true)]
async fn a_relist_deletes_objects_that_were_only_in_the_queue() {
    let informer = idle(vec![Scope::All]);
    let mut events = informer.events();
    let recorder = Recorder::default();
    let mut record = recorder.handler();
    let feed = run(&informer);
    feed.send([
        list(1, vec![item("a", 1, 1)]),
        Delta::Upsert(item("b", 1, 2)),
        list(3, vec![item("a", 1, 1)]),
    ])
    .await;
    reached(&informer, 3).await;
    assert_eq!(informer.store().keys(), [key("a")]);
    informer.stop();
    drop(feed);
    while let Some(Some(event)) = futures::FutureExt::now_or_never(futures::StreamExt::next(&mut events)) {
        record(&event);
    }
    assert!(recorder.texts().iter().all(|text| !text.contains('b')), "{:?}", recorder.texts());
}

#[tokio::test(start_paused = true)]
async fn an_informer_is_synced_only_when_the_first_list_is_in_the_cache() {
    let informer = idle(vec![Scope::All]);
    let feed = run(&informer);
    feed.send([Delta::Upsert(item("gone", 1, 1)), bookmark(2)]).await;
    reached(&informer, 2).await;
    assert!(!informer.has_synced(), "nothing was listed");
    feed.send([list(3, vec![item("a", 1, 3)])]).await;
    assert!(informer.wait_for_sync().await);
    assert_eq!(informer.store().keys(), [key("a")], "deletions included");
}

#[tokio::test(start_paused = true)]
async fn an_informer_of_two_namespaces_is_synced_when_both_were_listed() {
    let scope = |namespace: &str| Scope::Namespace(namespace.into());
    let informer = idle(vec![scope("x"), scope("y")]);
    let feed = run(&informer);
    feed.send([list_of(scope("x"), 4, vec![item_in("x", "a", 1, 4)])]).await;
    eventually("x is listed", || informer.store().len() == 1).await;
    assert!(!informer.has_synced());
    feed.send([list_of(scope("y"), 5, vec![item_in("y", "a", 1, 5)])]).await;
    assert!(informer.wait_for_sync().await);
    assert_eq!(informer.store().len(), 2);
    assert_eq!(informer.resource_version().as_deref(), Some("4"), "the older of both");
    feed.send([list_of(scope("x"), 9, vec![])]).await;
    eventually("x is empty", || informer.store().list_namespace("x", &Selector::everything()).is_empty())
        .await;
    assert_eq!(informer.store().len(), 1, "a list of one namespace does not affect the other");
}

#[tokio::test(start_paused = true)]
async fn changes_missed_during_a_disruption_reach_handlers_without_a_resync() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(3, vec![item("a", 1, 1), item("b", 1, 2), item("c", 1, 3)])]).await;
    reached(&informer, 3).await;
    quiet().await;
    feed.send([list(9, vec![item("a", 1, 1), item("b", 1, 7), item("d", 1, 8)])]).await;
    reached(&informer, 9).await;
    quiet().await;
    let mut told = recorder.texts()[3..].to_vec();
    told.sort();
    assert_eq!(told, ["+d8", "-c3 Unknown", "~b2>b7 Relist"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_recreated_between_two_lists_is_a_delete_and_an_add() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    quiet().await;
    feed.send([list(5, vec![item("a", 2, 4)])]).await;
    reached(&informer, 5).await;
    recorder.has(&["+a1 initial", "-a1 Unknown", "+a4"]).await;
    assert_eq!(recorder.events()[1].object().uid, "a-1");
    assert_eq!(recorder.events()[2].object().uid, "a-2");
}

#[tokio::test(start_paused = true)]
async fn an_object_recreated_without_its_deletion_being_watched_is_a_delete_and_an_add() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    quiet().await;
    feed.send([Delta::Upsert(item("a", 2, 4))]).await;
    reached(&informer, 4).await;
    recorder.has(&["+a1 initial", "-a1 Unknown", "+a4"]).await;
}

#[tokio::test(start_paused = true)]
async fn the_deletion_of_a_later_object_with_the_same_name_deletes_the_cached_one() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    quiet().await;
    feed.send([Delta::Delete(item("a", 2, 9))]).await;
    reached(&informer, 9).await;
    assert!(informer.store().is_empty());
    // Nothing is known about the final state of the cached one.
    recorder.has(&["+a1 initial", "-a1 Unknown"]).await;
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_object_keeps_its_arc_in_a_relist_and_has_no_event() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    let before = informer.store().get(&key("a")).expect("a is there");
    feed.send([list(9, vec![item("a", 1, 1)]), Delta::Upsert(item("a", 1, 1)), bookmark(10)]).await;
    reached(&informer, 10).await;
    quiet().await;
    assert!(Arc::ptr_eq(&before, &informer.store().get(&key("a")).expect("a is there")));
    assert_eq!(recorder.texts(), ["+a1 initial"]);
}

#[tokio::test(start_paused = true)]
async fn a_relist_never_goes_back_in_time() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([
        list(10, vec![item("a", 1, 5), item("old", 1, 6)]),
        Delta::Upsert(item("a", 1, 20)),
        Delta::Upsert(item("new", 1, 21)),
    ])
    .await;
    reached(&informer, 21).await;
    quiet().await;
    let told = recorder.len();
    feed.send([list(10, vec![item("a", 1, 5), item("old", 1, 6)]), bookmark(22)]).await;
    reached(&informer, 22).await;
    quiet().await;
    assert_eq!(recorder.texts()[told..], [] as [&str; 0]);
    assert_eq!(informer.store().get(&key("a")).expect("a is there").version, "20");
    assert!(informer.store().get(&key("new")).is_some(), "the list is older than this object");
    assert_eq!(informer.resource_version().as_deref(), Some("22"));
}

#[tokio::test(start_paused = true)]
async fn after_a_reset_the_next_list_is_applied_as_it_is() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(100, vec![item("a", 1, 90), item("after-the-backup", 1, 95)])]).await;
    reached(&informer, 100).await;
    quiet().await;
    feed.send([Delta::Reset { scope: Scope::All }, list(50, vec![item("a", 1, 40)])]).await;
    eventually("the version has gone back", || informer.resource_version().as_deref() == Some("50")).await;
    quiet().await;
    let mut told = recorder.texts()[2..].to_vec();
    told.sort();
    assert_eq!(told, ["-after-the-backup95 Unknown", "~a90>a40 Relist"]);
    feed.send([list(45, vec![item("a", 1, 39)]), bookmark(51)]).await;
    reached(&informer, 51).await;
    assert_eq!(informer.store().get(&key("a")).expect("a is there").version, "40", "only one list");
}

#[tokio::test(start_paused = true)]
async fn an_older_state_or_deletion_from_the_watch_is_dropped() {
    let (informer, feed) = running();
    feed.send([list(10, vec![item("a", 2, 10)])]).await;
    feed.send([
        Delta::Upsert(item("a", 2, 9)),
        Delta::Upsert(item("a", 1, 3)),
        Delta::Delete(item("a", 1, 4)),
        Delta::Delete(item("a", 2, 8)),
        Delta::Delete(item("unknown", 1, 8)),
        bookmark(11),
    ])
    .await;
    reached(&informer, 11).await;
    assert_eq!(informer.store().get(&key("a")).map(|a| a.version.clone()).as_deref(), Some("10"));
}

#[tokio::test(start_paused = true)]
async fn versions_that_cannot_be_ordered_are_applied_as_they_arrive() {
    let odd = |version: &str| {
        let mut odd = Item::clone(&item("a", 1, 0));
        odd.version = version.to_owned();
        Arc::new(odd)
    };
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(10, vec![odd("x9")])]).await;
    quiet().await;
    for version in ["x1", "x1", "", ""] {
        feed.send([Delta::Upsert(odd(version))]).await;
        quiet().await;
    }
    recorder.has(&["+ax9 initial", "~ax9>ax1 Watch", "~ax1>a Watch", "~a>a Watch"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watched_deletion_has_the_final_state() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    reached(&informer, 1).await;
    quiet().await;
    feed.send([Delta::Delete(item("a", 1, 7))]).await;
    recorder.has(&["+a1 initial", "-a7 Observed"]).await;
    assert!(informer.store().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_keeps_its_last_good_state() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(2, vec![item("a", 1, 1), item("b", 1, 2)])]).await;
    quiet().await;
    feed.send([Delta::Invalid(invalid("a", "a-1", 3))]).await;
    reached(&informer, 3).await;
    assert_eq!(informer.invalid(), [invalid("a", "a-1", 3)]);
    feed.send([Delta::Replace {
        scope: Scope::All,
        objects: vec![item("b", 1, 2)],
        invalid: vec![invalid("a", "a-1", 4), invalid("never", "n", 4)],
        resource_version: "5".to_owned(),
    }])
    .await;
    reached(&informer, 5).await;
    assert_eq!(informer.store().get(&key("a")).expect("its last good state").version, "1");
    assert_eq!(informer.invalid().len(), 2);
    feed.send([Delta::Upsert(item("a", 1, 6)), Delta::DeleteInvalid(invalid("never", "n", 7))]).await;
    reached(&informer, 7).await;
    quiet().await;
    assert_eq!(informer.invalid(), []);
    assert_eq!(recorder.texts()[2..], ["~a1>a6 Watch"], "it was never reported as deleted");
}

#[tokio::test(start_paused = true)]
async fn the_deletion_of_an_invalid_object_removes_no_later_object_of_its_name() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    // A list can be newer than the watch that follows it.
    feed.send([list(10, vec![item("a", 2, 9)])]).await;
    feed.send([Delta::DeleteInvalid(invalid("a", "a-1", 8)), Delta::Upsert(item("b", 1, 11))]).await;
    recorder.has(&["+a9 initial", "+b11"]).await;
    assert!(informer.store().get(&key("a")).is_some());
    feed.send([Delta::DeleteInvalid(invalid("a", "a-2", 12))]).await;
    recorder.has(&["+a9 initial", "+b11", "-a9 Unknown"]).await;
}

#[tokio::test(start_paused = true)]
async fn an_invalid_object_under_another_uid_is_another_object() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    quiet().await;
    feed.send([Delta::Invalid(invalid("a", "a-2", 3))]).await;
    recorder.has(&["+a1 initial", "-a1 Unknown"]).await;
    feed.send([Delta::Upsert(item("a", 2, 4))]).await;
    recorder.has(&["+a1 initial", "-a1 Unknown", "+a4"]).await;
}

#[tokio::test(start_paused = true)]
async fn the_deletion_of_an_object_that_does_not_decode_has_the_last_good_state() {
    let (informer, feed) = running();
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1)]), Delta::Invalid(invalid("a", "a-1", 2))]).await;
    quiet().await;
    feed.send([Delta::DeleteInvalid(invalid("a", "a-1", 3))]).await;
    recorder.has(&["+a1 initial", "-a1 Unknown"]).await;
    assert_eq!(informer.invalid(), []);
    assert!(informer.store().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_update_has_its_cause() {
    let informer = resyncing();
    let feed = run(&informer);
    let recorder = Recorder::default();
    informer.add_event_handler(recorder.handler());
    feed.send([list(1, vec![item("a", 1, 1)])]).await;
    quiet().await;
    feed.send([Delta::Upsert(item("a", 1, 2))]).await;
    quiet().await;
    feed.send([list(4, vec![item("a", 1, 3)])]).await;
    quiet().await;
    tokio::time::sleep(RESYNC).await;
    let causes: Vec<_> = recorder
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::Updated { cause, .. } => Some(*cause),
            _ => None,
        })
        .collect();
    assert_eq!(causes, [Cause::Watch, Cause::Relist, Cause::Resync]);
    assert!(recorder.events()[3].is_resync());
}
