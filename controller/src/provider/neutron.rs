//! Networks in OpenStack's Neutron: for each owner one network with one subnet.
//!
//! Neutron has no idempotency key, its names are not unique, and a request without an answer may have
//! been carried out. So every network and subnet carries its owner in `description` from its creation
//! on, every call begins with a look at what carries it, and what is there twice is reduced to the oldest
//! that works.
//!
//! The description is the marker `samplecrd-controller installation=… namespace=… uid=…`. It holds the
//! installation whole: a tag has only 60 characters, and can be set only after the network exists. The
//! network's name is the object's name, for people; nothing is found or deleted by it.
//!
//! Neutron refuses overlapping subnets in one network, so a subnet must go before an overlapping one can
//! come. The new one is tried on a network of its own first, the probe, and the old one goes only if
//! Neutron took it. The probe carries the owner's marker: if a crash leaves it behind, it is a duplicate
//! that the next call removes. Where the quota has no room for a probe, a refused change is undone.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use neutron_client::{Client, Network, Subnet};
use serde_json::{Value, json};
use tracing::warn;

use super::{Applied, Change, Desired, Error, ErrorKind, Installation, Owner, Provider};

/// The tag of all networks that a controller of this kind made, and the first word of their marker.
const TAG: &str = "samplecrd-controller";
/// The name of a probe. No object can have it.
const PROBE: &str = "samplecrd-controller probe";

/// Networks in Neutron.
#[derive(Debug)]
pub struct Neutron {
    client: Client,
    installation: Installation,
}

/// An owner's things in Neutron.
#[derive(Default)]
struct Holdings {
    /// The one that stays: the oldest that has a subnet, or the oldest if none has.
    network: Option<Network>,
    /// The others.
    duplicates: Vec<Network>,
    /// Probes that a crash left behind.
    probes: Vec<Network>,
}

/// The subnets of a network.
struct Subnets {
    ours: Vec<Subnet>,
    /// Those that somebody else made in it.
    foreign: Vec<Subnet>,
}

impl Neutron {
    /// Uses this network service as this installation, which must stay the same for as long as there are
    /// networks.
    pub fn new(client: Client, installation: Installation) -> Self {
        Self { client, installation }
    }

    /// What the description of an owner's things says. It has at most 213 of the 255 characters allowed.
    fn marker(&self, owner: &Owner) -> String {
        let Owner { namespace, uid, .. } = owner;
        format!("{TAG} installation={} namespace={namespace} uid={uid}", self.installation)
    }

    /// The owner of a network, if the network is one of this installation.
    fn owner_of(&self, network: &Network) -> Option<Owner> {
        let mut words = network.description.split(' ');
        let (_, _, namespace, uid) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let owner = Owner {
            namespace: namespace.strip_prefix("namespace=")?.to_owned(),
            name: network.name.clone(),
            uid: uid.strip_prefix("uid=")?.to_owned(),
        };
        (self.marker(&owner) == network.description).then_some(owner)
    }

    /// Everything that carries this owner, whatever its name.
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

    /// Deletes a network that carries this owner and holds nothing of others. Whatever a look finds is deleted
    /// here; elsewhere only what the same call has just made.
    async fn remove(&self, owner: &Owner, network: &Network) -> Result<(), Error> {
        let refused = |why: &str| {
            Err(Error::new(ErrorKind::InUse, format!("network {} is not deleted: {why}", network.id)))
        };
        if network.description != self.marker(owner) {
            return refused("it does not belong to the object");
        }
        // Deleting a network deletes its subnets with it, also those that somebody else made.
        if !self.subnets(network).await?.foreign.is_empty() {
            return refused("it holds subnets that this controller did not make");
        }
        self.client.delete_network(&network.id).await
    }

    /// Makes a network with its subnet. If Neutron refuses the subnet, there is no network either.
    async fn create(&self, owner: &Owner, desired: &Desired) -> Result<Applied, Error> {
        let body = json!({ "name": owner.name, "description": self.marker(owner) });
        let network = self.client.create_network(body).await?;
        if let Err(error) = self.client.create_subnet(desired_body(&network, desired)).await {
            if error.kind.is_refusal()
                && let Err(problem) = self.client.delete_network(&network.id).await
            {
                warn!(network = network.id, %problem, "a network stays behind whose subnet was refused");
            }
            return Err(error);
        }
        self.tag(&network).await?;
        Ok(Applied { id: network.id, change: Change::Created })
    }

    /// Makes everything about a network as desired, and says whether there was something to do.
    async fn update(&self, owner: &Owner, network: &Network, desired: &Desired) -> Result<bool, Error> {
        let renamed = network.name != owner.name;
        if renamed {
            self.client.update_network(&network.id, json!({ "name": owner.name })).await?;
        }
        let network = &Network { name: owner.name.clone(), ..network.clone() };
        Ok(self.apply_subnet(network, desired).await? | self.tag(network).await? | renamed)
    }

    /// Tags a network, where tags are offered, and says whether there was something to do.
    async fn tag(&self, network: &Network) -> Result<bool, Error> {
        let missing = network.tags.as_ref().is_some_and(|tags| !tags.iter().any(|tag| tag == TAG));
        if missing {
            self.client.tag_network(&network.id, TAG).await?;
        }
        Ok(missing)
    }

    /// Makes a network's only subnet as desired, and says whether there was something to do.
    async fn apply_subnet(&self, network: &Network, desired: &Desired) -> Result<bool, Error> {
        let Subnets { ours, foreign } = self.subnets(network).await?;
        if let Some(subnet) = foreign.iter().find(|subnet| overlap(&subnet.cidr, &desired.cidr)) {
            let message = format!(
                "range {} overlaps with {} of subnet {}, which somebody else made in network {}",
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
                // The gateway must not lie in a pool: both change together.
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

    /// Puts a subnet in the place of those that it overlaps with.
    async fn replace_subnets(
        &self,
        network: &Network,
        old: &[Subnet],
        desired: &Desired,
    ) -> Result<(), Error> {
        self.probe(network, desired).await?;
        for subnet in old {
            self.client.delete_subnet(&subnet.id).await?;
        }
        let Err(error) = self.client.create_subnet(desired_body(network, desired)).await else {
            return Ok(());
        };
        if error.kind.is_refusal() {
            for subnet in old {
                self.client.create_subnet(subnet_body(network, subnet.cidr, subnet.gateway_ip)).await?;
            }
        }
        Err(error)
    }

    /// Fails if Neutron refuses such a subnet. Where there is no room for the attempt nothing is known, and
    /// that is success.
    async fn probe(&self, network: &Network, desired: &Desired) -> Result<(), Error> {
        let no_room = |outcome: Result<(), Error>| match outcome {
            Err(error) if error.kind == ErrorKind::OverQuota => Ok(()),
            outcome => outcome,
        };
        // Nothing is attached to a network that is down.
        let body = json!({ "name": PROBE, "description": network.description, "admin_state_up": false });
        let probe = match self.client.create_network(body).await {
            Ok(probe) => probe,
            Err(error) => return no_room(Err(error)),
        };
        let tried = self.client.create_subnet(desired_body(&probe, desired)).await.map(drop);
        let removed = self.client.delete_network(&probe.id).await;
        no_room(tried).and(removed)
    }
}

impl Provider for Neutron {
    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Applied, Error> {
        let Holdings { network, duplicates, probes } = self.holdings(owner).await?;
        self.remove_all(owner, &probes).await?;
        let Some(network) = network else { return self.create(owner, desired).await };
        let updated = self.update(owner, &network, desired).await;
        // A duplicate that something uses must not keep the network waiting, nor a refused change a duplicate.
        let removed = self.remove_all(owner, &duplicates).await;
        let changed = updated? || !duplicates.is_empty();
        removed?;
        Ok(Applied { id: network.id, change: if changed { Change::Updated } else { Change::None } })
    }

    async fn tidy(&self, owner: &Owner) -> Result<(), Error> {
        let Holdings { duplicates, probes, .. } = self.holdings(owner).await?;
        self.remove_all(owner, &probes).await?;
        self.remove_all(owner, &duplicates).await
    }

    async fn delete(&self, owner: &Owner) -> Result<(), Error> {
        let Holdings { network, duplicates, probes } = self.holdings(owner).await?;
        for networks in [&probes[..], &duplicates[..], network.as_slice()] {
            self.remove_all(owner, networks).await?;
        }
        Ok(())
    }

    async fn owners(&self) -> Result<Vec<Owner>, Error> {
        // Not by tag: a crash can come between a network and its tag.
        let networks = self.client.networks(&[]).await?;
        Ok(networks.iter().filter_map(|network| self.owner_of(network)).collect())
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

/// All addresses that hosts can have, without the gateway: what Neutron gives a new subnet.
fn pools(desired: &Desired) -> Value {
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    let address = |number: u128| match desired.gateway {
        // What is between two IPv4 addresses is one.
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
