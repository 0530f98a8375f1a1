//! `samplecrd.k8s.io/v1`.

use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

genclient_runtime::group_version!("samplecrd.k8s.io/v1");

/// Network describes a network that the provider must hold.
#[derive(Clone, Debug, PartialEq, GenClient)]
#[genclient(
    no_status,
    shortname = "net",
    printcolumn(name = "CIDR", type_ = "string", json_path = ".spec.cidr"),
    printcolumn(name = "Gateway", type_ = "string", json_path = ".spec.gateway"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    annotation("api-approved.kubernetes.io", "unapproved, sample")
)]
pub struct Network {
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// The network that is wanted.
    pub spec: NetworkSpec,
}

/// NetworkSpec is what a user asks of a network.
///
/// The API server refuses what cannot work at once, as far as CEL can tell. It takes a range with host bits,
/// such as `192.168.1.0/16`, which means `192.168.0.0/16`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = (
        "!isCIDR(self.cidr) || !isIP(self.gateway) || ip(self.gateway).family() == cidr(self.cidr).ip().family()",
        "cidr and gateway must be of one family, IPv4 or IPv6"
    ),
    validation = (
        "!isCIDR(self.cidr) || !isIP(self.gateway) || ip(self.gateway).family() != cidr(self.cidr).ip().family() \
         || cidr(self.cidr).containsIP(self.gateway)",
        "gateway must lie within cidr"
    ),
    validation = (
        // Not `!=`, whose cost the server cannot estimate.
        "!isCIDR(self.cidr) || !isIP(self.gateway) || !(cidr(self.cidr).masked().ip() == ip(self.gateway))",
        "gateway must not be the network address, the first one of cidr"
    )
)]
pub struct NetworkSpec {
    /// The address range of the network's subnet, such as `192.168.0.0/16`.
    #[schemars(length(max = 64))]
    #[x_kube(
        validation = ("isCIDR(self)", "cidr must be a range of addresses such as 10.0.0.0/24 or fd00::/64"),
        validation = (
            "!isCIDR(self) || cidr(self).prefixLength() < (cidr(self).ip().family() == 4 ? 32 : 128)",
            "cidr must have room for a gateway and a host"
        )
    )]
    pub cidr: String,
    /// The address of the subnet's gateway, within `cidr`.
    #[schemars(length(max = 64))]
    #[x_kube(validation = ("isIP(self)", "gateway must be an IP address"))]
    pub gateway: String,
}

/// NetworkList is a list of Network resources.
#[derive(Clone, Debug, PartialEq, GenClientList)]
pub struct NetworkList {
    /// The list's metadata.
    pub metadata: ListMeta,
    /// The networks.
    pub items: Vec<Network>,
}
