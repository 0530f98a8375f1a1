//! Informers that follow a part of a kind.

use genclient_runtime::{FinalState, ObjectKey, Patch, Selector};
use genclient_testenv::require_servers;
use samplecrd_client::informers::SharedInformerFactory;
use serde_json::json;

use crate::{
    record::{Told, record},
    support::{PATIENCE, app_service, clientset, eventually, labelled, named, namespace, network},
};

#[tokio::test]
async fn an_object_leaves_and_enters_with_its_label() {
    require_servers!();
    let (clientset, namespace) = clientset("label").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let created = networks.create(&network(labelled("example", "env", "test"))).await.unwrap();
    let uid = created.metadata.uid.unwrap();
    networks.create(&network(labelled("other", "env", "live"))).await.unwrap();

    let factory = SharedInformerFactory::builder(clientset.clone())
        .namespace(&namespace)
        .tweak_list_options(|options| options.label_selector = Some("env=test".to_owned()))
        .build();
    let informer = factory.samplecrd().v1().networks();
    let record = record(&informer.informer());
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    let example = |told: fn(String, String) -> Told| told("example".to_owned(), uid.clone());
    assert_eq!(record.wait_for(1).await, [example(Told::Added)]);

    let relabel = |env: Option<&str>| Patch::merge(&json!({"metadata": {"labels": {"env": env}}}));
    networks.patch("example", &relabel(None)).await.unwrap();
    let left = record.wait_for(2).await;
    assert_eq!(left[1], Told::Deleted("example".to_owned(), uid.clone(), FinalState::Observed));
    assert!(informer.lister().list(&Selector::everything()).is_empty());

    networks.patch("example", &relabel(Some("test"))).await.unwrap();
    assert_eq!(record.wait_for(3).await[2], example(Told::Added));
    assert!(informer.lister().networks(&namespace).get("example").is_some());
    networks.patch("other", &relabel(Some("none"))).await.unwrap();
    networks.delete("example").await.unwrap();
    let told = record.wait_for(4).await;
    assert_eq!(told[3..], [Told::Deleted("example".to_owned(), uid.clone(), FinalState::Observed)]);
    factory.shutdown().await;
}

#[tokio::test]
async fn a_field_selector_is_evaluated_by_the_server() {
    require_servers!();
    let (clientset, namespace) = clientset("field").await;
    let apps = clientset.appcontroller_v1alpha1().app_services(&namespace);
    for (name, deployment) in [("a", "web"), ("b", "db")] {
        let mut app = app_service(named(name));
        app.spec.deployment_name = deployment.to_owned();
        apps.create(&app).await.unwrap();
    }
    let factory = SharedInformerFactory::builder(clientset.clone())
        .namespace(&namespace)
        .tweak_list_options(|options| options.field_selector = Some("spec.deploymentName=web".to_owned()))
        .build();
    let informer = factory.appcontroller().v1alpha1().app_services().informer();
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    assert_eq!(informer.store().keys(), [ObjectKey::namespaced(&namespace, "a")]);

    apps.patch("b", &Patch::merge(&json!({"spec": {"deploymentName": "web"}}))).await.unwrap();
    eventually("the other one comes in", async || informer.store().len() == 2).await;
    factory.shutdown().await;
}

#[tokio::test]
async fn one_informer_follows_several_namespaces_and_no_other() {
    require_servers!();
    let (clientset, here) = clientset("here").await;
    let there = namespace(clientset.client(), "there").await;
    let elsewhere = namespace(clientset.client(), "elsewhere").await;
    let create = async |namespace: &str, name: &str| {
        let networks = clientset.samplecrd_v1().networks(namespace);
        networks.create(&network(named(name))).await.unwrap()
    };
    for namespace in [&here, &there, &elsewhere] {
        create(namespace, "first").await;
    }
    let factory =
        SharedInformerFactory::builder(clientset.clone()).namespace(&here).namespace(&there).build();
    let informer = factory.samplecrd().v1().networks();
    let record = record(&informer.informer());
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    assert_eq!(informer.informer().store().len(), 2);

    create(&elsewhere, "second").await;
    let written = [create(&here, "second").await, create(&there, "second").await];
    for object in &written {
        informer.informer().caught_up_to(object, PATIENCE).await.unwrap();
    }
    let lister = informer.lister();
    for namespace in [&here, &there] {
        assert_eq!(lister.networks(namespace).list(&Selector::everything()).len(), 2);
    }
    assert!(lister.networks(&elsewhere).list(&Selector::everything()).is_empty());
    assert_eq!(record.wait_for(4).await.len(), 4);
    factory.shutdown().await;
}
