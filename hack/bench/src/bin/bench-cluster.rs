//! A real Kubernetes API server for the benchmark, filled with objects, and a writer that changes them.
//!
//! Objects are created through the server, which writes their managedFields itself. There is no
//! controller manager: nothing but the benchmark changes an object.

use std::{
    io::{Read as _, Write as _},
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{Parser, Subcommand};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use genclient_bench::{
    Result,
    shapes::{self, Shape},
    writes::{RATE, SENT, now},
};
use genclient_testenv::TestEnv;
use http::{Request, header::CONTENT_TYPE};
use kube::{
    Client, CustomResourceExt as _,
    config::{KubeConfigOptions, Kubeconfig},
};
use samplecrd_apis::samplecrd::v1::Network;

/// How many requests are sent at once.
const AT_ONCE: usize = 32;

/// Whom the server names in the managedFields.
const MANAGER: &str = "fieldManager=bench";

/// How long the server may take to serve a new definition.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Parser)]
#[command(about = "A real API server with objects, and a writer that changes them")]
struct Args {
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand)]
enum Work {
    /// Starts a server, fills it, prints the path of its kubeconfig, and stops it when standard input ends.
    Serve {
        /// What it is filled with, such as `network=50000`.
        #[arg(required = true, value_parser = parse_load)]
        load: Vec<(Shape, usize)>,
    },
    /// Changes objects at a steady rate.
    Write {
        /// The kubeconfig of the server.
        #[arg(long)]
        kubeconfig: PathBuf,
        /// The form of the objects.
        #[arg(long)]
        shape: Shape,
        /// How many there are.
        #[arg(long)]
        objects: usize,
        /// How many writes there are.
        #[arg(long)]
        writes: usize,
    },
}

fn parse_load(word: &str) -> Result<(Shape, usize)> {
    let (shape, count) = word.split_once('=').ok_or("not of the form shape=count")?;
    Ok((clap::ValueEnum::from_str(shape, false)?, count.parse()?))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match Args::parse().work {
        Work::Serve { load } => serve(&load).await,
        Work::Write { kubeconfig, shape, objects, writes } => {
            let file = Kubeconfig::read_from(kubeconfig)?;
            let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
            write(&Client::try_from(config)?, shape, objects, writes).await
        }
    }
}

async fn serve(load: &[(Shape, usize)]) -> Result<()> {
    let env = TestEnv::builder()
        .own_servers()
        .without_controller_manager()
        // Pods need no service account, which only the controller manager would make.
        .apiserver_arg("--disable-admission-plugins=ServiceAccount")
        .start()
        .await?;
    let client = env.client()?;
    define(&client).await?;
    let most = load.iter().map(|(_, count)| *count).max().unwrap_or_default();
    for number in 0..most.div_ceil(shapes::OBJECTS_PER_NAMESPACE) {
        let namespace = shapes::namespace(number, most);
        let manifest =
            format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
        post(&client, "/api/v1/namespaces", manifest).await?;
    }
    for (shape, count) in load {
        let (begin, count) = (Instant::now(), *count);
        let bytes: usize = stream::iter(0..count)
            .map(|number| {
                let path = shape.collection(&shapes::namespace(number, count));
                let manifest = shape.manifest(number, count);
                let client = &client;
                async move { post(client, &path, manifest).await.map(|text| text.len()) }
            })
            .buffer_unordered(AT_ONCE)
            .try_fold(0, |sum, bytes| async move { Ok(sum + bytes) })
            .await?;
        let took = begin.elapsed().as_secs_f64();
        eprintln!("created {count} {}s of {} bytes in {took:.0} s", shape.name(), bytes / count.max(1));
    }
    println!("{}", env.kubeconfig().display());
    std::io::stdout().flush()?;
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    Ok(())
}

/// Creates the definition of the custom resource, and waits until the server serves it.
async fn define(client: &Client) -> Result<()> {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    post(client, definitions, serde_json::to_string(&Network::crd())?).await?;
    let begin = Instant::now();
    let path = Shape::Network.collection("default");
    loop {
        match client.request_text(Request::get(&path).body(Vec::new())?).await {
            Ok(_) => return Ok(()),
            Err(error) if begin.elapsed() > PATIENCE => return Err(error.into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn post(client: &Client, path: &str, body: String) -> Result<String> {
    let request = Request::post(format!("{path}?{MANAGER}")).header(CONTENT_TYPE, "application/json");
    Ok(client.request_text(request.body(body.into_bytes())?).await?)
}

/// Changes objects all over the collection. A write does not wait for the one before it.
async fn write(client: &Client, shape: Shape, objects: usize, writes: usize) -> Result<()> {
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / RATE);
    let mut sent = Vec::with_capacity(writes);
    for turn in 0..writes {
        ticks.tick().await;
        let number = turn.wrapping_mul(7919) % objects;
        let collection = shape.collection(&shapes::namespace(number, objects));
        let path = format!("{collection}/{}?{MANAGER}", shapes::name(number));
        let patch = format!(r#"{{"metadata":{{"labels":{{"{SENT}":"{}"}}}}}}"#, now());
        let request = Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json");
        let request = request.body(patch.into_bytes())?;
        let client = client.clone();
        sent.push(tokio::spawn(async move { client.request_text(request).await.map(drop) }));
    }
    for answer in sent {
        answer.await??;
    }
    Ok(())
}
