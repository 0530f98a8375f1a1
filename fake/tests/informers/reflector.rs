//! Lists, watches, and what goes wrong with them.

use std::time::Duration;

use genclient_fake::{Fault, Server, Verb};
use genclient_runtime::{InformerFactory, dynamic::DynamicKind};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Cluster, DEADLINE, map, quiet};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Sends a request of somebody else, which is not recorded.
fn send(server: &Server, method: &str, path: &str, body: &serde_json::Value) {
    let request =
        http::Request::builder().method(method).uri(path).header("content-type", "application/json");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let response = server.respond(request.body(body.into()).unwrap());
    assert!(response.status().is_success(), "{:?}", response.body().bytes());
}

#[tokio::test(start_paused = true)]
async fn the_cache_converges_through_list_and_watch_errors() {
    let cluster = Cluster::paged(&["a", "b"]);
    let server = &cluster.server;
    server.on(Verb::List, "configmaps").nth(1).drop_connection();
    server.on(Verb::List, "configmaps").nth(2).fail(Fault::internal_error("etcd is not at home"));
    server.on(Verb::Watch, "configmaps").nth(1).drop_connection();
    server.on(Verb::Watch, "configmaps").nth(2).cut_after(1);
    server.on(Verb::Watch, "configmaps").nth(3).fail(Fault::unavailable());
    cluster.factory.start();
    cluster.factory.wait_for_cache_sync(DEADLINE).await.unwrap();
    cluster.write("a", "changed").await;
    cluster.delete("b").await;
    cluster.write("c", "new").await;
    cluster.settle().await;
    assert_eq!(cluster.cached(), ["a=changed", "c=new"]);
    assert_eq!((cluster.count(Verb::List), cluster.count(Verb::Watch)), (3, 4), "watch errors need no list");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_cut_goes_on_where_it_was_and_loses_nothing() {
    for streamed in [false, true] {
        let cluster = if streamed { Cluster::streamed(&["a"]) } else { Cluster::paged(&["a"]) };
        let heard = cluster.hear();
        cluster.start().await;
        let watches = cluster.count(Verb::Watch);
        for (cut, name) in [(true, "b"), (false, "c"), (true, "d")] {
            let ended = if cut { cluster.server.cut_watches("*") } else { cluster.server.end_watches("*") };
            assert_eq!(ended, 1);
            cluster.write(name, "new").await;
            cluster.watches().await;
        }
        cluster.delete("a").await;
        cluster.settle().await;
        assert_eq!(heard.take(), ["initial a", "added b", "added c", "added d", "deleted a"]);
        assert_eq!(cluster.count(Verb::Watch), watches + 3);
        assert_eq!(cluster.count(Verb::List), usize::from(!streamed), "no list was needed");
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_is_followed_by_a_list_that_shows_what_was_missed() {
    // The version expires in an open watch, when one is opened, or because the server has forgotten it.
    let expire: [fn(&Server); 3] = [
        |server| assert_eq!(server.expire_watches("configmaps"), 1),
        |server| {
            server.on(Verb::Watch, "configmaps").once().fail(Fault::expired());
            server.end_watches("configmaps");
        },
        |server| {
            server.on(Verb::Watch, "configmaps").once().then(|server, _| {
                send(server, "POST", MAPS, &json!(map("passing", "seen by nobody")));
                send(server, "DELETE", &format!("{MAPS}/passing"), &json!(null));
                server.compact();
            });
            server.end_watches("configmaps");
        },
    ];
    for expire in expire {
        let cluster = Cluster::paged(&["gone", "kept", "changed", "recreated"]);
        let heard = cluster.hear();
        cluster.start().await;
        assert_eq!(heard.take().len(), 4);
        cluster.server.on(Verb::List, "configmaps").once().then(|server, _| {
            send(server, "DELETE", &format!("{MAPS}/gone"), &json!(null));
            send(server, "PUT", &format!("{MAPS}/changed"), &json!(map("changed", "meanwhile")));
            send(server, "DELETE", &format!("{MAPS}/recreated"), &json!(null));
            send(server, "POST", MAPS, &json!(map("recreated", "again")));
            send(server, "POST", MAPS, &json!(map("new", "meanwhile")));
        });
        expire(&cluster.server);
        cluster.settle().await;
        let mut seen = heard.take();
        // Between two objects, a list has no order.
        seen.sort();
        assert_eq!(
            seen,
            ["added new", "added recreated", "missing gone", "missing recreated", "updated changed relist"]
        );
        assert_eq!(
            cluster.cached(),
            ["changed=meanwhile", "kept=loaded", "new=meanwhile", "recreated=again"]
        );
        assert_eq!(cluster.count(Verb::List), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_on_a_watch_are_waited_for_without_a_list() {
    let cluster = Cluster::paged(&["a"]);
    cluster.start().await;
    cluster.server.on(Verb::Watch, "*").once().fail(Fault::too_many_requests(Duration::from_secs(30)));
    let start = Instant::now();
    cluster.server.end_watches("*");
    cluster.settle().await;
    assert!(start.elapsed() >= Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!((cluster.count(Verb::List), cluster.count(Verb::Watch)), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn failed_attempts_have_growing_pauses_up_to_a_cap() {
    let cluster = Cluster::paged(&["a"]);
    let reactor = cluster.server.on(Verb::List, "configmaps").times(12).fail(Fault::internal_error("no"));
    let start = Instant::now();
    cluster.start().await;
    assert_eq!((reactor.acted(), reactor.seen()), (12, 13));
    let waited = start.elapsed();
    assert!((Duration::from_secs(60)..DEADLINE).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn pages_are_put_together_and_a_continue_token_that_expires_leads_to_a_full_list() {
    let cluster = Cluster::paged(&[]);
    let names: Vec<String> = (0..1200).map(|number| format!("map-{number:04}")).collect();
    cluster.server.load_objects(names.iter().map(|name| json!(map(name, "")))).unwrap();
    cluster.server.on(Verb::List, "configmaps").nth(2).then(|server, _| {
        // The pages show one version, which is forgotten here.
        send(server, "POST", MAPS, &json!(map("meanwhile", "")));
        server.compact();
    });
    cluster.start().await;
    assert_eq!(cluster.informer.store().len(), 1201);
    assert_eq!(cluster.count(Verb::List), 3, "a page, one that expired, and one full list");
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_that_is_cut_before_its_end_is_started_again_and_one_after_it_is_not() {
    // Two objects and the bookmark that closes the list.
    for (events, watches) in [(1, 2), (2, 2), (3, 2)] {
        let cluster = Cluster::streamed(&["a", "b"]);
        cluster.server.on(Verb::Watch, "configmaps").once().cut_after(events);
        let heard = cluster.hear();
        cluster.start().await;
        cluster.settle().await;
        let mut seen = heard.take();
        seen.sort();
        assert_eq!(seen, ["initial a", "initial b"], "cut after {events} events");
        assert_eq!((cluster.count(Verb::List), cluster.count(Verb::Watch)), (0, watches));
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_there_yet_is_waited_for() {
    let server = Server::new();
    let factory = InformerFactory::builder(server.client()).build();
    let kind = DynamicKind::namespaced("example.com", "v1", "Widget", "widgets");
    let informer = factory.dynamic_informer(&kind);
    factory.start();
    let error = factory.wait_for_cache_sync(Duration::from_secs(60)).await.unwrap_err();
    assert!(error.to_string().contains("widgets"), "{error}");
    server
        .load_yaml(
            "{ apiVersion: example.com/v1, kind: Widget, metadata: { name: first } }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget, listKind: WidgetList }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
",
        )
        .unwrap();
    factory.wait_for_cache_sync(DEADLINE).await.unwrap();
    assert_eq!(informer.store().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_s_own_writes_are_waited_for() {
    let cluster = Cluster::streamed(&[]);
    cluster.start().await;
    cluster.server.on(Verb::Watch, "*").times(3).fail(Fault::unavailable());
    cluster.server.cut_watches("*");
    let written = cluster.write("a", "new").await;
    assert!(cluster.informer.store().is_empty(), "the watch is down");
    cluster.informer.caught_up_to(&written, DEADLINE).await.unwrap();
    assert_eq!(cluster.cached(), ["a=new"]);

    cluster.server.on(Verb::Watch, "*").fail(Fault::unavailable());
    cluster.server.cut_watches("*");
    let written = cluster.write("a", "newer").await;
    let late = cluster.informer.caught_up_to(&written, Duration::from_secs(60)).await;
    assert!(late.is_err(), "a deadline is kept");
    cluster.server.clear_reactors();
    cluster.informer.caught_up_to(&written, DEADLINE).await.unwrap();
    assert_eq!(cluster.cached(), ["a=newer"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_type_is_watched_once_and_stopping_it_leaves_the_others() {
    let cluster = Cluster::paged(&["a"]);
    for _ in 0..20 {
        cluster.factory.informer::<ConfigMap>();
    }
    let secrets = cluster.factory.informer::<Secret>();
    cluster.start().await;
    quiet().await;
    assert_eq!((cluster.count(Verb::List), cluster.count(Verb::Watch)), (1, 1));
    assert_eq!(cluster.server.open_watches("*"), 2);
    secrets.stop();
    quiet().await;
    assert_eq!((cluster.server.open_watches("secrets"), cluster.server.open_watches("configmaps")), (0, 1));
    cluster.settle().await;
}
