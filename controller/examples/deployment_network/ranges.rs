//! A range of addresses for each Deployment.
//!
//! # Guarantees
//! - **No range twice.** A range that a Network has in the cache, or that was chosen and may not be in the cache yet, is
//!   not chosen again, as long as one controller runs and one of the 65,536 ranges is free.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    net::Ipv4Addr,
    sync::{Mutex, PoisonError},
};

use genclient_runtime::{
    ObjectKey, SharedInformer,
    store::{Index, IndexError},
};
use samplecrd_apis::samplecrd::v1::{Network, NetworkSpec};

/// The ranges 10.0.0.0/24 to 10.255.255.0/24, by their two bytes in the middle.
pub struct Ranges {
    /// The Networks by their range.
    networks: Index<Network, String>,
    /// The ranges that were chosen for Deployments, and may not be in the cache yet.
    chosen: Mutex<HashMap<ObjectKey, u16>>,
}

impl Ranges {
    /// Follows the ranges of an informer's Networks.
    pub fn of(networks: &SharedInformer<Network>) -> Result<Self, IndexError> {
        let networks = networks.add_index("range", |network| [network.spec.cidr.clone()])?;
        Ok(Self { networks, chosen: Mutex::default() })
    }

    /// Chooses a range for a Deployment: the one that its key points at, or the next one that is free.
    pub fn choose(&self, deployment: &ObjectKey) -> NetworkSpec {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = |range| {
            chosen.values().any(|other| *other == range) || !self.networks.get(&cidr(range)).is_empty()
        };
        let range = chosen.get(deployment).copied().unwrap_or_else(|| {
            let start = first(deployment);
            (0..=u16::MAX).map(|step| start.wrapping_add(step)).find(|range| !taken(*range)).unwrap_or(start)
        });
        chosen.insert(deployment.clone(), range);
        NetworkSpec { cidr: cidr(range), gateway: address(range, 1).to_string() }
    }

    /// Forgets the choice for a Deployment, because the cache has its Network or it needs none.
    pub fn forget(&self, deployment: &ObjectKey) {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).remove(deployment);
    }
}

/// The range that a key points at. It is the same after a restart, so that a Network whose creation was under way gets
/// the range that it was about to get.
fn first(deployment: &ObjectKey) -> u16 {
    let mut hasher = DefaultHasher::new();
    deployment.hash(&mut hasher);
    let [high, low, ..] = hasher.finish().to_be_bytes();
    u16::from_be_bytes([high, low])
}

fn cidr(range: u16) -> String {
    format!("{}/24", address(range, 0))
}

fn address(range: u16, host: u8) -> Ipv4Addr {
    let [high, low] = range.to_be_bytes();
    Ipv4Addr::new(10, high, low, host)
}
