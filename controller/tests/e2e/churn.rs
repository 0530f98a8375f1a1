//! Many writers, many changes, sudden deaths of the controller: in the end Neutron holds exactly what the
//! objects ask for, and what is another's is as it was.
//!
//! An object whose spec turned bad asks for the network that it had. Which one that is depends on which of its
//! specs a controller saw, so any good spec that it ever had will do. A network that was seen working must be
//! there in the end; one that was never seen may be.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use genclient_runtime::{ListParams, ObjectMeta, Patch};
use genclient_tally::{Tally, usual_or_long};
use genclient_testenv::{Neutron, require_servers};
use http::Method;
use neutron_client::fake::Fake;
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use samplecrd_apis::samplecrd::v1::{Network, NetworkSpec};
use samplecrd_client::clientset::typed::samplecrd::v1::NetworkClient;
use samplecrd_controller::provider::Desired;
use serde_json::{Value, json};

use crate::support::{Cluster, Controller, Held, TestNeutron, eventually};

const WRITERS: usize = 4;
/// The name of the network on which the provider tries a new range.
const PROBE: &str = "samplecrd-controller probe";

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

/// The range and the gateway of a network with one subnet.
type Subnet = (String, String);

/// The subnet that a spec asks for, if it is a good one.
fn subnet_of(spec: &NetworkSpec) -> Option<Subnet> {
    let desired = Desired::parse(&spec.cidr, &spec.gateway).ok()?;
    Some((desired.cidr.to_string(), desired.gateway.to_string()))
}

/// What happened in a run.
#[derive(Default)]
struct History {
    /// The changes, the refusals, the kills, and what was changed in Neutron.
    tally: Tally,
    /// Whether the writers delete nothing any more.
    growing: AtomicBool,
    /// The subnets of all good specs that each uid ever had.
    good: Mutex<BTreeMap<String, BTreeSet<Subnet>>>,
    /// The uids whose network was seen with a subnet.
    seen: Mutex<BTreeSet<String>>,
}

impl History {
    fn write(&self, written: &Network) {
        let mut good = self.good.lock();
        let specs = good.entry(written.metadata.uid.clone().unwrap()).or_default();
        specs.extend(subnet_of(&written.spec));
    }

    /// The number of changes.
    fn written(&self) -> usize {
        ["create", "patch", "delete"].map(|change| self.tally.of(change)).iter().sum()
    }

    /// Counts the kill of a controller.
    fn kill(&self, victim: &Controller) {
        self.tally.count(match victim.count(&["processing network"]) {
            0 => "kill before the first object",
            _ => "kill after the first object",
        });
        self.tally.add("kill in the middle of an object", usize::from(victim.is_busy()));
    }

    fn see(&self, found: &Found) {
        let working = found.iter().filter(|(_, networks)| {
            networks.iter().any(|(name, subnets)| name != PROBE && !subnets.is_empty())
        });
        self.seen.lock().extend(working.map(|(uid, _)| uid.clone()));
    }
}

/// The writers of a run; they write until they are stopped.
struct Writers {
    stop: Arc<AtomicBool>,
    history: Arc<History>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Writers {
    /// Writes to so many names, with pauses of at most this length.
    fn start(cluster: &Cluster<'_>, names: usize, pause: Duration, rng: &mut StdRng) -> Self {
        let (stop, history) = (Arc::new(AtomicBool::new(false)), Arc::new(History::default()));
        let tasks = (0..WRITERS).map(|_| {
            let rng = StdRng::seed_from_u64(rng.random());
            tokio::spawn(write(cluster.networks(), names, pause, rng, stop.clone(), history.clone()))
        });
        Self { tasks: tasks.collect(), stop, history }
    }

    /// Lets them write so many more changes, and go on until so many objects exist; then ends them.
    async fn finish(self, cluster: &Cluster<'_>, more: usize, objects: usize) -> Arc<History> {
        let written = async || self.history.written();
        let goal = written().await + more;
        eventually("the writers get on", written, |now| *now >= goal).await;
        let networks = cluster.networks();
        let living = async || {
            let all = networks.list(&ListParams::default()).await.unwrap().items;
            all.iter().filter(|network| network.metadata.deletion_timestamp.is_none()).count()
        };
        // Deletions wait for Neutron, so that most names can be on their way out. Each writer can be about to
        // delete one more.
        self.history.growing.store(true, SeqCst);
        eventually("there are enough objects", living, |now| *now >= objects + WRITERS).await;
        self.stop.store(true, SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.history
    }
}

/// Creates, changes and deletes at random, in every other writer's way.
async fn write(
    networks: NetworkClient,
    names: usize,
    pause: Duration,
    mut rng: StdRng,
    stop: Arc<AtomicBool>,
    history: Arc<History>,
) {
    while !stop.load(SeqCst) {
        let name = format!("net-{}", rng.random_range(0..names));
        let spec = random_spec(&mut rng);
        let kinds = if history.growing.load(SeqCst) { 4 } else { 5 };
        let is_bad = subnet_of(&spec).is_none();
        let (what, outcome) = match rng.random_range(0..kinds) {
            0 | 1 => {
                let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
                let created = networks.create(&Network { metadata, spec }).await;
                ("create", created.map(|new| history.write(&new)))
            }
            2 | 3 => {
                let patch = Patch::merge(&json!({ "spec": spec }));
                let changed = networks.patch(&name, &patch).await;
                ("patch", changed.map(|changed| history.write(&changed)))
            }
            _ => ("delete", networks.delete(&name).await.map(drop)),
        };
        match outcome {
            Ok(()) => {
                history.tally.count(what);
                history.tally.add("bad spec", usize::from(is_bad && what != "delete"));
            }
            // What another writer did first, or what the finalizer still holds, is no failure of this one.
            Err(error) => {
                assert!(error.is_not_found() || error.is_already_exists() || error.is_conflict(), "{error}");
                history.tally.count("refused");
            }
        };
        tokio::time::sleep(pause.mul_f64(rng.random())).await;
    }
}

/// What an object asks for.
struct Wanted {
    name: String,
    /// `None` if the spec is bad.
    subnet: Option<Subnet>,
}

/// What the objects ask for, by uid.
async fn wanted(cluster: &Cluster<'_>) -> BTreeMap<String, Wanted> {
    let networks = cluster.networks();
    let listed = eventually(
        "every deletion is finished",
        async || networks.list(&ListParams::default()).await.unwrap().items,
        |items| items.iter().all(|network| network.metadata.deletion_timestamp.is_none()),
    )
    .await;
    let wanted = listed.into_iter().map(|Network { metadata, spec }| {
        (metadata.uid.unwrap(), Wanted { name: metadata.name.unwrap(), subnet: subnet_of(&spec) })
    });
    wanted.collect()
}

/// The networks of an installation, by the uid in their marker.
type Found = BTreeMap<String, Vec<Held>>;

fn by_uid(networks: &[Value], subnets: &[Value], installation: &str) -> Found {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut found = Found::new();
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
fn differences(wanted: &BTreeMap<String, Wanted>, found: &Found, history: &History) -> Vec<String> {
    let (good, seen) = (history.good.lock(), history.seen.lock());
    let mut differences = Vec::new();
    for (uid, Wanted { name, subnet }) in wanted {
        let networks = found.get(uid).map(Vec::as_slice).unwrap_or_default();
        let right = match (subnet, networks) {
            (Some(subnet), [network]) => *network == (name.clone(), vec![subnet.clone()]),
            // The name is not repaired while the spec is bad. If the spec turned bad in the middle of a change,
            // the old subnet and the new one both stay.
            (None, [(_, subnets)]) => {
                matches!(subnets.len(), 1 | 2) && subnets.iter().all(|subnet| good[uid].contains(subnet))
            }
            (None, []) => !seen.contains(uid),
            _ => false,
        };
        if !right {
            let was_seen = seen.contains(uid);
            differences.push(format!(
                "{name} wants {subnet:?} of {:?} (seen: {was_seen}), and there is {networks:?}",
                good.get(uid)
            ));
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
    history: &History,
    found: impl AsyncFn() -> Found,
) -> usize {
    let begun = std::time::Instant::now();
    let wanted = wanted(cluster).await;
    let now = async || differences(&wanted, &found().await, history);
    eventually("Neutron is as desired", now, Vec::is_empty).await;
    for controller in controllers {
        controller.stop().await;
    }
    assert_eq!(now().await, [""; 0], "and stays so");
    let bad = wanted.values().filter(|wanted| wanted.subnet.is_none()).count();
    let (objects, elapsed) = (wanted.len(), begun.elapsed());
    eprintln!("{}: {objects} objects, {bad} with a bad spec, settled after {elapsed:?}", cluster.namespace);
    objects
}

/// A small Neutron in this process: fast enough for large numbers.
async fn churn_in_a_fake(name: &str, flags: &[&str], kills: usize) {
    let cluster = Cluster::shared(name).await;
    let names = usual_or_long(100, 1000);
    let fake = Fake::start().await;
    let mut args = vec!["--neutron-url", &fake.url, "--workers", "8", "--drift-interval", "5s"];
    args.extend(flags);

    let mut rng = StdRng::seed_from_u64(seed(name));
    let writers = Writers::start(&cluster, names, Duration::from_millis(20), &mut rng);
    let mut controller = cluster.controller(&args);
    for _ in 0..kills {
        // From before its first list until long after.
        tokio::time::sleep(Duration::from_millis(rng.random_range(20..1500))).await;
        writers.history.kill(&controller);
        controller.kill9().await;
        controller = cluster.controller(&args);
    }
    let found = async || {
        let state = fake.state.lock();
        let all = |kept: &BTreeMap<String, Value>| kept.values().cloned().collect::<Vec<_>>();
        by_uid(&all(&state.networks), &all(&state.subnets), &cluster.namespace)
    };
    let history = writers.finish(&cluster, names * 2, names / 2).await;
    history.see(&found().await);
    let left = settles(&cluster, vec![controller], &history, found).await;
    assert!(left >= names / 2 && left < names, "{left} objects are left");
    for request in &fake.state.lock().requests {
        history.tally.count(request.split(['?', ' ']).next().unwrap_or_default());
    }
    history.tally.require(&[
        ("create", 10),
        ("patch", 7),
        ("delete", 3),
        ("bad spec", 1),
        ("refused", 10),
        ("POST", 20),
        ("PUT", 5),
        ("DELETE", 5),
        ("kill after the first object", usize::from(kills > 0)),
    ]);
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn() {
    require_servers!();
    churn_in_a_fake("churn", &[], 0).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_without_the_finalizer() {
    require_servers!();
    churn_in_a_fake("churn-plain", &["--no-finalizer"], 0).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_with_sudden_deaths() {
    require_servers!();
    churn_in_a_fake("churn-deaths", &[], usual_or_long(5, 50)).await;
}

#[tokio::test]
async fn neutron_is_as_desired_after_churn_with_sudden_deaths_without_the_finalizer() {
    require_servers!();
    // While the only controller is down, the writers delete more objects than a sweep may take for granted.
    let flags = ["--no-finalizer", "--allow-mass-deletion"];
    churn_in_a_fake("churn-plain-deaths", &flags, usual_or_long(5, 50)).await;
}

/// Notes which networks work, until it is aborted.
fn observe(
    neutron: Arc<TestNeutron<'static>>,
    installation: String,
    history: Arc<History>,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let (networks, subnets) = (neutron.networks().await, neutron.subnets().await);
            history.see(&by_uid(&networks, &subnets, &installation));
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    })
}

/// Renames networks of this installation to the names of other objects, until it is aborted.
fn rename(
    neutron: Arc<TestNeutron<'static>>,
    names: usize,
    mut rng: StdRng,
    history: Arc<History>,
) -> tokio::task::JoinHandle<()> {
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
                history.tally.count("rename");
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

/// Held by a large crash run: one keeps Neutron busy, and a machine has few processors.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Everything at once on a real Neutron: two controllers that are killed and frozen, writers with good and bad
/// specs, somebody who renames networks, another installation with the same names, and networks of nobody.
async fn crash_run(name: &str, flags: &[&str]) {
    // Half of the names have an object in the end, or more.
    let (names, deaths) = (usual_or_long(20, 1000), usual_or_long(8, 50));
    let _alone = if names > 100 { Some(ALONE.lock().await) } else { None };
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

    // Neutron must have time for more than looking for drift.
    let drift = if names > 100 { "300s" } else { "5s" };
    let mut args = vec!["--neutron-url", &url, "--workers", "4", "--drift-interval", drift];
    args.extend(flags);
    let start = || cluster.controller(&args);
    let mut controllers = vec![start(), start()];
    let writers = Writers::start(&cluster, names, Duration::from_millis(400), &mut rng);
    let observer = observe(ours.clone(), cluster.namespace.clone(), writers.history.clone());
    let renamer = rename(ours.clone(), names, StdRng::seed_from_u64(rng.random()), writers.history.clone());
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
        let victim = controllers.swap_remove(victim);
        writers.history.kill(&victim);
        victim.kill9().await;
        controllers.push(start());
    }
    let history = writers.finish(&cluster, names, names / 2).await;
    renamer.abort();
    observer.abort();
    history.tally.add("freeze", freezes);
    history.tally.add("network seen working", history.seen.lock().len());
    let found = async || {
        let (networks, subnets) = (everything.networks().await, everything.subnets().await);
        by_uid(&networks, &subnets, &cluster.namespace)
    };
    let left = settles(&cluster, controllers, &history, found).await;
    assert!(left >= names / 2, "{left} objects are left");
    assert_eq!(foreign(&everything, &cluster.namespace).await, before, "what is another's is as it was");
    neighbour.stop().await;
    history.tally.require(&[
        ("create", 10),
        ("patch", 10),
        ("delete", 5),
        ("bad spec", 1),
        ("refused", 10),
        ("rename", 1),
        ("network seen working", 2),
        ("kill after the first object", 1),
    ]);
}

#[tokio::test]
async fn a_crash_run_ends_as_desired_and_touches_nothing_of_others() {
    require_servers!(Kubernetes, Neutron);
    crash_run("crash", &[]).await;
}

#[tokio::test]
async fn a_crash_run_without_the_finalizer_ends_as_desired_and_touches_nothing_of_others() {
    require_servers!(Kubernetes, Neutron);
    // While both controllers are dead or frozen, more objects can go than a sweep may take for granted.
    crash_run("crash-plain", &["--no-finalizer", "--allow-mass-deletion"]).await;
}
