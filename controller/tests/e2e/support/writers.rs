//! Writers who change Networks at random, and what they did.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use genclient_runtime::{ListParams, ObjectMeta, Patch};
use genclient_tally::Tally;
use http::Method;
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use samplecrd_apis::samplecrd::v1::{Network, NetworkSpec};
use samplecrd_client::clientset::typed::samplecrd::v1::NetworkClient;
use samplecrd_controller::provider::Desired;
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockWriteGuard};

use super::{
    Cluster, Controller, eventually,
    neutron::{Found, PROBE},
    proxy::Write,
};

const WRITERS: usize = 4;

pub fn seed(run: &str) -> u64 {
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
pub type Subnet = (String, String);

/// The subnet that a spec asks for, if it is a good one.
pub fn subnet_of(spec: &NetworkSpec) -> Option<Subnet> {
    let desired = Desired::parse(&spec.cidr, &spec.gateway).ok()?;
    Some((desired.cidr.to_string(), desired.gateway.to_string()))
}

/// What happened in a run.
#[derive(Default)]
pub struct History {
    /// The changes, the refusals, the kills, and what was changed in Neutron.
    pub tally: Tally,
    /// Whether the writers delete nothing any more.
    growing: AtomicBool,
    /// Read by each writer while its request is on its way.
    turns: RwLock<()>,
    /// The subnets of all good specs that each uid ever had.
    pub good: Mutex<BTreeMap<String, BTreeSet<Subnet>>>,
    /// The uids whose network was seen with a subnet.
    pub seen: Mutex<BTreeSet<String>>,
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
    pub fn kill(&self, victim: &Controller) {
        self.tally.count(match victim.count(&["processing network"]) {
            0 => "kill before the first object",
            _ => "kill after the first object",
        });
        self.tally.add("kill in the middle of an object", usize::from(victim.is_busy()));
    }

    /// Notes the networks that got a subnet.
    pub fn see_written(&self, writes: &[Write]) {
        let subnets =
            writes.iter().filter(|write| write.method == Method::POST).map(|write| &write.answer["subnet"]);
        let working = subnets.filter(|subnet| subnet["name"].as_str().is_some_and(|name| name != PROBE));
        let marker = |subnet: &Value| {
            subnet["description"].as_str()?.rsplit_once(" uid=").map(|(_, uid)| uid.to_owned())
        };
        self.seen.lock().extend(working.filter_map(marker));
    }

    pub fn see(&self, found: &Found) {
        let working = found.iter().filter(|(_, networks)| {
            networks.iter().any(|(name, subnets)| name != PROBE && !subnets.is_empty())
        });
        self.seen.lock().extend(working.map(|(uid, _)| uid.clone()));
    }
}

/// The writers of a run; they write until they are stopped.
pub struct Writers {
    stop: Arc<AtomicBool>,
    pub history: Arc<History>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Writers {
    /// Writes to so many names, with pauses of at most this length.
    pub fn start(cluster: &Cluster<'_>, names: usize, pause: Duration, rng: &mut StdRng) -> Self {
        let (stop, history) = (Arc::new(AtomicBool::new(false)), Arc::new(History::default()));
        let tasks = (0..WRITERS).map(|_| {
            let rng = StdRng::seed_from_u64(rng.random());
            tokio::spawn(write(cluster.networks(), names, pause, rng, stop.clone(), history.clone()))
        });
        Self { tasks: tasks.collect(), stop, history }
    }

    /// Pauses them until the guard is dropped, for an API server that does not answer.
    pub async fn pause(&self) -> RwLockWriteGuard<'_, ()> {
        self.history.turns.write().await
    }

    /// Lets them write so many more changes, and go on until so many objects exist; then ends them.
    pub async fn finish(self, cluster: &Cluster<'_>, more: usize, objects: usize) -> Arc<History> {
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
        let turn = history.turns.read().await;
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
        drop(turn);
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
