//! Networks in OpenStack's Neutron: for each owner one network with one subnet.
//!
//! Neutron has no idempotency key, its names are not unique, and a request without an answer may have
//! been carried out. So every network and subnet carries its owner in `description` from its creation
//! on, everything begins with a look at what carries it, and what is there twice is reduced to the
//! oldest. A network's name is the object's name; the namespace and the uid are in the description,
//! with the name of the installation, so that several can share a project.

#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use genclient_runtime::ObjectKey;
use ipnet::IpNet;
use neutron_client::{Client, Cloud, ConfigError, Network, Subnet};
use serde_json::{Value, json};

use super::{Actual, Desired, Error, ErrorKind, Owner, Provider};

/// The tag of all networks that a controller of this kind made, and the first word of their marker.
const TAG: &str = "samplecrd-controller";

/// Networks in Neutron.
#[derive(Debug)]
pub struct Neutron {
    client: Client,
    /// The name of the installation, a part of every marker.
    installation: String,
}

/// An owner's things in Neutron.
struct Holdings {
    /// The networks of the owner, the oldest first: that one stays.
    networks: Vec<Network>,
    /// Networks of earlier objects with the owner's key.
    left_over: Vec<Network>,
}

impl Neutron {
    /// Uses this cloud's network service.
    ///
    /// `installation` tells this controller's networks from those of others in the same project: at
    /// most 64 letters, digits, `-`, `_` and `.`; anything else in it is replaced by `-`. It must stay
    /// the same for as long as there are networks.
    pub fn new(cloud: Cloud, installation: &str) -> Result<Self, ConfigError> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let installation = installation.chars().take(64).map(plain).collect();
        Ok(Self { client: Client::new(&cloud)?, installation })
    }

    /// Waits so long for each answer instead of 30 seconds.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.client = self.client.with_timeout(timeout);
        self
    }

    /// What the description of an owner's things says. It is at most 214 of 255 allowed characters.
    fn marker(&self, owner: &Owner) -> String {
        format!("{}uid={}", self.marker_start(&owner.namespace), owner.uid)
    }

    fn marker_start(&self, namespace: &str) -> String {
        format!("{TAG} installation={} namespace={namespace} ", self.installation)
    }

    /// Whose network this is, if it is one of this installation.
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

    /// Everything that is the owner's or has its key.
    async fn holdings(&self, owner: &Owner) -> Result<Holdings, Error> {
        let mut networks = self.of_key(&owner.namespace, &owner.name).await?;
        networks.extend(self.of_owner(owner).await?);
        Ok(self.sort_out(owner, networks))
    }

    fn sort_out(&self, owner: &Owner, mut networks: Vec<Network>) -> Holdings {
        networks.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
        networks.dedup_by(|a, b| a.id == b.id);
        let marker = self.marker(owner);
        let (networks, left_over) = networks.into_iter().partition(|network| network.description == marker);
        Holdings { networks, left_over }
    }

    /// The networks that carry this owner, whatever their name.
    async fn of_owner(&self, owner: &Owner) -> Result<Vec<Network>, Error> {
        let marker = self.marker(owner);
        let mut networks = self.client.networks(&[("description", &marker)]).await?;
        networks.retain(|network| network.description == marker);
        Ok(networks)
    }

    /// The networks of all objects that ever had this key.
    async fn of_key(&self, namespace: &str, name: &str) -> Result<Vec<Network>, Error> {
        let mut networks = self.client.networks(&[("name", name)]).await?;
        networks.retain(|network| {
            network.name == name && self.owner_of(network).is_some_and(|owner| owner.namespace == namespace)
        });
        Ok(networks)
    }

    /// The subnets of a network: ours, and whether others made some in it.
    async fn subnets(&self, network: &Network) -> Result<(Vec<Subnet>, bool), Error> {
        let mut subnets = self.client.subnets(&[("network_id", &network.id)]).await?;
        let all = subnets.len();
        subnets.retain(|subnet| subnet.description == network.description);
        let foreign = subnets.len() < all;
        Ok((subnets, foreign))
    }

    fn is_tidy(&self, owner: &Owner, holdings: &Holdings, subnets: &[Subnet]) -> bool {
        let Holdings { networks, left_over } = holdings;
        networks.len() == 1
            && left_over.is_empty()
            && networks[0].name == owner.name
            && networks[0].tags.as_ref().is_none_or(|tags| tags.iter().any(|tag| tag == TAG))
            && subnets.len() <= 1
    }

    async fn remove_network(&self, network: &Network) -> Result<(), Error> {
        // Deleting a network deletes its subnets with it, also those that somebody else made.
        if self.subnets(network).await?.1 {
            let message = format!("network {} holds subnets that this controller did not make", network.id);
            return Err(Error::new(ErrorKind::InUse, message));
        }
        Ok(self.client.delete_network(&network.id).await?)
    }

    /// Brings a network's only subnet about.
    async fn apply_subnet(&self, network: &Network, desired: &Desired) -> Result<(), Error> {
        let (subnets, _) = self.subnets(network).await?;
        let (mut right, wrong): (Vec<_>, Vec<_>) =
            subnets.into_iter().partition(|subnet| subnet.cidr.trunc() == desired.cidr);
        right.sort_by(|a, b| a.id.cmp(&b.id));
        // Neutron refuses overlapping subnets in one network, so those must go first.
        let (overlapping, apart): (Vec<_>, Vec<_>) =
            wrong.into_iter().partition(|subnet| overlap(&subnet.cidr, &desired.cidr));
        for subnet in overlapping.iter().chain(right.iter().skip(1)) {
            self.client.delete_subnet(&subnet.id).await?;
        }
        match right.first() {
            Some(subnet) if subnet.gateway_ip == Some(desired.gateway) => {}
            Some(subnet) => {
                // The gateway must not lie in a pool: both change together.
                let body = json!({ "gateway_ip": desired.gateway, "allocation_pools": pools(desired) });
                self.client.update_subnet(&subnet.id, body).await?;
            }
            None => {
                let body = json!({
                    "network_id": network.id,
                    "name": network.name,
                    "description": network.description,
                    "ip_version": desired.ip_version(),
                    "cidr": desired.cidr,
                    "gateway_ip": desired.gateway,
                });
                self.client.create_subnet(body).await?;
            }
        }
        for subnet in &apart {
            self.client.delete_subnet(&subnet.id).await?;
        }
        Ok(())
    }
}

impl Provider for Neutron {
    async fn get(&self, owner: &Owner) -> Result<Option<Actual>, Error> {
        // The name finds what is in order. Only if it finds nothing, one look more tells whether the
        // network was renamed or is not there.
        let mut networks = self.of_key(&owner.namespace, &owner.name).await?;
        let marker = self.marker(owner);
        if !networks.iter().any(|network| network.description == marker) {
            networks.extend(self.of_owner(owner).await?);
        }
        let holdings = self.sort_out(owner, networks);
        let Some(network) = holdings.networks.first() else { return Ok(None) };
        let (subnets, _) = self.subnets(network).await?;
        let tidy = self.is_tidy(owner, &holdings, &subnets);
        let config = subnets
            .first()
            .and_then(|subnet| Some(Desired { cidr: subnet.cidr.trunc(), gateway: subnet.gateway_ip? }));
        Ok(Some(Actual { id: network.id.clone(), config, tidy }))
    }

    async fn apply(&self, owner: &Owner, desired: &Desired) -> Result<Actual, Error> {
        let Holdings { networks, left_over } = self.holdings(owner).await?;
        for network in left_over.iter().chain(networks.iter().skip(1)) {
            self.remove_network(network).await?;
        }
        let mut network = match networks.into_iter().next() {
            Some(network) => network,
            None => {
                let body = json!({ "name": owner.name, "description": self.marker(owner) });
                self.client.create_network(body).await?
            }
        };
        if network.name != owner.name {
            network = self.client.update_network(&network.id, json!({ "name": owner.name })).await?;
        }
        self.apply_subnet(&network, desired).await?;
        if network.tags.as_ref().is_some_and(|tags| !tags.iter().any(|tag| tag == TAG)) {
            self.client.tag_network(&network.id, TAG).await?;
        }
        Ok(Actual { id: network.id, config: Some(*desired), tidy: true })
    }

    async fn delete(&self, owner: &Owner) -> Result<(), Error> {
        for network in self.of_owner(owner).await? {
            self.remove_network(&network).await?;
        }
        Ok(())
    }

    async fn delete_key(&self, key: &ObjectKey) -> Result<(), Error> {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        for network in self.of_key(namespace, &key.name).await? {
            self.remove_network(&network).await?;
        }
        Ok(())
    }

    async fn owners(&self) -> Result<Vec<Owner>, Error> {
        // Not by tag: a crash can come between a network and its tag.
        let networks = self.client.networks(&[]).await?;
        let mut owners: Vec<_> = networks.iter().filter_map(|network| self.owner_of(network)).collect();
        owners.sort();
        owners.dedup();
        Ok(owners)
    }
}

/// The classes are the same; what helps against each is the controller's affair.
impl From<neutron_client::Error> for Error {
    fn from(error: neutron_client::Error) -> Self {
        use neutron_client::ErrorKind as Theirs;
        let kind = match error.kind {
            Theirs::Unavailable => ErrorKind::Unavailable,
            Theirs::InUse => ErrorKind::InUse,
            Theirs::Conflict => ErrorKind::Conflict,
            Theirs::OverQuota => ErrorKind::OverQuota,
            Theirs::Rejected => ErrorKind::Rejected,
            Theirs::Forbidden => ErrorKind::Forbidden,
            Theirs::Unauthorized => ErrorKind::Unauthorized,
            Theirs::Protocol => ErrorKind::Protocol,
        };
        Self { kind, message: error.message, request_id: error.request_id }
    }
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
