//! Reads of a filled cache, alone and while a writer changes it at full speed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use genclient_bench::{
    Result,
    measure::Run,
    shapes::{self, Shape},
};
use genclient_runtime::{
    Lister, Selector, SharedInformer,
    informer::InformerConfig,
    object::CacheObject,
    reflector::{Delta, DeltaSender, Scope, delta_queue},
    store::Index,
};
use samplecrd_apis::samplecrd::v1::Network;

use crate::PEER;

/// How many prepared states the writer goes round, so that it does nothing but write.
const PREPARED_WRITES: usize = 100_000;

/// How many deltas wait between the writer and the cache at most.
const QUEUED_DELTAS: usize = 1024;

/// How long the writer writes before it is measured.
const WARM_UP: Duration = Duration::from_millis(100);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many objects the cache holds.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// How long each measure takes, in milliseconds.
    #[arg(long, default_value_t = 500)]
    milliseconds: u64,
    /// How many readers there are, for each measure.
    #[arg(long, value_delimiter = ',', default_value = "1,2,8")]
    readers: Vec<usize>,
}

#[derive(Clone)]
struct Reads {
    lister: Lister<Network>,
    by_app: Index<Network, String>,
    objects: usize,
    selectors: Arc<Vec<Selector>>,
    names: Arc<Vec<(String, String)>>,
    apps: Arc<Vec<String>>,
}

/// What is read: its name, after how many reads the clock is looked at (so that it is not what is
/// measured), and a read. Every object that is found is looked at: the read gives the length of the
/// versions together.
type Question = (&'static str, usize, fn(&Reads, usize) -> usize);

const QUESTIONS: [Question; 4] = [
    ("get", 64, |reads, turn| {
        let (namespace, name) = &reads.names[turn.wrapping_mul(7919) % reads.names.len()];
        look_at(&reads.lister.namespace(namespace.as_str()).get(name))
    }),
    ("index", 4, |reads, turn| {
        look_at(&reads.by_app.get(&reads.apps[turn.wrapping_mul(31) % reads.apps.len()]))
    }),
    ("namespace", 1, |reads, turn| {
        let (namespace, _) = &reads.names[turn.wrapping_mul(31) % reads.names.len()];
        look_at(&reads.lister.namespace(namespace.as_str()).list(&Selector::everything()))
    }),
    ("selector", 1, |reads, turn| {
        look_at(&reads.lister.list(&reads.selectors[turn.wrapping_mul(31) % reads.selectors.len()]))
    }),
];

fn look_at<'a>(found: impl IntoIterator<Item = &'a Arc<Network>>) -> usize {
    found.into_iter().map(|object| object.resource_version().len()).sum()
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let informer = SharedInformer::<Network>::new(InformerConfig::new("networks"));
    let by_app = informer.add_index("app", |object: &Network| object.label("app").map(str::to_owned))?;
    let (sender, receiver) = delta_queue(QUEUED_DELTAS);
    let running = informer.clone();
    runtime.spawn(async move { running.run(receiver).await });
    let count = args.objects;
    let objects = (0..count).map(|number| network(number, count, 1)).collect::<Result<Vec<_>>>()?;
    runtime.block_on(sender.send_all([Delta::Replace {
        scope: Scope::All,
        objects,
        invalid: Vec::new(),
        resource_version: "1000".to_owned(),
    }]))?;
    runtime.block_on(informer.wait_for_sync());

    let apps: Vec<_> =
        (0..count.div_ceil(shapes::OBJECTS_PER_APP)).map(|number| shapes::app(number, count)).collect();
    let selectors = apps
        .iter()
        .map(|app| format!("app={app}").parse())
        .collect::<std::result::Result<Vec<Selector>, _>>()?;
    let names = (0..count).map(|number| (shapes::namespace(number, count), shapes::name(number))).collect();
    let reads = Reads {
        lister: informer.lister(),
        by_app,
        objects: count,
        selectors: Arc::new(selectors),
        names: Arc::new(names),
        apps: Arc::new(apps),
    };

    let mut run = Run::new(PEER, format!("lister {count}"));
    let duration = Duration::from_millis(args.milliseconds);
    for question in QUESTIONS {
        let name = question.0;
        for &readers in &args.readers {
            let (rate, found) = measure(&reads, question, readers, duration);
            if found == 0 {
                return Err(format!("{name} found nothing").into());
            }
            run.set(&format!("{name}, {readers} readers, alone /s"), rate);
        }
    }
    let writes = prepare_writes(count)?;
    for question in QUESTIONS {
        let name = question.0;
        for &readers in &args.readers {
            let stop = Arc::new(AtomicBool::new(false));
            let written = Arc::new(AtomicU64::new(0));
            let writer = runtime.spawn(write(sender.clone(), writes.clone(), stop.clone(), written.clone()));
            thread::sleep(WARM_UP);
            let (begin, before) = (Instant::now(), written.load(Ordering::Relaxed));
            let (rate, _) = measure(&reads, question, readers, duration);
            stop.store(true, Ordering::Relaxed);
            let writes = (written.load(Ordering::Relaxed) - before) as f64 / begin.elapsed().as_secs_f64();
            runtime.block_on(writer)?;
            run.set(&format!("{name}, {readers} readers, under writer /s"), rate);
            run.set(&format!("writes under {readers} readers of {name} /s"), writes);
        }
    }
    run.print()
}

fn network(number: usize, count: usize, version: u64) -> Result<Arc<Network>> {
    let mut object: Network = serde_json::from_str(&Shape::Network.object(number, count, version))?;
    object.metadata.managed_fields = None;
    Ok(Arc::new(object))
}

fn prepare_writes(count: usize) -> Result<Arc<Vec<[Arc<Network>; 2]>>> {
    let states = (0..count.min(PREPARED_WRITES))
        .map(|number| Ok([network(number, count, 2)?, network(number, count, 3)?]))
        .collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(states))
}

/// Changes one object after the other, as fast as the cache takes it. An informer does not go back
/// in time, so each change is a new version of a prepared state.
async fn write(
    sender: DeltaSender<Network>,
    states: Arc<Vec<[Arc<Network>; 2]>>,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
) {
    static VERSION: AtomicU64 = AtomicU64::new(10_000_000);
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let mut object = states[turn % states.len()][turn / states.len() % 2].as_ref().clone();
        object.metadata.resource_version = Some(VERSION.fetch_add(1, Ordering::Relaxed).to_string());
        if sender.send_all([Delta::Upsert(Arc::new(object))]).await.is_err() {
            return;
        }
        written.fetch_add(1, Ordering::Relaxed);
    }
}

/// Asks from several threads at once, and gives the answers per second and what was found.
fn measure(reads: &Reads, (_, at_once, ask): Question, readers: usize, duration: Duration) -> (f64, usize) {
    let begin = Instant::now();
    let threads: Vec<_> = (0..readers)
        .map(|reader| {
            let reads = reads.clone();
            thread::spawn(move || {
                let (mut turns, mut found) = (0, 0);
                // A thread that begins late asks all the same.
                while turns == 0 || begin.elapsed() < duration {
                    for _ in 0..at_once {
                        found += ask(&reads, reader * reads.objects / 8 + turns);
                        turns += 1;
                    }
                }
                (turns, found)
            })
        })
        .collect();
    let (turns, found) = threads
        .into_iter()
        .filter_map(|thread| thread.join().ok())
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (turns as f64 / begin.elapsed().as_secs_f64(), found)
}
