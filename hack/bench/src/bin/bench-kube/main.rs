//! kube-rs' side of the benchmark: its reflector with its store, and a loop that counts what comes.
//!
//! The reflector has no index, no old state and no handlers; the loop stands for the handler. It runs in
//! a spawned task: polled in the root future of `block_on`, the watcher would share no thread with its
//! connection and pay for two wake-ups of a thread at each chunk.

use std::{
    fmt::Debug,
    time::{Duration, Instant},
};

use clap::Parser;
use futures::StreamExt as _;
use genclient_bench::{
    Result,
    replay::{Prepared, go},
    shapes::Shape,
    target::{Measured, SETTLE, Target},
    writes::{self, Latencies, PATIENCE, SENT},
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt as _,
    runtime::{WatchStreamExt as _, reflector, watcher},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Clone, Parser)]
#[command(about = "Measures kube-rs' reflector")]
struct Args {
    #[command(flatten)]
    target: Target,
    /// Runs everything on one thread, as `#[tokio::main(flavor = "current_thread")]` does.
    #[arg(long)]
    one_thread: bool,
}

/// The same custom resource, as kube-rs' own derive makes it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, CustomResource)]
#[kube(group = "samplecrd.k8s.io", version = "v1", kind = "Network", namespaced)]
struct NetworkSpec {
    cidr: String,
    gateway: String,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut builder = match args.one_thread {
        true => tokio::runtime::Builder::new_current_thread(),
        false => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(2).enable_all().build()?;
    let work = async move {
        match args.target.shape {
            Shape::Network => sync::<Network>(&args).await,
            Shape::Deployment => sync::<Deployment>(&args).await,
            Shape::Pod => sync::<Pod>(&args).await,
        }
    };
    runtime.block_on(async { tokio::spawn(work).await? })
}

async fn sync<K>(args: &Args) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let target = &args.target;
    let client = Client::try_from(target.config().await?)?;
    let config = watcher::Config::default();
    let config = if target.paged { config } else { config.streaming_lists() };
    let (store, writer) = reflector::store::<K>();
    let peer = if args.one_thread { "kube-rs, one thread" } else { "kube-rs" };
    let mut measured = Measured::begin(peer, target, "")?;

    let keep = target.managed_fields;
    let mut events = watcher(Api::<K>::all(client), config)
        .modify(move |object| {
            if !keep {
                object.meta_mut().managed_fields = None;
            }
        })
        .reflect(writer)
        .boxed();
    let mut added = 0;
    loop {
        match events.next().await.ok_or("the watcher ended")?? {
            watcher::Event::InitApply(_) => added += 1,
            watcher::Event::InitDone => break,
            _ => {}
        }
    }
    measured.synced()?;
    if added != target.objects || store.len() != target.objects {
        return Err("not every object arrived".into());
    }
    // A watcher works only while it is polled, and nothing comes before the run goes on.
    let _ = tokio::time::timeout(SETTLE, events.next()).await;
    measured.settled()?;
    if target.updates == 0 {
        return measured.run.print();
    }

    measured.follow();
    if let Some(server) = target.server.clone() {
        let going = tokio::task::spawn_blocking(move || go(&server));
        let last = Prepared::last_version(target.objects, target.updates).to_string();
        let mut updated = 0;
        loop {
            if let watcher::Event::Apply(object) = events.next().await.ok_or("the watcher ended")?? {
                updated += 1;
                if object.meta().resource_version.as_deref() == Some(last.as_str()) {
                    break;
                }
            }
        }
        measured.followed(target.updates, f64::from(updated))?;
        going.await??;
    } else if let Some(writer) = &target.writer {
        let writer = writes::start(target, writer)?;
        let (latencies, begin) = (Latencies::default(), Instant::now());
        let patience = Duration::from_secs(target.updates as u64) / writes::RATE + PATIENCE;
        while latencies.count() < target.updates && begin.elapsed() < patience {
            let left = patience.saturating_sub(begin.elapsed());
            let Ok(event) = tokio::time::timeout(left, events.next()).await else { break };
            if let watcher::Event::Apply(object) = event.ok_or("the watcher ended")?? {
                latencies.heard(object.labels().get(SENT).map(String::as_str));
            }
        }
        measured.followed(target.updates, latencies.count() as f64)?;
        latencies.report(&mut measured.run);
        tokio::task::spawn_blocking(move || writes::finish(writer)).await??;
    }
    measured.run.print()
}
