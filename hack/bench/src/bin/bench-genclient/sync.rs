//! Sync and updates: an informer with the namespace index, an index over one label, and a handler
//! that counts what is added and the old and new states of what is updated.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use genclient_bench::{
    Result,
    measure::{Run, cpu, memory},
    replay::{Prepared, go},
    shapes::Shape,
};
use genclient_runtime::{Client, Event, InformerFactory, factory::InformerFactoryBuilder, object::Watched};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use samplecrd_apis::samplecrd::v1::Network;

use crate::{PEER, compact::CompactNetwork};

/// How long the memory is left to settle after the sync.
const SETTLE: Duration = Duration::from_millis(500);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The replay server's address.
    #[arg(long)]
    server: String,
    /// The form of its objects.
    #[arg(long, default_value = "network")]
    shape: Shape,
    /// How many objects it has.
    #[arg(long)]
    objects: usize,
    /// How many changes follow.
    #[arg(long, default_value_t = 0)]
    updates: usize,
    /// Reads the list in pages.
    #[arg(long)]
    paged: bool,
    /// Caches networks in a compact form of one's own.
    #[arg(long)]
    compact: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match args.shape {
            Shape::Network if args.compact => sync::<CompactNetwork>(args).await,
            Shape::Network => sync::<Network>(args).await,
            Shape::Deployment => sync::<Deployment>(args).await,
            Shape::Pod => sync::<Pod>(args).await,
        }
    })
}

#[derive(Default)]
struct Counts {
    added: AtomicU64,
    updated: AtomicU64,
    /// The version that the handler has come to.
    version: AtomicU64,
}

async fn sync<K: Watched>(args: &Args) -> Result<()> {
    let client = Client::try_from(kube::Config::new(format!("http://{}", args.server).parse()?))?;
    let paged = args.paged;
    let factory: InformerFactory = InformerFactoryBuilder::new(client)
        .tweak_list_options(move |options| options.streaming_lists = !paged)
        .build();
    let informer = factory.informer::<K>();
    let _by_app = informer.add_index("app", |object: &K| object.label("app").map(str::to_owned))?;
    let counts = Arc::new(Counts::default());
    let counting = counts.clone();
    let registration = informer.add_event_handler(move |event: &Event<K>| match event {
        Event::Added { .. } => {
            counting.added.fetch_add(1, Ordering::Relaxed);
        }
        Event::Updated { old, new, .. } => {
            if old.resource_version() != new.resource_version() {
                counting.updated.fetch_add(1, Ordering::Relaxed);
            }
            counting.version.store(new.resource_version().parse().unwrap_or_default(), Ordering::Release);
        }
        Event::Deleted { .. } => {}
    });

    let mut run = Run::new(PEER, work(args));
    let before = memory()?.0;
    let begin = Instant::now();
    factory.start();
    if !registration.wait_for_sync().await {
        return Err("the informer stopped before it was synced".into());
    }
    let took = begin.elapsed().as_secs_f64();
    run.set("sync s", took);
    run.set("sync µs per object", took * 1e6 / args.objects as f64);
    let cpu_of_sync = cpu()?;
    run.set("sync CPU s", cpu_of_sync.as_secs_f64());
    run.set("peak memory MB", memory()?.1);
    if counts.added.load(Ordering::Relaxed) != args.objects as u64 || informer.store().len() != args.objects {
        return Err("not every object arrived".into());
    }
    tokio::time::sleep(SETTLE).await;
    let steady = memory()?.0;
    run.set("steady memory MB", steady);
    // There is nothing that could be collected.
    run.set("steady memory, collected MB", steady);
    run.set("steady bytes per object", (steady - before) * 1024.0 * 1024.0 / args.objects as f64);

    let begin = Instant::now();
    let server = args.server.clone();
    tokio::task::spawn_blocking(move || go(&server)).await??;
    if args.updates > 0 {
        let last = Prepared::last_version(args.objects, args.updates);
        while counts.version.load(Ordering::Acquire) < last {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        run.set("updates/s", args.updates as f64 / begin.elapsed().as_secs_f64());
        run.set("updates CPU s", (cpu()? - cpu_of_sync).as_secs_f64());
        run.set("memory after updates MB", memory()?.0);
        let told = counts.updated.load(Ordering::Relaxed) as f64;
        run.set("updates told one by one %", 100.0 * told / args.updates as f64);
    }
    run.print()
}

fn work(args: &Args) -> String {
    let mode = if args.paged { "paged" } else { "streamed" };
    let form = if args.compact { ", compact form" } else { "" };
    format!("{} {} {mode}{form}", args.objects, args.shape.name())
}
