//! Many writers, many changes, sudden deaths of the controller: in the end the provider holds exactly
//! what the objects ask for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use genclient_runtime::{ListParams, ObjectMeta, Patch};
use genclient_testenv::{Neutron, require_servers};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use samplecrd_apis::samplecrd::v1::{Network, NetworkSpec};
use samplecrd_client::clientset::typed::samplecrd::v1::NetworkClient;
use samplecrd_controller::provider::{Desired, Memory, Owner, serve_memory};
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::{Cluster, Controller, Held, TestNeutron, eventually};

const WRITERS: usize = 4;

/// The first number, or the second one when there is time.
fn numbers(usual: usize, long: usize) -> usize {
    if std::env::var_os("GENCLIENT_LONG").is_some() { long } else { usual }
}

fn seed() -> u64 {
    let chosen = std::env::var("GENCLIENT_SEED").ok().and_then(|seed| seed.parse().ok());
    chosen.unwrap_or_else(|| rand::rng().random())
}

/// A range with a gateway in it; every third one has host bits.
fn random_spec(rng: &mut StdRng) -> NetworkSpec {
    let (a, b, gateway) = (rng.random_range(0..4), rng.random_range(0..4), rng.random_range(1..250));
    match rng.random_range(0..6) {
        0 => {
            NetworkSpec { cidr: format!("fd00:{a}:{b}::/64"), gateway: format!("fd00:{a}:{b}::{gateway:x}") }
        }
        1 | 2 => NetworkSpec { cidr: format!("10.{a}.{b}.7/24"), gateway: format!("10.{a}.{b}.{gateway}") },
        3 => NetworkSpec { cidr: format!("10.{a}.0.0/16"), gateway: format!("10.{a}.{b}.{gateway}") },
        _ => NetworkSpec { cidr: format!("10.{a}.{b}.0/24"), gateway: format!("10.{a}.{b}.{gateway}") },
    }
}

/// How much is written, and how fast.
#[derive(Clone, Copy)]
struct Load {
    /// How many names there are; each writer uses all of them.
    names: usize,
    /// How many changes all writers make together.
    changes: usize,
    /// How long a writer rests between two changes, at most.
    pause: Duration,
}

/// Creates, changes and deletes at random, in every other writer's way.
async fn write(networks: NetworkClient, load: Load, mut rng: StdRng) {
    for _ in 0..load.changes / WRITERS {
        let name = format!("net-{}", rng.random_range(0..load.names));
        let spec = random_spec(&mut rng);
        // What another writer did first, or what the finalizer still holds, is no failure of this one.
        let outcome = match rng.random_range(0..5) {
            0 | 1 => {
                let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
                networks.create(&Network { metadata, spec }).await.map(drop)
            }
            2 | 3 => networks.patch(&name, &Patch::Merge(json!({ "spec": spec }))).await.map(drop),
            _ => networks.delete(&name).await.map(drop),
        };
        if let Err(error) = outcome {
            assert!(error.is_not_found() || error.is_already_exists() || error.is_conflict(), "{error}");
        }
        tokio::time::sleep(load.pause.mul_f64(rng.random())).await;
    }
}

/// Runs the writers, with a controller that dies `kills` times meanwhile; gives back the one that is left.
async fn churn(
    cluster: &Cluster<'_>,
    load: Load,
    kills: usize,
    start: impl Fn() -> Controller,
) -> Controller {
    let seed = seed();
    eprintln!("{}: GENCLIENT_SEED={seed}", cluster.namespace);
    let mut rng = StdRng::seed_from_u64(seed);
    let done = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| write(cluster.networks(), load, StdRng::seed_from_u64(rng.random())))
        .map(tokio::spawn)
        .collect();
    let finished = done.clone();
    let all = tokio::spawn(async move {
        for writer in writers {
            writer.await.unwrap();
        }
        finished.store(true, SeqCst);
    });
    let mut controller = start();
    let mut late = 0;
    for _ in 0..kills {
        // From before its first list until long after.
        tokio::time::sleep(Duration::from_millis(rng.random_range(20..1500))).await;
        late += usize::from(done.load(SeqCst));
        controller.kill9().await;
        controller = start();
    }
    all.await.unwrap();
    eprintln!("{}: {kills} kills, {late} of them after the last write", cluster.namespace);
    controller
}

/// What the objects ask for, when nothing is on its way out any more.
async fn desired(cluster: &Cluster<'_>) -> BTreeMap<Owner, Desired> {
    let networks = cluster.networks();
    let listed = eventually(
        "every deletion is finished",
        async || networks.list(&ListParams::default()).await.unwrap().items,
        |items| items.iter().all(|network| network.metadata.deletion_timestamp.is_none()),
    )
    .await;
    let wanted = listed.into_iter().map(|network| {
        let Network { metadata, spec } = network;
        let (name, uid) = (metadata.name.unwrap(), metadata.uid.unwrap());
        let owner = Owner { namespace: cluster.namespace.clone(), name, uid };
        (owner, Desired::parse(&spec.cidr, &spec.gateway).unwrap())
    });
    wanted.collect()
}

async fn churn_in_memory(name: &str, flags: &[&str], kills: usize) {
    let cluster = Cluster::shared(name).await;
    let names = numbers(100, 1000);
    let memory = Memory::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(serve_memory(memory.clone(), listener));
    let mut args = vec!["--memory-url", &url, "--workers", "8"];
    args.extend(flags);

    let load = Load { names, changes: names * 5, pause: Duration::from_millis(20) };
    let controller = churn(&cluster, load, kills, || cluster.controller(&args)).await;
    let wanted = desired(&cluster).await;
    assert!(wanted.len() > names / 10 && wanted.len() < names, "{} objects are left", wanted.len());
    eventually("the provider is as desired", async || memory.networks(), |now| *now == wanted).await;
    controller.stop().await;
    assert_eq!(memory.networks(), wanted, "and stays so");
    server.abort();
}

async fn churn_in_neutron(name: &str, flags: &[&str], kills: usize) {
    let cluster = Cluster::shared(name).await;
    let names = numbers(20, 150);
    let server = Neutron::start().await.unwrap();
    let (neutron, url) = (TestNeutron::of(&server).await, server.url());
    let mut args = vec!["--provider", "neutron", "--neutron-url", &url, "--workers", "8"];
    args.extend(flags);

    // Neutron takes a second for what the API server takes milliseconds for.
    let load = Load { names, changes: names * 5, pause: Duration::from_millis(400) };
    let controller = churn(&cluster, load, kills, || cluster.controller(&args)).await;
    let wanted: Vec<Held> = desired(&cluster)
        .await
        .into_iter()
        .map(|(owner, desired)| (owner.name, vec![(desired.cidr.to_string(), desired.gateway.to_string())]))
        .collect();
    neutron.holds(&wanted).await;
    controller.stop().await;
    assert_eq!(neutron.all().await, wanted, "and stays so");
}

#[tokio::test]
async fn memory_equals_the_desired_state_after_churn() {
    require_servers!();
    churn_in_memory("churn-memory", &[], 0).await;
}

#[tokio::test]
async fn memory_equals_the_desired_state_after_churn_without_the_finalizer() {
    require_servers!();
    churn_in_memory("churn-plain", &["--no-finalizer"], 0).await;
}

#[tokio::test]
async fn memory_equals_the_desired_state_after_churn_with_sudden_deaths() {
    require_servers!();
    churn_in_memory("churn-deaths", &[], numbers(5, 50)).await;
}

#[tokio::test]
async fn memory_equals_the_desired_state_after_churn_with_sudden_deaths_without_the_finalizer() {
    require_servers!();
    churn_in_memory("churn-plain-deaths", &["--no-finalizer"], numbers(5, 50)).await;
}

#[tokio::test]
async fn neutron_equals_the_desired_state_after_churn() {
    require_servers!(Kubernetes, Neutron);
    churn_in_neutron("churn-neutron", &[], 0).await;
}

#[tokio::test]
async fn neutron_equals_the_desired_state_after_churn_with_sudden_deaths() {
    require_servers!(Kubernetes, Neutron);
    churn_in_neutron("churn-neutron-deaths", &[], numbers(5, 50)).await;
}
