//! A Network for each Deployment: two kinds of two clients in one controller.
//!
//! It shows the orchestration of built-in objects with custom ones. Together with the Network controller a chain runs:
//! a Deployment appears, this controller makes a Network for it, and that one makes a subnet in Neutron. When the
//! Deployment is deleted, so is the Network, and with it the subnet.
//!
//! - **Kinds of two clients.** One client is of Kubernetes' own kinds, the other of the sample's. The manager has the
//!   informers of both.
//! - **One Network for one Deployment, by uid.** The Network has the name of its Deployment and a controller
//!   reference to it. If a Deployment is deleted and created again, the old Network goes before the new one comes.
//! - **Removal does not depend on an event.** The keys of all Networks' owners are queued at the start, so what was
//!   deleted while no controller ran is found. The garbage collector usually is faster, but it is not needed.
//! - **What belongs to others is not touched.** A Network of the same name without such a reference is a Warning
//!   event. `kubectl delete --cascade=orphan` leaves the Network.

mod ranges;

use std::{process::ExitCode, sync::Arc};

use clap::Parser;
use genclient_runtime::{
    Action, Controller, Error, Manager, ObjectKey, ObjectMeta,
    cli::{self, ClusterArgs, ControllerArgs, Failure, LogArgs, Shutdown},
    events::EventRecorder,
    k8s_openapi::api::apps::v1::Deployment,
    owner::{controller_key, controller_ref, is_controlled_by},
    store::Index,
};
use kubernetes_client::{
    clientset::Clientset as Kubernetes, informers::SharedInformerFactory as KubernetesInformers,
    listers::apps::v1::DeploymentLister,
};
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::clientset::Clientset;
use tracing::info;

use self::ranges::Ranges;

/// The field manager and the reporter of events.
const NAME: &str = "deployment-network";

/// Makes a Network for each Deployment, with a range of its own in 10.0.0.0/8, and removes it with the Deployment.
///
/// The definition of Network is generated/samplecrd/crds/networks.samplecrd.k8s.io.yaml; the controller waits until it is
/// there. The first SIGINT or SIGTERM lets running keys finish and ends it with 0. Run one at a time, because two could
/// choose the same range; a manager with a lease would see to that.
#[derive(Parser)]
#[command(name = "deployment_network", max_term_width = 100)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    controller: ControllerArgs,

    #[command(flatten)]
    log: LogArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    args.log.init(&[env!("CARGO_CRATE_NAME")]);
    cli::run(|shutdown| run(args, shutdown)).await
}

async fn run(args: Args, shutdown: Shutdown) -> Result<(), Failure> {
    let client = args.cluster.connect().await?;
    let manager = Manager::builder(NAME).namespaces(args.controller.namespaces).build(client)?;
    let networks = manager.factory().informer::<Network>();
    let reconciler = Arc::new(Reconciler {
        deployments: KubernetesInformers::from(manager.factory().clone()).apps().v1().deployments().lister(),
        owned: networks.add_index("owner", controller_key::<Deployment>)?,
        ranges: Ranges::of(&networks)?,
        events: manager.events().clone(),
        kubernetes: Kubernetes::new(manager.client()),
        samplecrd: Clientset::new(manager.client()),
    });
    Controller::<Deployment>::new(&manager)
        .owns::<Network>()
        // A Network of somebody else that is in a Deployment's way has its name, and so its key.
        .watches::<Network>(|network| vec![ObjectKey::of(network)])
        .workers(args.controller.workers)
        .run_keys_with(reconciler, |key, reconciler: Arc<Reconciler>| reconciler.reconcile(key));
    Ok(manager.run_until(shutdown).await?)
}

struct Reconciler {
    kubernetes: Kubernetes,
    samplecrd: Clientset,
    deployments: DeploymentLister,
    /// The Networks by the key of the Deployment that they belong to, whatever its uid.
    owned: Index<Network, ObjectKey>,
    ranges: Ranges,
    events: EventRecorder,
}

impl Reconciler {
    async fn reconcile(self: Arc<Self>, key: ObjectKey) -> Result<Action, Error> {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let deployment = self.deployments.deployments(namespace).get(&key.name);
        let (own, others): (Vec<_>, Vec<_>) = self.owned.get(&key).into_iter().partition(|network| {
            deployment.as_ref().is_some_and(|deployment| is_controlled_by(&**network, &**deployment))
        });
        for network in others {
            self.remove(&key, namespace, &network).await?;
        }
        match deployment {
            None => self.ranges.forget(&key),
            Some(deployment) if deployment.metadata.deletion_timestamp.is_some() => {
                // Its dependents go with it or before it, unless they are to stay.
                let orphan = |finalizers: &Vec<String>| finalizers.iter().any(|name| name == "orphan");
                if !deployment.metadata.finalizers.as_ref().is_some_and(orphan) {
                    for network in own {
                        self.delete(&key, namespace, &network.metadata).await?;
                    }
                }
            }
            Some(deployment) if own.is_empty() => self.create(&key, namespace, &deployment).await?,
            Some(_) => self.ranges.forget(&key),
        }
        Ok(Action::await_change())
    }

    /// Makes the Network of a Deployment. If there is one of that name, its deletion queues the key again.
    async fn create(&self, key: &ObjectKey, namespace: &str, deployment: &Deployment) -> Result<(), Error> {
        let spec = self.ranges.choose(key);
        let cidr = spec.cidr.clone();
        let metadata = ObjectMeta {
            name: Some(key.name.clone()),
            owner_references: Some(vec![controller_ref(deployment)]),
            ..ObjectMeta::default()
        };
        let networks = self.samplecrd.samplecrd_v1().networks(namespace);
        match networks.create(&Network { metadata, spec }).await {
            Ok(_) => {
                info!(%key, cidr, "created the network");
                let message = format!("created the Network {} with {cidr}", key.name);
                self.events.normal(deployment, "NetworkCreated", message);
            }
            Err(error) if error.is_already_exists() => {
                let found = networks.get(&key.name).await?;
                // One of this Deployment's is an earlier one, which goes first.
                if controller_key::<Deployment>(&found).as_ref() != Some(key) {
                    self.ranges.forget(key);
                    let message = format!("the Network {} exists and belongs to somebody else", key.name);
                    info!(%key, "{message}");
                    self.events.warning(deployment, "NetworkNotOwned", message);
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Deletes the Network of a Deployment that is gone. The server is asked, because the caches of the two kinds
    /// are not of the same moment.
    async fn remove(&self, key: &ObjectKey, namespace: &str, network: &Network) -> Result<(), Error> {
        match self.kubernetes.apps_v1().deployments(namespace).get(&key.name).await {
            Ok(deployment) if is_controlled_by(network, &deployment) => Ok(()),
            Err(error) if !error.is_not_found() => Err(error),
            _ => self.delete(key, namespace, &network.metadata).await,
        }
    }

    /// Deletes a Network as it is in the cache. If it has changed since, it may have been orphaned; its change queues
    /// the key again.
    async fn delete(&self, key: &ObjectKey, namespace: &str, network: &ObjectMeta) -> Result<(), Error> {
        let ObjectMeta {
            name: Some(name), resource_version: Some(version), deletion_timestamp: None, ..
        } = network
        else {
            return Ok(());
        };
        let networks = self.samplecrd.samplecrd_v1().networks(namespace);
        match networks.delete(name).precondition_resource_version(version).await {
            Ok(_) => info!(%key, "deleted the network"),
            // Somebody was faster.
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
