//! Networks and subnets, with the fields that the client reads.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

/// A network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Network {
    /// The id, which is unique.
    pub id: String,
    /// The name, which is not unique.
    pub name: String,
    /// Free text of at most 255 characters.
    #[serde(default)]
    pub description: String,
    /// The time of creation, in the format of the server.
    #[serde(default)]
    pub created_at: String,
    /// `None` if the server does not offer tags.
    pub tags: Option<Vec<String>>,
    /// The ids of the subnets.
    #[serde(default)]
    pub subnets: Vec<String>,
}

/// A subnet of a network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Subnet {
    /// The id.
    pub id: String,
    /// Free text of at most 255 characters.
    #[serde(default)]
    pub description: String,
    /// The range of addresses.
    pub cidr: IpNet,
    /// The address of the gateway, if there is one.
    pub gateway_ip: Option<IpAddr>,
}
