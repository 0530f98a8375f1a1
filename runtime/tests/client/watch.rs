//! The watch of the typed client, which resumes by itself.

use std::time::Duration;

use futures::StreamExt as _;
use genclient_runtime::{Error, ListParams, Result, TypedClient, client::WatchEvent, error::Cause};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use crate::{served_by, support::*};

/// The events of a watch within a day of virtual time.
async fn events_within_a_day(client: &TypedClient<ConfigMap>) -> Vec<Result<WatchEvent<ConfigMap>>> {
    let (mut delivered, day) = (Vec::new(), Duration::from_secs(86_400));
    let mut events = client.watch(&ListParams::default().at("10"));
    let _ = tokio::time::timeout(day, async {
        while let Some(event) = events.next().await {
            delivered.push(event);
        }
    })
    .await;
    delivered
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_from_the_last_version() {
    let (writer, cut) = Answer::stream();
    writer.event(modified(config_map("a", 12)));
    writer.cut();
    let (client, log) = served_by(script([
        Answer::ended_watch([added(config_map("a", 11))]),
        cut,
        Answer::status(429, "TooManyRequests", "slow down").header("retry-after", 60),
        Answer::watch([deleted(config_map("a", 13)), bookmark(14)]),
    ]));
    let begin = Instant::now();
    let events: Vec<_> = client.watch(&ListParams::default().at("10").labels("a=b")).take(4).collect().await;
    let events: Vec<_> = events.into_iter().map(Result::unwrap).collect();
    assert!(
        matches!(&events[..], [
            WatchEvent::Added(_),
            WatchEvent::Modified(_),
            WatchEvent::Deleted(_),
            WatchEvent::Bookmark { resource_version }
        ] if resource_version == "14"),
        "{events:?}"
    );
    assert!(begin.elapsed() >= Duration::from_secs(60), "the server asked for a minute");
    let watches = log.watches();
    let versions: Vec<_> = watches.iter().map(|watch| watch.query("resourceVersion").unwrap()).collect();
    assert_eq!(versions, ["10", "11", "12", "12"]);
    assert!(watches.iter().all(|watch| watch.query("labelSelector") == Some("a=b")));
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_version_that_is_cut_among_the_first_objects_starts_again() {
    let (client, log) = served_by(script([
        Answer::ended_watch([added(config_map("b", 9))]),
        Answer::watch([added(config_map("b", 9)), added(config_map("a", 3)), bookmark(10)]),
    ]));
    let events: Vec<_> = client.watch(&ListParams::default()).take(4).collect().await;
    assert!(events.iter().all(Result::is_ok));
    assert_eq!(log.watches()[1].query("resourceVersion"), None, "`a` would be lost from version 9 on");
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_any_version_that_breaks_among_the_first_objects_begins_again() {
    let (client, log) = served_by(script([
        Answer::ended_watch([added(config_map("b", 9)), added(invalid_config_map("c", 8))]),
        Answer::watch([added(config_map("b", 9)), added(config_map("a", 3)), bookmark(10)]),
    ]));
    let events: Vec<_> = client.watch(&ListParams::default().at("0")).take(5).collect().await;
    assert!(events.iter().all(Result::is_ok));
    assert_eq!(log.watches()[1].query("resourceVersion"), Some("0"), "`a` would be lost from version 9 on");
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_without_a_version_says_nothing() {
    let mut nothing = bookmark(11);
    nothing["object"]["metadata"] = serde_json::json!({});
    let (client, log) = served_by(script([Answer::watch([nothing, modified(config_map("a", 12))])]));
    let mut events = client.watch(&ListParams::default().at("10"));
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Modified(_)))));
    assert_eq!(log.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_cannot_be_resumed_from_is_returned_and_ends_the_stream() {
    for (refusal, check) in [
        (Answer::status(410, "Expired", "too old"), Error::is_gone as fn(&_) -> bool),
        (Answer::ended_watch([error_event(410, "Gone", "too old")]), Error::is_gone),
        (Answer::status(403, "Forbidden", "no"), Error::is_forbidden),
        (Answer::text(404, "404 page not found"), Error::is_not_found),
    ] {
        let (client, log) = served_by(script([refusal]));
        let mut events = client.watch(&ListParams::default().at("10"));
        let error = events.next().await.unwrap().unwrap_err();
        assert!(check(&error), "{error}");
        assert!(events.next().await.is_none());
        assert_eq!(log.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_is_an_event_like_any_other() {
    let (client, _log) =
        served_by(script([Answer::watch([added(invalid_config_map("a", 11)), added(config_map("b", 12))])]));
    let mut events = client.watch(&ListParams::default().at("10"));
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Invalid(invalid))) if invalid.uid == "a"));
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_unreadable_twice_from_the_same_version_is_an_error() {
    for line in ["<html>Please log in</html>\n", "{\"type\":\"ADDED\",\"object\":{\n"] {
        let (client, log) = served_by(move |_: Received| Answer::text(200, line));
        let events = events_within_a_day(&client).await;
        let [Err(error)] = &events[..] else { panic!("{events:?}") };
        assert!(matches!(error.cause(), Cause::Decode { .. }), "{error}");
        assert_eq!(log.len(), 2, "once more from the same version, and no more");
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_large_10_times_in_a_row_is_an_error() {
    let (client, log) =
        served_by(|_: Received| Answer::status(504, "Timeout", "Too large resource version: 10, current: 3"));
    let events = events_within_a_day(&client).await;
    let [Err(error)] = &events[..] else { panic!("{events:?}") };
    assert!(error.is_timeout(), "{error}");
    assert_eq!(log.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_delivered_something_new_or_lasted_resumes_at_once() {
    // Each watch delivers one event and is cut, as by an impatient load balancer.
    let (client, log) = served_by(|request: Received| {
        let version: u64 = request.query("resourceVersion").unwrap().parse().unwrap();
        let (writer, answer) = Answer::stream();
        writer.event(modified(config_map("a", version + 1)));
        writer.cut();
        answer
    });
    let begin = Instant::now();
    let events: Vec<_> = client.watch(&ListParams::default().at("10")).take(20).collect().await;
    assert!(events.iter().all(Result::is_ok));
    assert_eq!((begin.elapsed(), log.len()), (Duration::ZERO, 20));

    // Each watch is silent for a minute and is cut.
    let (client, log) = served_by(|_: Received| {
        let (writer, answer) = Answer::stream();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            writer.cut();
        });
        answer
    });
    let mut events = client.watch(&ListParams::default().at("10"));
    let _ = tokio::time::timeout(Duration::from_secs(600) - Duration::from_millis(1), events.next()).await;
    assert_eq!(log.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_delivers_nothing_new_and_ends_at_once_pauses_for_up_to_30_seconds() {
    let (client, log) = served_by(|_: Received| Answer::ended_watch([bookmark(10)]));
    let events = client.watch(&ListParams::default().at("10"));
    assert!(tokio::time::timeout(Duration::from_secs(3600), events.count()).await.is_err());
    assert!((120..300).contains(&log.len()), "{}", log.len());
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured_for_up_to_5_minutes() {
    for answer in [
        || Answer::status(429, "TooManyRequests", "slow down").header("retry-after", 86_400),
        || Answer::text(503, "<html>maintenance</html>").header("retry-after", 86_400),
    ] {
        let (client, log) = served_by(move |_: Received| answer());
        assert_eq!(client.get("a").await.unwrap_err().retry_after(), Some(Duration::from_secs(300)));
        let mut events = client.watch(&ListParams::default().at("10"));
        assert!(tokio::time::timeout(Duration::from_secs(899), events.next()).await.is_err());
        assert_eq!(log.watches().len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_is_unreadable() {
    let (client, log) = served_by(|_: Received| {
        let (writer, answer) = Answer::stream();
        let piece = bytes::Bytes::from(vec![b'x'; 1 << 20]);
        for _ in 0..70 {
            writer.raw(piece.clone());
        }
        writer.leave_open();
        answer
    });
    let events = events_within_a_day(&client).await;
    let [Err(error)] = &events[..] else { panic!("{events:?}") };
    assert!(error.to_string().starts_with("cannot watch ConfigMap in namespace default"), "{error}");
    assert_eq!(log.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_line_is_forgotten_when_the_watch_moves_on() {
    let garbage = || Answer::text(200, "garbage\n");
    let (client, _log) = served_by(script([
        garbage(),
        Answer::ended_watch([added(config_map("a", 11))]),
        garbage(),
        Answer::watch([added(config_map("b", 12))]),
    ]));
    let events: Vec<_> = client.watch(&ListParams::default().at("10")).take(2).collect().await;
    assert!(events.iter().all(Result::is_ok), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn events_before_a_cut_are_delivered_before_the_watch_resumes() {
    let (client, _log) = served_by(script([Answer::ended_watch([
        added(config_map("a", 11)),
        added(config_map("b", 12)),
        error_event(410, "Expired", "too old"),
    ])]));
    let events = events_within_a_day(&client).await;
    assert!(matches!(&events[..], [Ok(_), Ok(_), Err(error)] if error.is_expired()), "{events:?}");
}
