//! `samplecrd-controller`: flags, clients, factory, signals.

// Failures are errors that the caller can handle; only tests may panic.
#![warn(clippy::unwrap_used)]

use std::{process::ExitCode, time::Duration};

use genclient_runtime::{
    Client, Manager,
    cli::{Failure, shutdown_signal},
};
#[cfg(feature = "embedded")]
use samplecrd_controller::embedded::{Cluster, demo};
use samplecrd_controller::{
    Controller, Options, RunError,
    cli::{Args, ProviderKind},
    provider::{Cloud, Installation, Memory, Neutron, Provider, user_agent},
};
use tracing::{error, info, warn};

/// The delay between two attempts to read the identity of the cluster.
const IDENTITY_RETRY: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse_and_check();
    args.log.init(&["samplecrd_controller", "neutron_client"]);
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
    let shutdown = shutdown_signal()?;
    #[cfg(feature = "embedded")]
    if args.embedded.demo {
        return demo::play(options(args), args.controller.workers, shutdown).await;
    } else if args.embedded.embedded {
        return start_embedded(args, shutdown).await;
    }
    control(args, async { Ok(args.cluster.connect().await?) }, shutdown).await
}

/// Runs the controller on a cluster in this process.
#[cfg(feature = "embedded")]
#[allow(clippy::print_stdout, reason = "how to use the cluster is what the user is to read, not the log")]
async fn start_embedded(args: &Args, shutdown: impl Future<Output = ()>) -> Result<(), Failure> {
    let cluster = Cluster::start(args.embedded.data.as_deref()).await?;
    cluster.install_crds()?;
    println!("{}", cluster.welcome());
    let ended = control(args, std::future::ready(Ok(cluster.client())), shutdown).await;
    cluster.shutdown().await;
    ended
}

/// Runs the controller with the provider of the flags.
async fn control(
    args: &Args,
    connect: impl Future<Output = Result<Client, Failure>>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    match args.provider() {
        ProviderKind::Memory => {
            warn!(
                "networks are created in memory and are lost with this process; use --provider neutron for real ones"
            );
            run(args, connect.await?, Memory::default(), shutdown).await
        }
        ProviderKind::Neutron => {
            let mut cloud = Cloud::from_env(|name| std::env::var(name).ok())?;
            if let Some(url) = &args.neutron_url {
                cloud.network_endpoint_override = Some(url.clone());
            }
            let neutron = neutron_client::Client::new(&cloud)?.with_user_agent(user_agent);
            let client = connect.await?;
            info!(installation = %args.installation, "networks are created in Neutron");
            let mut shutdown = std::pin::pin!(shutdown);
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
    let mut manager = Manager::builder("samplecrd-controller").namespaces(&args.controller.namespaces);
    if let Some(lease) = &args.lease {
        manager = manager.lease(lease);
    }
    let controller = Controller::new(&manager.build(client)?, provider, options(args))?;
    Ok(controller.run(args.controller.workers, shutdown).await?)
}

fn options(args: &Args) -> Options {
    Options {
        finalizer: !args.no_finalizer,
        drift_interval: args.drift_interval,
        namespaces: args.controller.namespaces.clone(),
        allow_mass_deletion: args.allow_mass_deletion,
    }
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
