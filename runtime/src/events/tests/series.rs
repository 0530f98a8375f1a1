//! Equal events.

use super::*;

#[tokio::test(start_paused = true)]
async fn equal_events_become_a_series() {
    let (server, recorder, metrics) = Server::start([]);
    for version in ["1", "2", "3"] {
        let mut object = object("a");
        object.metadata.resource_version = Some(version.into());
        recorder.warning(&object, "Failed", "no quota");
        sleep(SECOND).await;
    }
    assert_eq!(recorder.flush(SECOND).await, 0);
    assert_eq!(server.counts(), [("no quota".to_owned(), 3)]);
    let event = &server.events()[0];
    assert_eq!(event["eventTime"], "1970-01-01T00:00:00.000000Z");
    assert_eq!(event["series"]["lastObservedTime"], "1970-01-01T00:00:02.000000Z");
    assert_eq!((sent(&metrics), dropped(&metrics)), (3, [0; 4]));
}

#[tokio::test(start_paused = true)]
async fn an_event_with_another_object_type_reason_or_message_is_a_new_event() {
    let (server, recorder, _) = Server::start([]);
    for _ in 0..2 {
        recorder.warning(&object("a"), "Failed", "no quota");
        recorder.warning(&object("a"), "Failed", "no address");
        recorder.warning(&object("a"), "Refused", "no quota");
        recorder.normal(&object("a"), "Failed", "no quota");
        recorder.warning(&object("b"), "Failed", "no quota");
    }
    let mut recreated = object("a");
    recreated.metadata.uid = Some("new".into());
    recorder.warning(&recreated, "Failed", "no quota");
    recorder.flush(SECOND).await;
    let counts: Vec<_> = server.counts().into_iter().map(|(_, count)| count).collect();
    assert_eq!(counts, [2, 2, 2, 2, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_series_ends_six_minutes_after_its_last_event() {
    let (server, recorder, _) = Server::start([]);
    for pause in [5, 5, 6, 0] {
        recorder.normal(&object("a"), "Synced", "ok");
        sleep(pause * MINUTE).await;
    }
    recorder.flush(SECOND).await;
    assert_eq!(server.counts(), [("ok".to_owned(), 3), ("ok".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_new_event_is_created_if_the_old_one_was_deleted() {
    let (server, recorder, metrics) = Server::start([]);
    for _ in 0..2 {
        recorder.normal(&object("a"), "Synced", "ok");
    }
    recorder.flush(SECOND).await;
    server.delete_events();
    sleep(SECOND).await;
    for _ in 0..3 {
        recorder.normal(&object("a"), "Synced", "ok");
    }
    recorder.flush(SECOND).await;
    assert_eq!(server.counts(), [("ok".to_owned(), 3)]);
    assert_eq!(server.events()[0]["eventTime"], "1970-01-01T00:00:01.000000Z");
    assert_eq!((sent(&metrics), dropped(&metrics)), (5, [0; 4]));
}

#[tokio::test(start_paused = true)]
async fn a_new_event_is_created_if_the_server_refuses_to_change_the_old_one() {
    for code in [403, 405, 409, 422] {
        let (server, recorder, metrics) = Server::start([]);
        server.patches(Answer::Status(code));
        for _ in 0..3 {
            recorder.normal(&object("a"), "Synced", "ok");
            sleep(SECOND).await;
        }
        recorder.flush(SECOND).await;
        assert_eq!(server.notes(), ["ok"; 3]);
        assert_eq!((sent(&metrics), dropped(&metrics)), (3, [0; 4]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_without_an_answer_is_not_counted_twice() {
    use Answer::{HandleAndCut, Hang, Regular};
    let (server, recorder, _) = Server::start([Regular, HandleAndCut, Hang, Regular]);
    for _ in 0..3 {
        recorder.normal(&object("a"), "Synced", "ok");
    }
    assert_eq!(recorder.flush(MINUTE).await, 0);
    assert_eq!(server.counts(), [("ok".to_owned(), 3)]);
}
