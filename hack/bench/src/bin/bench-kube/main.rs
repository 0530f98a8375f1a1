//! kube-rs' side of the benchmark: its reflector with its store, and a loop that counts what comes.
//!
//! The reflector has no index, no old state and no handlers; the loop stands for the handler.

use std::{
    fmt::Debug,
    hash::Hash,
    time::{Duration, Instant},
};

use clap::Parser;
use futures::StreamExt as _;
use genclient_bench::{
    Result,
    measure::{Run, cpu, memory},
    replay::{Prepared, go},
    shapes::Shape,
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api, Client, CustomResource, Resource,
    runtime::{WatchStreamExt as _, reflector, watcher},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// How long the memory is left to settle after the sync.
const SETTLE: Duration = Duration::from_millis(500);

#[derive(Parser)]
#[command(about = "Measures kube-rs' reflector")]
struct Args {
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
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match args.shape {
            Shape::Network => sync::<Network>(&args).await,
            Shape::Deployment => sync::<Deployment>(&args).await,
            Shape::Pod => sync::<Pod>(&args).await,
        }
    })
}

async fn sync<K>(args: &Args) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Hash + Eq + Clone + Default,
{
    let client = Client::try_from(kube::Config::new(format!("http://{}", args.server).parse()?))?;
    let config = watcher::Config::default();
    let config = if args.paged { config } else { config.streaming_lists() };
    let (store, writer) = reflector::store::<K>();
    let mode = if args.paged { "paged" } else { "streamed" };
    let mut run = Run::new("kube-rs", format!("{} {} {mode}", args.objects, args.shape.name()));

    let before = memory()?.0;
    let begin = Instant::now();
    let mut events = Box::pin(watcher(Api::<K>::all(client), config).reflect(writer));
    let mut added = 0;
    loop {
        match events.next().await.ok_or("the watcher ended")?? {
            watcher::Event::InitApply(_) => added += 1,
            watcher::Event::InitDone => break,
            _ => {}
        }
    }
    let took = begin.elapsed().as_secs_f64();
    run.set("sync s", took);
    run.set("sync µs per object", took * 1e6 / args.objects as f64);
    let cpu_of_sync = cpu()?;
    run.set("sync CPU s", cpu_of_sync.as_secs_f64());
    run.set("peak memory MB", memory()?.1);
    if added != args.objects || store.len() != args.objects {
        return Err("not every object arrived".into());
    }
    // A watcher works only while it is polled, and nothing comes before the run goes on.
    let _ = tokio::time::timeout(SETTLE, events.next()).await;
    let steady = memory()?.0;
    run.set("steady memory MB", steady);
    // There is nothing that could be collected.
    run.set("steady memory, collected MB", steady);
    run.set("steady bytes per object", (steady - before) * 1024.0 * 1024.0 / args.objects as f64);

    let begin = Instant::now();
    let server = args.server.clone();
    let going = tokio::task::spawn_blocking(move || go(&server));
    if args.updates > 0 {
        let last = Prepared::last_version(args.objects, args.updates).to_string();
        let mut updated = 0;
        loop {
            if let watcher::Event::Apply(object) = events.next().await.ok_or("the watcher ended")?? {
                updated += 1;
                if object.meta().resource_version.as_deref() == Some(last.as_str()) {
                    break;
                }
            }
        }
        run.set("updates/s", args.updates as f64 / begin.elapsed().as_secs_f64());
        run.set("updates CPU s", (cpu()? - cpu_of_sync).as_secs_f64());
        run.set("memory after updates MB", memory()?.0);
        run.set("updates told one by one %", 100.0 * f64::from(updated) / args.updates as f64);
    }
    going.await??;
    run.print()
}
