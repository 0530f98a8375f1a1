//! Sync and updates: an informer with the namespace index, an index over one label, and a quick handler, as those
//! of controllers, that counts what is added and the old and new states of what is updated.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use genclient_bench::{
    Result,
    replay::{Prepared, go},
    shapes::Shape,
    target::{Measured, SETTLE, Target},
    writes::{self, Latencies, PATIENCE, SENT},
};
use genclient_runtime::{
    Event, InformerFactory, client::connect, factory::InformerFactoryBuilder, informer::quick,
    object::Watched,
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use samplecrd_apis::samplecrd::v1::Network;
use tokio::sync::Notify;

use crate::{PEER, compact::CompactNetwork};

#[derive(Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: Target,
    /// Caches networks in a compact form of one's own.
    #[arg(long)]
    compact: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match args.target.shape {
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
    /// The version that the handler has reached.
    version: AtomicU64,
    latencies: Latencies,
    /// Notified when the handler has got all updates of a real server.
    done: Notify,
}

async fn sync<K: Watched>(args: &Args) -> Result<()> {
    let target = &args.target;
    let client = connect(target.config().await?)?;
    let paged = target.paged;
    let factory: InformerFactory = InformerFactoryBuilder::new(client)
        .keep_managed_fields(target.managed_fields)
        .tweak_list_options(move |options| options.streaming_lists = !paged)
        .build();
    let informer = factory.informer::<K>();
    let _by_app = informer.add_index("app", |object: &K| object.label("app").map(str::to_owned))?;
    let (counts, is_real) = (Arc::new(Counts::default()), target.kubeconfig.is_some());
    let (counting, updates) = (counts.clone(), target.updates);
    let registration = informer.add_event_handler(quick(move |event: &Event<K>| match event {
        Event::Added { .. } => {
            counting.added.fetch_add(1, Ordering::Relaxed);
        }
        Event::Updated { new, .. } if is_real => {
            counting.latencies.heard(new.label(SENT));
            if counting.latencies.count() >= updates {
                counting.done.notify_one();
            }
        }
        Event::Updated { old, new, .. } => {
            if old.resource_version() != new.resource_version() {
                counting.updated.fetch_add(1, Ordering::Relaxed);
            }
            counting.version.store(new.resource_version().parse().unwrap_or_default(), Ordering::Release);
        }
        Event::Deleted { .. } => {}
    }));

    let form = if args.compact { ", compact form" } else { "" };
    let mut measured = Measured::begin(PEER, target, form)?;
    factory.start();
    if !registration.wait_for_sync().await {
        return Err("the informer stopped before it was synced".into());
    }
    measured.synced()?;
    let added = counts.added.load(Ordering::Relaxed);
    if added != target.objects as u64 || informer.store().len() != target.objects {
        return Err("not every object arrived".into());
    }
    tokio::time::sleep(SETTLE).await;
    measured.settled()?;
    if target.updates == 0 {
        return measured.run.print();
    }

    measured.follow();
    if let Some(server) = target.server.clone() {
        tokio::task::spawn_blocking(move || go(&server)).await??;
        let last = Prepared::last_version(target.objects, target.updates);
        while counts.version.load(Ordering::Acquire) < last {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        measured.followed(target.updates, counts.updated.load(Ordering::Relaxed) as f64)?;
    } else if let Some(writer) = &target.writer {
        let writer = writes::start(target, writer)?;
        let patience = Duration::from_secs(target.updates as u64) / writes::RATE + PATIENCE;
        // Asking at intervals would cost as much as the events. What is missing after the timeout is reported.
        let _ = tokio::time::timeout(patience, counts.done.notified()).await;
        measured.followed(target.updates, counts.latencies.count() as f64)?;
        counts.latencies.report(&mut measured.run);
        tokio::task::spawn_blocking(move || writes::finish(writer)).await??;
    }
    measured.run.print()
}
