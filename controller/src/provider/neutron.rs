//! Networks in OpenStack's Neutron: one network with one subnet for each owner.
//!
//! Neutron has no idempotency key, its names are not unique, and a request without an answer may have
//! been carried out. Every network and subnet therefore carries its owner in `description` from its creation
//! on. Each call first lists the networks with this marker, and deletes duplicates, except for the oldest
//! network that has a subnet.
//!
//! The marker is `samplecrd-controller installation=… cluster=… namespace=… uid=…`. It is not a tag, because a
//! tag has only 60 characters and can be set only after the network exists. The network's name is the name of
//! the object, for people; nothing is selected by it.
//!
//! # Changing the range
//! Neutron refuses overlapping subnets in one network, so the old subnet is deleted before an overlapping one
//! is created. Before that, the new subnet is created on a separate network, the probe. If Neutron refuses it
//! there, nothing is changed. The probe stays until the change is complete: a call that finds a probe and a
//! network without a subnet gives the network the subnet of the probe. It carries the owner's marker, so it
//! counts as a duplicate otherwise. A change to an overlapping range therefore needs room in the quota for one
//! more network with one subnet, and is refused without.

#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use ipnet::IpNet;
use neutron_client::{Client, Network, Subnet};
use serde_json::{Value, json};
use tracing::warn;

use super::{Applied, Change, Desired, Error, ErrorKind, Installation, Listed, Owner, Provider};

/// The tag of all networks that such a controller created, and the first word of their marker.
const TAG: &str = "samplecrd-controller";
/// The name of a probe. No object can have this name.
const PROBE: &str = "samplecrd-controller probe";

/// Networks in Neutron.
#[derive(Debug)]
pub struct Neutron {
    client: Client,
    installation: Installation,
    /// How many networks of the same installation in other clusters the last list showed.
    elsewhere: AtomicUsize,
}

/// The networks of an owner.
#[derive(Default)]
struct Holdings {
    /// The oldest network that has a subnet, or the oldest if none has one. It is kept.
    network: Option<Network>,
    duplicates: Vec<Network>,
    /// Probes of changes that were interrupted.
    probes: Vec<Network>,
}

/// The subnets of a network.
struct Subnets {
    ours: Vec<Subnet>,
    /// Subnets that somebody else created in the network.
    foreign: Vec<Subnet>,
}

impl Neutron {
    /// Returns a provider that uses this network service as this installation. The installation must stay the
    /// same for as long as there are networks.
    pub fn new(client: Client, installation: Installation) -> Self {
        Self { client, installation, elsewhere: AtomicUsize::new(0) }
    }

    /// Returns the description of an owner's networks. It has at most 242 of the 255 characters allowed.
    fn marker(&self, owner: &Owner) -> String {
        let Owner { namespace, uid, .. } = owner;
        format!("{TAG} {} namespace={namespace} uid={uid}", self.installation)
    }

    /// Returns the owner of a network, if it is a network of this installation.
    fn owner_of(&self, network: &Network) -> Option<Owner> {
        let words: Vec<_> = network.description.split(' ').collect();
        let [_, _, _, namespace, uid] = words[..] else { return None };
        let owner = Owner {
            namespace: namespace.strip_prefix("namespace=")?.to_owned(),
            name: network.name.clone(),
            uid: uid.strip_prefix("uid=")?.to_owned(),
        };
        (self.marker(&owner) == network.description).then_some(owner)
    }

    /// Says how many networks belong to an installation of the same name in other clusters, if the number is
    /// new. They are never touched: if their cluster is gone, a person has to delete them.
    fn report_elsewhere(&self, networks: &[Network]) {
        let name = format!("{TAG} installation={} cluster=", self.installation.name());
        let own = format!("{name}{} ", self.installation.cluster());
        let others = networks
            .iter()
            .filter(|network| {
                network.description.starts_with(&name) && !network.description.starts_with(&own)
            })
            .count();
        if self.elsewhere.swap(others, Relaxed) != others && others > 0 {
            warn!(
                networks = others,
                installation = self.installation.name(),
                "networks of an installation of the same name belong to other clusters and are left alone"
            );
        }
    }

    /// Lists the networks that carry this owner, whatever their names.
    async fn holdings(&self, owner: &Owner) -> Result<Holdings, Error> {
        let marker = self.marker(owner);
        let mut networks = self.client.networks(&[("description", &marker)]).await?;
        networks.retain(|network| network.description == marker);
        let rank =
            |network: &Network| (network.subnets.is_empty(), network.created_at.clone(), network.id.clone());
        networks.sort_by_key(rank);
        let mut holdings = Holdings::default();
        for network in networks {
            if network.name == PROBE {
                holdings.probes.push(network);
            } else if holdings.network.is_none() {
                holdings.network = Some(network);
            } else {
                holdings.duplicates.push(network);
            }
        }
        Ok(holdings)
    }

    /// Lists the networks that carry this owner after completing a change that was interrupted; no probe is
    /// left.
    async fn settled_holdings(&self, owner: &Owner) -> Result<Holdings, Error> {
        let mut holdings = self.holdings(owner).await?;
        let probes = std::mem::take(&mut holdings.probes);
        if let Some(network) = &mut holdings.network
            && !probes.is_empty()
            && self.subnets(network).await?.ours.is_empty()
        {
            self.complete_change(network, &probes).await?;
        }
        self.remove_all(owner, &probes).await?;
        Ok(holdings)
    }

    /// Gives a network without a subnet that of a probe: its old subnet was deleted to make room for it.
    async fn complete_change(&self, network: &mut Network, probes: &[Network]) -> Result<(), Error> {
        for probe in probes {
            let Some(subnet) = self.subnets(probe).await?.ours.pop() else { continue };
            let body = subnet_body(network, subnet.cidr, subnet.gateway_ip);
            match self.client.create_subnet(body).await {
                Ok(subnet) => {
                    network.subnets.push(subnet.id);
                    return Ok(());
                }
                Err(error) if error.kind.is_refusal() => {
                    warn!(network = network.id, %error, "cannot complete an interrupted change");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn subnets(&self, network: &Network) -> Result<Subnets, Error> {
        let subnets = self.client.subnets(&[("network_id", &network.id)]).await?;
        let (ours, foreign) =
            subnets.into_iter().partition(|subnet| subnet.description == network.description);
        Ok(Subnets { ours, foreign })
    }

    async fn remove_all(&self, owner: &Owner, networks: &[Network]) -> Result<(), Error> {
        for network in networks {
            self.remove(owner, network).await?;
        }
        Ok(())
    }

    /// Deletes a network that carries this owner and has no subnets of others. Listed networks are deleted only
    /// here; other methods delete only what the same call has just created.
    async fn remove(&self, owner: &Owner, network: &Network) -> Result<(), Error> {
        let refused = |why: &str| {
            Err(Error::new(ErrorKind::InUse, format!("network {} is not deleted: {why}", network.id)))
        };
        if network.description != self.marker(owner) {
            return refused("it does not belong to the object");
        }
        // Deleting a network deletes all of its subnets.
        if !self.subnets(network).await?.foreign.is_empty() {
            return refused("it has subnets that this controller did not create");
        }
        self.client.delete_network(&network.id).await
    }

    /// Creates a network with its subnet. If Neutron refuses the subnet, the network is deleted again.
    async fn create(&self, owner: &Owner, desired: &Desired) -> Result<Applied, Error> {
        let body = json!({ "name": owner.name, "description": self.marker(owner) });
        let network = self.client.create_network(body).await?;
        match self.client.create_subnet(desired_body(&network, desired)).await {
            Ok(_) => {}
            Err(error) if error.kind.is_refusal() => return Err(self.discard(&network, error).await),
            Err(error) => return Err(error),
        }
        self.tag(&network).await?;
        Ok(Applied { id: network.id, change: Change::Created })
    }

    /// Deletes a network that this call has just created and whose subnet was refused. The error is that of the
    /// subnet. It loses the id of the network, which is another one at the next attempt.
    async fn discard(&self, network: &Network, mut error: Error) -> Error {
        if let Err(problem) = self.client.delete_network(&network.id).await {
            warn!(network = network.id, %problem, "cannot delete a network whose subnet was refused");
        }
        error.message = error.message.replace(&network.id, "(new)");
        error
    }

    /// Makes the name, subnet and tag of a network as desired. Returns whether anything was changed.
    async fn update(&self, owner: &Owner, network: &Network, desired: &Desired) -> Result<bool, Error> {
        let renamed = network.name != owner.name;
        if renamed {
            self.client.update_network(&network.id, json!({ "name": owner.name })).await?;
        }
        let network = &Network { name: owner.name.clone(), ..network.clone() };
        Ok(self.apply_subnet(network, desired).await? | self.tag(network).await? | renamed)
    }

    /// Tags a network if the server offers tags. Returns whether the tag was missing.
    async fn tag(&self, network: &Network) -> Result<bool, Error> {
        let missing = network.tags.as_ref().is_some_and(|tags| !tags.iter().any(|tag| tag == TAG));
        if missing {
            self.client.tag_network(&network.id, TAG).await?;
        }
        Ok(missing)
    }

    /// Makes the subnet of a network as desired. Returns whether anything was changed.
    async fn apply_subnet(&self, network: &Network, desired: &Desired) -> Result<bool, Error> {
        let Subnets { ours, foreign } = self.subnets(network).await?;
        if let Some(subnet) = foreign.iter().find(|subnet| overlap(&subnet.cidr, &desired.cidr)) {
            let message = format!(
                "range {} overlaps with {} of subnet {}, which somebody else created in network {}",
                desired.cidr, subnet.cidr, subnet.id, network.id
            );
            return Err(Error::new(ErrorKind::Rejected, message));
        }
        let (right, wrong): (Vec<_>, Vec<_>) =
            ours.into_iter().partition(|subnet| subnet.cidr.trunc() == desired.cidr);
        let (overlapping, apart): (Vec<_>, Vec<_>) =
            wrong.into_iter().partition(|subnet| overlap(&subnet.cidr, &desired.cidr));
        let mut changed = true;
        match right.first() {
            Some(subnet) if subnet.gateway_ip == Some(desired.gateway) => changed = !apart.is_empty(),
            Some(subnet) => {
                // The gateway must not lie in an allocation pool, so both change together.
                let body = json!({ "gateway_ip": desired.gateway, "allocation_pools": pools(desired) });
                self.client.update_subnet(&subnet.id, body).await?;
            }
            None if overlapping.is_empty() => {
                self.client.create_subnet(desired_body(network, desired)).await?;
            }
            None => self.replace_subnets(network, &overlapping, desired).await?,
        }
        for subnet in &apart {
            self.client.delete_subnet(&subnet.id).await?;
        }
        Ok(changed)
    }

    /// Replaces the subnets that overlap with the desired one. The probe is kept if it is unknown whether the
    /// network has a subnet.
    async fn replace_subnets(
        &self,
        network: &Network,
        old: &[Subnet],
        desired: &Desired,
    ) -> Result<(), Error> {
        let probe = self.probe(network, desired).await?;
        let replaced = self.replace_probed(network, old, desired).await;
        match &replaced {
            Err(error) if !error.kind.is_refusal() && error.kind != ErrorKind::InUse => replaced,
            _ => replaced.and(self.client.delete_network(&probe.id).await),
        }
    }

    async fn replace_probed(
        &self,
        network: &Network,
        old: &[Subnet],
        desired: &Desired,
    ) -> Result<(), Error> {
        for subnet in old {
            self.client.delete_subnet(&subnet.id).await?;
        }
        match self.client.create_subnet(desired_body(network, desired)).await {
            Ok(_) => Ok(()),
            Err(error) if error.kind.is_refusal() => {
                let now = self.subnets(network).await?.ours;
                if now.iter().any(|subnet| subnet.cidr.trunc() == desired.cidr) {
                    // Another controller was faster.
                    return Ok(());
                }
                for subnet in old.iter().filter(|_| now.is_empty()) {
                    self.client.create_subnet(subnet_body(network, subnet.cidr, subnet.gateway_ip)).await?;
                }
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Creates the desired subnet on a network of its own, and fails if Neutron refuses it.
    async fn probe(&self, network: &Network, desired: &Desired) -> Result<Network, Error> {
        let quota = |mut error: Error| {
            if error.kind == ErrorKind::OverQuota {
                let why = "a change to an overlapping range needs room for one more network with a subnet";
                error.message = format!("{why}: {}", error.message);
            }
            error
        };
        // Nothing is attached to a network that is down.
        let body = json!({ "name": PROBE, "description": network.description, "admin_state_up": false });
        let probe = self.client.create_network(body).await.map_err(quota)?;
        match self.client.create_subnet(desired_body(&probe, desired)).await {
            Ok(_) => Ok(probe),
            Err(error) => Err(quota(self.discard(&probe, error).await)),
        }
    }
}

impl Provider for Neutron {
    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Applied, Error> {
        let Holdings { network, duplicates, .. } = self.settled_holdings(owner).await?;
        let Some(network) = network else { return self.create(owner, desired).await };
        let updated = self.update(owner, &network, desired).await;
        // A duplicate in use must not block the change, nor a refused change the removal of duplicates.
        let removed = self.remove_all(owner, &duplicates).await;
        let changed = updated? || !duplicates.is_empty();
        removed?;
        Ok(Applied { id: network.id, change: if changed { Change::Updated } else { Change::None } })
    }

    async fn tidy(&self, owner: &Owner) -> Result<(), Error> {
        let Holdings { network, mut duplicates, .. } = self.settled_holdings(owner).await?;
        duplicates.extend(network.filter(|network| network.subnets.is_empty()));
        self.remove_all(owner, &duplicates).await
    }

    async fn delete(&self, owner: &Owner) -> Result<(), Error> {
        let Holdings { network, duplicates, probes } = self.holdings(owner).await?;
        for networks in [&probes[..], &duplicates[..], network.as_slice()] {
            self.remove_all(owner, networks).await?;
        }
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        // Not by tag: a crash can come between the creation of a network and its tag.
        let networks = self.client.networks(&[]).await?;
        self.report_elsewhere(&networks);
        let listed = |network: &Network| {
            Some(Listed { owner: self.owner_of(network)?, is_empty: network.subnets.is_empty() })
        };
        Ok(networks.iter().filter_map(listed).collect())
    }
}

fn desired_body(network: &Network, desired: &Desired) -> Value {
    subnet_body(network, desired.cidr, Some(desired.gateway))
}

fn subnet_body(network: &Network, cidr: IpNet, gateway: Option<IpAddr>) -> Value {
    json!({
        "network_id": network.id,
        "name": network.name,
        "description": network.description,
        "ip_version": if cidr.addr().is_ipv4() { 4 } else { 6 },
        "cidr": cidr,
        "gateway_ip": gateway,
    })
}

fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

/// Returns the allocation pools that Neutron gives a new subnet: all addresses for hosts except the gateway.
fn pools(desired: &Desired) -> Value {
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    let address = |number: u128| match desired.gateway {
        // A number between two IPv4 addresses is an IPv4 address, too.
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::from(u32::try_from(number).unwrap_or(u32::MAX))),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::from(number)),
    };
    let gateway = number(desired.gateway);
    let first = number(desired.cidr.network()) + 1;
    let last = number(desired.cidr.broadcast()) - u128::from(desired.gateway.is_ipv4());
    let halves = [(first, gateway - 1), (gateway.saturating_add(1), last)];
    let pool = |(start, end)| json!({ "start": address(start), "end": address(end) });
    halves.into_iter().filter(|(start, end)| start <= end).map(pool).collect()
}
