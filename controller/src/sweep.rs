//! The search for networks that no object asks for.
//!
//! An object can disappear without an event that the controller sees: while no controller runs, with its
//! finalizer removed by hand, or while a watch is broken. A request can be carried out after its sender gave
//! up. A sweep finds what this leaves in the provider. It runs at the start, at every drift interval, and
//! whenever a relist misses an object.
//!
//! # Guarantees
//! - **Only orphans.** A network is an orphan if no object has its uid, neither in the cache nor in the API
//!   server, which is asked directly. Its name does not matter.
//! - **No mass deletion by mistake.** A cluster that was restored from an old backup lacks objects, and their
//!   networks look like orphans. With the finalizer a deletion is always seen, so a sweep deletes at most one
//!   orphan, or 5 % of the networks if that is more. Without it, an object that was deleted while no controller
//!   ran looks the same, so the limit is five orphans, or half of the networks. A sweep that finds more deletes
//!   nothing. Networks without a range do not count, because nothing is lost with them.

use std::collections::{BTreeSet, HashMap, HashSet};

use genclient_runtime::{ListParams, ObjectKey, ObjectList, TypedClient};
use parking_lot::Mutex;
use tracing::info;

use crate::{
    provider::{Listed, Owner, Provider},
    reconcile::{Error, NetworkMeta, Reconciler},
};

/// Deleted objects whose networks still have to be deleted.
#[derive(Debug, Default)]
pub(crate) struct Condemned(Mutex<HashMap<ObjectKey, BTreeSet<String>>>);

impl Condemned {
    /// Adds an object.
    pub fn add(&self, key: ObjectKey, uid: String) {
        self.0.lock().entry(key).or_default().insert(uid);
    }

    /// Returns the uids of the deleted objects that had this key.
    pub fn of(&self, key: &ObjectKey) -> Vec<String> {
        self.0.lock().get(key).into_iter().flatten().cloned().collect()
    }

    /// Returns the keys that deleted objects had.
    fn keys(&self) -> Vec<ObjectKey> {
        self.0.lock().keys().cloned().collect()
    }

    /// Returns all uids.
    fn uids(&self) -> HashSet<String> {
        self.0.lock().values().flatten().cloned().collect()
    }

    /// Removes an object whose network has been deleted.
    pub fn forget(&self, key: &ObjectKey, uid: &str) {
        let mut all = self.0.lock();
        if let Some(uids) = all.get_mut(key) {
            uids.remove(uid);
            if uids.is_empty() {
                all.remove(key);
            }
        }
    }
}

/// The result of a sweep.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Swept {
    /// The keys to reconcile: those of condemned networks, of orphans, which are condemned now, and of objects with
    /// several networks.
    Found(BTreeSet<ObjectKey>),
    /// There are more orphans than a sweep may delete.
    Refused(MassDeletion),
}

/// A sweep that found more orphans than it may delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{orphans} of {networks} networks in the provider belong to no object of this cluster; refusing to delete that \
     many; check that this is the right cluster and that its objects are complete, then restart with \
     --allow-mass-deletion"
)]
pub struct MassDeletion {
    /// The number of networks that have a range and no object.
    pub orphans: usize,
    /// The number of networks.
    pub networks: usize,
}

impl<P: Provider> Reconciler<P> {
    /// Searches for networks that no object asks for, and condemns them.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let mut listed = self.provider.list().await?;
        // Condemned networks are deleted by their keys, which are queued again: a term may have ended with them.
        let condemned = self.condemned.uids();
        listed.retain(|Listed { owner, .. }| self.is_watched(owner) && !condemned.contains(&owner.uid));
        let mut uids = HashSet::new();
        let mut found: BTreeSet<_> = self.condemned.keys().into_iter().collect();
        for Listed { owner, .. } in &listed {
            if !uids.insert(&owner.uid) {
                // The key of the object, because a duplicate can have any name.
                found.extend(self.by_uid.get(&owner.uid).iter().map(|object| ObjectKey::of(&**object)));
            }
        }
        let mut orphans: Vec<_> =
            listed.iter().filter(|listed| self.by_uid.get(&listed.owner.uid).is_empty()).collect();
        if !orphans.is_empty() {
            // The cache can be behind what another controller has seen.
            let living = self.living().await?;
            orphans.retain(|orphan| !living.contains(&orphan.owner.uid));
        }
        let lost: HashSet<_> =
            orphans.iter().filter(|orphan| !orphan.is_empty).map(|orphan| &orphan.owner.uid).collect();
        let verdict = MassDeletion { orphans: lost.len(), networks: uids.len() };
        if verdict.orphans > self.most_orphans(verdict.networks) && !self.options.allow_mass_deletion {
            return Ok(Swept::Refused(verdict));
        }
        for Listed { owner, .. } in orphans {
            info!(key = %owner.key(), uid = owner.uid, "found an orphaned network in the provider");
            self.condemned.add(owner.key(), owner.uid.clone());
            found.insert(owner.key());
        }
        Ok(Swept::Found(found))
    }

    /// Returns how many orphans a sweep may delete; see [the module](self).
    fn most_orphans(&self, networks: usize) -> usize {
        if self.options.finalizer { (networks / 20).max(1) } else { (networks / 2).max(5) }
    }

    /// Returns the uids of all objects in the API server. It reads only metadata, which always decodes.
    async fn living(&self) -> Result<HashSet<String>, Error> {
        let clients = match &self.options.namespaces[..] {
            [] => vec![TypedClient::<NetworkMeta>::cluster(self.client.clone())],
            names => names.iter().map(|name| TypedClient::namespaced(self.client.clone(), name)).collect(),
        };
        let mut living = HashSet::new();
        for client in clients {
            let list: ObjectList<NetworkMeta> = client.list(&ListParams::default()).await?;
            living.extend(list.items.into_iter().filter_map(|object| object.metadata.uid));
        }
        Ok(living)
    }

    /// Returns whether this controller watches the owner's namespace.
    fn is_watched(&self, owner: &Owner) -> bool {
        self.options.namespaces.is_empty() || self.options.namespaces.contains(&owner.namespace)
    }
}
