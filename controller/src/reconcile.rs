//! Reconciles one key: reads the object, updates the provider, reports the result.
//!
//! # Guarantees
//! - **Deletion by uid.** A network is deleted only if the deletion of the object with its uid was observed, if
//!   that object is being finalized, or if the [sweep](crate::sweep) condemned it. An object that is merely
//!   absent from the cache keeps its network.
//! - **Events tell what happened, and do not multiply.** Repeated failures with the same message are one event
//!   with a count. What was reported is kept in memory only. After a restart each invalid spec is therefore
//!   reported once more, and the event of a change is missing if the controller was killed between the change
//!   and the event.

mod outcome;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc, time::Duration};

use genclient_runtime::{
    Action, ObjectKey, ObjectMeta, RestClient, SharedInformer, TypedClient, events::EventRecorder,
    kube::core::PartialObjectMeta, retry::RetryPolicy, store::Index,
};
use parking_lot::Mutex;
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::listers::samplecrd::v1::NetworkLister;
use tracing::{debug, info, warn};

pub use self::outcome::Error;
use self::outcome::{Outcome, Reported, Retry};
use crate::{
    provider::{Change, Desired, Fenced, Owner, Provider},
    sweep::Condemned,
};

/// The finalizer that keeps a deleted Network until its network is deleted in the provider.
pub const FINALIZER: &str = "samplecrd.k8s.io/provider-network";

/// A Network of which only the metadata is read, which suffices to finalize one whose spec does not decode.
pub(crate) type NetworkMeta = PartialObjectMeta<Network>;

/// How the controller behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether a finalizer keeps deleted objects until their networks are deleted.
    pub finalizer: bool,
    /// The interval at which networks are compared with their objects, and the time between two sweeps.
    pub drift_interval: Duration,
    /// The namespaces to watch; empty for all.
    pub namespaces: Vec<String>,
    /// Whether a sweep may delete any number of orphans.
    pub allow_mass_deletion: bool,
}

/// Reconciles Networks with the provider.
pub(crate) struct Reconciler<P> {
    pub client: RestClient,
    /// The metadata of every object.
    pub objects: SharedInformer<NetworkMeta>,
    /// The same objects by uid.
    pub by_uid: Index<NetworkMeta, String>,
    /// Every object that decodes.
    pub informer: SharedInformer<Network>,
    pub networks: NetworkLister,
    pub provider: Fenced<P>,
    pub events: EventRecorder,
    pub options: Options,
    pub condemned: Condemned,
    /// The last report about each object, so that it is not repeated.
    pub reported: Mutex<HashMap<ObjectKey, Reported>>,
}

impl<P: Provider> Reconciler<P> {
    /// Reconciles one key.
    pub async fn reconcile(self: Arc<Self>, key: ObjectKey) -> Result<Action, Error> {
        let left_overs = self.remove_left_overs(&key).await;
        let object = self.reconcile_object(&key).await;
        match left_overs {
            Ok(()) => object,
            // A network that cannot be deleted yet does not block the object, and is not forgotten.
            Err(error) => self.retry(&key, error, false),
        }
    }

    /// Deletes the networks of deleted objects that had this key.
    async fn remove_left_overs(&self, key: &ObjectKey) -> Result<(), Error> {
        for uid in self.condemned.of(key) {
            // A restored backup can bring an object back with its old uid.
            if self.by_uid.get(&uid).is_empty() {
                info!(%key, uid, "network does not exist in the local cache, deleting it in the provider");
                self.provider.delete(&owner(key, &uid)).await?;
                info!(%key, uid, "successfully synced");
            }
            self.condemned.forget(key, &uid);
        }
        Ok(())
    }

    async fn reconcile_object(&self, key: &ObjectKey) -> Result<Action, Error> {
        let Some(object) = self.objects.store().get(key) else {
            self.reported.lock().remove(key);
            return Ok(Action::await_change());
        };
        let outcome = if object.metadata.deletion_timestamp.is_some() {
            self.finalize(key, &object).await
        } else {
            let Some(network) = self.read(key, &object.metadata) else {
                return Ok(Action::requeue(self.options.drift_interval));
            };
            let version = network.metadata.resource_version.as_deref().unwrap_or_default();
            info!(%key, version, cidr = %network.spec.cidr, gateway = %network.spec.gateway, "processing network");
            self.apply(key, &object, &network).await
        };
        self.report(key, &object, outcome)
    }

    /// Returns the object with its spec, if the two caches have the same version. If one is behind, its next
    /// event queues the key again.
    fn read(&self, key: &ObjectKey, meta: &ObjectMeta) -> Option<Arc<Network>> {
        let network = self.networks.networks(key.namespace.as_deref()?).get(&key.name);
        if let Some(object) = self.informer.invalid().into_iter().find(|object| object.key == *key) {
            warn!(%key, version = object.resource_version, error = object.error, "network cannot be read; using its last good state");
            return network.filter(|network| network.metadata.uid == meta.uid);
        }
        network.filter(|network| network.metadata.resource_version == meta.resource_version)
    }

    /// Deletes the network of a deleted object, and then removes the finalizer.
    async fn finalize(&self, key: &ObjectKey, object: &Arc<NetworkMeta>) -> Result<Outcome, Error> {
        let meta = &object.metadata;
        if has_finalizer(meta) {
            info!(%key, "deleting network in the provider");
            self.provider.delete(&owner(key, uid(meta))).await?;
            // If the object is already gone, nothing is left to do.
            self.change_finalizers(object, |finalizers| finalizers.retain(|name| name != FINALIZER)).await?;
            info!(%key, "deleted network in the provider and removed the finalizer");
        }
        Ok(Outcome::Settled)
    }

    /// Makes the network of an object as its spec says.
    async fn apply(
        &self,
        key: &ObjectKey,
        object: &Arc<NetworkMeta>,
        network: &Network,
    ) -> Result<Outcome, Error> {
        let meta = &object.metadata;
        let owner = owner(key, uid(meta));
        let desired = match Desired::parse(&network.spec.cidr, &network.spec.gateway) {
            Ok(desired) => desired,
            Err(error) => {
                // The desired state is unknown, but the object still owns at most one network.
                if let Err(problem) = self.provider.tidy(&owner).await {
                    warn!(%key, %problem, "cannot tidy up; trying again after the drift interval");
                }
                return Ok(Outcome::Invalid(error));
            }
        };
        // The finalizer comes first, because a network must not exist without it.
        if self.options.finalizer && !has_finalizer(meta) {
            let add = |finalizers: &mut Vec<String>| finalizers.push(FINALIZER.to_owned());
            if !self.change_finalizers(object, add).await? {
                info!(%key, "network was deleted meanwhile");
                return Ok(Outcome::Settled);
            }
        }
        let applied = self.provider.apply(&owner, &desired).await?;
        let done = match applied.change {
            Change::None => "",
            Change::Created => "created network in the provider",
            Change::Updated => "updated network in the provider",
        };
        if !done.is_empty() {
            info!(%key, id = %applied.id, cidr = %desired.cidr, gateway = %desired.gateway, "{done}");
        }
        Ok(Outcome::Synced { given: network.spec.cidr.clone(), desired, change: applied.change })
    }

    /// Changes the finalizers. Returns whether the object still exists.
    ///
    /// A change by somebody else is a conflict, after which the newer version is reconciled.
    async fn change_finalizers(
        &self,
        object: &Arc<NetworkMeta>,
        mut change: impl FnMut(&mut Vec<String>) + Send,
    ) -> Result<bool, Error> {
        let key = ObjectKey::of(&**object);
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let objects = TypedClient::<NetworkMeta>::namespaced(self.client.clone(), namespace);
        let update = objects.update_with(&key.name, |object: &mut NetworkMeta| {
            change(object.metadata.finalizers.get_or_insert_default());
        });
        match update.from(Arc::clone(object)).retry(RetryPolicy::CONFLICT.attempts(1)).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reports the outcome to the user, and decides when the key is reconciled again.
    fn report(
        &self,
        key: &ObjectKey,
        object: &NetworkMeta,
        outcome: Result<Outcome, Error>,
    ) -> Result<Action, Error> {
        let again = Ok(Action::requeue(self.options.drift_interval));
        match outcome {
            Ok(Outcome::Synced { given, desired, change }) => {
                let now = Reported::synced(&object.metadata);
                let before = self.reported.lock().insert(key.clone(), now.clone());
                if Reported::is_worth_an_event(before.as_ref(), &now, change) {
                    if let Some(message) = outcome::host_bits_message(&given, &desired) {
                        self.events.normal(object, "HostBitsIgnored", message);
                    }
                    self.events.normal(object, "Synced", outcome::synced_message(&desired));
                }
                if before != Some(now) || change != Change::None {
                    info!(%key, version = object.metadata.resource_version, "successfully synced");
                }
                again
            }
            Ok(Outcome::Settled) => Ok(Action::await_change()),
            Ok(Outcome::Invalid(error)) => {
                let now = Reported::Failed { of: object.metadata.generation, reason: error.reason };
                if self.reported.lock().insert(key.clone(), now.clone()) != Some(now) {
                    warn!(%key, reason = error.reason, %error, "the spec is not valid; waiting for it to change");
                    self.events.warning(object, error.reason, error);
                }
                again
            }
            Err(Error::Provider(error)) => {
                let reason = outcome::event_reason(error.kind);
                // Without the request id, with which each failure would be a new event.
                self.events.warning(object, reason, &error.message);
                let repeated = self.note_failure(key, reason);
                self.retry(key, error.into(), repeated)
            }
            Err(error) => {
                let repeated = error.retry() == Retry::Slowly && self.note_failure(key, "ApiServerRefused");
                self.retry(key, error, repeated)
            }
        }
    }

    /// Notes a failure. Returns whether it was also the last report.
    fn note_failure(&self, key: &ObjectKey, reason: &'static str) -> bool {
        let now = Reported::Failed { of: None, reason };
        self.reported.lock().insert(key.clone(), now.clone()) == Some(now)
    }

    /// Tells the queue when to retry, by the policy of [`Error::retry`].
    fn retry(&self, key: &ObjectKey, error: Error, repeated: bool) -> Result<Action, Error> {
        match error.retry() {
            Retry::Backoff => Err(error),
            Retry::After(wait) => {
                debug!(%key, %error, ?wait, "trying again when the time has passed");
                Ok(Action::requeue(wait.min(self.options.drift_interval)))
            }
            Retry::Slowly => {
                if repeated {
                    debug!(%key, %error, "still refused");
                } else {
                    warn!(%key, %error, "refused; a person must change something");
                }
                Ok(Action::requeue(self.options.drift_interval))
            }
        }
    }
}

fn owner(key: &ObjectKey, uid: &str) -> Owner {
    Owner {
        namespace: key.namespace.clone().unwrap_or_default(),
        name: key.name.clone(),
        uid: uid.to_owned(),
    }
}

fn uid(meta: &ObjectMeta) -> &str {
    meta.uid.as_deref().unwrap_or_default()
}

fn has_finalizer(meta: &ObjectMeta) -> bool {
    meta.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}
