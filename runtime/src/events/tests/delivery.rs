//! The delivery of events, also to servers that fail or answer in unusual ways.

use kube::Resource as _;
use serde_json::json;

use super::*;
use crate::dynamic::DynamicKind;

#[tokio::test(start_paused = true)]
async fn events_arrive_in_the_order_in_which_they_were_recorded() {
    let (server, recorder, metrics) = Server::start([]);
    recorder.normal(&object("a"), "Synced", "first");
    recorder.warning(&object("b"), "Invalid", format_args!("second {}", 2));
    assert_eq!(recorder.flush(SECOND).await, 0);
    assert_eq!(server.notes(), ["first", "second 2"]);
    let events = server.events();
    assert_eq!((&events[0]["type"], &events[1]["type"]), (&"Normal".into(), &"Warning".into()));
    assert_eq!(events[1]["regarding"]["name"], "b");
    assert_eq!(events[1]["metadata"]["namespace"], "apps");
    assert_eq!(events[1]["reportingController"], "tester");
    assert_eq!(events[1]["reportingInstance"], "pod-1");
    assert_eq!((&events[1]["reason"], &events[1]["action"]), (&"Invalid".into(), &"Invalid".into()));
    assert_eq!((sent(&metrics), dropped(&metrics)), (2, [0; 4]));
}

#[tokio::test(start_paused = true)]
async fn an_event_can_be_about_an_object_without_a_static_type() {
    let (server, recorder, _) = Server::start([]);
    let kind = DynamicKind::namespaced("example.com", "v1", "Widget", "widgets");
    let widget = kind.object("a").within("apps");
    recorder.normal_about(widget.object_ref(kind.api_resource()), "Synced", "one");
    recorder.warning_about(widget.object_ref(kind.api_resource()), "Failed", "two");
    assert_eq!(recorder.flush(SECOND).await, 0);
    let events = server.events();
    assert_eq!((&events[0]["type"], &events[1]["type"]), (&"Normal".into(), &"Warning".into()));
    let regarding =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "namespace": "apps", "name": "a"});
    assert_eq!(events[0]["regarding"], regarding);
}

#[tokio::test(start_paused = true)]
async fn events_carry_the_time_at_which_they_were_recorded() {
    let (server, recorder, _) = Server::start([Answer::After(4 * SECOND); 3]);
    recorder.normal(&object("a"), "Synced", "one");
    recorder.normal(&object("b"), "Synced", "two");
    sleep(SECOND).await;
    recorder.normal(&object("a"), "Synced", "one");
    assert_eq!(recorder.flush(MINUTE).await, 0);
    let events = server.events();
    assert_eq!(events[0]["eventTime"], "1970-01-01T00:00:00.000000Z");
    assert_eq!(events[1]["eventTime"], "1970-01-01T00:00:00.000000Z");
    assert_eq!(events[0]["series"]["lastObservedTime"], "1970-01-01T00:00:01.000000Z");
}

#[tokio::test(start_paused = true)]
async fn the_events_of_a_cluster_scoped_object_go_to_the_namespace_default() {
    let (server, recorder, _) = Server::start([]);
    let mut object = Namespace::default();
    object.metadata.name = Some("apps".into());
    recorder.normal(&object, "Synced", "ok");
    recorder.flush(SECOND).await;
    assert_eq!(server.events()[0]["metadata"]["namespace"], "default");
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_event_is_tried_four_times() {
    use Answer::{Cut, Hang, Page, Status};
    for answers in
        [[Cut; 4], [Hang; 4], [Status(500); 4], [Status(429); 4], [Page; 4], [Cut, Hang, Page, Status(503)]]
    {
        let (server, recorder, metrics) = Server::start(answers);
        recorder.normal(&object("a"), "Synced", "lost");
        recorder.normal(&object("b"), "Synced", "sent");
        assert_eq!(recorder.flush(2 * MINUTE).await, 0);
        assert_eq!((server.notes(), server.requests()), (vec!["sent".to_owned()], 5), "{answers:?}");
        assert_eq!((sent(&metrics), dropped(&metrics)), (1, [0, 0, 0, 1]));

        let (server, recorder, metrics) = Server::start(answers.into_iter().take(3));
        recorder.normal(&object("a"), "Synced", "late");
        assert_eq!(recorder.flush(2 * MINUTE).await, 0);
        assert_eq!(server.notes(), ["late"]);
        assert_eq!((sent(&metrics), dropped(&metrics)), (1, [0; 4]));
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_the_server_refuses_is_not_tried_again() {
    for code in [400, 403, 404, 422] {
        let (server, recorder, metrics) = Server::start([Answer::Status(code)]);
        recorder.normal(&object("a"), "Synced", "refused");
        recorder.normal(&object("a"), "Synced", "taken");
        assert_eq!(recorder.flush(SECOND).await, 0);
        assert_eq!((server.notes(), server.requests()), (vec!["taken".to_owned()], 2));
        assert_eq!((sent(&metrics), dropped(&metrics)), (1, [0, 0, 0, 1]));
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_whose_creation_got_no_answer_is_not_created_twice() {
    let (server, recorder, metrics) = Server::start([Answer::HandleAndCut]);
    recorder.normal(&object("a"), "Synced", "ok");
    recorder.normal(&object("a"), "Synced", "ok");
    assert_eq!(recorder.flush(MINUTE).await, 0);
    assert_eq!(server.counts(), [("ok".to_owned(), 2)]);
    assert_eq!((sent(&metrics), dropped(&metrics)), (2, [0; 4]));
}

#[tokio::test(start_paused = true)]
async fn an_event_whose_name_is_taken_gets_another_name() {
    let (server, recorder, metrics) = Server::start([]);
    // The clock stands still, so all of them would get the same name.
    for note in ["one", "two", "three"] {
        recorder.normal(&object("a"), "Synced", note);
    }
    assert_eq!(recorder.flush(SECOND).await, 0);
    assert_eq!(server.notes(), ["one", "two", "three"]);
    assert_eq!((sent(&metrics), dropped(&metrics)), (3, [0; 4]));

    let (server, recorder, metrics) = Server::start([Answer::Status(409); 2]);
    recorder.normal(&object("a"), "Synced", "ok");
    assert_eq!(recorder.flush(MINUTE).await, 0);
    assert_eq!((server.requests(), dropped(&metrics)), (2, [0, 0, 0, 1]), "no name is free");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_panics_costs_one_event() {
    let (server, recorder, metrics) = Server::start([Answer::Panic]);
    recorder.normal(&object("a"), "Synced", "lost");
    recorder.normal(&object("a"), "Synced", "sent");
    assert_eq!(recorder.flush(MINUTE).await, 0, "the task still runs");
    assert_eq!((sent(&metrics), dropped(&metrics)), (1, [0, 0, 0, 1]));
    assert_eq!(server.notes(), ["sent"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_panics_harms_its_caller_only() {
    struct Broken;
    impl std::fmt::Display for Broken {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("on purpose")
        }
    }
    let (server, recorder, _) = Server::start([]);
    let panicking = recorder.clone();
    let caller = tokio::spawn(async move { panicking.normal(&object("a"), "Synced", Broken) });
    assert!(caller.await.unwrap_err().is_panic());
    recorder.normal(&object("a"), "Synced", "ok");
    recorder.flush(SECOND).await;
    assert_eq!(server.notes(), ["ok"]);
}

#[tokio::test(start_paused = true)]
async fn flush_waits_for_the_events_that_were_recorded_before_it() {
    let (server, recorder, _) = Server::start([Answer::After(2 * SECOND); 4]);
    recorder.normal(&object("a"), "Synced", "one");
    recorder.normal(&object("b"), "Synced", "two");
    let start = Instant::now();
    let (left, ()) = tokio::join!(recorder.flush(MINUTE), async {
        sleep(SECOND).await;
        recorder.normal(&object("c"), "Synced", "three");
    });
    assert_eq!((left, start.elapsed()), (0, 4 * SECOND));
    assert_eq!(server.notes(), ["one", "two"]);
    assert_eq!(recorder.flush(SECOND).await, 1, "the third one is on its way");
}

#[tokio::test(start_paused = true)]
async fn the_task_sends_what_is_left_when_the_last_recorder_is_dropped() {
    let (server, recorder, metrics) = Server::start([Answer::After(SECOND); 5]);
    for n in 0..5 {
        recorder.normal(&object(&n.to_string()), "Synced", n);
    }
    drop(recorder);
    sleep(6 * SECOND).await;
    assert_eq!((server.events().len(), sent(&metrics)), (5, 5));
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0, "the task has ended");
}

#[test]
fn a_recorder_whose_runtime_has_ended_drops_and_counts_its_events() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let first = runtime();
    let (_, recorder, metrics) = first.block_on(async { Server::start([Answer::Hang]) });
    recorder.normal(&object("a"), "Synced", "being sent");
    recorder.normal(&object("a"), "Synced", "queued");
    first.block_on(tokio::task::yield_now());
    drop(first);
    recorder.normal(&object("a"), "Synced", "too late");
    assert_eq!(runtime().block_on(recorder.flush(SECOND)), 0);
    assert_eq!(dropped(&metrics), [0, 0, 0, 3]);
}
