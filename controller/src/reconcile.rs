//! One key brought in line with the provider: get, decide, act, report.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc, time::Duration};

use genclient_runtime::{Action, ObjectKey, Patch, SharedInformer, events::EventRecorder};
use parking_lot::Mutex;
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::{clientset::Clientset, listers::samplecrd::v1::NetworkLister};
use serde_json::json;
use tracing::{debug, info, warn};

use crate::provider::{self, Desired, Owner, Provider, RetryPolicy};

/// The finalizer that holds a Network back until its network is gone from the provider.
pub const FINALIZER: &str = "samplecrd.k8s.io/provider-network";

/// Why a key could not be reconciled; the queue tries it again with backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The provider did not do what it was asked for.
    #[error("provider: {0}")]
    Provider(#[from] provider::Error),
    /// The API server did not do what it was asked for.
    #[error("API server: {0}")]
    Api(#[from] genclient_runtime::Error),
}

/// How the controller behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether a finalizer holds deleted objects back until their network is gone.
    pub finalizer: bool,
    /// How long after a success the provider is looked at again.
    pub drift_interval: Duration,
    /// The namespaces that are looked after; empty for all.
    pub namespaces: Vec<String>,
}

/// Brings Networks and the provider's networks in line.
pub struct Reconciler<P> {
    pub(crate) clientset: Clientset,
    pub(crate) informer: SharedInformer<Network>,
    pub(crate) networks: NetworkLister,
    pub(crate) provider: P,
    pub(crate) events: EventRecorder,
    pub(crate) options: Options,
    /// The generation of each object that was last reported as synced, by uid: what is repaired
    /// between two changes is logged, but is no news for the API server.
    pub(crate) reported: Mutex<HashMap<ObjectKey, (String, i64)>>,
}

impl<P: Provider> Reconciler<P> {
    /// Brings one key in line.
    pub async fn reconcile(self: Arc<Self>, key: ObjectKey) -> Result<Action, Error> {
        let Some(network) = self.get(&key) else { return self.delete_by_key(&key).await };
        let version = network.metadata.resource_version.as_deref().unwrap_or_default();
        info!(%key, version, cidr = %network.spec.cidr, gateway = %network.spec.gateway, "processing network");
        let result = match network.metadata.deletion_timestamp {
            Some(_) => self.finalize(&key, &network).await,
            None => self.apply(&key, &network).await,
        };
        self.report(&key, &network, result)
    }

    fn get(&self, key: &ObjectKey) -> Option<Arc<Network>> {
        self.networks.networks(key.namespace.as_deref()?).get(&key.name)
    }

    /// The object is gone, and nothing is known of it but its key.
    async fn delete_by_key(&self, key: &ObjectKey) -> Result<Action, Error> {
        // An object that could never be read is not in the cache either, but it is there: its network stays.
        if let Some(object) = self.informer.invalid().into_iter().find(|object| object.key == *key) {
            warn!(%key, version = object.resource_version, error = object.error, "network cannot be read; leaving it as it is");
            return Ok(Action::await_change());
        }
        info!(%key, "network does not exist in the local cache, deleting it in the provider");
        self.provider.delete_key(key).await?;
        self.reported.lock().remove(key);
        info!(%key, "successfully synced");
        Ok(Action::await_change())
    }

    /// The object is on its way out: first the provider's network, then the finalizer.
    async fn finalize(&self, key: &ObjectKey, network: &Network) -> Result<Outcome, Error> {
        if has_finalizer(network) {
            info!(%key, "deleting network in the provider");
            self.provider.delete(&owner(key, network)).await?;
            // That the object is gone already is what was wanted.
            self.set_finalizers(key, network, without_finalizer(network)).await?;
        }
        Ok(Outcome::Settled)
    }

    /// The object is wanted: the provider's network must be as its spec says.
    async fn apply(&self, key: &ObjectKey, network: &Network) -> Result<Outcome, Error> {
        let desired = match Desired::parse(&network.spec.cidr, &network.spec.gateway) {
            Ok(desired) => desired,
            Err(error) => return Ok(Outcome::Invalid(error.to_string())),
        };
        let normalised = desired.cidr.to_string();
        if normalised != network.spec.cidr {
            info!(%key, given = %network.spec.cidr, used = %normalised, "the CIDR is used without its host bits");
        }
        // The finalizer comes first: a network that exists must never be without it.
        if self.options.finalizer && !has_finalizer(network) {
            let finalizers = network.metadata.finalizers.iter().flatten().cloned();
            let finalizers = finalizers.chain([FINALIZER.to_owned()]).collect();
            if !self.set_finalizers(key, network, finalizers).await? {
                info!(%key, "network was deleted meanwhile");
                return Ok(Outcome::Settled);
            }
        }
        let owner = owner(key, network);
        match self.provider.get(&owner).await? {
            Some(actual) if actual.is(&desired) => {
                debug!(%key, id = %actual.id, "the provider's network is as desired")
            }
            actual => {
                let done = if actual.is_some() { "updated" } else { "created" };
                let actual = self.provider.apply(&owner, &desired).await?;
                info!(%key, id = %actual.id, cidr = %desired.cidr, gateway = %desired.gateway, "{done} network in the provider");
            }
        }
        Ok(Outcome::Synced)
    }

    /// Replaces the finalizers, and says whether the object still exists.
    ///
    /// If somebody else changed the object meanwhile it is a conflict: the queue tries again with the
    /// newer state, and the user is not told.
    async fn set_finalizers(
        &self,
        key: &ObjectKey,
        network: &Network,
        finalizers: Vec<String>,
    ) -> Result<bool, Error> {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let patch = Patch::Merge(json!({
            "metadata": { "resourceVersion": network.metadata.resource_version, "finalizers": finalizers },
        }));
        match self.clientset.samplecrd_v1().networks(namespace).patch(&key.name, &patch).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells the user how it went, and the queue what comes next.
    fn report(
        &self,
        key: &ObjectKey,
        network: &Network,
        result: Result<Outcome, Error>,
    ) -> Result<Action, Error> {
        let again = Ok(Action::requeue(self.options.drift_interval));
        let version = network.metadata.resource_version.as_deref().unwrap_or_default();
        match result {
            Ok(Outcome::Synced) => {
                let synced = (
                    network.metadata.uid.clone().unwrap_or_default(),
                    network.metadata.generation.unwrap_or_default(),
                );
                if self.reported.lock().insert(key.clone(), synced.clone()) != Some(synced) {
                    self.events.normal(network, "Synced", "Network synced successfully");
                }
                info!(%key, version, "successfully synced");
                again
            }
            Ok(Outcome::Settled) => {
                self.reported.lock().remove(key);
                info!(%key, version, "successfully synced");
                Ok(Action::await_change())
            }
            Ok(Outcome::Invalid(reason)) => {
                self.reported.lock().remove(key);
                warn!(%key, version, %reason, "the spec is not valid; waiting for it to change");
                self.events.warning(network, "InvalidSpec", reason);
                Ok(Action::await_change())
            }
            Err(Error::Provider(error)) => {
                self.reported.lock().remove(key);
                self.events.warning(network, error.kind.reason(), &error);
                match error.retry_policy() {
                    RetryPolicy::Backoff => Err(error.into()),
                    RetryPolicy::AfterChange => {
                        warn!(%key, version, %error, "the provider refuses the network; a person must change something");
                        again
                    }
                }
            }
            Err(error) => Err(error),
        }
    }
}

/// How a reconciliation without errors ended.
enum Outcome {
    /// The provider's network is as desired.
    Synced,
    /// The object is on its way out and nothing is left of its network.
    Settled,
    /// The spec cannot be made real.
    Invalid(String),
}

fn owner(key: &ObjectKey, network: &Network) -> Owner {
    Owner {
        namespace: key.namespace.clone().unwrap_or_default(),
        name: key.name.clone(),
        uid: network.metadata.uid.clone().unwrap_or_default(),
    }
}

fn has_finalizer(network: &Network) -> bool {
    network.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

fn without_finalizer(network: &Network) -> Vec<String> {
    network
        .metadata
        .finalizers
        .iter()
        .flatten()
        .filter(|finalizer| *finalizer != FINALIZER)
        .cloned()
        .collect()
}
