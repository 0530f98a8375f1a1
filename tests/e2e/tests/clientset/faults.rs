//! The clientset while the API server comes to harm.
//!
//! The server works without its watch cache, which is empty after a start: any version that etcd
//! still knows can be watched, and none that it has forgotten.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use genclient_runtime::{ListParams, client::WatchEvent, kube::ResourceExt};
use genclient_testenv::require_servers;
use samplecrd_client::clientset::Clientset;

use crate::support::{app_service, faulty_cluster, in_time, named, namespace, network};

const NO_WATCH_CACHE: &[&str] = &["--watch-cache=false"];

#[tokio::test]
async fn a_watch_resumes_where_it_was_when_the_api_server_was_killed_and_returns() {
    require_servers!();
    let env = faulty_cluster(NO_WATCH_CACHE).await;
    let clientset = Clientset::new(env.client().unwrap());
    let namespace = namespace(clientset.client(), "resume").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let start = networks.list(&ListParams::default()).await.unwrap().metadata.resource_version;
    let mut watch = networks.watch(&ListParams { resource_version: start, ..ListParams::default() });
    networks.create(&network(named("before"))).await.unwrap();
    let mut told = Vec::new();
    let mut next = async || loop {
        let event = in_time("the watch goes on", watch.next()).await.unwrap().unwrap();
        match event {
            WatchEvent::Added(object) => return ("added", object.name_any()),
            WatchEvent::Deleted(object) => return ("deleted", object.name_any()),
            WatchEvent::Bookmark { .. } => {}
            other => panic!("{other:?} was not done"),
        }
    };
    told.push(next().await);

    env.apiserver().kill9().await.unwrap();
    env.apiserver().start().await.unwrap();
    networks.create(&network(named("after"))).await.unwrap();
    networks.delete("before").await.unwrap();
    told.push(next().await);
    told.push(next().await);
    let expected = [("added", "before"), ("added", "after"), ("deleted", "before")];
    assert_eq!(told, expected.map(|(what, name)| (what, name.to_owned())), "nothing is missed or told twice");
}

#[tokio::test]
async fn a_version_that_etcd_has_forgotten_is_gone() {
    require_servers!();
    let env = faulty_cluster(NO_WATCH_CACHE).await;
    let clientset = Clientset::new(env.client().unwrap());
    let namespace = namespace(clientset.client(), "gone").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    for number in 0..4 {
        apps.create(&app_service(named(&format!("n{number}")))).await.unwrap();
    }
    let page = apps.list(&ListParams::default().limit(2)).await.unwrap();
    let mut pages = apps.pages(&ListParams::default().limit(2));
    assert_eq!(pages.next().await.unwrap().unwrap().len(), 2);
    // The last change before a compaction can still be watched, so there is more than one.
    for name in ["n0", "n1", "n2"] {
        apps.delete(name).await.unwrap();
    }
    env.compact_etcd().await.unwrap();

    let token = page.metadata.continue_.unwrap();
    let expired = apps.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap_err();
    assert!(expired.is_gone() && expired.is_expired(), "{expired}");

    let rest: Vec<_> = pages.try_concat().await.unwrap();
    assert_eq!(
        rest.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        ["n3"],
        "the pages go on after n1"
    );

    let old = ListParams { resource_version: page.metadata.resource_version, ..ListParams::default() };
    let mut watch = apps.watch(&old);
    let gone = in_time("the watch is refused", watch.next()).await.unwrap().unwrap_err();
    assert!(gone.is_gone(), "{gone}");
    assert!(watch.next().await.is_none(), "what cannot be resumed ends");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_a_timeout() {
    require_servers!();
    let env = faulty_cluster(NO_WATCH_CACHE).await;
    let clientset = Clientset::new(env.client().unwrap());
    let networks = clientset.samplecrd_v1().networks("default");
    assert!(networks.get("absent").await.unwrap_err().is_not_found());
    env.apiserver().pause().unwrap();
    let late = networks.get("absent").timeout(Duration::from_millis(300)).await.unwrap_err();
    env.apiserver().resume().unwrap();
    assert!(late.is_timeout(), "{late}");
    assert_eq!(late.to_string(), "cannot get Network default/absent: no answer within 300ms");
    let answered = networks.get("absent").timeout(crate::support::PATIENCE).await.unwrap_err();
    assert!(answered.is_not_found(), "{answered}");
}
