//! Reading one's own writes from the cache.

use std::time::Duration;

use genclient_runtime::{Patch, informer::CatchUpError, kube::ResourceExt as _};
use genclient_testenv::require_servers;
use samplecrd_client::informers::SharedInformerFactory;
use serde_json::json;

use crate::support::{PATIENCE, clientset, named, namespace, network};

#[tokio::test]
async fn after_catching_up_the_cache_has_ones_own_write() {
    require_servers!();
    let (clientset, namespace) = clientset("own").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&namespace).build();
    let informer = factory.samplecrd().v1().networks();
    let (cache, lister) = (informer.informer(), informer.lister().networks(&namespace));
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();

    let mut written = networks.create(&network(named("example"))).await.unwrap();
    for round in 0..20 {
        cache.caught_up_to(&written, PATIENCE).await.unwrap();
        let mut expected = written.clone();
        expected.metadata.managed_fields = None;
        assert_eq!(*lister.require("example").unwrap(), expected);
        written.spec.cidr = format!("10.{round}.0.0/16");
        written = networks.update(&written).await.unwrap();
    }
    factory.shutdown().await;
}

#[tokio::test]
async fn a_cached_object_is_written_back_without_taking_fields_from_their_owners() {
    require_servers!();
    let (clientset, namespace) = clientset("owners").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let created = networks.create(&network(named("example"))).field_manager("creator").await.unwrap();
    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&namespace).build();
    let lister = factory.samplecrd().v1().networks().lister().networks(&namespace);
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();

    // The cache leaves out who owns which field; an update that leaves it out must not forget it.
    let mut cached = (*lister.require("example").unwrap()).clone();
    assert_eq!(cached.metadata.managed_fields, None);
    cached.spec.gateway = "192.168.0.2".to_owned();
    let updated = networks.update(&cached).field_manager("updater").await.unwrap();
    let owner = |manager: &str| {
        let found = updated.managed_fields().iter().find(|entry| entry.manager.as_deref() == Some(manager));
        serde_json::to_value(found.and_then(|entry| entry.fields_v1.clone())).unwrap()["f:spec"].clone()
    };
    assert_eq!(created.managed_fields().len(), 1);
    assert!(owner("creator").get("f:cidr").is_some(), "{updated:?}");
    assert!(owner("creator").get("f:gateway").is_none(), "{updated:?}");
    assert!(owner("updater").get("f:gateway").is_some(), "{updated:?}");
    factory.shutdown().await;
}

#[tokio::test]
async fn the_end_of_an_object_is_caught_up_to_as_well() {
    require_servers!();
    let (clientset, namespace) = clientset("end").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&namespace).build();
    let informer = factory.samplecrd().v1().networks();
    let (cache, lister) = (informer.informer(), informer.lister().networks(&namespace));
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();

    networks.create(&network(named("example"))).await.unwrap();
    let written =
        networks.patch("example", &Patch::merge(&json!({"spec": {"cidr": "changed"}}))).await.unwrap();
    networks.delete("example").await.unwrap();
    cache.caught_up_to(&written, PATIENCE).await.unwrap();
    let marker = networks.create(&network(named("marker"))).await.unwrap();
    cache.caught_up_to(&marker, PATIENCE).await.unwrap();
    assert!(lister.get("example").is_none() && lister.get("marker").is_some());
    factory.shutdown().await;
}

#[tokio::test]
async fn what_cannot_be_caught_up_to_is_told() {
    require_servers!();
    let (clientset, here) = clientset("here").await;
    let there = namespace(clientset.client(), "there").await;
    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&here).build();
    let informer = factory.samplecrd().v1().networks().informer();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();

    let foreign = clientset.samplecrd_v1().networks(&there).create(&network(named("example"))).await.unwrap();
    let refused = informer.caught_up_to(&foreign, PATIENCE).await;
    assert_eq!(refused, Err(CatchUpError::NotFollowed(there)));

    let mut object =
        clientset.samplecrd_v1().networks(&here).create(&network(named("example"))).await.unwrap();
    object.metadata.resource_version = Some("not a version".to_owned());
    let refused = informer.caught_up_to(&object, PATIENCE).await;
    assert_eq!(refused, Err(CatchUpError::Malformed("not a version".to_owned())));

    object.metadata.resource_version = Some(u64::MAX.to_string());
    let late = informer.caught_up_to(&object, Duration::from_millis(50)).await;
    assert!(matches!(late, Err(CatchUpError::Deadline { .. })), "{late:?}");
    factory.shutdown().await;
}
