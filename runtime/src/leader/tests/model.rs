//! Random histories of three processes that want to lead, with everything that can go wrong with them, with the
//! network and with their clocks.
//!
//! The processes act as `Elector` lets them, except that their renewals are polled by the process itself, so that a
//! stopped process really does nothing.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use genclient_tally::{Tally, usual_or_long};
use http::Method;
use k8s_openapi::jiff::SignedDuration;
use parking_lot::Mutex;
use rand::{Rng, RngExt as _, SeedableRng as _, rngs::StdRng};
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep, sleep_until, timeout_at},
};

use super::{
    super::{
        Lost, Settings,
        candidate::Candidate,
        clock::jumping::jump,
        coordination::{Nomination, Versions},
        fence::{Fence, Standing},
    },
    SECOND,
    server::{Server, Trip},
};
use crate::{RestClient, TypedClient, object::ObjectKey};

const PROCESSES: usize = 3;
/// How long things go wrong, and how long they go well after that.
const TROUBLE: Duration = Duration::from_secs(120);
const QUIET: Duration = Duration::from_secs(40);
/// In a coordinated election the next leader also waits for the lease duration.
const COORDINATED_QUIET: Duration = Duration::from_secs(90);
/// How long the network holds a request to the provider back: less than the lease duration less the renew deadline.
const LATEST: Duration = Duration::from_millis(4_900);

const SETTINGS: Settings = Settings {
    lease_duration: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(2),
};

/// What a leader did.
#[derive(Clone, Copy, Debug)]
struct Act {
    at: Instant,
    process: usize,
    term: u64,
}

/// The world of one history.
struct World {
    server: Server,
    is_coordinated: bool,
    begun: Instant,
    rng: Mutex<StdRng>,
    acts: Mutex<Vec<Act>>,
    /// What a provider received, over a network that holds requests back.
    received: Mutex<Vec<Act>>,
    tally: &'static Tally,
}

impl World {
    fn is_quiet(&self) -> bool {
        self.begun.elapsed() >= TROUBLE
    }

    fn chance(&self, percent: u32) -> bool {
        !self.is_quiet() && self.rng.lock().random_ratio(percent, 100)
    }

    fn millis(&self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.rng.lock().random_range(range))
    }

    /// Decides what happens to a request.
    fn trip(&self, method: &Method) -> Trip {
        let mut trip =
            Trip { there: Some(self.millis(1..50)), back: Some(self.millis(1..50)), ..Trip::default() };
        let writes = *method != Method::GET;
        if self.chance(10) {
            trip.there = Some(self.millis(50..20_000));
        }
        if self.chance(10) {
            trip.back = Some(self.millis(50..20_000));
        }
        if self.chance(5) {
            trip.there = None;
        }
        if self.chance(5) {
            trip.back = None;
            if writes {
                self.tally.count("answers to writes that are lost");
            }
        }
        if self.chance(5) {
            trip.again = Some(self.millis(0..20_000));
            self.tally.count("requests that arrive twice");
        }
        trip.fails = self.chance(5);
        trip
    }
}

/// A process that does nothing while it is stopped.
struct Stoppable<F> {
    process: Pin<Box<F>>,
    stops: Vec<(Instant, Instant)>,
    wake: Pin<Box<Sleep>>,
}

impl<F: Future> Future for Stoppable<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let now = Instant::now();
        if let Some(&(_, end)) = self.stops.iter().find(|(begin, end)| (*begin..*end).contains(&now)) {
            self.wake.as_mut().reset(end);
            let _ = self.wake.as_mut().poll(context);
            return Poll::Pending;
        }
        self.process.as_mut().poll(context)
    }
}

/// Leads, works, and dies or releases the Lease at random, again and again.
async fn process(number: usize, world: Arc<World>) {
    let name: Arc<str> = format!("process-{number}").into();
    let key = Arc::new(ObjectKey::namespaced("default", "test"));
    let network = {
        let world = world.clone();
        move |method: &Method| world.trip(method)
    };
    let client = world.server.client_over(network);
    loop {
        // A process that was started again knows nothing of the one before.
        let client = RestClient::new(client.clone()).timeout(5 * SECOND);
        let leases = TypedClient::namespaced(client.clone(), "default");
        let mut candidate = Candidate::new(leases, key.clone(), name.clone(), SETTINGS);
        if world.is_coordinated {
            let candidates = TypedClient::namespaced(client, "default");
            let (versions, period) = (Versions::default(), SETTINGS.retry_period);
            let nomination = Nomination::new(candidates, key.clone(), name.clone(), versions, period);
            candidate = candidate.nominate(Arc::new(nomination));
        }
        loop {
            let standing = watch::Sender::new(Standing::default());
            let fence = Fence::new(key.clone(), standing.subscribe(), Arc::default());
            let held = candidate.acquire(&standing).await;
            world.tally.count("terms");
            let life = match world.is_quiet() {
                true => Duration::from_secs(3600),
                false => world.millis(500..120_000),
            };
            let until = Instant::now() + life;
            let lived = timeout_at(until, async {
                tokio::select! {
                    lost = candidate.keep(held, &standing) => lost,
                    never = work(number, held.term, &fence, &world) => match never {},
                }
            })
            .await;
            match lived {
                Ok(Lost::Expired) => world.tally.count("terms that expired"),
                Ok(Lost::Taken { .. }) if world.is_coordinated => world.tally.count("terms that were taken"),
                Ok(Lost::Taken { by }) => panic!("{by:?} took the Lease of a leader"),
                Ok(Lost::Preferred { .. }) => {
                    sleep(LATEST).await;
                    if let Ok(Ok(())) = timeout_at(Instant::now() + 3 * SECOND, candidate.release()).await {
                        world.tally.count("leaders that stepped down");
                    }
                }
                Err(_) if world.chance(50) => {
                    world.tally.count("leaders that died");
                    break;
                }
                Err(_) => {
                    standing.send_modify(|standing| standing.held = None);
                    // A leader releases the Lease when its last request is answered.
                    sleep(LATEST).await;
                    if let Ok(Ok(())) = timeout_at(Instant::now() + 3 * SECOND, candidate.release()).await {
                        world.tally.count("terms that were released");
                    }
                }
            }
        }
        sleep(world.millis(0..10_000)).await;
    }
}

/// Acts through the fence without end.
async fn work(process: usize, term: u64, fence: &Fence, world: &Arc<World>) -> std::convert::Infallible {
    loop {
        let acted = fence.guard(async {
            sleep(world.millis(1..3_000)).await;
            let act = Act { at: Instant::now(), process, term };
            world.acts.lock().push(act);
            // It was sent, and arrives whatever happens to the process.
            let (late, world) = (world.rng.lock().random_range(Duration::ZERO..LATEST), world.clone());
            tokio::spawn(async move {
                sleep(late).await;
                world.received.lock().push(Act { at: Instant::now(), ..act });
            });
        });
        if acted.await.is_err() {
            world.tally.count("acts that were refused");
            sleep(SECOND / 10).await;
        }
    }
}

/// Checks that the terms of the acts follow each other, each of one process.
fn check_acts(seed: u64, acts: &[Act]) {
    for (before, after) in acts.iter().zip(acts.iter().skip(1)) {
        let is_sound =
            before.term < after.term || (before.term == after.term && before.process == after.process);
        assert!(is_sound, "seed {seed}: {before:?}, then {after:?}");
    }
}

/// Checks that no request of an earlier leader arrives after one of a later leader. The network may change the order
/// of the requests of one process.
fn check_received(seed: u64, acts: &[Act]) {
    for (before, after) in acts.iter().zip(acts.iter().skip(1)) {
        let is_sound = before.term < after.term || before.process == after.process;
        assert!(is_sound, "seed {seed}: the provider received {before:?}, then {after:?}");
    }
}

/// Chooses leaders as a server with a clock that jumps: it takes the Lease from a leader at any time.
async fn coordinate(world: Arc<World>) {
    let (server, mut seen) = (&world.server, (None, Instant::now()));
    server.coordinate();
    loop {
        sleep(world.millis(100..3_000)).await;
        let spec = server.spec();
        if seen.0 != spec {
            seen = (spec.clone(), Instant::now());
        }
        let holder = spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
        let electee = format!("process-{}", world.rng.lock().random_range(0..PROCESSES));
        if holder.is_empty() || seen.1.elapsed() >= 15 * SECOND {
            server.assign(&electee);
        } else if world.chance(3) {
            server.assign(&electee);
            world.tally.count("leases that were taken from their holder");
        } else if world.chance(3) {
            server.prefer(&electee);
        }
    }
}

async fn history(seed: u64, is_coordinated: bool, tally: &'static Tally) {
    let mut rng = StdRng::seed_from_u64(seed);
    let begun = Instant::now();
    let mut stops = [const { Vec::new() }; PROCESSES];
    for stops in &mut stops {
        let mut at = Duration::ZERO;
        while rng.random_bool(0.7) {
            at += Duration::from_millis(rng.random_range(0..60_000));
            let stop = Duration::from_millis(rng.random_range(100..40_000));
            if at + stop >= TROUBLE {
                break;
            }
            stops.push((begun + at, begun + at + stop));
            at += stop;
            tally.count("stops of a process");
        }
    }
    let jumps = rng.random_range(0..20);
    let jumps: Vec<_> = (0..jumps)
        .map(|_| (rng.random_range(0..TROUBLE.as_secs()), rng.random_range(-100_000..100_000)))
        .collect();
    let world = Arc::new(World {
        server: Server::default(),
        is_coordinated,
        begun,
        rng: Mutex::new(StdRng::seed_from_u64(rng.next_u64())),
        acts: Mutex::default(),
        received: Mutex::default(),
        tally,
    });
    let mut tasks = tokio::task::JoinSet::new();
    for (number, stops) in stops.into_iter().enumerate() {
        let process = Box::pin(process(number, world.clone()));
        tasks.spawn(Stoppable { process, stops, wake: Box::pin(sleep(Duration::ZERO)) });
    }
    if is_coordinated {
        tasks.spawn(coordinate(world.clone()));
    }
    tasks.spawn(async move {
        let mut jumps = jumps;
        jumps.sort_unstable();
        for (at, ahead) in jumps {
            sleep_until(begun + Duration::from_secs(at)).await;
            jump(SignedDuration::from_secs(ahead));
            tally.count("jumps of the clock");
        }
        std::future::pending::<()>().await;
    });
    let quiet = if is_coordinated { COORDINATED_QUIET } else { QUIET };
    sleep_until(begun + TROUBLE + quiet).await;
    drop(tasks);

    let acts = world.acts.lock().clone();
    check_acts(seed, &acts);
    check_received(seed, &world.received.lock());
    tally.add("acts", acts.len());
    // A request of the trouble arrives at most 40 seconds after it: the lease duration after that somebody leads.
    let last = acts.last().unwrap_or_else(|| panic!("seed {seed}: nobody ever led"));
    assert!(last.at.elapsed() < 22 * SECOND, "seed {seed}: nobody leads at the end");
    jump(SignedDuration::ZERO);
}

fn histories(usual: usize, is_coordinated: bool, tally: &'static Tally) -> usize {
    let histories = usual_or_long(usual, 50 * usual);
    let first: u64 = std::env::var("GENCLIENT_SEED").map_or(0, |seed| seed.parse().unwrap());
    for seed in first..first + histories as u64 {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(history(seed, is_coordinated, tally));
    }
    histories
}

/// `GENCLIENT_LONG=1` runs 100,000 histories, and `GENCLIENT_SEED` begins with another one.
#[test]
fn two_processes_never_lead_at_the_same_time() {
    static TALLY: Tally = Tally::new();
    let histories = histories(2_000, false, &TALLY);
    TALLY.require(&[
        ("acts", histories * 30),
        ("terms", histories * 2),
        ("terms that expired", histories / 4),
        ("terms that were released", histories / 4),
        ("leaders that died", histories / 4),
        ("stops of a process", histories),
        ("jumps of the clock", histories),
        ("acts that were refused", histories / 4),
        ("requests that arrive twice", histories),
        ("answers to writes that are lost", histories),
    ]);
}

#[test]
fn two_processes_never_lead_at_the_same_time_whatever_the_server_chooses() {
    static TALLY: Tally = Tally::new();
    let histories = histories(1_000, true, &TALLY);
    TALLY.require(&[
        ("acts", histories * 10),
        ("terms", histories),
        ("terms that were taken", histories / 4),
        ("terms that were released", histories / 20),
        ("leaders that stepped down", histories / 20),
        ("leaders that died", histories / 20),
        ("leases that were taken from their holder", histories),
        ("requests that arrive twice", histories),
    ]);
}
