//! Random objects come back from the server as they were sent: nothing pruned, nothing changed.
//!
//! A failing object is shrunk and printed, and its seed is written to
//! `round_trip.proptest-regressions` beside this file, from where it is replayed first the next time.
//! `GENCLIENT_LONG=1` sends more of them.

use std::{collections::BTreeMap, fmt::Debug};

use genclient_runtime::{ObjectMeta, ValidationDirective};
use genclient_tally::Tally;
use genclient_testenv::require_servers;
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    test_runner::{FileFailurePersistence, TestRunner},
};
use samplecrd_apis::{
    appcontroller::v1alpha1::{AppService, AppServiceSpec, AppServiceStatus},
    samplecrd::v1::{Network, NetworkSpec},
};
use samplecrd_client::clientset::Clientset;
use serde_json::Value;

use crate::support::clientset;

const LABEL_KEY: &str = "([a-z]{1,8}\\.example\\.com/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?";
const LABEL_VALUE: &str = "([A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?)?";

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[ -~]{0,40}", Just("null".to_owned()), Just(String::new())]
}

fn metadata() -> impl Strategy<Value = ObjectMeta> {
    let labels = option::of(btree_map(LABEL_KEY, LABEL_VALUE, 1..4));
    let annotations = option::of(btree_map(LABEL_KEY, text(), 1..4));
    let finalizers = option::of(vec("[a-z]{1,8}\\.example\\.com/[a-z]{1,8}", 1..3));
    (labels, annotations, finalizers).prop_map(|(labels, annotations, finalizers)| ObjectMeta {
        generate_name: Some("random-".to_owned()),
        labels,
        annotations,
        // The server keeps a finalizer that is given twice once.
        finalizers: finalizers.map(|mut finalizers| {
            finalizers.sort();
            finalizers.dedup();
            finalizers
        }),
        ..ObjectMeta::default()
    })
}

fn network_spec() -> impl Strategy<Value = NetworkSpec> {
    (text(), text()).prop_map(|(cidr, gateway)| NetworkSpec { cidr, gateway })
}

fn app_service_spec() -> impl Strategy<Value = AppServiceSpec> {
    (text(), option::of(0..=i32::MAX), option::of(text()))
        .prop_map(|(deployment_name, replicas, image)| AppServiceSpec { deployment_name, replicas, image })
}

/// What a user says of an object, without what the server adds.
fn said(metadata: &ObjectMeta) -> (BTreeMap<String, String>, BTreeMap<String, String>, Vec<String>) {
    let ObjectMeta { labels, annotations, finalizers, .. } = metadata.clone();
    (labels.unwrap_or_default(), annotations.unwrap_or_default(), finalizers.unwrap_or_default())
}

/// The object as the server holds it, past every type of ours.
async fn raw(clientset: &Clientset, path: String) -> Value {
    let request = http::Request::get(path).body(vec![]).expect("the path makes a request");
    clientset.client().request(request).await.expect("the object is there")
}

/// How often each part occurs at least, of 48 objects.
const FLOORS: [(&str, usize); 7] = [
    ("object", 48),
    ("labels", 8),
    ("annotations", 8),
    ("finalizers", 8),
    ("empty text", 3),
    ("text beyond ASCII", 3),
    ("changed", 16),
];

/// Counts what an object has of the parts that may be absent or unusual.
fn count(tally: &Tally, metadata: &ObjectMeta, texts: &[&str]) {
    tally.count("object");
    tally.add("labels", usize::from(metadata.labels.is_some()));
    tally.add("annotations", usize::from(metadata.annotations.is_some()));
    tally.add("finalizers", usize::from(metadata.finalizers.is_some()));
    tally.add("empty text", texts.iter().filter(|text| text.is_empty()).count());
    tally.add("text beyond ASCII", texts.iter().filter(|text| !text.is_ascii()).count());
}

/// Tries a property of random values on the server.
fn try_random<S: Strategy>(strategy: S, property: impl AsyncFn(&Clientset, &str, S::Value))
where
    S::Value: Debug,
{
    let cases = genclient_tally::usual_or_long(48, 2000);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let (clientset, namespace) = runtime.block_on(clientset("random"));
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/clientset/round_trip.proptest-regressions"
        )))),
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&strategy, |value| {
        runtime.block_on(property(&clientset, &namespace, value));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn random_networks_come_back_as_they_were_sent() {
    require_servers!();
    let tally = Tally::new();
    let networks = (metadata(), network_spec(), network_spec());
    try_random(networks, async |clientset, namespace, (metadata, spec, next)| {
        let client = clientset.samplecrd_v1().networks(namespace);
        let sent = Network { metadata, spec };
        let mut created =
            client.create(&sent).field_validation(ValidationDirective::Strict).await.expect("it is created");
        assert_eq!((&created.spec, said(&created.metadata)), (&sent.spec, said(&sent.metadata)));
        let name = created.metadata.name.clone().expect("it has a name");
        let path = format!("/apis/samplecrd.k8s.io/v1/namespaces/{namespace}/networks/{name}");
        let sent = serde_json::to_value(&sent).expect("it is JSON");
        assert_eq!(raw(clientset, path).await["spec"], sent["spec"]);

        created.spec = next.clone();
        let updated = client
            .update(&created)
            .field_validation(ValidationDirective::Strict)
            .await
            .expect("it is updated");
        assert_eq!(updated.spec, next);
        assert_eq!(client.get(&name).await.expect("it is there"), updated);
        count(&tally, &updated.metadata, &[&updated.spec.cidr, &updated.spec.gateway]);
        tally.add("changed", usize::from(sent["spec"] != serde_json::to_value(&next).expect("it is JSON")));
    });
    tally.require(&FLOORS);
}

#[test]
fn random_app_services_come_back_as_they_were_sent() {
    require_servers!();
    let tally = Tally::new();
    // The server takes no negative number where the scale subresource reads the replicas.
    let app_services = (metadata(), app_service_spec(), app_service_spec(), 0..=i32::MAX);
    try_random(app_services, async |clientset, namespace, (metadata, spec, next, available_replicas)| {
        let client = clientset.appcontroller_v1alpha1().app_services(namespace);
        let sent = AppService { metadata, spec, status: None };
        let mut created =
            client.create(&sent).field_validation(ValidationDirective::Strict).await.expect("it is created");
        assert_eq!((&created.spec, said(&created.metadata)), (&sent.spec, said(&sent.metadata)));

        created.status = Some(AppServiceStatus { available_replicas, ..AppServiceStatus::default() });
        let mut written = client
            .update_status(&created)
            .field_validation(ValidationDirective::Strict)
            .await
            .expect("its status is written");
        assert_eq!((&written.spec, &written.status), (&sent.spec, &created.status));
        let name = written.metadata.name.clone().expect("it has a name");
        let path = format!("/apis/appcontroller.k8s.io/v1alpha1/namespaces/{namespace}/appservices/{name}");
        let (held, sent) = (raw(clientset, path).await, serde_json::to_value(&created).expect("it is JSON"));
        assert_eq!((&held["spec"], &held["status"]), (&sent["spec"], &sent["status"]));

        written.spec = next.clone();
        let updated = client
            .update(&written)
            .field_validation(ValidationDirective::Strict)
            .await
            .expect("it is updated");
        assert_eq!((&updated.spec, &updated.status), (&next, &created.status));
        assert_eq!(client.get(&name).await.expect("it is there"), updated);
        count(&tally, &updated.metadata, &[&updated.spec.deployment_name]);
        tally.add("changed", usize::from(created.spec != next));
        tally.add("replicas", usize::from(next.replicas.is_some()));
        tally.add("image", usize::from(next.image.is_some()));
    });
    tally.require(&FLOORS);
    tally.require(&[("replicas", 8), ("image", 8)]);
}
