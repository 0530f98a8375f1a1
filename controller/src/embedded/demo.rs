//! The walk-through, played by the program itself: the controller first, then the CRD, the example, a change, the end.
//!
//! Every step waits until what it tells of has happened. If that takes longer than [`PATIENCE`], the demo fails.

use std::{fmt::Display, pin::pin, time::Duration};

use genclient_runtime::{
    Api, InformerFactory, ListParams, Manager, Patch, cli::Failure, factory::CacheSyncError,
    k8s_openapi::api::core::v1::Event,
};
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::clientset::{
    Clientset,
    scheme::{self, Object},
    typed::samplecrd::v1::NetworkClient,
};
use serde_json::json;
use tokio::{sync::oneshot, time::Instant};

use super::Cluster;
use crate::{
    Controller, Options,
    provider::{Desired, Memory},
};

/// How long a step may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The object of the story.
const EXAMPLE: &str = include_str!("../../example/example-network.yaml");

/// Plays the walk-through on a cluster of its own, with the provider in memory, and prints it.
///
/// # Errors
///
/// Returns an error if a step does not happen, if the controller ends too early, or if `shutdown` completes before
/// the end of the story.
pub async fn play(
    options: Options,
    workers: usize,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let cluster = Cluster::start(None).await?;
    let provider = Memory::default();
    let manager = Manager::builder("samplecrd-controller").build(cluster.client())?;
    let controller = Controller::new(&manager, provider.clone(), options)?;
    // The user of the story is a client like any other, with a connection.
    let user = cluster.connect().await?;
    let story = Story {
        networks: Clientset::new(user.clone()).samplecrd_v1().networks("default"),
        events: Api::namespaced(user, "default"),
        cluster: &cluster,
        factory: manager.factory().clone(),
        provider,
    };

    let (stop, stopped) = oneshot::channel::<()>();
    let mut running = pin!(controller.run(workers, async {
        let _ = stopped.await;
    }));
    let told = tokio::select! {
        told = story.tell() => told,
        ended = &mut running => {
            cluster.shutdown().await;
            return Err(ended.map_or_else(Failure::from, |()| "the controller ended before the story".into()));
        }
        () = shutdown => Err("the demo was stopped before its end".into()),
    };
    drop(stop);
    let ended = running.await;
    cluster.shutdown().await;
    told?;
    ended?;
    say("The controller and the cluster have ended in order. That is all.");
    Ok(())
}

/// Who takes part in the story.
struct Story<'a> {
    cluster: &'a Cluster,
    networks: NetworkClient,
    events: Api<Event>,
    factory: InformerFactory,
    provider: Memory,
}

impl Story<'_> {
    async fn tell(&self) -> Result<(), Failure> {
        say(
            "The controller is started first. The cluster does not know Networks yet: it says so, and waits.",
        );
        let why = self.until("the controller waits for the CRD", || self.why_it_waits()).await?;
        show(format_args!("it waits: {why}"));

        say("The CRDs are installed. The controller notices it, fills its caches and starts its workers.");
        self.cluster.install_crds()?;
        self.until("the caches are synced", async || {
            Ok(self.factory.wait_for_cache_sync(Duration::ZERO).await.is_ok().then_some(()))
        })
        .await?;

        say("A Network is created, and the provider gets it.");
        EXAMPLE.lines().for_each(show);
        let created = self.networks.create(&example()?).await?;
        self.provider_has(&created, "192.168.0.0/16", "192.168.0.1").await?;
        self.event("Synced", "192.168.0.0/16 with gateway 192.168.0.1").await?;

        say(
            "It is changed to 192.168.1.0/16 and 192.168.1.1. The range has host bits: an event says how it is taken.",
        );
        let change = json!({ "spec": { "cidr": "192.168.1.0/16", "gateway": "192.168.1.1" } });
        let changed = self.networks.patch(name(&created), &Patch::merge(&change)).await?;
        self.provider_has(&changed, "192.168.0.0/16", "192.168.1.1").await?;
        self.event("HostBitsIgnored", "192.168.1.0/16 has host bits and is taken as 192.168.0.0/16").await?;
        self.event("Synced", "192.168.0.0/16 with gateway 192.168.1.1").await?;

        say("The API server refuses what cannot work: a gateway outside of the range.");
        let wrong = Patch::merge(&json!({ "spec": { "gateway": "10.0.0.1" } }));
        match self.networks.patch(name(&created), &wrong).await {
            Err(error) if error.is_invalid() => show(error),
            Err(error) => return Err(error.into()),
            Ok(_) => return Err("a gateway outside of the range was accepted".into()),
        }

        say("It is deleted. The controller removes it from the provider, and then lets the object go.");
        self.networks.delete(name(&created)).await?;
        self.until("the network and its object are gone", async || {
            let gone = match self.networks.get(name(&created)).await {
                Ok(_) => false,
                Err(error) if error.is_not_found() => true,
                Err(error) => return Err(error.into()),
            };
            Ok((gone && self.provider.networks().is_empty()).then_some(()))
        })
        .await?;
        show("the provider has no networks, and the cluster has none either");
        Ok(())
    }

    /// Returns why the caches are not synced, if it is because there is no CRD.
    async fn why_it_waits(&self) -> Result<Option<String>, Failure> {
        match self.factory.wait_for_cache_sync(Duration::ZERO).await {
            Err(CacheSyncError::NotSynced(late)) => {
                let absent = late.into_iter().find(|late| late.reason.contains("does not serve"));
                Ok(absent.map(|absent| absent.reason))
            }
            Err(error) => Err(error.into()),
            Ok(()) => Err("the caches are synced without a CRD".into()),
        }
    }

    async fn provider_has(&self, network: &Network, cidr: &str, gateway: &str) -> Result<(), Failure> {
        let wanted = Desired::parse(cidr, gateway)?;
        self.until(&format!("the provider has {cidr} with gateway {gateway}"), async || {
            let networks = self.provider.networks();
            let found = networks.iter().find(|(owner, _)| Some(&owner.uid) == network.metadata.uid.as_ref());
            Ok(found.filter(|(_, found)| networks.len() == 1 && **found == wanted).map(drop))
        })
        .await?;
        show(format_args!("in the provider: {} {cidr}, gateway {gateway}", name(network)));
        Ok(())
    }

    async fn event(&self, reason: &str, text: &str) -> Result<(), Failure> {
        let message = self
            .until(&format!("there is an event {reason}: {text}"), async || {
                let events = self.events.list(&ListParams::default()).await?;
                let mut messages = events.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
                Ok(messages.find_map(|event| event.message.filter(|message| message.contains(text))))
            })
            .await?;
        show(format_args!("event {reason}: {message}"));
        Ok(())
    }

    /// Asks again and again until there is an answer.
    async fn until<T, F>(&self, what: &str, ask: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<Option<T>, Failure>>,
    {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = ask().await? {
                return Ok(answer);
            }
            if Instant::now() >= deadline {
                return Err(format!("it did not happen within {PATIENCE:?} that {what}").into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn example() -> Result<Network, Failure> {
    match scheme::decode(EXAMPLE)?.into_iter().next() {
        Some(Object::SamplecrdV1Network(network)) => Ok(*network),
        other => Err(format!("the example is no Network: {other:?}").into()),
    }
}

fn name(network: &Network) -> &str {
    network.metadata.name.as_deref().unwrap_or_default()
}

/// Tells what comes next.
#[allow(clippy::print_stdout, reason = "the story is what the program is asked for")]
fn say(text: &str) {
    println!("\n# {text}");
}

/// Shows what was seen.
#[allow(clippy::print_stdout, reason = "the story is what the program is asked for")]
fn show(text: impl Display) {
    println!("  {text}");
}
