//! What a manager extracts is what it has applied, whoever else writes the object.

use std::fmt::Debug;

use futures::{StreamExt as _, stream};
use genclient_runtime::{
    TypedClient,
    apply::{ApplyConfiguration, ObjectMetaApply, extract},
    kube,
};
use genclient_tally::Tally;
use genclient_testenv::require_servers;
use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kubernetes_client::apply::{
    apps::v1::{DeploymentApply, DeploymentSpecApply},
    core::v1::{ContainerApply, ContainerPortApply, EnvVarApply, PodSpecApply, PodTemplateSpecApply},
    meta::v1::LabelSelectorApply,
};
use proptest::{
    collection::btree_map,
    option,
    prelude::*,
    sample::{select, subsequence},
    strategy::ValueTree as _,
    test_runner::TestRunner,
};
use samplecrd_client::apply::{
    appcontroller::v1alpha1::{AppServiceApply, AppServiceSpecApply},
    samplecrd::v1::{NetworkApply, NetworkSpecApply},
};
use serde::de::DeserializeOwned;

use crate::support::clientset;

/// How many configurations are tried of each kind, for a usual run.
const CASES: usize = 60;
const AT_ONCE: usize = 16;

/// How often a configuration is applied again until nobody else writes the object meanwhile.
const ATTEMPTS: usize = 10;

fn text() -> impl Strategy<Value = String> + Clone {
    "[a-z0-9]{1,5}"
}

/// Labels, annotations and finalizers, each of which may be absent.
fn metadata() -> impl Strategy<Value = ObjectMetaApply> {
    let texts = || option::of(btree_map(select(vec!["a", "b", "c"]).prop_map(str::to_owned), text(), 1..3));
    let finalizers = option::of(subsequence(vec!["x.example.com/a", "x.example.com/b"], 1..=2));
    (texts(), texts(), finalizers).prop_map(|(labels, annotations, finalizers)| ObjectMetaApply {
        labels,
        annotations,
        finalizers: finalizers.map(|names| names.into_iter().map(str::to_owned).collect()),
        ..ObjectMetaApply::new("")
    })
}

fn network() -> impl Strategy<Value = NetworkApply> {
    (metadata(), text(), text()).prop_map(|(metadata, cidr, gateway)| NetworkApply {
        metadata,
        spec: Some(NetworkSpecApply::new().cidr(cidr).gateway(gateway)),
        ..NetworkApply::new("", "")
    })
}

fn app_service() -> impl Strategy<Value = AppServiceApply> {
    (metadata(), text(), option::of(0..9)).prop_map(|(metadata, name, replicas)| AppServiceApply {
        metadata,
        spec: Some(AppServiceSpecApply { replicas, ..AppServiceSpecApply::new().deployment_name(name) }),
        ..AppServiceApply::new("", "")
    })
}

fn container(name: &'static str) -> impl Strategy<Value = ContainerApply> {
    let variables = option::of(subsequence(vec!["A", "B", "C"], 1..=3));
    let ports = option::of(subsequence(vec![(80, None), (443, Some("TCP")), (53, Some("UDP"))], 1..=3));
    // The server does not store a `false` or an empty value, and the extraction finds it by its owner.
    let tty = option::of(any::<bool>());
    let value = select(vec!["", "value"]);
    (text(), variables, value, ports, tty).prop_map(move |(image, variables, value, ports, tty)| {
        let variable = |name: &str| EnvVarApply::new().name(name).value(value);
        let port = |(port, protocol): (i32, Option<&str>)| ContainerPortApply {
            protocol: protocol.map(str::to_owned),
            ..ContainerPortApply::new().container_port(port)
        };
        let container = ContainerApply { tty, ..ContainerApply::new().name(name).image(image) };
        let container = match variables {
            Some(names) => container.env(names.into_iter().map(variable)),
            None => container,
        };
        match ports {
            Some(ports) => container.ports(ports.into_iter().map(port)),
            None => container,
        }
    })
}

fn deployment() -> impl Strategy<Value = DeploymentApply> {
    let containers = (container("first"), option::of(container("second")));
    let spec = (option::of(0..9), containers, option::of(1i64..60));
    (metadata(), spec).prop_map(|(metadata, (replicas, (first, second), grace))| {
        let labels = [("app".to_owned(), "web".to_owned())];
        let pod = PodSpecApply {
            termination_grace_period_seconds: grace,
            ..PodSpecApply::new().containers([first].into_iter().chain(second))
        };
        let template = PodTemplateSpecApply::new()
            .metadata(ObjectMeta { labels: Some(labels.clone().into()), ..ObjectMeta::default() })
            .spec(pod);
        let spec = DeploymentSpecApply {
            replicas,
            ..DeploymentSpecApply::new()
                .selector(LabelSelectorApply::new().match_labels(labels))
                .template(template)
        };
        DeploymentApply { metadata, spec: Some(spec), ..DeploymentApply::new("", "") }
    })
}

/// What another manager applies to the same objects.
fn of_another<A: ApplyConfiguration + DeserializeOwned>(name: &str) -> A {
    let metadata = serde_json::json!({
        "name": name,
        "labels": { "theirs": "yes" },
        "finalizers": ["x.example.com/theirs"],
    });
    serde_json::from_value(serde_json::json!({ "metadata": metadata })).expect("it is a configuration")
}

/// Applies random configurations, and compares each with what is extracted then.
async fn check<A>(
    client: &TypedClient<A::Object>,
    configurations: impl Strategy<Value = A>,
    named: fn(&mut A) -> &mut ObjectMetaApply,
) where
    A: ApplyConfiguration + DeserializeOwned + Clone + Debug + PartialEq,
    A::Object: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let mut runner = TestRunner::deterministic();
    let namespace = client.namespace().expect("it is the client of a namespace");
    let cases: Vec<A> = (0..CASES)
        .map(|number| {
            let tree = configurations.new_tree(&mut runner).expect("there is a configuration");
            let mut config = tree.current();
            let metadata = named(&mut config);
            (metadata.name, metadata.namespace) = (format!("case-{number}"), Some(namespace.to_owned()));
            config
        })
        .collect();
    let tally = &Tally::new();
    let tried = stream::iter(cases).map(|config| async move {
        let name = config.metadata().name.clone();
        client.apply(&config).field_manager("me").await.expect("it is applied");
        let both: A = of_another(&name);
        let object = client.apply(&both).field_manager("another").await.expect("the other's is applied");
        let extracted: A = extract(&object, "me").expect("it can be extracted");
        assert_eq!(extracted, config, "{}", serde_json::to_string(&object).expect("it serializes"));
        let metadata = config.metadata();
        tally.add("labels", usize::from(metadata.labels.is_some()));
        tally.add("annotations", usize::from(metadata.annotations.is_some()));
        tally.add("finalizers", usize::from(metadata.finalizers.is_some()));
        let managers = kube::Resource::meta(&object).managed_fields.as_ref().map_or(0, Vec::len);
        tally.add("shared with another", usize::from(managers > 1));
        let version = |object: &A::Object| kube::Resource::meta(object).resource_version.clone();
        // A controller may write the object between two requests, but it comes to rest.
        let mut before = object;
        for attempt in 1.. {
            let again = client.apply(&extracted).field_manager("me").await.expect("it is applied again");
            if version(&again) == version(&before) {
                tally.count("applied again");
                break;
            }
            assert!(attempt < ATTEMPTS, "applying what was extracted changes {name} every time");
            before = client.get(&name).await.expect("it is there");
        }
    });
    assert_eq!(tried.buffer_unordered(AT_ONCE).count().await, CASES);
    tally.require(&[
        ("labels", CASES / 6),
        ("annotations", CASES / 6),
        ("finalizers", CASES / 6),
        ("shared with another", CASES),
        ("applied again", CASES),
    ]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_extracted_is_what_was_applied() {
    require_servers!();
    let (clientset, namespace) = clientset("extracted").await;
    let client = clientset.client();
    check(&TypedClient::namespaced(client.clone(), &namespace), network(), |config: &mut NetworkApply| {
        &mut config.metadata
    })
    .await;
    check(
        &TypedClient::namespaced(client.clone(), &namespace),
        app_service(),
        |config: &mut AppServiceApply| &mut config.metadata,
    )
    .await;
    check(
        &TypedClient::namespaced(client.clone(), &namespace),
        deployment(),
        |config: &mut DeploymentApply| &mut config.metadata,
    )
    .await;
}
