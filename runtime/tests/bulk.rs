//! Long lists and busy watches, which are decoded on other threads, arrive completely and in order.

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use genclient_runtime::reflector::{Reflector, Transform};
use k8s_openapi::api::core::v1::ConfigMap;
use support::*;

/// Enough objects for several batches of lines.
const OBJECTS: u64 = 3000;

fn run(client: kube::Client, streaming_lists: bool) -> View<ConfigMap> {
    let config = config(|config| config.list.streaming_lists = streaming_lists);
    let (sink, view) = recorder();
    tokio::spawn(Reflector::new(client, config).run(sink));
    view
}

/// An object of about a thousand bytes.
fn large(name: &str, version: u64) -> serde_json::Value {
    let mut object = config_map(name, version);
    object["data"]["text"] = "x".repeat(800).into();
    object
}

/// The lines of these events.
fn lines(events: impl IntoIterator<Item = serde_json::Value>) -> String {
    events.into_iter().map(|event| line(&event)).collect()
}

/// A stream of this text, in chunks of odd sizes, that stays open.
fn pieces(text: &str) -> Answer {
    let (writer, answer) = Answer::stream();
    for piece in text.as_bytes().chunks(10_007) {
        writer.raw(piece.to_vec());
    }
    writer.leave_open();
    answer
}

#[tokio::test(start_paused = true)]
async fn a_long_streamed_list_and_its_changes_arrive_completely_and_in_order() {
    let initial = (1..=OBJECTS).map(|number| added(large(&format!("o{number}"), number)));
    let list = initial.chain([initial_events_end(OBJECTS)]);
    let changes = (OBJECTS + 1..=3 * OBJECTS).map(|version| modified(large("o1", version)));
    let (client, _log) = in_process(script([pieces(&lines(list.chain(changes)))]));
    let mut view = run(client, true);
    view.reach(OBJECTS).await;
    assert_eq!((view.objects.len() as u64, view.replaced), (OBJECTS, 1));
    let mut last = OBJECTS;
    while last < 3 * OBJECTS {
        view.next().await;
        let reached = view.version.parse().unwrap();
        assert!(reached > last, "{reached} comes after {last}");
        assert_eq!(view.names()[0], format!("o1@{reached}"), "every change up to it was sent");
        last = reached;
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_list_and_a_busy_watch_are_decoded_on_blocking_threads() {
    let initial = (1..=OBJECTS).map(|number| added(large(&format!("o{number}"), number)));
    let changes = (OBJECTS + 1..=2 * OBJECTS).map(|version| modified(large("o1", version)));
    let text = lines(initial.chain([initial_events_end(OBJECTS)]).chain(changes));
    let (client, _log) = in_process(script([pieces(&text)]));
    let (here, on_async_thread) = (thread::current().id(), Arc::new(AtomicUsize::new(0)));
    let counter = on_async_thread.clone();
    let config = config(|config| {
        config.transform = Some(Transform::new(move |_: &mut ConfigMap| {
            counter.fetch_add(usize::from(thread::current().id() == here), Ordering::Relaxed);
        }));
    });
    let (sink, mut view) = recorder();
    tokio::spawn(Reflector::new(client, config).run(sink));
    view.reach(2 * OBJECTS).await;
    let on_async_thread = on_async_thread.load(Ordering::Relaxed);
    assert!(on_async_thread < 100, "{on_async_thread} of {} objects, in small batches", 2 * OBJECTS);
}

#[tokio::test(start_paused = true)]
async fn events_before_an_unreadable_line_are_sent_and_the_watch_resumes_after_it() {
    let middle = OBJECTS / 2;
    let changes = |range: std::ops::RangeInclusive<u64>| range.map(|version| modified(large("a", version)));
    let text = lines(changes(11..=middle)) + "garbage\n" + &lines(changes(middle + 1..=OBJECTS));
    let (client, log) =
        in_process(script([Answer::json(list(10, [config_map("a", 5)])), pieces(&text), pieces("")]));
    let mut view = run(client, false);
    view.reach(middle).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let versions: Vec<_> =
        log.watches().iter().map(|watch| watch.query("resourceVersion").map(str::to_owned)).collect();
    assert_eq!(versions, [Some("10".to_owned()), Some(middle.to_string())]);
}

#[tokio::test(start_paused = true)]
async fn a_change_right_after_a_long_list_belongs_to_the_watch_even_if_it_is_unreadable() {
    let initial = (1..=OBJECTS).map(|number| added(large(&format!("o{number}"), number)));
    let text =
        lines(initial.chain([initial_events_end(OBJECTS), modified(large("o1", OBJECTS + 1))])) + "garbage\n";
    let (client, log) = in_process(script([pieces(&text), pieces("")]));
    let mut view = run(client, true);
    view.reach(OBJECTS + 1).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(view.replaced, 1);
    assert_eq!(log.all()[1].query("resourceVersion"), Some((OBJECTS + 1).to_string().as_str()));
    assert!(!log.all()[1].is_streaming_list());
}

/// A page as a server writes it: its metadata before its items.
fn written_page(token: Option<&str>, numbers: std::ops::Range<u64>) -> Answer {
    let token = token.map_or(String::new(), |token| format!(r#","continue":"{token}""#));
    let items: Vec<_> = numbers.map(|number| large(&format!("o{number}"), number).to_string()).collect();
    Answer::text(
        200,
        format!(
            r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"9999"{token}}},"items":[{}]}}"#,
            items.join(",")
        ),
    )
}

#[tokio::test(start_paused = true)]
async fn the_next_page_is_read_while_one_is_decoded() {
    let (client, log) = in_process(script([
        written_page(Some("second"), 0..500),
        written_page(Some("third"), 500..1000),
        written_page(None, 1000..1001),
    ]));
    let mut view = run(client, false);
    view.reach(9999).await;
    assert_eq!((view.objects.len(), view.replaced), (1001, 1));
    let tokens: Vec<_> = log.lists().iter().map(|list| list.query("continue").map(str::to_owned)).collect();
    assert_eq!(tokens, [None, Some("second".to_owned()), Some("third".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_expires_while_a_page_is_decoded_leads_to_one_full_list() {
    let (client, log) = in_process(script([
        written_page(Some("second"), 0..500),
        Answer::status(410, "Expired", "The provided continue parameter is too old"),
        written_page(None, 0..700),
    ]));
    let mut view = run(client, false);
    view.reach(9999).await;
    assert_eq!(view.objects.len(), 700);
    assert_eq!(log.lists().pop().unwrap().query("limit"), None);
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_page_fails_the_list_and_not_the_reflector() {
    let cut = |answer| match answer {
        Answer::Whole { status, headers, body } => {
            Answer::Whole { status, headers, body: body.slice(..body.len() - 40) }
        }
        other => other,
    };
    let (client, log) = in_process(script([
        cut(written_page(Some("second"), 0..500)),
        written_page(None, 500..501),
        written_page(None, 0..3),
    ]));
    let mut view = run(client, false);
    view.reach(9999).await;
    assert_eq!(view.objects.len(), 3);
    assert_eq!(log.lists().len(), 3);
}
