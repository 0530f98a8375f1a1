//! Many writers, many changes, sudden deaths of the controller: in the end Neutron holds exactly what the
//! objects ask for, and what is another's is as it was.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use genclient_runtime::{ListParams, ObjectMeta, Patch};
use genclient_testenv::{Neutron, require_servers};
use http::Method;
use neutron_client::fake::Fake;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use samplecrd_apis::samplecrd::v1::{Network, NetworkSpec};
use samplecrd_client::clientset::typed::samplecrd::v1::NetworkClient;
use samplecrd_controller::provider::Desired;
use serde_json::{Value, json};

use crate::support::{Cluster, Controller, Held, TestNeutron, eventually, numbers};

const WRITERS: usize = 4;

fn seed(run: &str) -> u64 {
    let chosen = std::env::var("GENCLIENT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = chosen.unwrap_or_else(|| rand::rng().random());
    eprintln!("{run}: GENCLIENT_SEED={seed}");
    seed
}

/// A range with a gateway in it; every third one has host bits, and every tenth cannot be made real.
fn random_spec(rng: &mut StdRng) -> NetworkSpec {
    let (a, b, gateway) = (rng.random_range(0..4), rng.random_range(0..4), rng.random_range(1..250));
    match rng.random_range(0..10) {
        0 => {
            NetworkSpec { cidr: format!("fd00:{a}:{b}::/64"), gateway: format!("fd00:{a}:{b}::{gateway:x}") }
        }
        1..4 => NetworkSpec { cidr: format!("10.{a}.{b}.7/24"), gateway: format!("10.{a}.{b}.{gateway}") },
        4 | 5 => NetworkSpec { cidr: format!("10.{a}.0.0/16"), gateway: format!("10.{a}.{b}.{gateway}") },
        6 => NetworkSpec { cidr: format!("10.{a}.{b}.0/24"), gateway: format!("10.{a}.{b}.255") },
        _ => NetworkSpec { cidr: format!("10.{a}.{b}.0/24"), gateway: format!("10.{a}.{b}.{gateway}") },
    }
}

/// The writers of a run; they write until they are stopped.
struct Writers {
    stop: Arc<AtomicBool>,
    written: Arc<AtomicUsize>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Writers {
    /// Writes to so many names, with pauses of at most this length.
    fn start(cluster: &Cluster<'_>, names: usize, pause: Duration, rng: &mut StdRng) -> Self {
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let tasks = (0..WRITERS).map(|_| {
            let rng = StdRng::seed_from_u64(rng.random());
            tokio::spawn(write(cluster.networks(), names, pause, rng, stop.clone(), written.clone()))
        });
        Self { tasks: tasks.collect(), stop, written }
    }

    /// Lets them write so many more changes, and ends them.
    async fn finish(self, more: usize) -> usize {
        let goal = self.written.load(SeqCst) + more;
        let written = async || self.written.load(SeqCst);
        eventually("the writers get on", written, |now| *now >= goal).await;
        self.stop.store(true, SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.written.load(SeqCst)
    }
}

/// Creates, changes and deletes at random, in every other writer's way.
async fn write(
    networks: NetworkClient,
    names: usize,
    pause: Duration,
    mut rng: StdRng,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicUsize>,
) {
    while !stop.load(SeqCst) {
        let name = format!("net-{}", rng.random_range(0..names));
        let spec = random_spec(&mut rng);
        let outcome = match rng.random_range(0..5) {
            0 | 1 => {
                let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
                networks.create(&Network { metadata, spec }).await.map(drop)
            }
            2 | 3 => networks.patch(&name, &Patch::Merge(json!({ "spec": spec }))).await.map(drop),
            _ => networks.delete(&name).await.map(drop),
        };
        match outcome {
            Ok(()) => written.fetch_add(1, SeqCst),
            // What another writer did first, or what the finalizer still holds, is no failure of this one.
            Err(error) => {
                assert!(error.is_not_found() || error.is_already_exists() || error.is_conflict(), "{error}");
                0
            }
        };
        tokio::time::sleep(pause.mul_f64(rng.random())).await;
    }
}

/// What the objects ask for, by uid: the network with its subnet, or `None` where the spec is bad.
async fn wanted(cluster: &Cluster<'_>) -> BTreeMap<String, (String, Option<Held>)> {
    let networks = cluster.networks();
    let listed = eventually(
        "every deletion is finished",
        async || networks.list(&ListParams::default()).await.unwrap().items,
        |items| items.iter().all(|network| network.metadata.deletion_timestamp.is_none()),
    )
    .await;
    let wanted = listed.into_iter().map(|Network { metadata, spec }| {
        let (name, uid) = (metadata.name.unwrap(), metadata.uid.unwrap());
        let held = Desired::parse(&spec.cidr, &spec.gateway)
            .ok()
            .map(|desired| (name.clone(), vec![(desired.cidr.to_string(), desired.gateway.to_string())]));
        (uid, (name, held))
    });
    wanted.collect()
}

/// The networks of an installation, by the uid in their marker.
fn by_uid(networks: &[Value], subnets: &[Value], installation: &str) -> BTreeMap<String, Vec<Held>> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut found: BTreeMap<String, Vec<Held>> = BTreeMap::new();
    for network in networks {
        let Some((start, uid)) = network["description"].as_str().and_then(|text| text.rsplit_once(" uid="))
        else {
            continue;
        };
        if start.contains(&format!(" installation={installation} ")) {
            let own = subnets.iter().filter(|subnet| subnet["network_id"] == network["id"]);
            let own = own.map(|subnet| (text(&subnet["cidr"]), text(&subnet["gateway_ip"]))).collect();
            found.entry(uid.to_owned()).or_default().push((text(&network["name"]), own));
        }
    }
    found
}

/// What is lost, doubled, wrong or leaked.
fn differences(
    wanted: &BTreeMap<String, (String, Option<Held>)>,
    found: &BTreeMap<String, Vec<Held>>,
) -> Vec<String> {
    let mut differences = Vec::new();
    for (uid, (name, held)) in wanted {
        let networks = found.get(uid).map(Vec::as_slice).unwrap_or_default();
        let right = match held {
            Some(held) => networks == std::slice::from_ref(held),
            // An object whose spec turned bad keeps the network that it had, if it had one, as it was.
            None => networks.len() <= 1,
        };
        if !right {
            differences.push(format!("{name} wants {held:?}, and there is {networks:?}"));
        }
    }
    let leaked = found.iter().filter(|(uid, _)| !wanted.contains_key(*uid));
    differences.extend(leaked.map(|(uid, networks)| format!("{uid} is gone, and there is {networks:?}")));
    differences
}

/// Waits until Neutron holds what the objects ask for, and sees that it stays so without the controllers.
async fn settles(
    cluster: &Cluster<'_>,
    controllers: Vec<Controller>,
    found: impl AsyncFn() -> BTreeMap<String, Vec<Held>>,
) -> usize {
    let wanted = wanted(cluster).await;
    let begun = std::time::Instant::now();
    let now = async || differences(&wanted, &found().await);
    eventually("Neutron is as desired", now, Vec::is_empty).await;
    for controller in controllers {
        controller.stop().await;
    }
    assert_eq!(now().await, [""; 0], "and stays so");
    eprintln!("{}: {} objects, settled after {:?}", cluster.namespace, wanted.len(), begun.elapsed());
    wanted.len()
}

/// A small Neutron in this process: fast enough for large numbers.
async fn churn_in_a_fake(name: &str, flags: &[&str], kills: usize) {
    let cluster = Cluster::shared(name).await;
    let names = numbers(100, 1000);
    let fake = Fake::start().await;
    let mut args = vec!["--neutron-url", &fake.url, "--workers", "8", "--drift-interval", "5s"];
    args.extend(flags);

    let mut rng = StdRng::seed_from_u64(seed(name));
    let writers = Writers::start(&cluster, names, Duration::from_millis(20), &mut rng);
    let mut controller = cluster.controller(&args);
    for _ in 0..kills {
        // From before its first list until long after.
        tokio::time::sleep(Duration::from_millis(rng.random_range(20..1500))).await;
        controller.kill9().await;
        controller = cluster.controller(&args);
    }
    let written = writers.finish(names * 2).await;
    eprintln!("{name}: {written} changes, {kills} kills");
    let found = async || {
        let state = fake.state.lock();
        let all = |kept: &BTreeMap<String, Value>| kept.values().cloned().collect::<Vec<_>>();
        by_uid(&all(&state.networks), &all(&state.subnets), &cluster.namespace)
    };
    let left = settles(&cluster, vec![controller], found).await;
    assert!(left > names / 10 && left < names, "{left} objects are left");
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn() {
    require_servers!();
    churn_in_a_fake("churn", &[], 0).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_without_the_finalizer() {
    require_servers!();
    churn_in_a_fake("churn-plain", &["--no-finalizer", "--allow-mass-deletion"], 0).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_with_sudden_deaths() {
    require_servers!();
    churn_in_a_fake("churn-deaths", &[], numbers(5, 50)).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_with_sudden_deaths_without_the_finalizer() {
    require_servers!();
    let flags = ["--no-finalizer", "--allow-mass-deletion"];
    churn_in_a_fake("churn-plain-deaths", &flags, numbers(5, 50)).await;
}

/// Renames networks of this installation to the names of other objects, until it is dropped.
fn rename(neutron: Arc<TestNeutron<'static>>, names: usize, mut rng: StdRng) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(rng.random_range(100..2000))).await;
            let ours = neutron.networks().await;
            if !ours.is_empty() {
                let id = ours[rng.random_range(0..ours.len())]["id"].as_str().unwrap().to_owned();
                let name = format!("net-{}", rng.random_range(0..names));
                let body = json!({ "network": { "name": name } });
                // It can be gone already.
                neutron.request(Method::PUT, &format!("/networks/{id}"), Some(body)).await;
            }
        }
    })
}

/// The networks of everybody else, as Neutron tells them: with ids and revisions.
async fn foreign(neutron: &TestNeutron<'_>, installation: &str) -> Vec<Value> {
    let ours = format!(" installation={installation} ");
    let mut others = neutron.networks().await;
    others.retain(|network| !network["description"].as_str().unwrap().contains(&ours));
    others.sort_by_key(|network| network["id"].to_string());
    others
}

/// Everything at once on a real Neutron: two controllers that are killed and frozen, writers with good and bad
/// specs, somebody who renames networks, another installation with the same names, and networks of nobody.
async fn crash_run(name: &str, flags: &[&str]) {
    let (names, deaths) = (numbers(20, 500), numbers(8, 50));
    let server: &'static Neutron = Box::leak(Box::new(Neutron::start().await.unwrap()));
    let (everything, url) = (TestNeutron::of(server).await, server.url());
    let cluster = Cluster::shared(name).await;
    let ours = Arc::new(TestNeutron::part_of(server, &cluster.namespace));
    let mut rng = StdRng::seed_from_u64(seed(name));

    // The neighbours.
    let beside = Cluster::shared("beside").await;
    let neighbour = beside.controller(&["--neutron-url", &url, "--drift-interval", "10s"]);
    for n in 0..5 {
        beside.create(&format!("net-{n}"), "10.0.0.0/24", "10.0.0.1").await;
        let body = json!({ "network": { "name": format!("net-{n}"), "description": "somebody's" } });
        everything.request(Method::POST, "/networks", Some(body)).await;
    }
    eventually(
        "the neighbours are there",
        async || foreign(&everything, &cluster.namespace).await.len(),
        |n| *n == 10,
    )
    .await;
    neighbour.says_times(5, &["successfully synced"]).await;
    let before = foreign(&everything, &cluster.namespace).await;

    let drift = if names > 100 { "120s" } else { "5s" };
    let mut args = vec!["--neutron-url", &url, "--workers", "4", "--drift-interval", drift];
    args.extend(flags);
    let start = || cluster.controller(&args);
    let mut controllers = vec![start(), start()];
    let writers = Writers::start(&cluster, names, Duration::from_millis(400), &mut rng);
    let renamer = rename(ours.clone(), names, StdRng::seed_from_u64(rng.random()));
    let (mut kills, mut freezes) = (0, 0);
    while kills < deaths {
        tokio::time::sleep(Duration::from_millis(rng.random_range(20..4000))).await;
        let victim = rng.random_range(0..controllers.len());
        let kind = rng.random_range(0..10);
        if kind < 4 {
            freezes += 1;
            controllers[victim].signal("STOP").await;
            tokio::time::sleep(Duration::from_millis(rng.random_range(100..4000))).await;
            if kind < 2 {
                controllers[victim].signal("CONT").await;
                continue;
            }
        }
        kills += 1;
        controllers.swap_remove(victim).kill9().await;
        controllers.push(start());
    }
    let written = writers.finish(names).await;
    renamer.abort();
    eprintln!("{name}: {written} changes of {names} names, {kills} kills, {freezes} freezes");
    let found = async || {
        let (networks, subnets) = (everything.networks().await, everything.subnets().await);
        by_uid(&networks, &subnets, &cluster.namespace)
    };
    settles(&cluster, controllers, found).await;
    assert_eq!(foreign(&everything, &cluster.namespace).await, before, "what is another's is as it was");
    neighbour.stop().await;
}

#[tokio::test]
async fn a_crash_run_ends_as_desired_and_touches_nothing_of_others() {
    require_servers!(Kubernetes, Neutron);
    crash_run("crash", &[]).await;
}

#[tokio::test]
async fn a_crash_run_without_the_finalizer_ends_as_desired_and_touches_nothing_of_others() {
    require_servers!(Kubernetes, Neutron);
    crash_run("crash-plain", &["--no-finalizer", "--allow-mass-deletion"]).await;
}
