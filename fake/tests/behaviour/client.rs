//! The server behind an ordinary client.

use futures::StreamExt;
use genclient_fake::Server;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, PostParams, WatchEvent, WatchParams},
};

#[tokio::test]
async fn a_client_creates_reads_watches_and_deletes() {
    let server = Server::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut map = ConfigMap::default();
    map.metadata.name = Some("example".to_owned());
    let created = maps.create(&PostParams::default(), &map).await.unwrap();
    assert!(created.metadata.uid.is_some());
    let version = created.metadata.resource_version.clone().unwrap();
    let mut events = maps.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    maps.delete("example", &DeleteParams::default()).await.unwrap();
    match events.next().await.unwrap().unwrap() {
        WatchEvent::Deleted(deleted) => assert_eq!(deleted.metadata.uid, created.metadata.uid),
        other => panic!("{other:?}"),
    }
    assert!(maps.get_opt("example").await.unwrap().is_none());
}
