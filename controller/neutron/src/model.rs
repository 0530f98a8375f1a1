//! Networks and subnets, with the fields that are used here.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

/// A network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Network {
    /// Its id, the only name that is unique.
    pub id: String,
    /// Its name; any number of networks can have the same.
    pub name: String,
    /// Free text of at most 255 characters.
    #[serde(default)]
    pub description: String,
    /// When it was made, as the server spells times.
    #[serde(default)]
    pub created_at: String,
    /// Absent where the server does not offer tags.
    pub tags: Option<Vec<String>>,
    /// The ids of its subnets.
    #[serde(default)]
    pub subnets: Vec<String>,
}

/// A subnet of a network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Subnet {
    /// Its id.
    pub id: String,
    /// Free text of at most 255 characters.
    #[serde(default)]
    pub description: String,
    /// Its range of addresses.
    pub cidr: IpNet,
    /// The address of its gateway, if it has one.
    pub gateway_ip: Option<IpAddr>,
}
