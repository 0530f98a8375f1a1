//! Watches and lists.

use genclient_fake::Server;
use serde_json::json;

use crate::support::{CONFIG_MAPS, Events, Requests, config_map};

#[tokio::test]
async fn a_watch_shows_every_event_after_its_version_once_and_in_order() {
    let server = Server::new();
    let first = server.create(CONFIG_MAPS, config_map("a"));
    let version = first["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    server.create(CONFIG_MAPS, config_map("b"));
    let mut events = Events::open(&server, &format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}"));
    server.delete(&format!("{CONFIG_MAPS}/a"));
    assert_eq!(events.name().await, ("ADDED".into(), "b".into()));
    assert_eq!(events.name().await, ("DELETED".into(), "a".into()));
}

#[tokio::test]
async fn an_object_that_ceases_to_match_is_deleted_for_the_watch() {
    let server = Server::new();
    let mut events = Events::open(&server, &format!("{CONFIG_MAPS}?watch=true&labelSelector=app%3Dweb"));
    server.create(CONFIG_MAPS, config_map("a"));
    server.merge(&format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "labels": { "app": "web" } } }));
    assert_eq!(events.name().await, ("ADDED".into(), "a".into()));
    server.merge(&format!("{CONFIG_MAPS}/a"), json!({ "data": { "more": "x" } }));
    assert_eq!(events.name().await, ("MODIFIED".into(), "a".into()));
    server.merge(&format!("{CONFIG_MAPS}/a"), json!({ "metadata": { "labels": { "app": "db" } } }));
    let gone = events.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(gone["object"]["metadata"]["labels"]["app"], "web", "the object is shown as it was");
}

#[tokio::test]
async fn a_streamed_list_ends_with_an_annotated_bookmark() {
    let server = Server::new();
    server.create(CONFIG_MAPS, config_map("a"));
    let query =
        "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let mut events = Events::open(&server, &format!("{CONFIG_MAPS}?{query}"));
    assert_eq!(events.name().await, ("ADDED".into(), "a".into()));
    let bookmark = events.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn a_watch_from_a_version_that_is_no_longer_known_is_told_so() {
    let server = Server::builder().history(2).build();
    for name in ["a", "b", "c", "d"] {
        server.create(CONFIG_MAPS, config_map(name));
    }
    let mut events = Events::open(&server, &format!("{CONFIG_MAPS}?watch=true&resourceVersion=1"));
    let error = events.next().await.unwrap();
    assert_eq!((&error["type"], &error["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(error["object"]["reason"], "Expired");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_watch_that_reads_too_slowly_ends() {
    let server = Server::builder().history(2).build();
    let mut events = Events::open(&server, &format!("{CONFIG_MAPS}?watch=true"));
    for name in ["a", "b", "c", "d"] {
        server.create(CONFIG_MAPS, config_map(name));
    }
    assert!(events.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_after_its_timeout_and_has_bookmarks_on_its_way() {
    let server = Server::new();
    let query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=70";
    let mut events = Events::open(&server, &format!("{CONFIG_MAPS}?{query}"));
    assert_eq!(events.next().await.unwrap()["type"], "BOOKMARK");
    assert_eq!(events.next().await.unwrap()["type"], "BOOKMARK");
    assert!(events.next().await.is_none());
}

#[test]
fn the_pages_of_a_list_show_one_version() {
    let server = Server::new();
    for name in ["a", "b", "c"] {
        server.create(CONFIG_MAPS, config_map(name));
    }
    let (_, page) = server.get(&format!("{CONFIG_MAPS}?limit=2"));
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    assert_eq!(page["metadata"]["remainingItemCount"], 1);
    server.delete(&format!("{CONFIG_MAPS}/c"));
    server.create(CONFIG_MAPS, config_map("d"));
    let token = page["metadata"]["continue"].as_str().unwrap();
    let (_, rest) = server.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}"));
    assert_eq!(rest["items"][0]["metadata"]["name"], "c", "{rest}");
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    assert_eq!(rest["metadata"]["resourceVersion"], page["metadata"]["resourceVersion"]);
    server.compact();
    server.create(CONFIG_MAPS, config_map("e"));
    let (code, expired) = server.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}"));
    assert_eq!((code, &expired["reason"]), (410, &json!("Expired")));
    let token = expired["metadata"]["continue"].as_str().unwrap();
    let (_, rest) = server.get(&format!("{CONFIG_MAPS}?limit=5&continue={token}"));
    assert_eq!(rest["items"][0]["metadata"]["name"], "d", "{rest}");
}
