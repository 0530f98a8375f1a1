//! Faults that tests inject, and environments side by side.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use genclient_testenv::{Error, TestEnv, require_servers};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams, WatchEvent, WatchParams},
};
use serde_json::json;

use crate::create;

async fn own() -> TestEnv {
    TestEnv::builder().own_servers().start().await.unwrap()
}

fn maps(env: &TestEnv) -> Api<ConfigMap> {
    Api::namespaced(env.client().unwrap(), "default")
}

#[tokio::test]
async fn a_killed_api_server_comes_back_on_its_port_with_its_data() {
    require_servers!(ControlPlane);
    let env = own().await;
    let (maps, ports) = (maps(&env), env.ports());
    let before = create(&maps, json!({"metadata": {"name": "kept"}})).await;

    env.apiserver().kill9().await.unwrap();
    let mut config = env.config();
    config.default_retry = false;
    let refused = kube::Client::try_from(config).unwrap().apiserver_version().await;
    assert!(refused.is_err(), "a dead server answered");
    assert!(matches!(env.apiserver().kill9().await, Err(Error::NotRunning { server: "kube-apiserver" })));

    env.apiserver().restart().await.unwrap();
    assert_eq!(env.ports(), ports);
    assert_eq!(maps.get("kept").await.unwrap().metadata.uid, before.metadata.uid);

    env.apiserver().stop().await.unwrap();
    env.apiserver().start().await.unwrap();
    assert_eq!(maps.get("kept").await.unwrap().metadata.uid, before.metadata.uid);
}

#[tokio::test]
async fn a_stopped_api_server_ends_its_watches_and_is_gone_soon() {
    require_servers!();
    let env = own().await;
    let maps = maps(&env);
    let events = maps.watch(&WatchParams::default(), "0").await.unwrap();
    let watch = tokio::spawn(events.try_for_each(async |_| Ok(())));

    let begin = std::time::Instant::now();
    env.apiserver().stop().await.unwrap();
    // The controller manager watches as well. A server that has to be killed in the end takes 20 s.
    assert!(begin.elapsed() < Duration::from_secs(15), "it took {:?}", begin.elapsed());
    watch.await.unwrap().expect("the watch ends in an orderly way");
}

#[tokio::test]
async fn a_paused_api_server_answers_nothing_until_it_goes_on() {
    require_servers!(ControlPlane);
    let env = own().await;
    let maps = maps(&env);
    env.apiserver().pause().unwrap();
    let all = ListParams::default();
    let list = maps.list(&all);
    tokio::pin!(list);
    assert!(tokio::time::timeout(Duration::from_millis(500), &mut list).await.is_err());
    env.apiserver().resume().unwrap();
    list.await.unwrap();

    env.apiserver().pause().unwrap();
    env.apiserver().restart().await.unwrap();
    maps.list(&all).await.unwrap();
}

/// Watches from an old version and returns the code of the error that the server answers with.
async fn watch_from(maps: &Api<ConfigMap>, version: &str) -> Option<u16> {
    match maps.watch(&WatchParams::default(), version).await {
        Err(kube::Error::Api(status)) => Some(status.code),
        Err(error) => panic!("{error}"),
        Ok(events) => match events.boxed().try_next().await.unwrap() {
            Some(WatchEvent::Error(status)) => Some(status.code),
            _ => None,
        },
    }
}

/// An old version: the map has changed since.
async fn old_version(maps: &Api<ConfigMap>) -> String {
    let created = create(maps, json!({"metadata": {"name": "changing"}})).await;
    for round in 0..3 {
        let patch = json!({"data": {"round": round.to_string()}});
        maps.patch("changing", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
    created.metadata.resource_version.unwrap()
}

#[tokio::test]
async fn a_watch_from_before_a_compaction_has_expired_when_there_is_no_watch_cache() {
    require_servers!(ControlPlane);
    let env = TestEnv::builder().own_servers().apiserver_arg("--watch-cache=false").start().await.unwrap();
    let maps = maps(&env);
    let old = old_version(&maps).await;
    assert_eq!(watch_from(&maps, &old).await, None, "before the compaction the version can be watched");
    let revision = env.compact_etcd().await.unwrap();
    assert!(revision > old.parse().unwrap());
    assert_eq!(watch_from(&maps, &old).await, Some(410));
}

#[tokio::test]
async fn a_watch_from_before_a_compaction_has_expired_when_the_api_server_was_restarted() {
    require_servers!(ControlPlane);
    let env = own().await;
    let maps = maps(&env);
    let old = old_version(&maps).await;
    env.compact_etcd().await.unwrap();
    env.apiserver().restart().await.unwrap();
    assert_eq!(watch_from(&maps, &old).await, Some(410));
}

#[tokio::test]
async fn two_environments_side_by_side_do_not_know_of_each_other() {
    require_servers!(ControlPlane);
    let (first, second) = tokio::join!(own(), own());
    create(&maps(&first), json!({"metadata": {"name": "only-in-the-first"}})).await;
    assert!(maps(&second).get_opt("only-in-the-first").await.unwrap().is_none());

    // The first one's certificate authority means nothing to the second one's server.
    let mut config = first.config();
    config.cluster_url = second.config().cluster_url;
    let stranger = kube::Client::try_from(config).unwrap();
    assert!(stranger.apiserver_version().await.is_err());

    drop(first);
    maps(&second).list(&ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_cluster_of_somebody_else_can_be_used_but_not_be_harmed() {
    require_servers!(ControlPlane);
    let own = own().await;
    let env = TestEnv::builder().kubeconfig(own.kubeconfig()).start().await.unwrap();
    create(&maps(&env), json!({"metadata": {"name": "visible"}})).await;
    assert!(maps(&own).get_opt("visible").await.unwrap().is_some());
    let limited = Api::<ConfigMap>::namespaced(env.limited_client().unwrap(), "default");
    let error = limited.get("visible").await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");
    assert_eq!(
        env.kubectl(&["get", "configmap", "visible", "-o", "name"]).await.unwrap(),
        "configmap/visible\n"
    );

    let answers = [
        env.apiserver().kill9().await,
        env.apiserver().stop().await,
        env.apiserver().start().await,
        env.apiserver().restart().await,
        env.apiserver().pause(),
        env.apiserver().resume(),
        env.compact_etcd().await.map(drop),
    ];
    for answer in answers {
        assert!(matches!(answer, Err(Error::NotSupported { .. })), "{answer:?}");
    }
    drop(env);
    maps(&own).list(&ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_start_says_why() {
    require_servers!(ControlPlane);
    let start = TestEnv::builder().own_servers().apiserver_arg("--no-such-flag").start();
    let error = start.await.unwrap_err();
    let Error::Start { server, log, tail, .. } = &error else { panic!("{error}") };
    assert_eq!(*server, "kube-apiserver");
    assert!(tail.contains("unknown flag: --no-such-flag"), "{error}");
    let folder = log.parent().unwrap();
    assert!(log.exists(), "the logs are kept");
    std::fs::remove_dir_all(folder).unwrap();
}
