//! `samplecrd-controller`: flags, clients, factory, signals.

// Failures are errors that the caller can handle; only tests may panic.
#![warn(clippy::unwrap_used)]

use std::{io::IsTerminal, process::ExitCode, time::Duration};

use clap::Parser;
use genclient_runtime::{
    Client, InformerFactory, client,
    events::{EventRecorder, Reporter},
    kube::{
        Config,
        config::{KubeConfigOptions, Kubeconfig},
    },
};
use samplecrd_controller::{
    Controller, Options, RunError,
    cli::{Args, LogFormat, ProviderKind},
    provider::{Cloud, Installation, Memory, Neutron, Provider},
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{error, info, warn};
use tracing_subscriber::EnvFilter;

/// The delay between two attempts to read the identity of the cluster.
const IDENTITY_RETRY: Duration = Duration::from_secs(3);

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    init_logging(&args);
    match start(&args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match failure.downcast_ref::<RunError>() {
                Some(error) => error!(%error, "the controller ended in an error state"),
                None => error!(error = %failure, "cannot run the controller"),
            }
            ExitCode::FAILURE
        }
    }
}

async fn start(args: &Args) -> Result<(), Failure> {
    // Signals are caught before anything is started that needs an orderly shutdown.
    let mut shutdown = std::pin::pin!(shutdown_signal()?);
    match args.provider() {
        ProviderKind::Memory => {
            warn!(
                "networks are created in memory and are lost with this process; use --provider neutron for real ones"
            );
            let client = client::connect(kube_config(args).await?)?;
            run(args, client, Memory::default(), shutdown).await
        }
        ProviderKind::Neutron => {
            let mut cloud = Cloud::from_env(|name| std::env::var(name).ok())?;
            if let Some(url) = &args.neutron_url {
                cloud.network_endpoint_override = Some(url.clone());
            }
            let neutron = neutron_client::Client::new(&cloud)?;
            let client = client::connect(kube_config(args).await?)?;
            info!(installation = %args.installation, "networks are created in Neutron");
            let installation = tokio::select! {
                installation = installation(args, &client) => installation?,
                () = &mut shutdown => return Ok(()),
            };
            info!(cluster = installation.cluster(), "identified the cluster");
            run(args, client, Neutron::new(neutron, installation), shutdown).await
        }
    }
}

async fn run(
    args: &Args,
    client: Client,
    provider: impl Provider,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut factory = InformerFactory::builder(client.clone());
    for namespace in &args.namespaces {
        factory = factory.namespace(namespace);
    }
    let events = EventRecorder::new(client, Reporter::from("samplecrd-controller"));
    let options = Options {
        finalizer: !args.no_finalizer,
        drift_interval: args.drift_interval,
        namespaces: args.namespaces.clone(),
        allow_mass_deletion: args.allow_mass_deletion,
    };
    let controller = Controller::new(factory.try_build()?, provider, events, options)?;
    Ok(controller.run(args.workers, shutdown).await?)
}

/// Reads the identity of the cluster, and waits for an API server that does not answer.
async fn installation(args: &Args, client: &Client) -> Result<Installation, Failure> {
    loop {
        match Installation::of_cluster(&args.installation, client.clone()).await {
            Ok(Some(installation)) => return Ok(installation),
            Ok(None) => {
                return Err("the cluster cannot be identified: its namespace kube-system has no uid".into());
            }
            Err(error) if error.is_forbidden() || error.is_unauthorized() || error.is_not_found() => {
                let advice = "allow the controller to get the namespace kube-system";
                return Err(format!("the cluster cannot be identified: {error}; {advice}").into());
            }
            Err(error) => info!("still waiting for the API server to tell the cluster's identity: {error}"),
        }
        tokio::time::sleep(IDENTITY_RETRY).await;
    }
}

/// Returns the configuration that the flags name, or that of the environment.
async fn kube_config(args: &Args) -> Result<Config, Failure> {
    let options = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match &args.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path)
                .map_err(|error| format!("cannot read the kubeconfig `{}`: {error}", path.display()))?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await?
        }
        // `KUBECONFIG` can name several files; they are merged.
        None if args.context.is_some() || std::env::var_os("KUBECONFIG").is_some() => {
            Config::from_kubeconfig(&options).await?
        }
        None => match (Config::infer().await, &args.master) {
            (Ok(config), _) => config,
            (Err(_), Some(master)) => Config::new(parse_url(master)?),
            (Err(error), None) => return Err(error.into()),
        },
    };
    if let Some(master) = &args.master {
        config.cluster_url = parse_url(master)?;
    }
    info!(server = %config.cluster_url, "using cluster");
    Ok(config)
}

fn parse_url(url: &str) -> Result<http::Uri, String> {
    url.parse().map_err(|error| format!("`{url}` is not a URL: {error}"))
}

/// Returns a future that completes at the first SIGINT or SIGTERM. The second one ends the process.
fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (first, stop) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let signal = next(&mut interrupt, &mut terminate).await;
        info!(signal, "stopping; running keys may finish");
        // Nobody is waiting if the controller has ended without a signal.
        let _ = first.send(());
        let signal = next(&mut interrupt, &mut terminate).await;
        warn!(signal, "stopping at once");
        std::process::exit(1);
    });
    Ok(async {
        let _ = stop.await;
    })
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> &'static str {
    tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    }
}

fn init_logging(args: &Args) {
    // kube's client logs failures that it also returns as errors.
    let level = match args.verbose {
        0 => "info,kube_client=off",
        1 => "info,kube_client=off,samplecrd_controller=debug,genclient_runtime=debug,neutron_client=debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match args.log_format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
