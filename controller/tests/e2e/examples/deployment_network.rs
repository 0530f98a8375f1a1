//! The chain from a Deployment to a subnet: a Network for each Deployment, and the Network controller behind it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use genclient_runtime::{
    ListParams, ObjectMeta, Patch, k8s_openapi::api::apps::v1::Deployment, owner::is_controlled_by,
};
use genclient_tally::{Tally, usual_or_long};
use genclient_testenv::{TestEnv, require_servers};
use kubernetes_client::clientset::{Clientset as Kubernetes, typed::apps::v1::DeploymentClient};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use samplecrd_apis::samplecrd::v1::Network;
use serde_json::json;

use crate::support::{Cluster, Controller, Held, Setup, TestNeutron, eventually, held};

fn deployments(cluster: &Cluster<'_>) -> DeploymentClient {
    Kubernetes::new(cluster.client.clone()).apps_v1().deployments(&cluster.namespace)
}

async fn create(cluster: &Cluster<'_>, name: &str) -> Deployment {
    cluster.kubectl(&["create", "deployment", name, "--image=busybox", "--replicas=0"]).await;
    deployments(cluster).get(name).await.unwrap()
}

/// Waits for the Network of a Deployment.
async fn network_of(cluster: &Cluster<'_>, deployment: &Deployment) -> Network {
    let (networks, name) = (cluster.networks(), deployment.metadata.name.as_deref().unwrap());
    let get = async || networks.get(name).await.ok();
    let what = format!("{name} has a Network of its own");
    let own =
        |found: &Option<Network>| found.as_ref().is_some_and(|found| is_controlled_by(found, deployment));
    eventually(&what, get, own).await.unwrap()
}

/// The network that a Network asks for.
fn asked(network: &Network) -> Held {
    held(network.metadata.name.as_deref().unwrap(), &network.spec.cidr, &network.spec.gateway)
}

#[tokio::test]
async fn a_deployment_appears_and_a_subnet_exists_and_with_the_deployment_it_goes() {
    require_servers!(Kubernetes, Neutron);
    let Setup { cluster, neutron } = Setup::new("chain", &[]).await;
    let controller = cluster.controller(&[]);
    let chain = cluster.example("deployment_network", &[]);
    let early = create(&cluster, "early").await;
    let web = create(&cluster, "web").await;
    let (early, web) = (network_of(&cluster, &early).await, network_of(&cluster, &web).await);
    assert_ne!(early.spec.cidr, web.spec.cidr, "each has a range of its own");
    neutron.holds(&[asked(&early), asked(&web)]).await;
    cluster.has_event("web", "Normal", "NetworkCreated", &web.spec.cidr).await;

    // A change of the Deployment changes nothing here; a change of the Network is its owner's affair.
    cluster.kubectl(&["set", "image", "deployment/web", "busybox=busybox:2"]).await;
    let moved = cluster.change("web", "192.168.7.0/24", "192.168.7.1").await;
    neutron.holds(&[asked(&early), asked(&moved)]).await;

    // Deleted and created again at once: the old network goes, and the new one is another.
    cluster.kubectl(&["delete", "deployment", "web"]).await;
    let again = create(&cluster, "web").await;
    let again = network_of(&cluster, &again).await;
    neutron.holds(&[asked(&early), asked(&again)]).await;
    assert_ne!(again.metadata.uid, web.metadata.uid);

    // In the foreground the Deployment waits for its Network, and the Network for its subnet.
    cluster.kubectl(&["delete", "deployment", "web", "--cascade=foreground", "--timeout=120s"]).await;
    cluster.kubectl(&["delete", "deployment", "early"]).await;
    neutron.holds(&[]).await;
    cluster.gone("web").await;
    cluster.gone("early").await;
    chain.stop().await;
    controller.stop().await;
}

#[tokio::test]
async fn a_network_of_somebody_else_is_a_warning_and_stays_as_it_is() {
    require_servers!();
    let cluster = Cluster::shared("chain-foreign").await;
    let foreign = cluster.create("web", "10.1.0.0/16", "10.1.0.1").await;
    let chain = cluster.example("deployment_network", &[]);
    let web = create(&cluster, "web").await;
    cluster.has_event("web", "Warning", "NetworkNotOwned", "belongs to somebody else").await;
    assert_eq!(cluster.networks().get("web").await.unwrap(), foreign);

    // When it makes room, the Deployment gets its own.
    cluster.delete("web").await;
    network_of(&cluster, &web).await;
    chain.stop().await;
}

#[tokio::test]
async fn an_orphaned_network_stays() {
    require_servers!();
    let cluster = Cluster::shared("chain-orphan").await;
    let chain = cluster.example("deployment_network", &[]);
    // The garbage collector, which orphans, has to know the kind.
    cluster.kubectl(&["create", "configmap", "owner"]).await;
    let uid = cluster.kubectl(&["get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}"]).await;
    let owners = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid }]);
    cluster.create("dependent", "10.1.0.0/16", "10.1.0.1").await;
    let owned = Patch::merge(&json!({ "metadata": { "ownerReferences": owners } }));
    cluster.networks().patch("dependent", &owned).await.unwrap();
    cluster.kubectl(&["delete", "configmap", "owner"]).await;
    cluster.gone("dependent").await;

    let web = create(&cluster, "web").await;
    network_of(&cluster, &web).await;
    cluster.kubectl(&["delete", "deployment", "web", "--cascade=orphan", "--timeout=60s"]).await;
    let gone = async || deployments(&cluster).get("web").await.is_err_and(|error| error.is_not_found());
    eventually("the Deployment is gone", gone, |gone| *gone).await;
    // What comes later is done later: when that is done, the deletion has been seen.
    let later = create(&cluster, "later").await;
    network_of(&cluster, &later).await;
    let left = cluster.networks().get("web").await.unwrap();
    assert_eq!((left.metadata.owner_references, left.metadata.deletion_timestamp), (None, None));
    chain.stop().await;
}

#[tokio::test]
async fn what_is_deleted_while_it_is_down_is_removed_without_a_garbage_collector() {
    require_servers!(ControlPlane);
    let env = TestEnv::builder().own_servers().without_controller_manager().start().await.unwrap();
    let cluster = Cluster::of(&env, "chain-down").await;
    let chain = cluster.example("deployment_network", &[]);
    let (web, other) = (create(&cluster, "web").await, create(&cluster, "other").await);
    let before = network_of(&cluster, &web).await;
    network_of(&cluster, &other).await;
    chain.kill9().await;

    // One is deleted, the other one deleted and created again.
    cluster.kubectl(&["delete", "deployment", "web", "other"]).await;
    let other = create(&cluster, "other").await;
    assert_eq!(cluster.networks().get("web").await.unwrap().metadata.uid, before.metadata.uid);
    let chain = cluster.example("deployment_network", &[]);
    cluster.gone("web").await;
    network_of(&cluster, &other).await;
    cluster.kubectl(&["delete", "deployment", "other"]).await;
    cluster.gone("other").await;
    chain.stop().await;
}

/// Creates, scales and deletes Deployments at random.
async fn write(
    deployments: DeploymentClient,
    names: usize,
    changes: usize,
    mut rng: StdRng,
    tally: Arc<Tally>,
) {
    let labels = json!({ "app": "web" });
    for _ in 0..changes {
        let name = format!("web-{}", rng.random_range(0..names));
        let (what, done) = match rng.random_range(0..5) {
            0 | 1 => {
                let spec = json!({
                    "replicas": 0,
                    "selector": { "matchLabels": labels },
                    "template": {
                        "metadata": { "labels": labels },
                        "spec": { "containers": [{ "name": "main", "image": "busybox" }] },
                    },
                });
                let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
                let spec = serde_json::from_value(spec).unwrap();
                let deployment = Deployment { metadata, spec, status: None };
                ("create", deployments.create(&deployment).await.map(drop))
            }
            2 | 3 => {
                let patch = Patch::merge(&json!({ "spec": { "replicas": rng.random_range(0..9) } }));
                ("scale", deployments.patch(&name, &patch).await.map(drop))
            }
            _ => ("delete", deployments.delete(&name).await.map(drop)),
        };
        tally.count(if done.is_ok() { what } else { "refused" });
        if let Err(error) = done {
            assert!(error.is_not_found() || error.is_already_exists() || error.is_conflict(), "{error}");
        }
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..60))).await;
    }
}

/// What is lost, doubled, wrong or leaked.
async fn differences(cluster: &Cluster<'_>, neutron: &TestNeutron<'_>) -> Vec<String> {
    let mut differences = Vec::new();
    let deployments = deployments(cluster).list(&ListParams::default()).await.unwrap().items;
    let networks = cluster.networks().list(&ListParams::default()).await.unwrap().items;
    for deployment in &deployments {
        let name = deployment.metadata.name.as_deref().unwrap();
        let own: Vec<_> = networks.iter().filter(|network| is_controlled_by(*network, deployment)).collect();
        if !matches!(own[..], [network] if network.metadata.name.as_deref() == Some(name)) {
            differences.push(format!("{name} has {} Networks", own.len()));
        }
    }
    if networks.len() != deployments.len() {
        differences.push(format!("{} Networks for {} Deployments", networks.len(), deployments.len()));
    }
    let ranges: BTreeSet<_> = networks.iter().map(|network| &network.spec.cidr).collect();
    if ranges.len() != networks.len() {
        differences.push(format!("{} ranges for {} Networks", ranges.len(), networks.len()));
    }
    let mut wanted: Vec<_> = networks.iter().map(asked).collect();
    wanted.sort();
    let found = neutron.all().await;
    if found != wanted {
        differences.push(format!("Neutron has {found:?}, and should have {wanted:?}"));
    }
    differences
}

#[tokio::test]
async fn networks_and_neutron_equal_the_deployments_after_churn_with_sudden_deaths_of_both_controllers() {
    require_servers!(ControlPlane, Neutron);
    let (names, changes, kills) = (usual_or_long(20, 100), usual_or_long(200, 3000), usual_or_long(8, 60));
    let seed = std::env::var("GENCLIENT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| rand::rng().random());
    eprintln!("chain: GENCLIENT_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);

    // Nothing is garbage collected here, so all that goes was removed by the two controllers.
    let env = TestEnv::builder().own_servers().without_controller_manager().start().await.unwrap();
    let Setup { cluster, neutron } =
        Setup::of(Cluster::of(&env, "chain-churn").await, &["--drift-interval", "3s"]).await;
    let cluster = Arc::new(cluster);
    let start: [&dyn Fn() -> Controller; 2] =
        [&|| cluster.controller(&["-v"]), &|| cluster.example("deployment_network", &[])];
    let tally = Arc::new(Tally::new());
    let writer_rng = StdRng::seed_from_u64(rng.random());
    let writer = tokio::spawn(write(deployments(&cluster), names, changes, writer_rng, tally.clone()));
    let (mut running, mut killed) = (start.map(|start| Some(start())), 0);
    while killed < kills || !writer.is_finished() {
        tokio::time::sleep(Duration::from_millis(rng.random_range(20..1500))).await;
        let which = killed % 2;
        if let Some(victim) = running[which].take() {
            tally.count(["kill of the Network controller", "kill of the chain"][which]);
            tally.add("kill in the middle of an object", usize::from(victim.is_busy()));
            victim.kill9().await;
        }
        // Some changes happen while it is down.
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..300))).await;
        running[which] = Some(start[which]());
        killed += 1;
    }
    writer.await.unwrap();

    let now = async || differences(&cluster, &neutron).await;
    eventually("the chain is as desired", now, Vec::is_empty).await;
    // The controller compares everything again, twice.
    let sweep = ["looked for orphaned networks"];
    let networks = running[0].as_ref().unwrap();
    networks.says_times(networks.count(&sweep) + 2, &sweep).await;
    assert_eq!(now().await, [""; 0], "and stays so");
    for program in running.into_iter().flatten() {
        program.stop().await;
    }
    assert_eq!(now().await, [""; 0], "and after their end");
    let left = cluster.networks().list(&ListParams::default()).await.unwrap().items.len();
    assert!(left > 0 && left <= names);
    tally.require(&[
        ("create", 8),
        ("scale", 8),
        ("delete", 4),
        ("refused", 10),
        ("kill of the Network controller", 4),
        ("kill of the chain", 4),
    ]);
}
