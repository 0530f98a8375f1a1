//! Lists that are read page by page.

use futures::{StreamExt as _, TryStreamExt as _};
use genclient_runtime::{ListParams, TypedClient};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};

use crate::{served_by, support::*};

fn names(objects: &[ConfigMap]) -> Vec<&str> {
    objects.iter().filter_map(|object| object.metadata.name.as_deref()).collect()
}

/// The response to an expired token, with the token that the server offers instead.
fn expired(newer: Option<&str>) -> Answer {
    let mut answer = status(410, "Expired", "the continue token has expired");
    if let Some(token) = newer {
        answer["metadata"] = json!({"continue": token});
    }
    Answer::text(410, answer.to_string())
}

fn first() -> Answer {
    Answer::json(page(10, "first", [config_map("a", 1), config_map("b", 2)]))
}

fn last() -> Answer {
    Answer::json(list(10, [config_map("c", 3)]))
}

#[tokio::test]
async fn each_page_is_requested_when_it_is_polled() {
    let (client, log) = served_by(script([first(), last()]));
    let mut pages = client.pages(&ListParams::default().labels("a=b").match_any());
    assert_eq!((log.len(), pages.resource_version()), (0, None));
    assert_eq!(names(&pages.next().await.unwrap().unwrap()), ["a", "b"]);
    assert_eq!((log.len(), pages.resource_version()), (1, Some("10")));
    assert_eq!(names(&pages.next().await.unwrap().unwrap()), ["c"]);
    assert!(pages.next().await.is_none() && pages.next().await.is_none());
    let requests = log.all();
    assert_eq!(requests.len(), 2);
    assert!(
        requests
            .iter()
            .all(|page| page.query("limit") == Some("500") && page.query("labelSelector") == Some("a=b"))
    );
    assert_eq!((requests[0].query("resourceVersion"), requests[0].query("continue")), (Some("0"), None));
    assert_eq!((requests[1].query("resourceVersion"), requests[1].query("continue")), (None, Some("first")));
}

#[tokio::test]
async fn all_pages_can_be_read_as_objects_or_at_once() {
    let (client, log) = served_by(script([first(), last(), first(), last()]));
    let params = ListParams::default().limit(2);
    let objects: Vec<_> = client.pages(&params).objects().try_collect().await.unwrap();
    assert_eq!(names(&objects), ["a", "b", "c"]);
    assert_eq!(names(&client.pages(&params).all().await.unwrap()), ["a", "b", "c"]);
    assert!(log.all().iter().all(|page| page.query("limit") == Some("2")));
}

#[tokio::test]
async fn pages_go_on_in_a_newer_state_if_theirs_has_expired() {
    let newer = Answer::json(list(20, [config_map("d", 15)]));
    let (client, log) = served_by(script([first(), expired(Some("newer")), newer]));
    let mut pages = client.pages(&ListParams::default());
    let objects: Vec<_> = pages.by_ref().try_concat().await.unwrap();
    assert_eq!(names(&objects), ["a", "b", "d"]);
    assert_eq!(pages.resource_version(), Some("20"));
    assert_eq!(log.all()[2].query("continue"), Some("newer"));
}

#[tokio::test]
async fn pages_end_with_the_error_if_they_cannot_go_on() {
    for (answer, requests) in [
        (Answer::status(403, "Forbidden", "no"), 2),
        (expired(None), 2),
        // A server that offers nothing but tokens does not lead to an endless loop.
        (expired(Some("newer")), 3),
    ] {
        let (client, log) = served_by(script([first(), answer, expired(Some("newest"))]));
        let mut pages = client.pages(&ListParams::default());
        assert!(pages.next().await.unwrap().is_ok());
        let error = pages.next().await.unwrap().unwrap_err();
        assert!(error.is_forbidden() || error.is_expired(), "{error}");
        assert!(error.to_string().starts_with("cannot list ConfigMap in namespace default"), "{error}");
        assert!(pages.next().await.is_none());
        assert_eq!(log.len(), requests);
    }
}

#[tokio::test]
async fn all_starts_over_with_the_whole_list_once_if_the_version_has_expired() {
    let whole = Answer::json(list(20, [config_map("b", 2), config_map("d", 15)]));
    let (client, log) = served_by(script([first(), expired(Some("newer")), whole]));
    let objects = client.pages(&ListParams::default().at("10")).all().await.unwrap();
    assert_eq!(names(&objects), ["b", "d"], "nothing of the expired state is left");
    let request = &log.all()[2];
    assert_eq!((request.query("limit"), request.query("continue")), (None, None));
    assert_eq!(request.query("resourceVersion"), Some("10"));

    let (client, log) = served_by(script([first(), expired(None), expired(None)]));
    assert!(client.pages(&ListParams::default()).all().await.unwrap_err().is_expired());
    assert_eq!(log.len(), 3, "once");

    // The caller's own token says where to start, so the whole list was not requested.
    let (client, log) = served_by(script([expired(None)]));
    let params = ListParams::default().continue_token("mine");
    assert!(client.pages(&params).all().await.unwrap_err().is_expired());
    assert_eq!(log.len(), 1);
}

#[tokio::test]
async fn an_empty_page_may_be_written_as_null() {
    let empty = || Answer::text(200, r#"{"metadata":{"resourceVersion":"10"},"items":null}"#);
    let (client, _log) = served_by(script([empty(), empty(), Answer::text(200, r#"{"metadata":{}}"#)]));
    let pages = || client.pages(&ListParams::default());
    assert!(pages().next().await.unwrap().unwrap().is_empty());
    assert!(pages().all().await.unwrap().is_empty());
    let error = pages().all().await.unwrap_err();
    assert!(error.to_string().contains("missing field `items`"), "{error}");
}

#[tokio::test]
async fn pages_of_metadata_request_only_metadata() {
    let (client, log) = in_process(|_: Received| Answer::json(list(10, Vec::<Value>::new())));
    let pages = TypedClient::<PartialObjectMeta<Namespace>>::cluster(client).pages(&ListParams::default());
    assert!(pages.all().await.unwrap().is_empty());
    assert_eq!(
        log.all()[0].headers["accept"],
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    );
}
