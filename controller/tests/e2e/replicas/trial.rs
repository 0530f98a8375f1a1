//! Faults of three replicas, one round after the other.
//!
//! In each round at least one candidate is well, so that it leads in time.

use std::{sync::Arc, time::Duration};

use genclient_runtime::k8s_openapi::jiff::Timestamp;
use genclient_tally::usual_or_long;
use genclient_testenv::Neutron;
use rand::{RngExt, rngs::StdRng, seq::SliceRandom};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    LEASE_DURATION, RETRY_PERIOD, Replica, lease,
    record::{Outages, Past, Record, writes},
};
use crate::support::{Cluster, Found, History, LeaseWatch, Traffic, Writers, eventually, settles, signal};

/// How long a request to an API server that ended may take to fail.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// What happens to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is killed, and another one is started.
    Kill,
    /// It is asked to end, and another one is started.
    Terminate,
    /// It is stopped for longer than the lease duration.
    Stop,
    /// Its connections to the API server break, and new ones end at once.
    Cut,
    /// Its connections to the API server carry nothing. What was sent meanwhile arrives later.
    Silence,
    /// What it sends to the API server and what it receives arrives late.
    Delay,
}

/// What happens to the API server.
#[derive(Clone, Copy, Debug)]
enum Outage {
    /// It is killed and started again.
    Restart,
    /// It is stopped for a while.
    Pause,
    /// Its etcd is stopped for a while.
    EtcdPause,
}

/// What is harmed in a round of a trial, and how.
#[derive(Clone, Copy, Debug)]
enum Round {
    Leader(Fault),
    Standby(Fault),
    Server(Outage),
}

/// The rounds in CI, which has time for each fault once.
const ROUNDS: &[Round] = &[
    Round::Leader(Fault::Kill),
    Round::Leader(Fault::Terminate),
    Round::Leader(Fault::Stop),
    Round::Leader(Fault::Cut),
    Round::Leader(Fault::Delay),
];
const LONG_ROUNDS: &[Round] = &[
    Round::Leader(Fault::Kill),
    Round::Leader(Fault::Kill),
    Round::Leader(Fault::Terminate),
    Round::Leader(Fault::Stop),
    Round::Leader(Fault::Cut),
    Round::Leader(Fault::Silence),
    Round::Leader(Fault::Delay),
    Round::Standby(Fault::Kill),
    Round::Standby(Fault::Terminate),
    Round::Standby(Fault::Stop),
    Round::Server(Outage::Restart),
    Round::Server(Outage::Pause),
    Round::Server(Outage::EtcdPause),
];

/// What happens to a second replica before the third one leads.
const BESIDE: &[Fault] = &[Fault::Kill, Fault::Silence, Fault::Delay];
const LONG_BESIDE: &[Fault] =
    &[Fault::Kill, Fault::Terminate, Fault::Stop, Fault::Cut, Fault::Silence, Fault::Delay];

/// How often each of these must happen.
const FLOORS: &[(&str, usize)] = &[
    ("Kill", 2),
    ("Terminate", 1),
    ("Stop", 1),
    ("Cut", 1),
    ("Silence", 1),
    ("Delay", 1),
    ("takeover", 4),
    ("create", 20),
    ("patch", 20),
    ("delete", 10),
    ("network", 15),
    ("write", 60),
];
const LONG_FLOORS: &[(&str, usize)] = &[
    ("Kill", 8),
    ("kill in the middle of an object", 1),
    ("Terminate", 4),
    ("Stop", 4),
    ("Cut", 3),
    ("Silence", 3),
    ("Delay", 3),
    ("outage", 6),
    ("takeover", 10),
    ("create", 100),
    ("patch", 100),
    ("delete", 50),
    ("network", 100),
    ("write", 1000),
];

/// Three replicas to which something happens in each round.
pub struct Trial<'a> {
    cluster: &'a Cluster<'a>,
    neutron: &'a Neutron,
    flags: &'a [&'a str],
    lease: LeaseWatch,
    replicas: Vec<Replica>,
    past: Vec<Past>,
    /// What happens next to a replica beside the leader.
    beside: Vec<Fault>,
    /// When the API server did not answer.
    outages: Outages,
    history: Arc<History>,
    rng: StdRng,
}

impl<'a> Trial<'a> {
    pub async fn start(
        cluster: &'a Cluster<'a>,
        neutron: &'a Neutron,
        flags: &'a [&'a str],
        history: Arc<History>,
        rng: StdRng,
    ) -> Self {
        let (lease, mut replicas) = (lease(cluster), Vec::new());
        for _ in 0..3 {
            replicas.push(Replica::start(cluster, neutron, flags).await);
        }
        let (past, beside, outages) = Default::default();
        Self { cluster, neutron, flags, lease, replicas, past, beside, outages, history, rng }
    }

    /// Plays the rounds in random order, in a long trial for ten minutes.
    pub async fn play(&mut self, writers: &Writers) {
        let (begun, length) = (Instant::now(), usual_or_long(Duration::ZERO, Duration::from_secs(600)));
        let mut rounds = usual_or_long(ROUNDS, LONG_ROUNDS).to_vec();
        loop {
            rounds.shuffle(&mut self.rng);
            for round in &rounds {
                self.play_round(*round, writers).await;
            }
            if begun.elapsed() >= length {
                break;
            }
        }
        self.leader().await;
    }

    /// Ends the trial: Neutron becomes as the Networks want it, and every replica ends.
    pub async fn end(mut self, history: &History, found: impl AsyncFn() -> Found) {
        // The links and the proxies are needed until the controllers have ended.
        let (mut controllers, mut links) = (Vec::new(), Vec::new());
        for Replica { controller, link, proxy } in self.replicas.drain(..) {
            self.past.push(Past { log: controller.lines(&[]), proxy });
            controllers.push(controller);
            links.push(link);
        }
        history.see_written(&writes(&self.past));
        settles(self.cluster, controllers, history, found).await;

        let record = Record { terms: self.lease.terms(), past: self.past, outages: self.outages };
        record.check(&history.tally);
        history.tally.require(usual_or_long(FLOORS, LONG_FLOORS));
    }

    /// Plays one round. At its end no fault is left.
    async fn play_round(&mut self, round: Round, writers: &Writers) {
        // Those that were harmed have read the Lease again.
        sleep(RETRY_PERIOD + Duration::from_millis(self.rng.random_range(0..500))).await;
        let leader = self.leader().await;
        self.history.tally.count(format!("{round:?}"));
        let mut others: Vec<_> = (0..self.replicas.len()).filter(|other| *other != leader).collect();
        others.shuffle(&mut self.rng);
        match round {
            Round::Leader(fault) => self.harm_leader(leader, others[0], fault).await,
            Round::Standby(fault) => {
                self.harm(others[0], fault).await;
                let longest = if fault == Fault::Stop { LEASE_DURATION * 2 } else { RETRY_PERIOD };
                sleep(longest.mul_f64(self.rng.random())).await;
                self.heal(others[0], fault).await;
            }
            Round::Server(outage) => self.harm_server(outage, writers).await,
        }
    }

    /// Waits until every replica has read the Lease, and one of them renews it.
    async fn leader(&self) -> usize {
        let leader = async || {
            let term = self.lease.terms().pop()?;
            let is_renewed = Timestamp::now().duration_since(term.last).unsigned_abs() < RETRY_PERIOD * 2;
            let names: Vec<_> = self.replicas.iter().map(Replica::identity).collect();
            if term.is_released || !is_renewed || names.iter().any(Option::is_none) {
                return None;
            }
            names.iter().position(|name| name.as_ref() == Some(&term.holder))
        };
        eventually("a replica leads", leader, Option::is_some).await.unwrap()
    }

    /// Harms the leader until another replica leads. One of the others is harmed as well before that.
    async fn harm_leader(&mut self, leader: usize, other: usize, fault: Fault) {
        self.at_work(leader).await;
        let (terms, begun) = (self.lease.count(), Instant::now());
        self.harm(leader, fault).await;
        if fault == Fault::Delay {
            // It may go on leading.
            let longest = usual_or_long(RETRY_PERIOD * 2, LEASE_DURATION * 2);
            sleep(longest.mul_f64(self.rng.random())).await;
            return self.heal(leader, fault).await;
        }
        // A released Lease is taken over before anything else can happen.
        let beside = if fault == Fault::Terminate { None } else { self.next_beside() };
        if let Some(beside) = beside {
            sleep(RETRY_PERIOD.mul_f64(self.rng.random())).await;
            self.harm(other, beside).await;
        }
        eventually("another replica leads", async || self.lease.count(), |now| *now > terms).await;
        let last = &self.lease.terms()[terms - 1];
        assert_eq!(last.is_released, fault == Fault::Terminate, "{last:?}");
        if fault == Fault::Stop {
            let pause = LEASE_DURATION + Duration::from_millis(self.rng.random_range(500..3000));
            sleep_until(begun + pause).await;
        }
        self.heal(leader, fault).await;
        if let Some(beside) = beside {
            self.heal(other, beside).await;
        }
    }

    /// Draws what happens to a replica beside the leader. Everything happens once before anything happens again.
    fn next_beside(&mut self) -> Option<Fault> {
        if self.beside.is_empty() {
            self.beside = usual_or_long(BESIDE, LONG_BESIDE).to_vec();
            self.beside.shuffle(&mut self.rng);
        }
        self.beside.pop()
    }

    /// Waits for a moment shortly after a replica has begun with an object.
    async fn at_work(&mut self, replica: usize) {
        let begun = || self.replicas[replica].controller.count(&["processing network"]);
        let before = begun();
        let begins = async {
            while begun() == before {
                sleep(Duration::from_millis(10)).await;
            }
        };
        // It may have nothing to do.
        let _ = timeout(RETRY_PERIOD, begins).await;
        sleep(Duration::from_millis(self.rng.random_range(0..100))).await;
    }

    async fn harm(&mut self, victim: usize, fault: Fault) {
        self.history.tally.count(format!("{fault:?}"));
        let replica = &self.replicas[victim];
        match fault {
            Fault::Stop => replica.controller.signal("STOP").await,
            Fault::Cut => replica.link.set(Traffic::Cut),
            Fault::Silence => replica.link.set(Traffic::Waits),
            Fault::Delay => {
                let delay = Duration::from_millis(self.rng.random_range(100..usual_or_long(1000, 4000)));
                replica.link.set(Traffic::Late(delay));
            }
            Fault::Kill | Fault::Terminate => {
                // Without its link it could not release the Lease.
                let Replica { controller, link: _link, proxy } = self.replicas.remove(victim);
                let ended = match fault {
                    Fault::Kill => {
                        self.history.kill(&controller);
                        controller.kill9().await
                    }
                    _ => controller.stop().await,
                };
                self.past.push(Past { log: ended.log, proxy });
                let next = Replica::start(self.cluster, self.neutron, self.flags).await;
                self.replicas.insert(victim, next);
            }
        }
    }

    async fn heal(&self, victim: usize, fault: Fault) {
        let replica = &self.replicas[victim];
        match fault {
            Fault::Stop => replica.controller.signal("CONT").await,
            Fault::Cut | Fault::Silence | Fault::Delay => replica.link.set(Traffic::Flows),
            Fault::Kill | Fault::Terminate => {}
        }
    }

    async fn harm_server(&mut self, outage: Outage, writers: &Writers) {
        let env = self.cluster.env;
        let _paused = writers.pause().await;
        let (begun, length) = (Timestamp::now(), LEASE_DURATION.mul_f64(self.rng.random_range(0.1..1.5)));
        match outage {
            Outage::Restart => {
                env.apiserver().kill9().await.unwrap();
                sleep(length).await;
                env.apiserver().restart().await.unwrap();
            }
            Outage::Pause => {
                env.apiserver().pause().unwrap();
                sleep(length).await;
                env.apiserver().resume().unwrap();
            }
            Outage::EtcdPause => {
                let etcd = env.processes().into_iter().find(|(name, _)| *name == "etcd").unwrap().1;
                signal(etcd, "STOP").await;
                sleep(length).await;
                signal(etcd, "CONT").await;
            }
        }
        let networks = self.cluster.networks();
        let answers = async || networks.list(&Default::default()).timeout(REQUEST_LIMIT).await.is_ok();
        eventually("the API server answers", answers, |answers| *answers).await;
        self.outages.push((begun, Timestamp::now() + REQUEST_LIMIT));
    }
}
