//! The network: cuts, slow bodies, garbage, large objects, and the number of requests.

mod support;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::StreamExt as _;
use genclient_runtime::{
    Error, TypedClient,
    backoff::BackoffConfig,
    client::WatchEvent,
    reflector::{Reflector, ReflectorConfig},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use serde_json::json;
use support::*;
use tokio::sync::mpsc;

/// A backoff that a test can wait for on a real clock.
fn quick() -> ReflectorConfig<ConfigMap> {
    let backoff = BackoffConfig::new(Duration::from_millis(1), Duration::from_millis(4));
    config(|config| config.list.backoff = backoff)
}

fn follow(server: &ScriptedServer, config: ReflectorConfig<ConfigMap>) -> View<ConfigMap> {
    let (sink, view) = recorder();
    tokio::spawn(Reflector::new(server.client(), config).run(sink));
    view
}

/// Sends each error of a reflector to the test.
fn with_errors(
    mut config: ReflectorConfig<ConfigMap>,
) -> (ReflectorConfig<ConfigMap>, mpsc::Receiver<String>) {
    let (sender, receiver) = mpsc::channel(100);
    config.on_error = Some(Arc::new(move |error: &Error| {
        // A test that does not read its errors does not need more than a hundred.
        drop(sender.try_send(error.to_string()));
    }));
    (config, receiver)
}

#[tokio::test]
async fn a_cut_in_the_middle_of_a_line_loses_nothing() {
    let (list, answer) = Answer::stream();
    let server = ScriptedServer::start(script([
        answer,
        Answer::watch([modified(config_map("a", 12)), added(config_map("b", 13))]),
    ]))
    .await;
    let mut view = follow(&server, quick());
    list.event(added(config_map("a", 1)));
    list.event(initial_events_end(10));
    list.event(modified(config_map("a", 11)));
    view.reach(11).await;
    let half = written(&modified(config_map("a", 12)));
    list.raw(half[..half.len() / 2].to_owned());
    list.cut();
    view.reach(13).await;
    assert_eq!(view.names(), ["a@12", "b@13"]);
    assert_eq!((view.replaced, server.log().len()), (1, 2));
    assert_eq!(server.log().all()[1].query("resourceVersion"), Some("11"));
}

#[tokio::test]
async fn a_body_that_arrives_byte_by_byte_is_read_like_any_other() {
    let (writer, answer) = Answer::stream();
    let server = ScriptedServer::start(script([answer])).await;
    let mut view = follow(&server, quick());
    let text = format!("{}\n{}\n", added(config_map("a", 1)), initial_events_end(10));
    for byte in text.into_bytes() {
        writer.raw(vec![byte]);
        tokio::task::yield_now().await;
    }
    view.reach(10).await;
    assert_eq!(view.names(), ["a@1"]);
}

#[tokio::test]
async fn an_expired_version_inside_the_stream_leads_to_a_new_list() {
    let server = ScriptedServer::start(script([
        Answer::watch([
            added(config_map("a", 1)),
            initial_events_end(10),
            modified(config_map("a", 11)),
            error_event(410, "Expired", "too old resource version"),
        ]),
        Answer::watch([added(config_map("b", 15)), initial_events_end(20)]),
    ]))
    .await;
    let mut view = follow(&server, quick());
    view.reach(20).await;
    assert_eq!((view.names(), view.replaced), (vec!["b@15".to_owned()], 2));
}

#[tokio::test]
async fn an_object_of_more_than_a_megabyte_is_read() {
    let mut large = config_map("large", 11);
    let text = "x".repeat(3 << 20);
    large["data"]["text"] = json!(text);
    let server =
        ScriptedServer::start(script([Answer::watch([initial_events_end(10), added(large), bookmark(12)])]))
            .await;
    let mut view = follow(&server, quick());
    view.reach(12).await;
    assert_eq!(view.objects["large"].data.as_ref().unwrap()["text"].len(), text.len());
}

#[tokio::test]
async fn an_unreadable_line_is_reported_and_the_watch_resumes_from_the_last_version() {
    let (writer, answer) = Answer::stream();
    writer.event(added(config_map("a", 1)));
    writer.event(initial_events_end(10));
    writer.event(modified(config_map("a", 11)));
    writer.raw(&b"\x00\xff\xfe not a line of JSON\n"[..]);
    writer.event(modified(config_map("a", 12)));
    let server =
        ScriptedServer::start(script([answer, Answer::watch([modified(config_map("a", 13))])])).await;
    let (config, mut errors) = with_errors(quick());
    let mut view = follow(&server, config);
    view.reach(13).await;
    assert_eq!((view.names(), view.replaced), (vec!["a@13".to_owned()], 1));
    assert_eq!(server.log().all()[1].query("resourceVersion"), Some("11"));
    let error = errors.recv().await.unwrap();
    assert!(error.starts_with("cannot watch ConfigMap: the answer does not decode"), "{error}");
}

#[tokio::test]
async fn a_server_that_closes_every_connection_is_retried_until_it_answers() {
    let server = ScriptedServer::start(script([
        Answer::Refuse,
        Answer::Refuse,
        Answer::watch([added(config_map("a", 1)), initial_events_end(10)]),
    ]))
    .await;
    let (config, mut errors) = with_errors(quick());
    let mut view = follow(&server, config);
    view.reach(10).await;
    assert!(errors.recv().await.unwrap().starts_with("cannot watch ConfigMap: "));
}

#[tokio::test]
async fn a_refused_list_or_watch_of_a_reflector_is_not_retried_by_kube() {
    let busy = || Answer::status(429, "TooManyRequests", "slow down").header("retry-after", 0);
    let server = ScriptedServer::start(without_streaming(script([
        busy(),
        Answer::status(503, "ServiceUnavailable", "later"),
        Answer::json(list(10, [config_map("a", 5)])),
        busy(),
        Answer::status(504, "Timeout", "the request did not complete in time"),
        Answer::watch([modified(config_map("a", 11))]),
    ])))
    .await;
    let (config, mut errors) = with_errors(quick());
    let mut view = follow(&server, config);
    view.reach(11).await;
    assert_eq!(server.log().len(), 7, "one refused streamed list, then the script, once each");
    for expected in ["TooManyRequests", "ServiceUnavailable", "TooManyRequests", "Timeout"] {
        let error = errors.recv().await.unwrap();
        assert!(error.contains(expected), "each refusal is seen: {error}");
    }
    assert_eq!(view.replaced, 1);
}

#[tokio::test]
async fn a_refusal_of_another_verb_is_retried_by_kube_as_configured() {
    let busy = || Answer::status(429, "TooManyRequests", "slow down").header("retry-after", 0);
    let server = ScriptedServer::start(script([busy(), busy(), Answer::json(config_map("a", 5))])).await;
    let config_maps = TypedClient::<ConfigMap>::namespaced(server.client(), "default");
    config_maps.get("a").await.unwrap();
    assert_eq!(server.log().len(), 3);
}

#[tokio::test]
async fn the_typed_watch_is_not_retried_by_kube() {
    let server = ScriptedServer::start(script([
        Answer::status(503, "ServiceUnavailable", "no"),
        Answer::watch([bookmark(10)]),
    ]))
    .await;
    let config_maps = TypedClient::<ConfigMap>::cluster(server.client());
    let begin = Instant::now();
    let event = config_maps.watch(&ListParams::default()).next().await.unwrap().unwrap();
    assert_eq!(event, WatchEvent::Bookmark { resource_version: "10".to_owned() });
    assert!(begin.elapsed() >= Duration::from_millis(800), "kube's own pause is a few milliseconds");
    assert_eq!(server.log().len(), 2);
}

#[tokio::test]
async fn a_dropped_reflector_closes_its_connection() {
    let (writer, answer) = Answer::stream();
    writer.event(initial_events_end(10));
    let server = ScriptedServer::start(script([answer])).await;
    let (sink, mut view) = recorder();
    let task = tokio::spawn(Reflector::new(server.client(), quick()).run(sink));
    view.reach(10).await;
    task.abort();
    writer.closed().await;
}

#[tokio::test]
async fn ten_thousand_objects_of_a_streamed_list_are_sent_as_one_delta() {
    let mut text = String::new();
    for number in 1..=10_000 {
        text.push_str(&format!("{}\n", added(config_map(&format!("object-{number}"), number))));
    }
    text.push_str(&format!("{}\n", initial_events_end(10_001)));
    let server = ScriptedServer::start(script([Answer::text(200, text)])).await;
    let mut view = follow(&server, quick());
    view.next().await;
    assert_eq!((view.objects.len(), view.replaced), (10_000, 1));
}

#[tokio::test]
async fn a_streamed_list_may_be_compressed_and_each_event_is_read_as_soon_as_it_is_sent() {
    use std::io::Write as _;

    let (writer, answer) = Answer::stream();
    let server = ScriptedServer::start(script([answer.header("content-encoding", "gzip")])).await;
    let mut view = follow(&server, quick());
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut send = |event: serde_json::Value| {
        encoder.write_all(line(&event).as_bytes()).unwrap();
        encoder.flush().unwrap();
        writer.raw(std::mem::take(encoder.get_mut()));
    };
    send(added(config_map("a", 1)));
    send(initial_events_end(10));
    view.reach(10).await;
    send(modified(config_map("a", 11)));
    view.reach(11).await;
    assert_eq!(view.names(), ["a@11"]);
}

#[tokio::test]
async fn compression_is_asked_for_from_a_remote_server_and_only_for_a_streamed_list() {
    let server = ScriptedServer::start(script([
        Answer::ended_watch([initial_events_end(10)]),
        Answer::watch([bookmark(11)]),
        Answer::ended_watch([initial_events_end(10)]),
        Answer::watch([bookmark(11)]),
    ]))
    .await;
    let mut remote = server.config();
    // The system connects to this machine, but the address is not one of loopback.
    remote.cluster_url = remote.cluster_url.to_string().replace("127.0.0.1", "0.0.0.0").parse().unwrap();
    for config in [server.config(), remote] {
        let (sink, mut view) = recorder();
        let client = genclient_runtime::client::connect(config).unwrap();
        let running = tokio::spawn(Reflector::new(client, quick()).run(sink));
        view.reach(11).await;
        running.abort();
    }
    let log = server.log().all();
    let asked: Vec<_> = log.iter().map(|request| request.headers["accept-encoding"].as_str()).collect();
    assert_eq!(asked, ["identity", "identity", "gzip", "identity"]);
}
