//! What a Network object asks for, checked and normalised.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// A network's range and gateway. The range has no host bits, and the gateway lies inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Desired {
    /// The range of addresses.
    pub cidr: IpNet,
    /// The gateway's address.
    pub gateway: IpAddr,
}

/// Why a Network object cannot be made real, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSpec(String);

impl Desired {
    /// Reads and checks a range and a gateway. Host bits in the range are taken away:
    /// `192.168.1.0/16` is the range `192.168.0.0/16`.
    pub fn parse(cidr: &str, gateway: &str) -> Result<Self, InvalidSpec> {
        let invalid = |why: String| Err(InvalidSpec(why));
        let Ok(range) = cidr.trim().parse::<IpNet>() else {
            return invalid(format!(
                "cidr `{cidr}` is not a range of addresses such as 10.0.0.0/24 or fd00::/64"
            ));
        };
        let Ok(gateway) = gateway.trim().parse::<IpAddr>() else {
            return invalid(format!("gateway `{gateway}` is not an IP address"));
        };
        let cidr = range.trunc();
        if cidr.prefix_len() == cidr.max_prefix_len() {
            invalid(format!("cidr `{cidr}` has a single address: there is no room for a gateway and a host"))
        } else if cidr.addr().is_ipv4() != gateway.is_ipv4() {
            invalid(format!("gateway `{gateway}` and cidr `{cidr}` mix IPv4 and IPv6"))
        } else if !cidr.contains(&gateway) {
            invalid(format!("gateway `{gateway}` is outside of cidr `{cidr}`"))
        } else if gateway == cidr.network() {
            invalid(format!("gateway `{gateway}` is the network address of cidr `{cidr}`"))
        } else if gateway.is_ipv4() && gateway == cidr.broadcast() {
            invalid(format!("gateway `{gateway}` is the broadcast address of cidr `{cidr}`"))
        } else {
            Ok(Self { cidr, gateway })
        }
    }

    /// 4 or 6.
    pub fn ip_version(&self) -> u8 {
        if self.gateway.is_ipv4() { 4 } else { 6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_bits_are_taken_away() {
        let desired = Desired::parse("192.168.1.0/16", "192.168.0.1").unwrap();
        assert_eq!(desired.cidr.to_string(), "192.168.0.0/16");
        assert_eq!(Desired::parse(" fd00::7/64", "fd00::1 ").unwrap().cidr.to_string(), "fd00::/64");
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_reason() {
        let cases = [
            ("10.0.0.0", "10.0.0.1", "cidr `10.0.0.0` is not a range"),
            ("10.0.0.0/33", "10.0.0.1", "cidr `10.0.0.0/33` is not a range"),
            ("", "10.0.0.1", "cidr `` is not a range"),
            ("10.0.0.0/24", "ten", "gateway `ten` is not an IP address"),
            ("10.0.0.1/32", "10.0.0.1", "cidr `10.0.0.1/32` has a single address"),
            ("fd00::1/128", "fd00::1", "cidr `fd00::1/128` has a single address"),
            ("10.0.0.0/24", "fd00::1", "gateway `fd00::1` and cidr `10.0.0.0/24` mix"),
            ("fd00::/64", "10.0.0.1", "gateway `10.0.0.1` and cidr `fd00::/64` mix"),
            ("10.0.0.0/24", "10.0.1.1", "gateway `10.0.1.1` is outside of cidr `10.0.0.0/24`"),
            ("10.0.0.0/24", "10.0.0.255", "gateway `10.0.0.255` is the broadcast address"),
            ("10.0.0.9/24", "10.0.0.0", "gateway `10.0.0.0` is the network address of cidr `10.0.0.0/24`"),
            ("fd00::/64", "fd00::", "gateway `fd00::` is the network address"),
        ];
        for (cidr, gateway, reason) in cases {
            let error = Desired::parse(cidr, gateway).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    #[test]
    fn the_last_address_of_an_ipv6_range_can_be_a_gateway() {
        let desired = Desired::parse("fd00::/126", "fd00::3").unwrap();
        assert_eq!(desired.ip_version(), 6);
        assert_eq!(Desired::parse("10.0.0.0/24", "10.0.0.1").unwrap().ip_version(), 4);
    }
}
