//! The desired state of a Network object, checked and normalised.

use std::{fmt, net::IpAddr};

use ipnet::IpNet;

/// A network's range and gateway. The range has no host bits, and the gateway lies inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Desired {
    /// The range of addresses.
    pub cidr: IpNet,
    /// The gateway's address.
    pub gateway: IpAddr,
}

/// Why the spec of a Network object is not valid, with a message for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidSpec {
    /// The reason of the event, which is different for each kind of mistake.
    pub reason: &'static str,
    message: String,
}

impl Desired {
    /// Parses and checks a range and a gateway. Host bits of the range are removed: `192.168.1.0/16` becomes
    /// `192.168.0.0/16`.
    pub fn parse(cidr: &str, gateway: &str) -> Result<Self, InvalidSpec> {
        let invalid =
            |reason, message: fmt::Arguments| Err(InvalidSpec { reason, message: message.to_string() });
        let Some(range) = parse_cidr(cidr.trim()) else {
            return invalid(
                "InvalidCidr",
                format_args!("cidr `{cidr}` is not a range of addresses such as 10.0.0.0/24 or fd00::/64"),
            );
        };
        let Ok(gateway) = gateway.trim().parse::<IpAddr>() else {
            return invalid("InvalidGateway", format_args!("gateway `{gateway}` is not an IP address"));
        };
        let cidr = range.trunc();
        if cidr.prefix_len() == cidr.max_prefix_len() {
            invalid(
                "CidrTooSmall",
                format_args!("cidr `{cidr}` has a single address: there is no room for a gateway and a host"),
            )
        } else if cidr.addr().is_ipv4() != gateway.is_ipv4() {
            invalid(
                "GatewayFamilyMismatch",
                format_args!("gateway `{gateway}` and cidr `{cidr}` mix IPv4 and IPv6"),
            )
        } else if !cidr.contains(&gateway) {
            invalid("GatewayOutsideCidr", format_args!("gateway `{gateway}` is outside of cidr `{cidr}`"))
        } else if gateway == cidr.network() {
            invalid(
                "GatewayIsNetworkAddress",
                format_args!("gateway `{gateway}` is the network address of cidr `{cidr}`"),
            )
        } else if gateway.is_ipv4() && gateway == cidr.broadcast() {
            invalid(
                "GatewayIsBroadcastAddress",
                format_args!("gateway `{gateway}` is the broadcast address of cidr `{cidr}`"),
            )
        } else {
            Ok(Self { cidr, gateway })
        }
    }
}

/// Parses a range. The standard library parses the address, and refuses leading zeros, because `010.0.0.0` can
/// mean 10.0.0.0 or 8.0.0.0.
fn parse_cidr(text: &str) -> Option<IpNet> {
    let (address, prefix) = text.split_once('/')?;
    let is_plain =
        prefix.bytes().all(|byte| byte.is_ascii_digit()) && (prefix == "0" || !prefix.starts_with('0'));
    if is_plain { IpNet::new(address.parse().ok()?, prefix.parse().ok()?).ok() } else { None }
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
            ("10.0.0.0", "10.0.0.1", "InvalidCidr", "cidr `10.0.0.0` is not a range"),
            ("10.0.0.0/33", "10.0.0.1", "InvalidCidr", "cidr `10.0.0.0/33` is not a range"),
            ("10.0.0.0/", "10.0.0.1", "InvalidCidr", "cidr `10.0.0.0/` is not a range"),
            ("10.0.0.0/+8", "10.0.0.1", "InvalidCidr", "cidr `10.0.0.0/+8` is not a range"),
            ("10.0.0.0/024", "10.0.0.1", "InvalidCidr", "cidr `10.0.0.0/024` is not a range"),
            ("010.0.0.0/24", "10.0.0.1", "InvalidCidr", "cidr `010.0.0.0/24` is not a range"),
            ("", "10.0.0.1", "InvalidCidr", "cidr `` is not a range"),
            ("10.0.0.0/24", "ten", "InvalidGateway", "gateway `ten` is not an IP address"),
            ("10.0.0.0/24", "010.0.0.1", "InvalidGateway", "gateway `010.0.0.1` is not an IP address"),
            ("10.0.0.1/32", "10.0.0.1", "CidrTooSmall", "cidr `10.0.0.1/32` has a single address"),
            ("fd00::1/128", "fd00::1", "CidrTooSmall", "cidr `fd00::1/128` has a single address"),
            (
                "10.0.0.0/24",
                "fd00::1",
                "GatewayFamilyMismatch",
                "gateway `fd00::1` and cidr `10.0.0.0/24` mix",
            ),
            ("fd00::/64", "10.0.0.1", "GatewayFamilyMismatch", "gateway `10.0.0.1` and cidr `fd00::/64` mix"),
            (
                "10.0.0.0/24",
                "10.0.1.1",
                "GatewayOutsideCidr",
                "gateway `10.0.1.1` is outside of cidr `10.0.0.0/24`",
            ),
            (
                "10.0.0.0/24",
                "10.0.0.255",
                "GatewayIsBroadcastAddress",
                "gateway `10.0.0.255` is the broadcast",
            ),
            (
                "10.0.0.9/24",
                "10.0.0.0",
                "GatewayIsNetworkAddress",
                "gateway `10.0.0.0` is the network address",
            ),
            ("fd00::/64", "fd00::", "GatewayIsNetworkAddress", "gateway `fd00::` is the network address"),
        ];
        for (cidr, gateway, reason, message) in cases {
            let error = Desired::parse(cidr, gateway).unwrap_err();
            assert_eq!(error.reason, reason, "{error}");
            assert!(error.to_string().starts_with(message), "{error}");
        }
    }

    #[test]
    fn the_last_address_of_an_ipv6_range_can_be_a_gateway() {
        Desired::parse("fd00::/126", "fd00::3").unwrap();
    }
}
