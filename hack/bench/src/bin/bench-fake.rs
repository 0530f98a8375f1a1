//! The fake API server beside the real one, through the same client: what a test does with either.
//!
//! Deployments are created, listed by a label, and changed under the eyes of many watchers. After every few changes
//! all watchers are waited for, because client-go's tracker, which does the same in `bench-clientgo tracker`, ends
//! the program if one of them lags a hundred events behind.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use clap::Parser;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use genclient_bench::{
    Result,
    measure::{Run, cpu, memory},
    shapes::{self, Shape},
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Namespace};
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;
use tokio::sync::Notify;

/// How many requests are sent at once.
const AT_ONCE: usize = 32;

/// How many changes are made before all watchers are waited for.
const BATCH: usize = 50;

/// How many lists are made, one after the other.
const LISTS: usize = 20;

#[derive(Parser)]
#[command(about = "Measures the fake API server, or the real one of a kubeconfig")]
struct Args {
    /// The kubeconfig of a real server; the fake without it.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// How many objects are created.
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
    /// How many changes follow.
    #[arg(long, default_value_t = 1_000)]
    updates: usize,
    /// How many watches see each of them.
    #[arg(long, default_value_t = 100)]
    watchers: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let peer = if args.kubeconfig.is_some() { "kube-apiserver" } else { "genclient" };
    let mut run = Run::new(peer, format!("fake, {} deployments", args.objects));
    let client = connect(&args, &mut run).await?;
    let objects = prepare(&client, args.objects).await?;
    let before = cpu();
    create(&client, objects, &mut run).await?;
    list(&client, args.objects, &mut run).await?;
    follow(&client, &args, &mut run).await?;
    if args.kubeconfig.is_none() {
        run.set("CPU s", (cpu() - before).as_secs_f64());
        run.set("memory MB", memory()?.0);
    }
    run.print()
}

/// The client of a server. A fake is started for it, and its first answer waited for.
async fn connect(args: &Args, run: &mut Run) -> Result<Client> {
    if let Some(path) = &args.kubeconfig {
        let file = Kubeconfig::read_from(path)?;
        return Ok(kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await?
            .try_into()?);
    }
    let begin = Instant::now();
    let client = genclient_fake::Server::new().client();
    Api::<Namespace>::all(client.clone()).get("default").await?;
    run.set("start to first answer ms", begin.elapsed().as_secs_f64() * 1e3);
    Ok(client)
}

/// Creates the namespaces, and returns the objects to be created.
async fn prepare(client: &Client, count: usize) -> Result<Vec<Deployment>> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for number in 0..(count / shapes::OBJECTS_PER_NAMESPACE).max(1) {
        let name = shapes::namespace(number, count);
        let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        match namespaces.create(&PostParams::default(), &namespace).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            created => drop(created?),
        }
    }
    let objects = (0..count).map(|number| serde_json::from_str(&Shape::Deployment.manifest(number, count)));
    Ok(objects.collect::<Result<_, _>>()?)
}

async fn create(client: &Client, objects: Vec<Deployment>, run: &mut Run) -> Result<()> {
    let (begin, count) = (Instant::now(), objects.len());
    stream::iter(objects)
        .map(async |object| {
            let namespace = object.metadata.namespace.clone().unwrap_or_default();
            let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
            deployments.create(&PostParams::default(), &object).await
        })
        .buffer_unordered(AT_ONCE)
        .try_for_each(async |_| Ok(()))
        .await?;
    run.set("creates/s", count as f64 / begin.elapsed().as_secs_f64());
    Ok(())
}

/// Lists by a label that a hundred objects have.
async fn list(client: &Client, count: usize, run: &mut Run) -> Result<()> {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let begin = Instant::now();
    for number in 0..LISTS {
        let params = ListParams::default().labels(&format!("app={}", shapes::app(number, count)));
        let found = deployments.list(&params).await?.items.len();
        if found != shapes::OBJECTS_PER_APP {
            return Err(format!("{found} objects have a label that {} have", shapes::OBJECTS_PER_APP).into());
        }
    }
    run.set("list by a label, 100 objects ms", begin.elapsed().as_secs_f64() * 1e3 / LISTS as f64);
    let begin = Instant::now();
    let found = deployments.list(&ListParams::default()).await?.items.len();
    if found != count {
        return Err(format!("{found} objects are listed of {count}").into());
    }
    run.set("list of everything ms", begin.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Changes objects while watchers watch, and counts the events that they see.
async fn follow(client: &Client, args: &Args, run: &mut Run) -> Result<()> {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let version = deployments.list(&ListParams::default().limit(1)).await?.metadata.resource_version;
    let version = version.ok_or("a list without a version")?;
    let (seen, news) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let mut watchers = Vec::new();
    for _ in 0..args.watchers {
        let mut events = deployments.watch(&WatchParams::default(), &version).await?.boxed();
        let (seen, news) = (Arc::clone(&seen), Arc::clone(&news));
        watchers.push(tokio::spawn(async move {
            while let Some(Ok(event)) = events.next().await {
                if matches!(event, WatchEvent::Modified(_)) {
                    seen.fetch_add(1, Ordering::Relaxed);
                    news.notify_one();
                }
            }
        }));
    }
    let begin = Instant::now();
    for turn in 0..args.updates {
        let number = turn.wrapping_mul(7919) % args.objects;
        let one: Api<Deployment> = Api::namespaced(client.clone(), &shapes::namespace(number, args.objects));
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "turn": turn.to_string() } } }));
        one.patch(&shapes::name(number), &PatchParams::default(), &patch).await?;
        if turn % BATCH == BATCH - 1 || turn == args.updates - 1 {
            while seen.load(Ordering::Relaxed) < (turn + 1) * args.watchers {
                news.notified().await;
            }
        }
    }
    let events = (args.updates * args.watchers) as f64;
    run.set(&format!("events/s to {} watchers", args.watchers), events / begin.elapsed().as_secs_f64());
    watchers.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}
