//! The reflector and a scripted server, on a paused clock.

mod support;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use genclient_runtime::{
    Error,
    backoff::BackoffConfig,
    object::{CacheObject, Watched},
    reflector::{
        Delta, DeltaSink, Problem, Reflector, ReflectorConfig, ReflectorState, Scope, SinkClosed, Transform,
        delta_queue,
    },
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ApiResource, PartialObjectMeta};
use support::*;
use tokio::{sync::watch, task::JoinHandle, time::Instant};

struct Running {
    view: View<ConfigMap>,
    state: watch::Receiver<ReflectorState>,
    task: JoinHandle<()>,
}

fn run(client: kube::Client, config: ReflectorConfig<ConfigMap>) -> Running {
    let reflector = Reflector::new(client, config);
    let (state, (sink, view)) = (reflector.state(), recorder());
    Running { view, state, task: tokio::spawn(reflector.run(sink)) }
}

fn paged() -> ReflectorConfig<ConfigMap> {
    config(|config| config.list.streaming_lists = false)
}

fn problem(state: &ReflectorState) -> Option<Problem> {
    match state {
        ReflectorState::Waiting { problem, .. } => Some(*problem),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn the_view_converges_through_list_and_watch_errors() {
    let (client, log) = in_process(script([
        Answer::Refuse,
        Answer::status(500, "InternalError", "etcd is not at home"),
        Answer::json(list(10, [config_map("a", 5), config_map("b", 6)])),
        Answer::Refuse,
        Answer::ended_watch([modified(config_map("a", 11)), error_event(500, "InternalError", "a hiccup")]),
        Answer::status(503, "ServiceUnavailable", "later"),
        Answer::watch([deleted(config_map("b", 12)), added(config_map("c", 13))]),
    ]));
    let mut running = run(client, paged());
    running.view.reach(13).await;
    assert_eq!(running.view.names(), ["a@11", "c@13"]);
    assert_eq!(running.view.replaced, 1, "the watch errors needed no new list");
    assert_eq!(log.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_relist_never_goes_back_in_time() {
    let (client, log) = in_process(script([
        Answer::json(list(10, [config_map("a", 5)])),
        Answer::ended_watch([modified(config_map("a", 20)), error_event(404, "NotFound", "gone")]),
        Answer::json(list(30, [config_map("a", 20)])),
    ]));
    let mut running = run(client, paged());
    running.view.reach(30).await;
    let lists = log.lists();
    assert_eq!(lists[0].query("resourceVersion"), None, "the first list is the newest state");
    assert_eq!(lists[1].query("resourceVersion"), Some("20"));
    assert_eq!(lists[1].query("resourceVersionMatch"), Some("NotOlderThan"));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_older_than_requested_is_not_used() {
    let (client, log) = in_process(script([
        Answer::json(list(10, [config_map("a", 5)])),
        Answer::text(404, "404 page not found"),
        Answer::json(list(8, [])),
        Answer::json(list(12, [config_map("a", 5)])),
    ]));
    let mut running = run(client, paged());
    running.view.reach(12).await;
    assert_eq!((running.view.replaced, running.view.reset), (2, 0));
    assert_eq!(log.lists()[1].query("resourceVersion"), Some("10"));
    assert_eq!(log.lists()[2].query("resourceVersion"), None, "the newest state decides");
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_is_followed_by_a_list_of_the_newest_state() {
    for expired in [
        Answer::status(410, "Expired", "too old resource version: 10 (20)"),
        Answer::status(410, "Gone", "too old resource version: 10 (20)"),
        Answer::ended_watch([error_event(410, "Expired", "too old resource version: 10 (20)")]),
        Answer::ended_watch([error_event(410, "Gone", "too old resource version: 10 (20)")]),
    ] {
        let (client, log) = in_process(script([
            Answer::json(list(10, [config_map("a", 5)])),
            expired,
            Answer::json(list(20, [config_map("b", 15)])),
        ]));
        let mut running = run(client, paged());
        running.view.reach(20).await;
        assert_eq!(running.view.names(), ["b@15"]);
        assert_eq!(log.lists()[1].query("resourceVersion"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_on_a_list_leads_to_a_full_list_and_then_to_the_newest_version() {
    let (client, log) = in_process(script([
        Answer::json(list(10, [config_map("a", 5)])),
        Answer::text(404, "404 page not found"),
        Answer::status(410, "Expired", "too old"),
        Answer::json(list(30, [config_map("c", 25)])),
    ]));
    let mut running = run(client, paged());
    running.view.reach(30).await;
    let versions: Vec<_> =
        log.lists().iter().map(|list| list.query("resourceVersion").map(str::to_owned)).collect();
    assert_eq!(versions, [None, Some("10".to_owned()), None]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(log.watches().last().unwrap().query("resourceVersion"), Some("30"));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_the_server_has_not_reached_is_retried_in_each_of_its_wordings() {
    let cause = |reason: &str, message: &str, cause: &str| {
        let mut status = status(504, "Timeout", message);
        status["details"] = serde_json::json!({
            "causes": [{"reason": reason, "message": cause}], "retryAfterSeconds": 1});
        status
    };
    for status in [
        cause("ResourceVersionTooLarge", "too new", "too new"),
        cause("", "Timeout: wait", "Too large resource version"),
        status(504, "Timeout", "Too large resource version: 11, current: 9"),
    ] {
        // On a list: the newest state is requested at once.
        let refused = || Answer::text(504, status.to_string());
        let (client, log) = in_process(script([
            Answer::json(list(10, [config_map("a", 5)])),
            Answer::text(404, "404 page not found"),
            refused(),
            Answer::json(list(30, [])),
        ]));
        let mut running = run(client, paged());
        running.view.reach(30).await;
        assert_eq!(log.lists()[2].query("resourceVersion"), None, "{status}");

        // On a watch: the next list does not request that version again.
        let (client, log) = in_process(script([
            Answer::json(list(10, [config_map("a", 5)])),
            refused(),
            Answer::json(list(9, [])),
        ]));
        let mut running = run(client, paged());
        running.view.reach(9).await;
        assert_eq!(log.lists()[1].query("resourceVersion"), None, "{status}");
        assert_eq!(running.view.reset, 1, "the server's history was set back");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_of_500_are_put_together() {
    let (client, log) = in_process(script([
        Answer::json(page(10, "second", [config_map("a", 1)])),
        Answer::json(page(10, "third", [config_map("b", 2)])),
        Answer::json(list(10, [config_map("c", 3)])),
    ]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    assert_eq!((running.view.names().len(), running.view.replaced), (3, 1));
    let lists = log.lists();
    let pages: Vec<_> = lists.iter().map(|list| (list.query("limit"), list.query("continue"))).collect();
    assert_eq!(pages, [(Some("500"), None), (Some("500"), Some("second")), (Some("500"), Some("third"))]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_continue_token_falls_back_to_one_full_list() {
    let (client, log) = in_process(script([
        Answer::json(page(10, "second", [config_map("gone", 1)])),
        Answer::status(410, "Expired", "The provided continue parameter is too old"),
        Answer::json(list(20, [config_map("b", 15)])),
    ]));
    let mut running = run(client, paged());
    running.view.reach(20).await;
    assert_eq!(running.view.names(), ["b@15"], "nothing of the abandoned list is left");
    let last = log.lists().pop().unwrap();
    assert_eq!(
        (last.query("limit"), last.query("continue"), last.query("resourceVersion")),
        (None, None, None)
    );
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured_and_the_watch_resumes_without_a_list() {
    let (client, log) = in_process(script([
        Answer::json(list(10, [config_map("a", 5)])),
        Answer::status(429, "TooManyRequests", "slow down").header("retry-after", 45),
        Answer::watch([modified(config_map("a", 11))]),
    ]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    let begin = Instant::now();
    running.state.wait_for(|state| problem(state) == Some(Problem::Busy)).await.unwrap();
    running.view.reach(11).await;
    let waited = begin.elapsed();
    assert!((Duration::from_secs(45)..Duration::from_secs(46)).contains(&waited), "{waited:?}");
    assert_eq!((log.lists().len(), log.watches().len()), (1, 2), "one request each");
    assert_eq!(log.watches()[1].query("resourceVersion"), Some("10"));
}

#[tokio::test(start_paused = true)]
async fn the_pauses_between_failed_attempts_grow_to_their_cap() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let (client, _log) = in_process(move |_: Received| {
        seen.lock().unwrap().push(Instant::now());
        Answer::Refuse
    });
    let mut running = run(client, paged());
    running
        .state
        .wait_for(|state| matches!(state, ReflectorState::Waiting { attempt: 9, .. }))
        .await
        .unwrap();
    let times = times.lock().unwrap().clone();
    let pauses: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    for (pause, upper) in pauses.iter().zip([1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]) {
        // Tokio's clock has a resolution of a millisecond.
        assert!((upper / 2.0 - 0.002..=upper + 0.002).contains(pause), "{pauses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_event_moves_the_version_to_resume_from() {
    for (event, version) in [
        (added(config_map("b", 11)), "11"),
        (modified(config_map("a", 12)), "12"),
        (deleted(config_map("a", 13)), "13"),
        (bookmark(14), "14"),
        (modified(invalid_config_map("a", 15)), "15"),
    ] {
        let (client, log) =
            in_process(script([Answer::json(list(10, [config_map("a", 5)])), Answer::ended_watch([event])]));
        let mut running = run(client, paged());
        running.view.reach(version.parse().unwrap()).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let watches = log.watches();
        assert_eq!(watches[0].query("resourceVersion"), Some("10"));
        assert_eq!(watches[1].query("resourceVersion"), Some(version));
    }
}

#[tokio::test(start_paused = true)]
async fn watches_ask_for_events_without_compression() {
    let (client, log) = in_process(script([Answer::json(list(10, [])), Answer::watch([bookmark(11)])]));
    run(client, paged()).view.reach(11).await;
    assert_eq!(log.watches()[0].headers["accept-encoding"], "identity");
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_is_complete_at_its_closing_bookmark_and_continues_as_a_watch() {
    let (writer, answer) = Answer::stream();
    let (client, log) = in_process(script([answer]));
    let mut running = run(client, ReflectorConfig::default());
    writer.event(added(config_map("a", 1)));
    writer.event(added(config_map("b", 2)));
    writer.event(added(config_map("c", 3)));
    // The server may also send changes before the end of the list.
    writer.event(modified(config_map("a", 11)));
    writer.event(deleted(config_map("b", 12)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(*running.state.borrow_and_update(), ReflectorState::Listing, "not complete before its end");
    writer.event(initial_events_end(12));
    running.view.next().await;
    assert_eq!((running.view.names(), running.view.replaced), (vec!["a@11".to_owned(), "c@3".to_owned()], 1));
    writer.event(modified(config_map("c", 13)));
    running.view.reach(13).await;
    assert_eq!(*running.state.borrow_and_update(), ReflectorState::Watching);
    assert_eq!(log.len(), 1, "one request for the list and the watch");
    let request = &log.all()[0];
    assert_eq!(request.query("resourceVersionMatch"), Some("NotOlderThan"));
    assert_eq!(request.query("allowWatchBookmarks"), Some("true"));
    assert_eq!(request.headers["accept-encoding"], "gzip", "a list may be compressed");
    let timeout: u64 = request.query("timeoutSeconds").unwrap().parse().unwrap();
    assert!((300..=600).contains(&timeout));
}

#[tokio::test(start_paused = true)]
async fn events_in_the_same_chunk_as_the_end_of_a_streamed_list_follow_it() {
    let events = [added(config_map("a", 1)), initial_events_end(10), modified(config_map("a", 11))];
    let (client, _log) = in_process(script([Answer::ended_watch(events)]));
    let mut running = run(client, ReflectorConfig::default());
    running.view.next().await;
    assert_eq!(running.view.names(), ["a@1"]);
    running.view.next().await;
    assert_eq!(running.view.names(), ["a@11"]);
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_that_is_cut_before_its_end_is_started_again() {
    let (writer, cut) = Answer::stream();
    writer.event(added(config_map("gone", 1)));
    writer.cut();
    let (client, log) = in_process(script([
        cut,
        Answer::ended_watch([added(config_map("gone", 1))]),
        Answer::watch([added(config_map("a", 2)), initial_events_end(20)]),
    ]));
    let mut running = run(client, ReflectorConfig::default());
    running.view.next().await;
    assert_eq!((running.view.names(), running.view.replaced), (vec!["a@2".to_owned()], 1));
    assert!(log.all().iter().all(Received::is_streaming_list), "a cut is not a refusal");
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_that_is_cut_after_its_end_is_not_repeated() {
    let (writer, cut) = Answer::stream();
    writer.event(added(config_map("a", 1)));
    writer.event(initial_events_end(10));
    writer.cut();
    let (client, log) = in_process(script([cut, Answer::watch([modified(config_map("a", 11))])]));
    let mut running = run(client, ReflectorConfig::default());
    running.view.reach(11).await;
    assert_eq!((log.len(), running.view.replaced), (2, 1));
    assert!(!log.all()[1].is_streaming_list());
    assert_eq!(log.all()[1].query("resourceVersion"), Some("10"));
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_on_a_streamed_list_leads_to_the_newest_state() {
    let (client, log) = in_process(script([
        Answer::ended_watch([
            added(config_map("a", 1)),
            initial_events_end(10),
            error_event(404, "NotFound", "gone"),
        ]),
        Answer::status(410, "Expired", "too old"),
        Answer::watch([initial_events_end(20)]),
    ]));
    let mut running = run(client, ReflectorConfig::default());
    running.view.reach(20).await;
    let versions: Vec<_> =
        log.all().iter().map(|list| list.query("resourceVersion").map(str::to_owned)).collect();
    assert_eq!(versions, [None, Some("10".to_owned()), None]);
    assert!(log.all().iter().all(Received::is_streaming_list));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_lists_is_asked_for_it_again_after_ten_minutes() {
    let (client, log) = in_process(without_streaming(|request: Received| {
        // Each watch lasts for four minutes, and each of its versions has expired by then.
        let (expired, version) = (Duration::from_secs(240), request.query("resourceVersion"));
        if !request.is_watch() {
            return Answer::json(list(10, [config_map("a", 5)]));
        }
        assert_eq!(version, Some("10"));
        let (writer, answer) = Answer::stream();
        tokio::spawn(async move {
            tokio::time::sleep(expired / 2).await;
            writer.event(bookmark(10));
            tokio::time::sleep(expired / 2).await;
            writer.event(error_event(410, "Expired", "too old"));
        });
        answer
    }));
    let mut running = run(client, ReflectorConfig::default());
    let asked = || log.all().iter().filter(|request| request.is_streaming_list()).count();
    ten_minutes(&mut running).await;
    assert_eq!((asked(), log.lists().len()), (1, 3));
    ten_minutes(&mut running).await;
    assert_eq!((asked(), log.lists().len()), (2, 5));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_the_request_for_a_stream_is_listed_in_pages_after_a_silence() {
    let (client, log) = in_process(|request: Received| match () {
        () if request.is_streaming_list() => Answer::watch([added(config_map("a", 5))]),
        () if request.is_watch() => Answer::watch([]),
        () => Answer::json(list(10, [config_map("a", 5), config_map("b", 6)])),
    });
    let begin = Instant::now();
    let mut running = run(client, ReflectorConfig::default());
    running.view.reach(10).await;
    assert_eq!(running.view.names(), ["a@5", "b@6"]);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    assert_eq!(log.lists().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_transform_runs_once_for_each_object_in_lists_and_watches() {
    for streaming_lists in [true, false] {
        let runs = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
        let counted = Arc::clone(&runs);
        let transform = Transform::new(move |object: &mut ConfigMap| {
            let version = object.metadata.resource_version.clone().unwrap();
            *counted.lock().unwrap().entry(version).or_default() += 1;
            object.data = None;
        });
        let config = config(|config| {
            config.list.streaming_lists = streaming_lists;
            config.transform = Some(transform);
        });
        let (client, _log) = in_process(|request: Received| match () {
            () if request.is_streaming_list() => Answer::watch([
                added(config_map("a", 1)),
                modified(config_map("a", 2)),
                initial_events_end(10),
                modified(config_map("a", 11)),
            ]),
            () if request.is_watch() => Answer::watch([modified(config_map("a", 11))]),
            () => Answer::json(list(10, [config_map("a", 2)])),
        });
        let mut running = run(client, config);
        running.view.reach(11).await;
        assert_eq!(running.view.objects["a"].data, None);
        let runs = runs.lock().unwrap();
        assert!(runs.contains_key("2") && runs.contains_key("11"));
        assert!(runs.values().all(|&count| count == 1), "{runs:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_transform_or_a_hook_that_panics_stops_nothing() {
    for streaming_lists in [true, false] {
        let config = config(|config| {
            config.list.streaming_lists = streaming_lists;
            config.transform = Some(Transform::new(|object: &mut ConfigMap| {
                assert_ne!(object.metadata.name.as_deref(), Some("b"), "not this one");
            }));
            config.on_error = Some(Arc::new(|_: &Error| panic!("the hook has a fault")));
        });
        let attempts = AtomicUsize::new(0);
        let (client, _log) =
            in_process(move |request: Received| match attempts.fetch_add(1, Ordering::SeqCst) {
                0 => Answer::Refuse,
                _ if request.is_streaming_list() => Answer::watch([
                    added(config_map("a", 1)),
                    added(config_map("b", 2)),
                    initial_events_end(10),
                    deleted(config_map("b", 11)),
                ]),
                _ if request.is_watch() => Answer::watch([deleted(config_map("b", 11))]),
                _ => Answer::json(list(10, [config_map("a", 1), config_map("b", 2)])),
            });
        let mut running = run(client, config);
        running.view.reach(10).await;
        assert_eq!(running.view.names(), ["a@1"]);
        assert_eq!(running.view.invalid[0].key.to_string(), "default/b");
        assert!(running.view.invalid[0].error.starts_with("the transform panicked: "));
        running.view.reach(11).await;
        assert!(running.view.invalid.is_empty(), "it is gone");
    }
}

#[tokio::test(start_paused = true)]
async fn managed_fields_are_skipped_unless_they_are_to_be_kept() {
    for (streaming_lists, keep_managed_fields) in [(true, true), (true, false), (false, true), (false, false)]
    {
        let (client, log) = in_process(|request: Received| match () {
            () if request.is_streaming_list() => {
                Answer::watch([added(config_map("a", 1)), initial_events_end(10), added(config_map("b", 11))])
            }
            () if request.is_watch() => Answer::watch([added(config_map("b", 11))]),
            () => Answer::json(list(10, [config_map("a", 1)])),
        });
        let config = config(|config| {
            config.list.streaming_lists = streaming_lists;
            config.keep_managed_fields = keep_managed_fields;
        });
        let mut running = run(client, config);
        running.view.reach(11).await;
        for object in running.view.objects.values() {
            assert_eq!(object.metadata.managed_fields.is_some(), keep_managed_fields);
        }
        for request in log.all() {
            let drops = request.headers["accept"].contains("drop=metadata.managedFields");
            assert_eq!(drops, !keep_managed_fields, "a server that can leave them out is asked to");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_resource_is_reported_in_words_waited_for_and_then_listed() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let errors = Arc::new(AtomicUsize::new(0));
    let (seen, told) = (Arc::clone(&attempts), Arc::clone(&errors));
    let (client, _log) = in_process(move |request: Received| match seen.fetch_add(1, Ordering::SeqCst) {
        0..5 => Answer::text(404, "404 page not found\n"),
        _ if request.is_streaming_list() => {
            Answer::watch([added(config_map("a", 1)), initial_events_end(10)])
        }
        _ => Answer::watch([]),
    });
    let config = config(|config| {
        config.on_error = Some(Arc::new(move |error: &Error| {
            told.fetch_add(usize::from(error.is_not_found()), Ordering::SeqCst);
        }));
    });
    let mut running = run(client, config);
    let state = running.state.wait_for(|state| problem(state).is_some()).await.unwrap().clone();
    let ReflectorState::Waiting { problem: Problem::Absent, reason, since: first, attempt: 1 } = state else {
        panic!("{state:?}")
    };
    assert!(reason.contains("does not serve configmaps in version v1"), "{reason}");
    assert!(reason.contains("CustomResourceDefinition"), "{reason}");
    let later = running.state.wait_for(|state| matches!(state, ReflectorState::Waiting { attempt: 5, .. }));
    let ReflectorState::Waiting { since, .. } = *later.await.unwrap() else { unreachable!() };
    assert_eq!(since, first, "it is still the same state");
    running.view.reach(10).await;
    running.state.wait_for(|state| *state == ReflectorState::Watching).await.unwrap();
    assert_eq!(errors.load(Ordering::SeqCst), 5);
}

/// Counts the warnings of this crate, and the errors of any crate, on the current thread.
struct Warnings(Arc<AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        match *metadata.level() {
            tracing::Level::ERROR => true,
            tracing::Level::WARN => metadata.target().starts_with("genclient_runtime"),
            _ => false,
        }
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn each_state_is_logged_once() {
    let warnings = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(Warnings(warnings.clone()));
    let requests = AtomicUsize::new(0);
    let (client, _log) = in_process(move |_: Received| match requests.fetch_add(1, Ordering::SeqCst) {
        0..10 => Answer::text(404, "404 page not found\n"),
        _ => Answer::status(403, "Forbidden", "no role allows it"),
    });
    let mut running = run(client, ReflectorConfig::default());
    for (expected, logged) in [(Problem::Absent, 1), (Problem::Forbidden, 2)] {
        running.state.wait_for(|state| problem(state) == Some(expected)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(warnings.load(Ordering::SeqCst), logged);
    }
}

#[tokio::test]
async fn failed_attempts_of_a_client_are_no_errors_in_the_log() {
    let warnings = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(Warnings(warnings.clone()));
    // Nothing listens there.
    let client = genclient_runtime::client::connect(kube::Config::new("http://127.0.0.1:1".parse().unwrap()));
    let (quick, attempts) = (Duration::from_millis(1), Arc::new(AtomicUsize::new(0)));
    let counting = attempts.clone();
    let backoff = BackoffConfig::new(quick, quick);
    let hook = move |_: &Error| _ = counting.fetch_add(1, Ordering::SeqCst);
    let _running = run(
        client.unwrap(),
        config(|config| {
            config.list.backoff = backoff;
            config.on_error = Some(Arc::new(hook));
        }),
    );
    while attempts.load(Ordering::SeqCst) < 5 {
        tokio::time::sleep(quick).await;
    }
    assert_eq!(warnings.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_object_is_logged_again_only_after_it_was_valid() {
    let warnings = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(Warnings(warnings.clone()));
    let (writer, answer) = Answer::stream();
    let (client, _log) = in_process(script([Answer::json(list(10, [])), answer]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    for (event, logged) in [
        (added(invalid_config_map("a", 11)), 1),
        (modified(invalid_config_map("a", 12)), 1),
        (modified(config_map("a", 13)), 1),
        (modified(invalid_config_map("a", 14)), 2),
        (deleted(invalid_config_map("a", 15)), 2),
        (added(invalid_config_map("a", 16)), 3),
    ] {
        writer.event(event);
        running.view.next().await;
        assert_eq!(warnings.load(Ordering::SeqCst), logged);
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_goes_away_and_comes_back_is_listed_again() {
    let (client, _log) = in_process(without_streaming(script([
        Answer::json(list(10, [config_map("a", 5)])),
        Answer::text(404, "404 page not found\n"),
        Answer::json(list(20, [config_map("b", 15)])),
    ])));
    let mut running = run(client, ReflectorConfig::default());
    running.view.reach(20).await;
    assert_eq!(running.view.names(), ["b@15"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_names_the_verb_and_the_resource() {
    let (client, _log) = in_process(|request: Received| match () {
        () if request.is_watch() => Answer::status(403, "Forbidden", "configmaps is forbidden: no"),
        () => Answer::json(list(10, [])),
    });
    let mut config = paged();
    config.scope = Scope::Namespace("team".into());
    let mut running = run(client, config);
    running.view.reach(10).await;
    let state = running.state.wait_for(|state| problem(state).is_some()).await.unwrap().clone();
    let ReflectorState::Waiting { problem: Problem::Forbidden, reason, .. } = state else {
        panic!("{state:?}")
    };
    assert!(reason.starts_with("not allowed to watch configmaps in namespace team"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_interrupts_neither_the_list_nor_the_watch() {
    for streaming_lists in [true, false] {
        let (client, log) = in_process(|request: Received| match () {
            () if request.is_streaming_list() => Answer::watch([
                added(config_map("a", 1)),
                added(invalid_config_map("b", 2)),
                initial_events_end(10),
                modified(invalid_config_map("a", 11)),
            ]),
            () if request.is_watch() => Answer::watch([modified(invalid_config_map("a", 11))]),
            () => Answer::json(list(10, [config_map("a", 1), invalid_config_map("b", 2)])),
        });
        let mut running = run(client, config(|config| config.list.streaming_lists = streaming_lists));
        running.view.reach(10).await;
        assert_eq!(running.view.names(), ["a@1"]);
        assert_eq!(running.view.invalid[0].key.to_string(), "default/b");
        assert!(running.view.invalid[0].error.starts_with("data.port: "), "{:?}", running.view.invalid);
        running.view.reach(11).await;
        assert_eq!(running.view.invalid[1].key.to_string(), "default/a");
        assert_eq!(running.view.invalid[1].uid, "a");
        assert_eq!(log.len(), if streaming_lists { 1 } else { 2 });
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_can_be_deleted_by_its_key() {
    let (client, log) = in_process(script([
        Answer::json(list(10, [config_map("a", 1), config_map("b", 2)])),
        Answer::watch([deleted(invalid_config_map("a", 11))]),
    ]));
    let mut running = run(client, paged());
    running.view.reach(11).await;
    assert_eq!((running.view.names(), log.lists().len()), (vec!["b@2".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_name_cannot_be_read_is_deleted_by_a_new_list() {
    let mut nameless = config_map("a", 11);
    nameless["metadata"]["name"] = serde_json::json!(7);
    let (client, _log) = in_process(script([
        Answer::json(list(10, [config_map("a", 1), config_map("b", 2)])),
        Answer::watch([deleted(nameless)]),
        Answer::json(list(12, [config_map("b", 2)])),
    ]));
    let mut running = run(client, paged());
    running.view.reach(12).await;
    assert_eq!(running.view.names(), ["b@2"]);
}

#[tokio::test(start_paused = true)]
async fn the_request_has_the_namespace_the_selectors_and_the_media_type_of_metadata() {
    let mut object = config_map("a", 5);
    object["metadata"]["namespace"] = "team".into();
    let (client, log) = in_process(without_streaming(script([Answer::json(list(10, [object]))])));
    let config: ReflectorConfig<PartialObjectMeta<ConfigMap>> = config(|config| {
        config.scope = Scope::Namespace("team".into());
        config.list.label_selector = Some("env in (a,b)".into());
        config.list.field_selector = Some("metadata.name!=x".into());
        config.metadata_only = true;
    });
    let (sink, mut view) = recorder();
    let task = tokio::spawn(Reflector::new(client, config).run(sink));
    view.reach(10).await;
    assert_eq!(view.names(), ["a@5"]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    for request in log.all() {
        assert_eq!(request.path, "/api/v1/namespaces/team/configmaps");
        assert_eq!(request.query("labelSelector"), Some("env in (a,b)"));
        assert_eq!(request.query("fieldSelector"), Some("metadata.name!=x"));
        let list = if request.is_watch() { "" } else { "List" };
        let accept = format!(
            "application/json;as=PartialObjectMetadata{list};g=meta.k8s.io;v=v1;drop=metadata.managedFields"
        );
        assert_eq!(request.headers["accept"], accept);
    }
    assert_eq!(log.len(), 3);
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn an_invalid_namespace_is_reported_and_never_sent() {
    let (client, log) = in_process(script([]));
    let mut config = paged();
    config.scope = Scope::Namespace("not/a namespace".into());
    let mut running = run(client, config);
    let state = running.state.wait_for(|state| problem(state).is_some()).await.unwrap().clone();
    assert_eq!(problem(&state), Some(Problem::Refused));
    assert_eq!(log.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_silent_is_opened_again() {
    let (client, log) = in_process(script([
        Answer::json(list(10, [])),
        Answer::watch([]),
        Answer::watch([added(config_map("a", 11))]),
    ]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    let begin = Instant::now();
    running.view.reach(11).await;
    assert!(begin.elapsed() <= Duration::from_secs(150), "{:?}", begin.elapsed());
    assert_eq!(log.watches()[1].query("resourceVersion"), Some("10"));
}

#[tokio::test(start_paused = true)]
async fn a_list_without_a_response_is_given_up_and_retried() {
    let (client, _log) = in_process(script([Answer::Silence, Answer::json(list(10, []))]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_opened_again_after_pauses() {
    let (client, log) = in_process(|request: Received| match () {
        () if request.is_watch() => Answer::ended_watch([]),
        () => Answer::json(list(10, [])),
    });
    let mut running = run(client, paged());
    running.view.reach(10).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(log.watches().len() <= 8, "{}", log.watches().len());
    assert_eq!(log.lists().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_unreadable_twice_leads_to_a_list() {
    let garbage = || Answer::text(200, "{\"type\":\"ADDED\",\"object\":garbage}\n");
    let (client, log) = in_process(script([
        Answer::json(list(10, [config_map("a", 5)])),
        garbage(),
        garbage(),
        Answer::json(list(20, [config_map("a", 15)])),
    ]));
    let mut running = run(client, paged());
    running.view.reach(20).await;
    let kinds: Vec<_> = log.all().iter().map(Received::is_watch).take(4).collect();
    assert_eq!(kinds, [false, true, true, false]);
    assert_eq!(log.lists()[1].query("resourceVersion"), Some("10"));
}

#[tokio::test(start_paused = true)]
async fn an_empty_response_is_not_an_empty_list() {
    let (client, _log) = in_process(script([
        Answer::text(200, "{}"),
        Answer::text(200, ""),
        Answer::json(list(10, [config_map("a", 5)])),
    ]));
    let mut running = run(client, paged());
    running.view.next().await;
    assert_eq!(running.view.names(), ["a@5"]);
}

#[tokio::test(start_paused = true)]
async fn a_closed_sink_ends_the_reflector_and_its_watch() {
    let (writer, answer) = Answer::stream();
    let (client, _log) = in_process(script([Answer::json(list(10, [])), answer]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    drop(running.view);
    writer.event(added(config_map("a", 11)));
    running.task.await.unwrap();
    writer.closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_does_not_take_a_batch_stops_the_reading() {
    let (writer, answer) = Answer::stream();
    let (client, _log) = in_process(script([Answer::json(list(10, [])), answer]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    // The recorder holds one batch, and the reflector waits with a second one and stops reading.
    let mut version = 10;
    let mut write_all = || {
        let before = version;
        while writer.capacity() > 0 && version < 100_000 {
            version += 1;
            writer.event(bookmark(version));
        }
        version - before
    };
    let mut written = 0;
    loop {
        let now = write_all();
        written += now;
        tokio::time::sleep(Duration::from_millis(10)).await;
        if now == 0 {
            break;
        }
    }
    assert!(written < 100_000, "the reading never stops");
    running.view.reach(10 + written).await;
}

// Servers, types and sinks that misbehave.

#[tokio::test(start_paused = true)]
async fn the_object_may_come_before_the_type_in_a_stream() {
    let (writer, answer) = Answer::stream();
    let (client, _log) = in_process(script([Answer::json(list(10, [config_map("a", 5)])), answer]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    writer.raw(format!("{{\"object\":{},\"type\":\"MODIFIED\"}}\n", config_map("a", 11)));
    running.view.reach(11).await;
    assert_eq!(running.view.names(), ["a@11"]);
}

/// A ConfigMap with an unknown field of `levels` levels, for a type that keeps unknown fields.
fn deep(name: &str, version: u64, levels: usize) -> String {
    let nested = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    format!(
        r#"{{"metadata":{{"namespace":"default","name":"{name}","uid":"{name}","resourceVersion":"{version}"}},"data":{nested}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_nested_too_deeply_interrupts_neither_the_list_nor_the_watch() {
    for streaming_lists in [false, true] {
        let objects = [deep("deep", 3, 5_000), config_map("a", 5).to_string()];
        let first = if streaming_lists {
            let (writer, answer) = Answer::stream();
            objects
                .iter()
                .for_each(|object| writer.raw(format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n")));
            writer.event(initial_events_end(10));
            writer.raw(format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", deep("deep", 11, 200)));
            writer.event(modified(config_map("a", 12)));
            writer.leave_open();
            vec![answer]
        } else {
            let body =
                format!(r#"{{"metadata":{{"resourceVersion":"10"}},"items":[{}]}}"#, objects.join(","));
            let (writer, answer) = Answer::stream();
            writer.raw(format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", deep("deep", 11, 200)));
            writer.event(modified(config_map("a", 12)));
            writer.leave_open();
            vec![Answer::text(200, body), answer]
        };
        let (client, log) = in_process(script(first));
        let mut running = run(client, config(|config| config.list.streaming_lists = streaming_lists));
        running.view.reach(12).await;
        assert_eq!(running.view.names(), ["a@12"]);
        let invalid: Vec<_> = running.view.invalid.iter().map(|invalid| invalid.key.to_string()).collect();
        assert_eq!(invalid, ["default/deep", "default/deep"], "once in the list and once in the watch");
        assert_eq!(log.len(), if streaming_lists { 1 } else { 2 }, "no request was repeated");
    }
}

/// Panics when an object with labels is decoded, and when an object is asked for the name `shy`.
#[derive(Debug)]
struct Touchy(ConfigMap);

impl<'de> serde::Deserialize<'de> for Touchy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = ConfigMap::deserialize(deserializer)?;
        assert!(object.metadata.labels.is_none(), "labels are too much");
        Ok(Self(object))
    }
}

impl CacheObject for Touchy {
    fn name(&self) -> &str {
        assert!(self.0.name() != "shy", "no name is told");
        self.0.name()
    }

    fn namespace(&self) -> Option<&str> {
        self.0.namespace()
    }

    fn uid(&self) -> &str {
        self.0.uid()
    }

    fn resource_version(&self) -> &str {
        self.0.resource_version()
    }

    fn label(&self, _: &str) -> Option<&str> {
        None
    }
}

impl Watched for Touchy {
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn api_resource() -> ApiResource {
        ApiResource::erase::<ConfigMap>(&())
    }
}

fn labelled(name: &str, version: u64) -> serde_json::Value {
    let mut object = config_map(name, version);
    object["metadata"]["labels"] = serde_json::json!({"panic": "yes"});
    object
}

#[tokio::test(start_paused = true)]
async fn a_type_that_panics_while_decoding_interrupts_neither_the_list_nor_the_watch() {
    let padding = "x".repeat(20_000);
    for padded in [false, true] {
        let padded = |mut object: serde_json::Value| {
            if padded {
                object["data"]["padding"] = padding.clone().into();
            }
            object
        };
        let (client, log) = in_process(script([
            Answer::json(list(10, [padded(config_map("a", 1)), padded(labelled("b", 2))])),
            Answer::watch([modified(padded(labelled("a", 11))), added(padded(config_map("c", 12)))]),
        ]));
        let mut config = ReflectorConfig::<Touchy>::default();
        config.list.streaming_lists = false;
        let (sink, mut view) = recorder();
        tokio::spawn(Reflector::new(client, config).run(sink));
        view.reach(12).await;
        assert_eq!(view.names(), ["a@1", "c@12"]);
        assert_eq!(view.invalid.len(), 2);
        assert!(view.invalid[0].error.contains("panicked: labels are too much"), "{}", view.invalid[0].error);
        assert_eq!(log.len(), 2, "neither the list nor the watch was repeated");
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_without_a_name_and_one_of_another_namespace_are_invalid() {
    let mut foreign = config_map("foreign", 3);
    foreign["metadata"]["namespace"] = "elsewhere".into();
    let (client, _log) = in_process(script([
        Answer::json(list(10, [config_map("a", 5), foreign, serde_json::json!({})])),
        Answer::watch([added(serde_json::json!({})), added(config_map("b", 11))]),
    ]));
    let mut config = paged();
    config.scope = Scope::Namespace("default".into());
    let mut running = run(client, config);
    running.view.reach(11).await;
    assert_eq!(running.view.names(), ["a@5", "b@11"]);
    let errors: Vec<_> = running.view.invalid.iter().map(|invalid| invalid.error.as_str()).collect();
    assert_eq!(
        errors,
        [
            "the object is not in namespace default, which was asked for",
            "the object has no name",
            "the object has no name"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_of_the_sink_the_reflector_reports_it_and_lists_again() {
    struct Panics(Recorder<ConfigMap>, usize);

    impl DeltaSink<ConfigMap> for Panics {
        async fn send(&mut self, batch: Vec<Delta<ConfigMap>>) -> Result<(), SinkClosed> {
            self.1 += 1;
            assert!(self.1 != 2, "the second batch is too much");
            self.0.send(batch).await
        }
    }

    let (client, log) = in_process(|request: Received| match request.is_watch() {
        true => Answer::watch([modified(config_map("a", 11))]),
        false => Answer::json(list(20, [config_map("a", 11)])),
    });
    let reflector = Reflector::new(client, paged());
    let (mut state, (sink, mut view)) = (reflector.state(), recorder());
    tokio::spawn(reflector.run(Panics(sink, 0)));
    view.reach(20).await;
    let waiting = state.wait_for(|state| problem(state) == Some(Problem::Panicked)).await.unwrap().clone();
    let ReflectorState::Waiting { reason, .. } = waiting else { panic!("{waiting:?}") };
    assert_eq!(&*reason, "following configmaps panicked: the second batch is too much");
    view.next().await;
    assert_eq!((view.replaced, log.lists().len()), (2, 2), "the lost batch is listed again");
}

#[tokio::test(start_paused = true)]
async fn a_closed_sink_ends_an_idle_reflector_at_once() {
    let (client, log) = in_process(script([Answer::json(list(10, [config_map("a", 5)]))]));
    let (sender, mut receiver) = delta_queue::<ConfigMap>(8);
    let task = tokio::spawn(Reflector::new(client, paged()).run(sender));
    assert_eq!(receiver.receive(&mut Vec::new(), 8).await, 1);
    let begin = Instant::now();
    drop(receiver);
    task.await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert!(log.len() <= 2);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_worked_and_was_cut_is_opened_again_at_once() {
    // A balancer that cuts every connection after a minute, for an hour.
    let version = Arc::new(AtomicUsize::new(10));
    let (client, log) = in_process(move |request: Received| {
        if !request.is_watch() {
            return Answer::json(list(10, [config_map("a", 5)]));
        }
        let (writer, answer) = Answer::stream();
        let version = version.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            let version = version.fetch_add(1, Ordering::SeqCst) + 1;
            writer.event(modified(config_map("a", version as u64)));
            writer.cut();
        });
        answer
    });
    let begin = Instant::now();
    let mut running = run(client, paged());
    running.view.reach(70).await;
    let blind = begin.elapsed() - Duration::from_secs(60 * 60);
    assert!(blind < Duration::from_secs(5), "blind for {blind:?} in an hour");
    assert_eq!(log.lists().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn watches_that_deliver_and_are_cut_at_once_have_no_growing_pauses() {
    let version = Arc::new(AtomicUsize::new(10));
    let (client, log) = in_process(move |request: Received| {
        if !request.is_watch() {
            return Answer::json(list(10, [config_map("a", 5)]));
        }
        let (writer, answer) = Answer::stream();
        let version = version.fetch_add(1, Ordering::SeqCst) + 1;
        writer.event(modified(config_map("a", version as u64)));
        writer.cut();
        answer
    });
    let mut running = run(client, paged());
    let begin = Instant::now();
    running.view.reach(40).await;
    let each = begin.elapsed() / 30;
    assert!((Duration::from_millis(700)..Duration::from_millis(1700)).contains(&each), "{each:?}");
    assert_eq!(log.lists().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn lists_that_do_not_lead_to_a_watch_are_repeated_with_growing_pauses_however_long_they_take() {
    for list_takes in [1, 40, 200] {
        let lists = Arc::new(Mutex::new(Vec::new()));
        let begun = lists.clone();
        let (client, _log) = in_process(move |request: Received| {
            if request.is_watch() {
                return Answer::status(410, "Expired", "too old resource version");
            }
            begun.lock().unwrap().push(Instant::now());
            let (writer, answer) = Answer::stream();
            tokio::spawn(async move {
                let body = list(10, [config_map("a", 5)]).to_string();
                let (head, tail) = body.split_at(20);
                writer.raw(head.to_owned());
                for _ in 0..list_takes {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    writer.raw(" ");
                }
                writer.raw(tail.to_owned());
            });
            answer
        });
        let running = run(client, paged());
        tokio::time::sleep(Duration::from_secs(3600)).await;
        drop(running);
        let lists = lists.lock().unwrap();
        let pauses: Vec<_> =
            lists.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() - f64::from(list_takes)).collect();
        assert!(pauses[0] >= 0.5, "the first pause, lists of {list_takes} s: {pauses:?}");
        assert!(pauses[5..].iter().all(|pause| *pause >= 10.0), "lists of {list_takes} s: {pauses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_without_a_readable_name_does_not_list_in_a_hot_loop() {
    let nameless = serde_json::json!({"metadata": {"name": 7, "resourceVersion": "11"}});
    let (client, log) = in_process(move |request: Received| match request.is_watch() {
        true => Answer::watch([deleted(nameless.clone())]),
        false => Answer::json(list(10, [config_map("a", 5)])),
    });
    let mut running = run(client, paged());
    running.view.reach(10).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!((3..40).contains(&log.lists().len()), "{}", log.lists().len());
}

#[tokio::test(start_paused = true)]
async fn a_long_retry_after_is_honoured_for_five_minutes_at_most() {
    for refusal in [
        || Answer::status(503, "ServiceUnavailable", "maintenance").header("retry-after", 86_400),
        || Answer::text(503, "<html>maintenance</html>").header("retry-after", 86_400),
        || Answer::status(429, "TooManyRequests", "slow down").header("retry-after", 86_400),
    ] {
        let (client, _log) = in_process(script([refusal(), Answer::json(list(10, []))]));
        let begin = Instant::now();
        let mut running = run(client, paged());
        running.view.reach(10).await;
        assert_eq!(begin.elapsed().as_secs(), 300);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_list_is_read_to_its_end_as_long_as_bytes_arrive() {
    // The continue token has expired, and the whole list comes at a few bytes a second.
    let (client, log) = in_process(|request: Received| {
        if request.is_watch() {
            return Answer::watch([]);
        }
        if request.query("continue").is_some() {
            return Answer::status(410, "Expired", "the continue token is too old");
        }
        if request.query("limit").is_some() {
            return Answer::json(page(10, "more", [config_map("a", 5)]));
        }
        let (writer, answer) = Answer::stream();
        tokio::spawn(async move {
            let body = list(20, [config_map("a", 5), config_map("b", 6)]).to_string();
            for piece in body.as_bytes().chunks(10) {
                tokio::time::sleep(Duration::from_secs(20)).await;
                writer.raw(piece.to_vec());
            }
        });
        answer
    });
    let mut running = run(client, paged());
    running.view.reach(20).await;
    assert_eq!(running.view.names(), ["a@5", "b@6"]);
    assert_eq!(log.lists().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_falls_silent_is_given_up_after_its_limit() {
    let (writer, answer) = Answer::stream();
    let (client, _log) = in_process(script([answer, Answer::json(list(10, []))]));
    writer.raw("{\"metadata\":");
    writer.clone().leave_open();
    let begin = Instant::now();
    let mut running = run(
        client,
        config(|config| {
            config.list.streaming_lists = false;
            config.list.timeouts.list_silence = Duration::from_secs(7);
        }),
    );
    running.view.reach(10).await;
    assert!((7..10).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_opening_is_not_answered_is_opened_again_within_45_seconds() {
    let (client, _log) = in_process(script([
        Answer::json(list(10, [])),
        Answer::Silence,
        Answer::watch([added(config_map("a", 11))]),
    ]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    let begin = Instant::now();
    running.view.reach(11).await;
    assert!(begin.elapsed() < Duration::from_secs(45), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_keep_a_quiet_watch_open() {
    let (writer, answer) = Answer::stream();
    let (client, log) = in_process(script([Answer::json(list(10, [])), answer]));
    let mut running = run(client, paged());
    running.view.reach(10).await;
    for version in 11..15 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        writer.event(bookmark(version));
        running.view.reach(version).await;
    }
    assert_eq!(log.watches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_that_ignores_the_request_for_a_stream_is_listed_in_pages() {
    // One event each ten seconds, and never the end of a list; and one that only sends bookmarks.
    for bookmarks in [false, true] {
        let (client, log) = in_process(move |request: Received| {
            if !request.is_watch() {
                return Answer::json(list(10, [config_map("a", 5)]));
            }
            let (writer, answer) = Answer::stream();
            let version: u64 = request.query("resourceVersion").map_or(5, |version| version.parse().unwrap());
            tokio::spawn(async move {
                for version in version + 1.. {
                    let event =
                        if bookmarks { bookmark(version) } else { modified(config_map("a", version)) };
                    tokio::select! {
                        () = writer.closed() => return,
                        () = tokio::time::sleep(Duration::from_secs(10)) => writer.event(event),
                    }
                }
            });
            answer
        });
        let begin = Instant::now();
        let mut running = run(client, ReflectorConfig::default());
        running.view.reach(10).await;
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
        running.view.reach(12).await;
        assert_eq!(log.lists().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_that_progresses_is_read_to_its_end_however_long_it_takes() {
    let (writer, answer) = Answer::stream();
    let (client, log) = in_process(script([answer]));
    let mut running = run(client, ReflectorConfig::default());
    tokio::spawn(async move {
        for number in 0..60 {
            tokio::time::sleep(Duration::from_secs(2)).await;
            writer.event(added(config_map(&format!("o{number}"), 5)));
        }
        writer.event(initial_events_end(10));
        writer.leave_open();
    });
    running.view.reach(10).await;
    assert_eq!(running.view.names().len(), 60);
    assert_eq!(log.len(), 1, "two minutes of pauses are no reason to begin again");
}

/// Reads what a reflector sends for ten minutes.
async fn ten_minutes(running: &mut Running) {
    let reading = async {
        loop {
            running.view.next().await;
        }
    };
    let _: Result<(), _> = tokio::time::timeout(Duration::from_secs(600), reading).await;
}

#[tokio::test(start_paused = true)]
async fn endless_timeouts_are_no_trouble_and_empty_ones_are_no_hot_loop() {
    for limit in [Duration::MAX, Duration::ZERO] {
        for field in 0..6 {
            for streaming_lists in [false, true] {
                let (client, log) = in_process(|request: Received| match () {
                    () if request.is_streaming_list() => {
                        Answer::watch([initial_events_end(10), added(config_map("a", 11))])
                    }
                    () if request.is_watch() => Answer::watch([added(config_map("a", 11))]),
                    () => Answer::json(list(10, [])),
                });
                let mut running = run(
                    client,
                    config(|config| {
                        config.list.streaming_lists = streaming_lists;
                        let timeouts = &mut config.list.timeouts;
                        let fields = [
                            &mut timeouts.list_response,
                            &mut timeouts.list_silence,
                            &mut timeouts.watch_response,
                            &mut timeouts.watch_silence,
                            &mut timeouts.stream_silence,
                            &mut timeouts.watch,
                        ];
                        *fields.into_iter().nth(field).expect("there are six") = limit;
                    }),
                );
                if limit == Duration::MAX {
                    running.view.reach(11).await;
                    let seconds: u64 = log.watches()[0].query("timeoutSeconds").unwrap().parse().unwrap();
                    assert!(i64::try_from(Duration::from_secs(seconds).as_nanos()).is_ok());
                } else {
                    ten_minutes(&mut running).await;
                }
                assert!(log.len() < 120, "field {field}: {} requests", log.len());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn watches_that_deliver_something_and_lead_to_a_list_are_not_a_hot_loop_of_lists() {
    let nameless = || deleted(serde_json::json!({"metadata": {"name": 7}}));
    for end in [|| error_event(410, "Expired", "too old"), nameless] {
        let version = AtomicUsize::new(10);
        let (client, log) = in_process(move |request: Received| {
            let version = version.fetch_add(1, Ordering::SeqCst) as u64;
            match request.is_watch() {
                true => Answer::watch([modified(config_map("a", version)), end()]),
                false => Answer::json(list(version, [config_map("a", 5)])),
            }
        });
        let mut running = run(client, paged());
        ten_minutes(&mut running).await;
        assert!((3..60).contains(&log.lists().len()), "{} lists in ten minutes", log.lists().len());
    }
}

#[tokio::test(start_paused = true)]
async fn pages_that_never_end_or_always_expire_are_not_a_hot_loop_of_lists() {
    for expires in [false, true] {
        let requests = AtomicUsize::new(0);
        let (client, log) = in_process(move |request: Received| {
            // A hot loop would never let the clock go on.
            if requests.fetch_add(1, Ordering::SeqCst) > 1000 {
                return Answer::Silence;
            }
            match request.query("continue") {
                Some(_) if expires => Answer::status(410, "Expired", "the continue token is too old"),
                _ => Answer::json(page(10, "more", [config_map("a", 5)])),
            }
        });
        let mut running = run(client, paged());
        ten_minutes(&mut running).await;
        assert!(log.len() < 200, "{} requests in ten minutes", log.len());
        assert_eq!(running.view.replaced, 0);
        let expected = if expires { Problem::Version } else { Problem::Unreadable };
        assert_eq!(problem(&running.state.borrow()), Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_without_a_version_says_nothing() {
    for version in [serde_json::json!(""), serde_json::Value::Null] {
        let without = move |mut event: serde_json::Value| {
            event["object"]["metadata"]["resourceVersion"] = version.clone();
            event
        };
        let (client, log) = in_process(move |request: Received| match () {
            () if request.is_streaming_list() => {
                Answer::watch([added(config_map("a", 5)), without(initial_events_end(10))])
            }
            () if request.is_watch() => Answer::watch([without(bookmark(11)), modified(config_map("a", 12))]),
            () => Answer::json(list(10, [config_map("a", 5)])),
        });
        let mut running = run(client, ReflectorConfig::default());
        running.view.reach(12).await;
        let streamed: Vec<_> = log.all().iter().map(Received::is_streaming_list).collect();
        assert_eq!(streamed, [true, false, false], "a list without a version is read in pages instead");
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_of_which_not_even_the_name_can_be_read_and_that_leaves_a_streamed_list_is_listed_again() {
    let nameless = serde_json::json!({"metadata": {"name": 7, "resourceVersion": "9"}});
    let (client, log) = in_process(script([
        Answer::watch([
            added(config_map("a", 5)),
            added(config_map("b", 6)),
            deleted(nameless),
            initial_events_end(10),
        ]),
        Answer::watch([added(config_map("b", 6)), initial_events_end(11)]),
    ]));
    let mut running = run(client, ReflectorConfig::default());
    running.view.reach(11).await;
    assert_eq!((running.view.names(), running.view.replaced), (vec!["b@6".to_owned()], 1));
    assert_eq!(log.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_behind_a_bookmark_is_listed_too() {
    let (client, log) = in_process(move |request: Received| {
        if !request.is_watch() {
            return Answer::json(list(10, [config_map("a", 5)]));
        }
        let (writer, answer) = Answer::stream();
        writer.event(bookmark(10));
        writer.raw("garbage\n");
        writer.leave_open();
        answer
    });
    let mut running = run(client, paged());
    ten_minutes(&mut running).await;
    assert!((3..60).contains(&log.lists().len()), "{} lists in ten minutes", log.lists().len());
}

#[tokio::test(start_paused = true)]
async fn a_type_whose_methods_panic_costs_nothing_but_the_object() {
    let (client, log) = in_process(script([
        Answer::json(list(10, [config_map("a", 1), config_map("shy", 2)])),
        Answer::watch([modified(config_map("shy", 11)), added(config_map("c", 12))]),
    ]));
    let mut config = ReflectorConfig::<Touchy>::default();
    config.list.streaming_lists = false;
    let (sink, mut view) = recorder();
    tokio::spawn(Reflector::new(client, config).run(sink));
    view.reach(12).await;
    assert_eq!(view.names(), ["a@1", "c@12"]);
    let errors: Vec<_> = view.invalid.iter().map(|invalid| invalid.error.as_str()).collect();
    assert_eq!(errors, ["reading the object's metadata panicked: no name is told"; 2]);
    assert_eq!(log.len(), 2, "neither the list nor the watch was repeated");
}

#[tokio::test(start_paused = true)]
async fn odd_versions_and_uids_in_a_watch_are_passed_on_as_they_come() {
    let mut other = config_map("a", 12);
    other["metadata"]["uid"] = "other".into();
    let (client, log) = in_process(script([Answer::watch([
        added(config_map("a", 5)),
        initial_events_end(10),
        initial_events_end(10),
        modified(config_map("a", 12)),
        modified(other),
        modified(config_map("b", 3)),
        bookmark(2),
        modified(config_map("a", 20)),
    ])]));
    let mut running = run(client, ReflectorConfig::default());
    running.view.reach(20).await;
    assert_eq!(running.view.names(), ["a@20", "b@3"]);
    assert_eq!((running.view.replaced, log.len()), (1, 1));
}
