//! The clocks: that of tokio, and that of the objects.

use std::time::Duration;

use genclient_fake::{Clock, Server, Verb};

use crate::support::{Cluster, map};

#[tokio::test(start_paused = true)]
async fn a_day_passes_in_milliseconds_and_watches_that_time_out_go_on_without_a_list() {
    let started = std::time::Instant::now();
    let cluster = Cluster::paged(&["a"]);
    let heard = cluster.hear();
    cluster.start().await;
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    cluster.write("b", "new").await;
    cluster.settle().await;
    assert_eq!(heard.take(), ["initial a", "added b"]);
    assert_eq!(cluster.count(Verb::List), 1);
    assert!(cluster.count(Verb::Watch) > 24, "the server ends watches, or the informer does");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_move_the_version_of_a_quiet_kind() {
    let cluster = Cluster::streamed(&["a"]);
    cluster.start().await;
    let before = cluster.informer.resource_version();
    let namespace = "{ apiVersion: v1, kind: Namespace, metadata: { name: other } }";
    let other = cluster.server.load_yaml(namespace).unwrap().remove(0);
    let version = other["metadata"]["resourceVersion"].as_str().unwrap();
    assert_ne!(before.as_deref(), Some(version));
    cluster.informer.caught_up_to_version(version, Duration::from_secs(120)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_time_of_objects_follows_tokio_or_stands_until_it_is_moved() {
    let start = "2026-01-02T03:04:05Z".parse().unwrap();
    let created = |server: &Server, name: &str| {
        let created = server.load(&map(name, "")).unwrap().metadata.creation_timestamp.unwrap();
        created.0.to_string()
    };
    let server = Server::builder().clock(Clock::tokio(start)).build();
    assert_eq!(created(&server, "a"), "2026-01-02T03:04:05Z");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(created(&server, "b"), "2026-01-02T04:04:05Z");

    let clock = Clock::at(start);
    let server = Server::builder().clock(clock.clone()).build();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(created(&server, "a"), "2026-01-02T03:04:05Z");
    clock.advance(Duration::from_secs(60));
    assert_eq!(created(&server, "b"), "2026-01-02T03:05:05Z");
}
