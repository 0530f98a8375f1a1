//! The search for networks that no object asks for.
//!
//! An object can go without the controller seeing it: while no controller runs, past the finalizer, or in a
//! watch that broke. A request can be carried out after its sender gave up. What such an event leaves in the
//! provider is found by a sweep: at the start, at every drift interval, and whenever a relist misses an object.
//!
//! # Guarantees
//! - **Only orphans.** A network is an orphan if no object has its uid, neither in the cache nor, asked
//!   directly, in the API server. Its name does not matter.
//! - **No mass deletion by mistake.** A sweep that would delete more than half of what there is, and more than
//!   a handful, deletes nothing: a wrong kubeconfig and a cluster restored from an old backup look like this.

use std::collections::{BTreeSet, HashMap, HashSet};

use genclient_runtime::{ListParams, ObjectKey, ObjectList, TypedClient};
use parking_lot::Mutex;
use tracing::info;

use crate::{
    provider::{Owner, Provider},
    reconcile::{Error, NetworkMeta, Reconciler},
};

/// Up to so many orphans are deleted whatever their share.
const HANDFUL: usize = 5;

/// The objects that are gone and whose networks must go.
#[derive(Debug, Default)]
pub(crate) struct Condemned(Mutex<HashMap<ObjectKey, BTreeSet<String>>>);

impl Condemned {
    /// The object of this key and uid is gone.
    pub fn add(&self, key: ObjectKey, uid: String) {
        self.0.lock().entry(key).or_default().insert(uid);
    }

    /// The uids that had this key.
    pub fn of(&self, key: &ObjectKey) -> Vec<String> {
        self.0.lock().get(key).into_iter().flatten().cloned().collect()
    }

    /// All uids.
    fn uids(&self) -> HashSet<String> {
        self.0.lock().values().flatten().cloned().collect()
    }

    /// Its network is gone, too.
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

/// What a sweep found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Swept {
    /// The keys to look at: those of orphans, which are condemned now, and of owners with several networks.
    Found(BTreeSet<ObjectKey>),
    /// So many orphans among so many owners that something else must be wrong.
    Refused(MassDeletion),
}

/// A sweep that would have deleted most of what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{orphans} of {networks} networks in the provider belong to no object of this cluster, which is too much to \
     delete unasked: is this the right cluster, and does it hold all its objects? If so, start the controller with \
     --allow-mass-deletion"
)]
pub struct MassDeletion {
    /// How many networks have no object.
    pub orphans: usize,
    /// How many networks there are.
    pub networks: usize,
}

impl<P: Provider> Reconciler<P> {
    /// Looks for networks that no object asks for, and condemns them.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let mut owners = self.provider.owners().await?;
        // The deletion of these is known and under way.
        let condemned = self.condemned.uids();
        owners.retain(|owner| self.is_watched(owner) && !condemned.contains(&owner.uid));
        let (mut uids, mut found) = (HashSet::new(), BTreeSet::new());
        for owner in &owners {
            if !uids.insert(&owner.uid) {
                // The object's key, and not the name that one of its networks happens to have.
                found.extend(self.by_uid.get(&owner.uid).iter().map(|object| ObjectKey::of(&**object)));
            }
        }
        let mut orphans: Vec<_> =
            owners.iter().filter(|owner| self.by_uid.get(&owner.uid).is_empty()).collect();
        if !orphans.is_empty() {
            // The cache can be behind what another controller has seen.
            let living = self.living().await?;
            orphans.retain(|owner| !living.contains(&owner.uid));
        }
        let dead: HashSet<_> = orphans.iter().map(|owner| &owner.uid).collect();
        let verdict = MassDeletion { orphans: dead.len(), networks: uids.len() };
        if verdict.orphans > HANDFUL
            && verdict.orphans * 2 > verdict.networks
            && !self.options.allow_mass_deletion
        {
            return Ok(Swept::Refused(verdict));
        }
        for owner in orphans {
            info!(key = %owner.key(), uid = owner.uid, "found an orphaned network in the provider");
            self.condemned.add(owner.key(), owner.uid.clone());
            found.insert(owner.key());
        }
        Ok(Swept::Found(found))
    }

    /// The uids of all objects, from the API server itself. Metadata is enough, and decodes always.
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

    /// Whether this controller is responsible for the owner's namespace.
    fn is_watched(&self, owner: &Owner) -> bool {
        self.options.namespaces.is_empty() || self.options.namespaces.contains(&owner.namespace)
    }
}
