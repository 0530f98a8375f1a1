//! Objects that the server holds and that do not decode.

use genclient_runtime::{Error, ObjectKey, Patch, error::Cause as ErrorCause, kube::ResourceExt as _};
use genclient_testenv::{TestEnv, require_servers};
use samplecrd_client::{clientset::Clientset, informers::SharedInformerFactory};
use serde_json::json;

use crate::{
    record::{Told, record},
    support::{PATIENCE, crds_without_rules, eventually, faulty_cluster, named, namespace, network},
};

/// Lets the server take anything as the spec of a network.
async fn allow_any_spec(env: &TestEnv) {
    let manifest = crds_without_rules();
    let (before, rest) = manifest.split_once("            properties:\n              cidr:").expect("a spec");
    let (_, after) = rest.split_once("            - gateway\n").expect("the end of the spec");
    let loose = format!("{before}            x-kubernetes-preserve-unknown-fields: true\n{after}");
    env.kubectl_with_input(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &loose)
        .await
        .expect("the server accepts the loose definition");
}

/// Whether a write succeeded, and the typed client could not make sense of the answer.
fn is_unreadable(error: &Error) -> bool {
    matches!(error.cause(), ErrorCause::Decode { path, .. } if path == "spec.cidr")
}

#[tokio::test]
async fn an_object_that_does_not_decode_is_named_and_keeps_its_last_good_state() {
    require_servers!();
    let env = faulty_cluster(&[]).await;
    let clientset = Clientset::new(env.client().unwrap());
    let namespace = namespace(clientset.client(), "invalid").await;
    let networks = clientset.samplecrd_v1().networks(&namespace);
    let good = networks.create(&network(named("example"))).await.unwrap();
    networks.create(&network(named("bad-from-the-start"))).await.unwrap();
    allow_any_spec(&env).await;
    let spoil = Patch::merge(&json!({"spec": {"cidr": 42}}));
    eventually("the server takes what the type does not", async || {
        networks.patch("bad-from-the-start", &spoil).await.is_err_and(|error| is_unreadable(&error))
    })
    .await;

    let factory = SharedInformerFactory::builder(clientset.clone()).namespace(&namespace).build();
    let informer = factory.samplecrd().v1().networks();
    let (cache, lister) = (informer.informer(), informer.lister().networks(&namespace));
    let record = record(&cache);
    factory.start();
    factory.wait_for_cache_sync(PATIENCE).await.unwrap();
    let invalid = cache.invalid();
    assert_eq!(invalid.len(), 1, "{invalid:?}");
    assert_eq!(invalid[0].key, ObjectKey::namespaced(&namespace, "bad-from-the-start"));
    assert!(invalid[0].error.contains("spec.cidr"), "{}", invalid[0].error);
    assert!(lister.get("bad-from-the-start").is_none() && lister.get("example").is_some());

    let unreadable = networks.patch("example", &spoil).await.unwrap_err();
    assert!(is_unreadable(&unreadable), "{unreadable}");
    eventually("the object is known to be invalid", async || cache.invalid().len() == 2).await;
    assert_eq!(lister.require("example").unwrap().spec, good.spec, "the last good state is kept");

    // A list does not take it away either.
    env.apiserver().restart().await.unwrap();
    let marker = networks.create(&network(named("marker"))).await.unwrap();
    cache.caught_up_to(&marker, PATIENCE).await.unwrap();
    assert_eq!(cache.invalid().len(), 2);
    assert_eq!(lister.require("example").unwrap().spec, good.spec);

    let repair = Patch::merge(&json!({"spec": {"cidr": "10.0.0.0/8"}}));
    let repaired = networks.patch("example", &repair).await.unwrap();
    cache.caught_up_to(&repaired, PATIENCE).await.unwrap();
    assert_eq!(lister.require("example").unwrap().spec.cidr, "10.0.0.0/8");
    assert_eq!(cache.invalid().len(), 1);
    networks.delete("bad-from-the-start").await.unwrap();
    eventually("what is gone is no longer invalid", async || cache.invalid().is_empty()).await;

    let example = |told: fn(String, String) -> Told| told("example".to_owned(), repaired.uid().unwrap());
    let added = Told::Added("marker".to_owned(), marker.uid().unwrap());
    assert_eq!(record.wait_for(3).await, [example(Told::Added), added, example(Told::Updated)]);
    factory.shutdown().await;
}
