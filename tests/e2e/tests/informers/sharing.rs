//! One informer for everybody who asks.

use std::{sync::Arc, time::Duration};

use genclient_runtime::{Event, GroupVersionResource, InformerFactory, Selector, factory::CacheSyncError};
use genclient_testenv::require_servers;
use parking_lot::Mutex;
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::{clientset::Clientset, informers::SharedInformerFactory};

use crate::{
    record::record,
    support::{PATIENCE, Tap, app_service, clientset, cluster, eventually, labelled, named, network},
};

/// Asks for the informer a hundred times, starts the factory five times, and gives the requests
/// that this made for the kind.
async fn requests_of_a_busy_factory(namespace: &str, streaming: bool) -> Vec<String> {
    let (client, tap) = Tap::client(cluster().await);
    let factory = SharedInformerFactory::builder(Clientset::new(client))
        .namespace(namespace)
        .tweak_list_options(|options| options.streaming_lists = streaming)
        .build();
    let heard = Arc::new(Mutex::new(0));
    for round in 0..100 {
        let heard = heard.clone();
        let informer = factory.samplecrd().v1().networks().informer();
        informer.add_event_handler(move |_: &Event<Network>| *heard.lock() += 1);
        if round % 20 == 0 {
            factory.start();
        }
    }
    factory.wait_for_cache_sync(PATIENCE).await.expect("the informer syncs");
    eventually("each handler has heard of both networks", async || *heard.lock() == 200).await;
    let watching = || tap.requests_for("/networks").iter().any(|request| request.contains("watch=true"));
    eventually("the informer watches", async || watching()).await;
    factory.shutdown().await;
    tap.requests_for("/networks")
}

#[tokio::test]
async fn a_hundred_askers_and_five_starts_are_one_list_and_one_watch() {
    require_servers!();
    let (clientset, namespace) = clientset("sharing").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    for name in ["a", "b"] {
        networks.create(&network(named(name))).await.unwrap();
    }

    let streamed = requests_of_a_busy_factory(&namespace, true).await;
    assert_eq!(streamed.len(), 1, "the list is the beginning of the watch: {streamed:?}");
    assert!(streamed[0].contains("sendInitialEvents=true"), "{streamed:?}");

    let paged = requests_of_a_busy_factory(&namespace, false).await;
    let lists: Vec<_> = paged.iter().filter(|request| !request.contains("watch=true")).collect();
    assert_eq!((lists.len(), paged.len()), (1, 2), "{paged:?}");
}

#[tokio::test]
async fn a_long_list_is_the_same_streamed_and_in_pages() {
    require_servers!();
    let (clientset, namespace) = clientset("pages").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    for number in 0..23 {
        networks.create(&network(named(&format!("n{number}")))).await.unwrap();
    }
    for streaming in [true, false] {
        let (client, tap) = Tap::client(cluster().await);
        let factory = SharedInformerFactory::builder(Clientset::new(client))
            .namespace(&namespace)
            .tweak_list_options(|options| {
                options.streaming_lists = streaming;
                options.page_size = 10;
            })
            .build();
        let informer = factory.samplecrd().v1().networks().informer();
        factory.start();
        factory.wait_for_cache_sync(PATIENCE).await.unwrap();
        assert_eq!(informer.store().len(), 23);
        let requests = tap.requests_for("/networks");
        let pages = requests.iter().filter(|request| request.contains("limit=10")).count();
        assert_eq!(pages, if streaming { 0 } else { 3 }, "{requests:?}");
        factory.shutdown().await;
    }
}

#[tokio::test]
async fn both_kinds_are_read_by_name_by_namespace_by_label_and_by_index() {
    require_servers!();
    let (clientset, namespace) = clientset("listers").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    for (name, env) in [("a", "test"), ("b", "live")] {
        networks.create(&network(labelled(name, "env", env))).await.unwrap();
    }
    clientset
        .appcontroller_v1alpha1()
        .app_services(&namespace)
        .create(&app_service(named("app")))
        .await
        .unwrap();

    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&namespace).build();
    let informer = factory.samplecrd().v1().networks();
    let by_cidr = informer.informer().add_index("cidr", |network| [network.spec.cidr.clone()]).unwrap();
    let apps = factory.appcontroller().v1alpha1().app_services();
    let record = record(&apps.informer());
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();

    let lister = informer.lister();
    assert!(lister.networks(&namespace).get("a").is_some());
    assert!(lister.networks(&namespace).require("absent").unwrap_err().to_string().contains("absent"));
    assert!(lister.networks("default").get("a").is_none());
    assert_eq!(lister.list(&Selector::parse("env in (test)").unwrap()).len(), 1);
    assert_eq!(by_cidr.get("192.168.0.0/16").len(), 2);
    assert!(by_cidr.get("10.0.0.0/8").is_empty());
    assert!(apps.lister().app_services(&namespace).get("app").is_some());
    assert!(record.registration().wait_for_sync().await);

    let resource = GroupVersionResource::gvr("samplecrd.k8s.io", "v1", "networks");
    assert!(factory.for_resource(&resource).is_ok());
    let unknown = GroupVersionResource::gvr("samplecrd.k8s.io", "v1", "subnets");
    assert!(factory.for_resource(&unknown).is_err());
    factory.shutdown().await;
}

#[tokio::test]
async fn a_metadata_informer_and_a_transform_cache_less() {
    require_servers!();
    let (clientset, namespace) = clientset("less").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let created = networks.create(&network(labelled("example", "env", "test"))).await.unwrap();
    let factory = InformerFactory::builder(clientset.client().clone())
        .namespace(&namespace)
        .transform(|network: &mut Network| network.spec.gateway.clear())
        .build();
    let (whole, metadata) = (factory.informer::<Network>(), factory.metadata_informer::<Network>());
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();

    let cached = whole.store().find(Some(&namespace), "example").unwrap();
    assert_eq!((&*cached.spec.cidr, &*cached.spec.gateway), ("192.168.0.0/16", ""));
    let selector = Selector::parse("env=test").unwrap();
    let found = metadata.store().list(&selector);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].metadata.uid, created.metadata.uid);

    networks.delete("example").await.unwrap();
    eventually("both see it go", async || whole.store().is_empty() && metadata.store().is_empty()).await;
    factory.shutdown().await;
}

#[tokio::test]
async fn a_user_without_a_role_is_told_which_one_is_missing() {
    require_servers!();
    let (_, namespace) = clientset("forbidden").await;
    let limited = cluster().await.limited_client().unwrap();
    let factory = SharedInformerFactory::builder(Clientset::new(limited)).namespace(&namespace).build();
    factory.samplecrd().v1().networks().informer();
    factory.start();
    let late = factory.wait_for_cache_sync(Duration::from_secs(2)).await.unwrap_err();
    let CacheSyncError::NotSynced(late) = late else { panic!("{late}") };
    assert_eq!(late[0].resource, "networks.samplecrd.k8s.io/v1");
    assert!(late[0].reason.contains("a role must grant `list` and `watch`"), "{}", late[0].reason);
    factory.shutdown().await;
}
