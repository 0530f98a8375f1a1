//! Several controllers with one Lease: one of them works at a time, and another one takes over in time.
//!
//! Each replica has its own link to the API server, which a test cuts and slows down, and its own proxy in front of
//! Neutron, which records its writes. The times are those of the Lease by default, because the program has no flags for
//! them.

mod record;
mod trial;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use genclient_tally::{is_long, usual_or_long};
use genclient_testenv::{Neutron, TestEnv, require_servers};
use http::Method;
use rand::{SeedableRng, rngs::StdRng};
use tokio::time::{Instant, sleep, sleep_until};

use self::trial::Trial;
use crate::support::{
    Cluster, Controller, Gate, LeaseWatch, Link, Proxy, TestNeutron, Verdict, Writers, by_uid, eventually,
    held, seed,
};

const LEASE: &str = "controller";
/// How long a candidate waits for a leader that does not renew the Lease.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// The longest time between two attempts of a candidate.
const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// How much later a candidate may be if the machine is busy.
const ALLOWANCE: Duration = Duration::from_secs(3);

// Lines of the log.
const LEADS: &[&str] = &["INFO leading lease="];
const LOST: &[&str] = &["no longer leading"];
const STANDS_BY: &[&str] = &["another candidate leads"];

/// A controller with the Lease.
struct Replica {
    controller: Controller,
    link: Link,
    proxy: Proxy,
}

impl Replica {
    async fn start(cluster: &Cluster<'_>, neutron: &Neutron, flags: &[&str]) -> Self {
        let (link, proxy) = (Link::start(cluster.env).await, Proxy::start(neutron.url()).await);
        let lease = format!("{}/{LEASE}", cluster.namespace);
        let mut args = vec!["--lease", &lease, "--master", &link.url, "--neutron-url", &proxy.url];
        args.extend(flags);
        Self { controller: cluster.controller(&args), link, proxy }
    }

    /// Its name in the Lease, once it has read the Lease.
    fn identity(&self) -> Option<String> {
        self.controller.lines(&["identity="]).first().and_then(|line| field(line, "identity"))
    }
}

/// The value of a field in a line of the log.
fn field(line: &str, name: &str) -> Option<String> {
    let (_, value) = line.split_once(&format!(" {name}="))?;
    value.split(' ').next().map(str::to_owned)
}

fn lease(cluster: &Cluster<'_>) -> LeaseWatch {
    LeaseWatch::start(cluster.client.clone(), &cluster.namespace, LEASE)
}

#[tokio::test]
async fn three_replicas_under_churn_and_kills_create_nothing_twice() {
    require_servers!(Kubernetes, ControlPlane, Neutron);
    // Only the long trial harms the API server.
    let env = match is_long() {
        true => Some(TestEnv::builder().own_servers().start().await.unwrap()),
        false => None,
    };
    let cluster = async {
        match &env {
            Some(env) => Cluster::of(env, "replicas").await,
            None => Cluster::shared("replicas").await,
        }
    };
    let (cluster, neutron) = tokio::join!(cluster, Neutron::start());
    let neutron = neutron.unwrap();
    let mut rng = StdRng::seed_from_u64(seed("replicas"));
    let (names, pause) = usual_or_long((16, 1500), (100, 750));
    let writers = Writers::start(&cluster, names, Duration::from_millis(pause), &mut rng);
    let flags = ["--workers", "4", "--drift-interval", usual_or_long("10s", "60s")];
    let mut trial = Trial::start(&cluster, &neutron, &flags, writers.history.clone(), rng).await;
    trial.play(&writers).await;
    let history = writers.finish(&cluster, 0, names / 2).await;
    let everything = TestNeutron::of(&neutron).await;
    let found = async || {
        let (networks, subnets) = (everything.networks().await, everything.subnets().await);
        by_uid(&networks, &subnets, &cluster.namespace)
    };
    trial.end(&history, found).await;
}

/// The first of two replicas leads, and the second one stands by.
async fn pair(cluster: &Cluster<'_>, neutron: &TestNeutron<'_>, flags: &[&str]) -> [Replica; 2] {
    let first = Replica::start(cluster, neutron.server, flags).await;
    first.controller.says(LEADS).await;
    let second = Replica::start(cluster, neutron.server, flags).await;
    second.controller.says(STANDS_BY).await;
    [first, second]
}

#[tokio::test]
async fn a_second_replica_takes_over_when_the_first_is_asked_to_end() {
    require_servers!(Kubernetes, Neutron);
    let cluster = Cluster::shared("handover").await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let [first, second] = pair(&cluster, &neutron, &[]).await;
    let lease = async || {
        let fields = "jsonpath={.spec.holderIdentity} {.spec.leaseTransitions}";
        let text = cluster.kubectl(&["get", "lease", LEASE, "-o", fields]).await;
        let (holder, transitions) = text.split_once(' ').unwrap();
        (holder.to_owned(), transitions.parse::<u32>().unwrap())
    };
    cluster.create("a", "10.0.0.0/24", "10.0.0.1").await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.1")]).await;
    let (holder, transitions) = lease().await;
    assert_eq!(Some(holder), first.identity());

    let ended = first.controller.stop().await;
    let released = Instant::now();
    assert!(ended.says("INFO released"), "{ended:#?}");
    assert!(second.proxy.writes().is_empty(), "a standby writes nothing");
    second.controller.says(LEADS).await;
    let took = released.elapsed();
    assert!(took < RETRY_PERIOD + ALLOWANCE, "{took:?}");
    eprintln!("handover: the second replica led {took:?} after the end of the first");
    let (holder, now) = lease().await;
    assert_eq!(Some(holder), second.identity());
    assert!(now > transitions, "{now} transitions after {transitions}");

    cluster.change("a", "10.0.0.0/24", "10.0.0.2").await;
    neutron.holds(&[held("a", "10.0.0.0/24", "10.0.0.2")]).await;
    second.controller.stop().await;
    assert_eq!(lease().await.0, "", "it released the Lease");
}

#[tokio::test]
async fn a_replica_that_was_stopped_for_longer_than_its_lease_writes_nothing_when_it_wakes() {
    require_servers!(Kubernetes, Neutron);
    let cluster = Cluster::shared("wakes").await;
    let neutron = TestNeutron::shared(&cluster.namespace).await;
    let lease = lease(&cluster);
    let [first, second] = pair(&cluster, &neutron, &["--workers", "8"]).await;
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let all = |gateway| names.map(|name| held(name, "10.0.0.0/24", gateway));
    for name in names {
        cluster.create(name, "10.0.0.0/24", "10.0.0.1").await;
    }
    first.controller.says_times(names.len(), &["successfully synced"]).await;

    // It is stopped while each worker waits for an answer. When it wakes, the answers are there, and a write is next.
    let (gate, waiting) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
    let (held_back, count) = (gate.clone(), waiting.clone());
    first.proxy.script(move |method, path| match method {
        &Method::GET if path.contains("/subnets?") => {
            count.fetch_add(1, SeqCst);
            Verdict::Hold(held_back.clone())
        }
        _ => Verdict::Pass,
    });
    for name in names {
        cluster.change(name, "10.0.0.0/24", "10.0.0.2").await;
    }
    eventually("every worker waits", async || waiting.load(SeqCst), |now| *now == names.len()).await;
    first.controller.signal("STOP").await;
    let stopped = Instant::now();
    first.proxy.script(|_, _| Verdict::Pass);
    for _ in names {
        gate.let_one_through().await;
    }
    let before = first.proxy.writes().len();

    second.controller.says(LEADS).await;
    let took = stopped.elapsed();
    assert!(took < LEASE_DURATION + RETRY_PERIOD + ALLOWANCE, "{took:?}");
    neutron.holds(&all("10.0.0.2")).await;
    sleep_until(stopped + LEASE_DURATION + RETRY_PERIOD).await;
    for name in names {
        cluster.change(name, "10.0.0.0/24", "10.0.0.3").await;
    }
    neutron.holds(&all("10.0.0.3")).await;
    let standing_by = first.controller.count(STANDS_BY);
    first.controller.signal("CONT").await;
    first.controller.says(LOST).await;
    first.controller.says_times(standing_by + 1, STANDS_BY).await;
    // Long enough for many changes.
    sleep(RETRY_PERIOD * 2).await;
    assert_eq!(first.proxy.writes()[before..].len(), 0, "{:#?}", &first.proxy.writes()[before..]);
    assert_eq!(neutron.all().await, all("10.0.0.3"));

    let identities = [first.identity(), second.identity(), first.identity()];
    let killed = Instant::now();
    second.controller.kill9().await;
    first.controller.says_times(2, LEADS).await;
    let took_back = killed.elapsed();
    assert!(took_back < LEASE_DURATION + RETRY_PERIOD + ALLOWANCE, "{took_back:?}");
    eprintln!("wakes: the second replica led after {took:?}, and the first one again after {took_back:?}");
    for name in names {
        cluster.change(name, "10.0.0.0/24", "10.0.0.4").await;
    }
    neutron.holds(&all("10.0.0.4")).await;
    assert!(first.proxy.writes().len() > before);
    let terms = lease.terms();
    assert_eq!(terms.iter().map(|term| Some(term.holder.clone())).collect::<Vec<_>>(), identities);
    assert!(terms.is_sorted_by(|a, b| a.number < b.number), "{terms:?}");
    first.controller.stop().await;
}
