//! The difference of two random objects, applied by the server: it turns the one into the other.
//!
//! `old` is created, `new` is sent as a dry run to see what the server would store for it, and the
//! difference of both is applied to `old`. `GENCLIENT_LONG=1` tries more of them.

use std::fmt::Debug;

use futures::{StreamExt as _, stream};
use genclient_runtime::{Patch, TypedClient, client::ApiObject, kube};
use genclient_tally::Tally;
use genclient_testenv::require_servers;
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::Deployment,
        core::v1::{Pod, Service},
    },
};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::{select, subsequence},
    strategy::ValueTree as _,
    test_runner::TestRunner,
};
use samplecrd_apis::{appcontroller::v1alpha1::AppService, samplecrd::v1::Network};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::{clientset, eventually};

/// What makes a patch of two objects.
type Difference<K> = fn(&K, &K) -> Result<Option<Patch>, genclient_runtime::patch::PatchError>;

/// How many cases are tried of each property, for a usual run.
const CASES: usize = 75;
const AT_ONCE: usize = 16;

fn text() -> impl Strategy<Value = String> + Clone {
    "[a-z0-9]{1,5}"
}

/// A map of texts with few keys, so that two of them have some in common.
fn texts() -> impl Strategy<Value = Value> {
    option::of(btree_map(select(vec!["a", "b", "c", "d"]), text(), 0..4)).prop_map(|map| json!(map))
}

fn metadata() -> impl Strategy<Value = Value> {
    let finalizers =
        option::of(subsequence(vec!["x.example.com/a", "x.example.com/b", "x.example.com/c"], 0..3));
    (texts(), texts(), finalizers).prop_map(|(labels, annotations, finalizers)| {
        json!({ "labels": labels, "annotations": annotations, "finalizers": finalizers })
    })
}

fn network() -> impl Strategy<Value = Value> {
    (metadata(), text(), text()).prop_map(|(metadata, cidr, gateway)| {
        json!({ "metadata": metadata, "spec": { "cidr": cidr, "gateway": gateway } })
    })
}

fn app_service() -> impl Strategy<Value = Value> {
    (metadata(), text(), option::of(0..9)).prop_map(|(metadata, name, replicas)| {
        json!({ "metadata": metadata, "spec": { "deploymentName": name, "replicas": replicas } })
    })
}

/// Some of the names, in any order.
fn some(names: &[&'static str], at_least: usize) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(names.to_vec(), at_least..=names.len()).prop_shuffle()
}

fn env() -> impl Strategy<Value = Value> {
    some(&["A", "B", "C"], 0).prop_flat_map(|names| {
        let count = names.len();
        vec(text(), count..=count).prop_map(move |values| {
            let pairs = names.iter().zip(values);
            json!(pairs.map(|(name, value)| json!({ "name": name, "value": value })).collect::<Vec<_>>())
        })
    })
}

/// Ports of which several may have one number, with another protocol. The API server puts them side by side.
fn ports(number: &'static str) -> impl Strategy<Value = Value> {
    let protocols = || subsequence(vec!["TCP", "UDP"], 1..=2).prop_shuffle();
    let numbers = subsequence(vec![53, 80, 443], 1..=3).prop_shuffle();
    (numbers, protocols(), protocols(), protocols()).prop_map(move |(numbers, one, two, three)| {
        let mut ports = Vec::new();
        for (port, protocols) in numbers.iter().zip([one, two, three]) {
            for protocol in protocols {
                let name = format!("{}-{port}", protocol.to_lowercase());
                ports.push(json!({ number: port, "protocol": protocol, "name": name }));
            }
        }
        json!(ports)
    })
}

fn container(name: &'static str) -> impl Strategy<Value = Value> {
    let mounts = some(&["data", "cache"], 0).prop_map(|names| {
        let mount = |name: &&str| json!({ "name": name, "mountPath": format!("/{name}") });
        json!(names.iter().map(mount).collect::<Vec<_>>())
    });
    let limits = option::of(select(vec![json!({ "cpu": "1" }), json!({ "cpu": "500m", "memory": "1Gi" })]));
    let args = option::of(vec(text(), 0..3));
    (text(), env(), option::of(ports("containerPort")), mounts, limits, args).prop_map(
        move |(tag, env, ports, mounts, limits, args)| {
            json!({
                "name": name, "image": format!("image:{tag}"), "env": env, "ports": ports,
                "volumeMounts": mounts, "resources": { "limits": limits }, "args": args,
            })
        },
    )
}

fn containers() -> impl Strategy<Value = Value> {
    some(&["a", "b", "c"], 1)
        .prop_flat_map(|names| names.into_iter().map(container).collect::<Vec<_>>())
        .prop_map(|containers| json!(containers))
}

/// The volumes that containers mount, each from one of several sources.
fn volumes() -> impl Strategy<Value = Value> {
    let source = || select(vec![json!({ "emptyDir": {} }), json!({ "configMap": { "name": "c" } })]);
    (source(), source(), any::<bool>()).prop_map(|(mut data, mut cache, swapped)| {
        data["name"] = json!("data");
        cache["name"] = json!("cache");
        if swapped { json!([cache, data]) } else { json!([data, cache]) }
    })
}

fn deployment() -> impl Strategy<Value = Value> {
    let strategy = select(vec![
        json!({ "type": "Recreate" }),
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": "20%" } }),
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "50%", "maxUnavailable": 0 } }),
        json!(null),
    ]);
    let secrets = some(&["s", "t"], 0)
        .prop_map(|names| json!(names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>()));
    let spec = (containers(), volumes(), texts(), option::of(secrets)).prop_map(
        |(containers, volumes, node_selector, secrets)| {
            json!({
                "containers": containers, "volumes": volumes, "nodeSelector": node_selector,
                "imagePullSecrets": secrets,
            })
        },
    );
    (metadata(), texts(), option::of(0..5), strategy, option::of(0..9), spec).prop_map(
        |(metadata, mut labels, replicas, strategy, ready, spec)| {
            if labels.is_null() {
                labels = json!({});
            }
            labels["app"] = json!("web");
            // A paused one is left alone by the controller.
            json!({
                "metadata": metadata,
                "spec": {
                    "paused": true, "replicas": replicas, "strategy": strategy, "minReadySeconds": ready,
                    "selector": { "matchLabels": { "app": "web" } },
                    "template": { "metadata": { "labels": labels }, "spec": spec },
                },
            })
        },
    )
}

fn service() -> impl Strategy<Value = Value> {
    let affinity = option::of(select(vec!["None", "ClientIP"]));
    let addresses = option::of(some(&["192.0.2.1", "192.0.2.2"], 0));
    (metadata(), ports("port"), texts(), affinity, addresses).prop_map(
        |(metadata, ports, selector, affinity, addresses)| {
            // Without an address of its own, which would be another one for each service.
            json!({
                "metadata": metadata,
                "spec": {
                    "clusterIP": "None", "ports": ports, "selector": selector, "sessionAffinity": affinity,
                    "externalIPs": addresses,
                },
            })
        },
    )
}

/// Two pods that differ only in what may be changed of a pod: metadata, images and more tolerations.
fn pods() -> impl Strategy<Value = (Value, Value)> {
    let pod = |metadata: Value, names: &[&str], images: &[String], tolerations: &[&str]| {
        let container = |(name, image): (&&str, &String)| json!({ "name": name, "image": format!("image:{image}"), "env": [{ "name": "A", "value": "1" }] });
        json!({
            "metadata": metadata,
            "spec": {
                // With a token, each pod would have a volume with a name of its own.
                "automountServiceAccountToken": false,
                "containers": names.iter().zip(images).map(container).collect::<Vec<_>>(),
                "tolerations": tolerations.iter().map(|key| json!({ "key": key })).collect::<Vec<_>>(),
            },
        })
    };
    let images = || vec(text(), 3..=3);
    let tolerations = some(&["x", "y", "z"], 0).prop_flat_map(|all| (0..=all.len(), Just(all)));
    (metadata(), metadata(), some(&["a", "b", "c"], 1), images(), images(), tolerations).prop_map(
        move |(one, other, names, old, new, (count, all))| {
            (pod(one, &names, &old, &all[..count]), pod(other, &names, &new, &all))
        },
    )
}

fn pairs<S: Strategy<Value = Value>>(object: impl Fn() -> S) -> impl Strategy<Value = (Value, Value)> {
    (object(), object())
}

/// Tries random pairs on the server, many at once.
async fn hold_for<K>(prefix: &str, pairs: impl Strategy<Value = (Value, Value)>, difference: Difference<K>)
where
    K: ApiObject + PartialEq + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let cases = genclient_tally::usual_or_long(CASES, CASES * 20);
    let (clientset, namespace) = clientset(prefix).await;
    let client = TypedClient::<K>::namespaced(clientset.client().clone(), &namespace);
    let accounts = TypedClient::<k8s_openapi::api::core::v1::ServiceAccount>::namespaced(
        clientset.client().clone(),
        &namespace,
    );
    eventually("the service account of pods is there", async || accounts.get("default").await.is_ok()).await;
    let mut runner = TestRunner::default();
    let drawn: Vec<_> =
        (0..cases).map(|_| pairs.new_tree(&mut runner).expect("there is a pair").current()).collect();
    let tally = &Tally::new();
    let results = stream::iter(drawn.into_iter().enumerate()).map(|(index, (old, new))| {
        let client = client.clone();
        async move { try_pair(&client, &format!("case-{index}"), &old, &new, difference, tally).await }
    });
    let failures: Vec<_> =
        results.buffer_unordered(AT_ONCE).filter_map(async |result| result.err()).collect().await;
    assert!(failures.is_empty(), "{} of {cases} cases failed, such as: {}", failures.len(), failures[0]);
    tally.require(&[
        ("labels changed", CASES / 6),
        ("annotations changed", CASES / 6),
        ("finalizers changed", CASES / 6),
        ("spec changed", CASES / 3),
        ("field removed", CASES / 6),
    ]);
}

async fn try_pair<K>(
    client: &TypedClient<K>,
    name: &str,
    old: &Value,
    new: &Value,
    difference: Difference<K>,
    tally: &Tally,
) -> Result<(), String>
where
    K: ApiObject + PartialEq + kube::Resource<DynamicType = ()>,
{
    let case = |what: &str, error: &dyn Debug| format!("{what}: {error:?}\nold: {old}\nnew: {new}");
    let old = client.create(&named::<K>(old, name)).await.map_err(|error| case("create", &error))?;
    let other = named::<K>(new, &format!("{name}-new"));
    let new = client.create(&other).dry_run().await.map_err(|error| case("dry run", &error))?;
    let new = as_change_of(&old, &new);
    let patch = difference(&old, &new).map_err(|error| case("difference", &error))?;
    let Some(patch) = patch else {
        tally.count("no difference");
        let same = comparable(&old) == comparable(&new);
        return if same { Ok(()) } else { Err(case("no difference", &"but the objects differ")) };
    };
    let patched = client.patch(name, &patch).await;
    let patched = patched.map_err(|error| case(&format!("patch {:?}", patch.body()), &error))?;
    let (before, after) = (comparable(&old), comparable(&patched));
    for field in ["labels", "annotations", "finalizers", "spec"] {
        tally.add(format!("{field} changed"), usize::from(before[field] != after[field]));
    }
    let body = patch.body().map(Value::to_string).unwrap_or_default();
    tally.add("field removed", usize::from(body.contains(":null") || body.contains("$patch")));
    match after == comparable(&new) {
        true => Ok(()),
        false => Err(format!(
            "patch: {:?}\nbefore: {}\nexpected: {}\nafter: {}",
            patch.body(),
            before,
            comparable(&new),
            after
        )),
    }
}

fn named<K: DeserializeOwned>(object: &Value, name: &str) -> K {
    let mut object = object.clone();
    object["metadata"]["name"] = json!(name);
    serde_json::from_value(object).expect("the strategy makes objects")
}

/// `new`, with the identity and the status of `old`.
fn as_change_of<K: ApiObject>(old: &K, new: &K) -> K {
    let old = serde_json::to_value(old).expect("an object is JSON");
    let mut new = serde_json::to_value(new).expect("an object is JSON");
    for field in ["name", "uid", "resourceVersion", "generation"] {
        new["metadata"][field] = old["metadata"][field].clone();
    }
    match old.get("status") {
        Some(status) => new["status"] = status.clone(),
        None => drop(new.as_object_mut().and_then(|new| new.remove("status"))),
    }
    serde_json::from_value(new).expect("it is an object")
}

/// What a user says of an object.
fn comparable<K: ApiObject>(object: &K) -> Value {
    let object = serde_json::to_value(object).expect("an object is JSON");
    let texts = |name: &str| match &object["metadata"][name] {
        Value::Object(texts) => {
            let mut texts = texts.clone();
            // The controller's, which it adds when it likes.
            texts.remove("deployment.kubernetes.io/revision");
            Value::Object(texts)
        }
        _ => json!({}),
    };
    let finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    json!({
        "labels": texts("labels"),
        "annotations": texts("annotations"),
        "finalizers": finalizers,
        "spec": object["spec"],
    })
}

/// A property of one kind and one format.
macro_rules! difference_of {
    ($test:ident, $kind:ty, $prefix:literal, $pairs:expr, $difference:ident) => {
        #[tokio::test]
        async fn $test() {
            require_servers!();
            hold_for::<$kind>($prefix, $pairs, Patch::$difference).await;
        }
    };
}

difference_of!(a_merge_patch_turns_a_network_into_another, Network, "merge-net", pairs(network), between);
difference_of!(
    a_merge_patch_turns_an_app_service_into_another,
    AppService,
    "merge-app",
    pairs(app_service),
    between
);
difference_of!(
    a_merge_patch_turns_a_deployment_into_another,
    Deployment,
    "merge-deploy",
    pairs(deployment),
    between
);
difference_of!(a_merge_patch_turns_a_pod_into_another, Pod, "merge-pod", pods(), between);
difference_of!(a_merge_patch_turns_a_service_into_another, Service, "merge-svc", pairs(service), between);
difference_of!(
    a_strategic_patch_turns_a_deployment_into_another,
    Deployment,
    "strategic-deploy",
    pairs(deployment),
    strategic_between
);
difference_of!(a_strategic_patch_turns_a_pod_into_another, Pod, "strategic-pod", pods(), strategic_between);
difference_of!(
    a_strategic_patch_turns_a_service_into_another,
    Service,
    "strategic-svc",
    pairs(service),
    strategic_between
);
