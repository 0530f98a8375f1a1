//! The generated `fake`: the clientset on an API server in memory.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

use std::time::Duration;

use genclient_fake::{Action, Clock, Fault, Server, Verb};
use genclient_runtime::{ObjectMeta, k8s_openapi::api::core::v1::ConfigMap};
use golden_apis::{
    Spec, Status,
    shapes::{House, Planet},
    versions::v1::Gauge,
};
use golden_client::{
    clientset::Clientset, expansions::HouseClientExpansion, fake, informers::SharedInformerFactory,
};

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn house(size: i32) -> House {
    House { metadata: named("mine"), spec: Spec { size }, status: None }
}

#[tokio::test]
async fn the_fake_is_the_clientset_with_the_crds_of_its_kinds_and_with_hand_written_methods() {
    let fake = fake::Clientset::new();
    let houses = fake.shapes_v1().houses("default");
    houses.create(&house(1)).await.unwrap();
    let mut resized = houses.resize("mine", 2).await.unwrap();
    assert_eq!(resized.spec.size, 2);
    resized.status = Some(Status { ready: true });
    assert_eq!(houses.update_status(&resized).await.unwrap().status, resized.status);
    fake.shapes_v1()
        .planets()
        .create(&Planet { metadata: named("earth"), spec: Spec::default() })
        .await
        .unwrap();
    // One CRD has both versions of a kind.
    let gauge = Gauge { metadata: named("one"), spec: Spec { size: 3 } };
    fake.versions_v1().gauges("default").create(&gauge).await.unwrap();
    assert_eq!(fake.versions_v1beta1().gauges("default").get("one").await.unwrap().spec.size, 3);
    // It is no other type than the real one.
    let real: Clientset = (*fake).clone();
    assert_eq!(real.shapes_v1().all_houses().list(&Default::default()).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn the_requests_are_recorded_and_those_of_the_set_up_are_not() {
    let fake = fake::Clientset::new();
    fake.load(&house(1)).unwrap();
    let houses = fake.shapes_v1().houses("default");
    let mut found = houses.get("mine").await.unwrap();
    found.spec.size = 2;
    houses.update(&found).await.unwrap();
    houses.delete("mine").await.unwrap();
    assert_eq!(
        fake.actions(),
        [
            Action::get::<House>("default", "mine"),
            Action::update("default", &found),
            Action::delete::<House>("default", "mine"),
        ]
    );
}

#[tokio::test]
async fn clientsets_of_several_crates_share_a_server_and_its_clock() {
    let server = Server::builder().clock(Clock::at("2026-01-02T03:04:05Z".parse().unwrap())).build();
    let (golden, samples) = (fake::Clientset::on(&server), samplecrd_client::fake::Clientset::on(&server));
    let kubernetes = kubernetes_client::fake::Clientset::on(&server);
    golden.load(&house(1)).unwrap();
    let network = "{ apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: { name: net }, spec: { cidr: 10.0.0.0/8, gateway: 10.0.0.1 } }";
    samples.load_yaml(network).unwrap();
    let map = ConfigMap { metadata: named("map"), ..ConfigMap::default() };
    let map = kubernetes.core_v1().config_maps("default").create(&map).await.unwrap();
    assert_eq!(map.metadata.creation_timestamp.unwrap().0.to_string(), "2026-01-02T03:04:05Z");
    assert_eq!(samples.samplecrd_v1().networks("default").get("net").await.unwrap().spec.gateway, "10.0.0.1");
    assert_eq!(golden.shapes_v1().houses("default").get("mine").await.unwrap().spec.size, 1);
    assert_eq!(golden.actions().len(), 3, "all requests reach one server");
}

#[tokio::test]
async fn a_set_up_that_the_server_refuses_is_an_error_with_its_document() {
    let text =
        "{ apiVersion: shapes.example.com/v1, kind: House, metadata: { name: mine }, spec: { size: much } }";
    let error = fake::Clientset::from_yaml(text).unwrap_err().to_string();
    assert!(error.starts_with("document 1, House \"default/mine\": "), "{error}");
    assert!(error.contains("spec.size"), "{error}");
}

#[tokio::test]
async fn informers_and_reactors_work_on_the_fake() {
    let fake = fake::Clientset::new();
    fake.load(&house(1)).unwrap();
    fake.on_request(Verb::Watch, "houses").once().fail(Fault::unavailable());
    let factory = SharedInformerFactory::builder((*fake).clone()).build();
    let houses = factory.shapes().v1().houses();
    let informer = houses.informer();
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(30)).await.unwrap();
    let written = fake.shapes_v1().houses("default").resize("mine", 5).await.unwrap();
    fake.server().cut_watches("houses");
    informer.caught_up_to(&written, Duration::from_secs(30)).await.unwrap();
    assert_eq!(houses.lister().houses("default").get("mine").unwrap().spec.size, 5);
}
