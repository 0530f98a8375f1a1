//! `samplecrd.k8s.io/v1`.

use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};
use schemars::JsonSchema;
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkSpec {
    /// The address range of the network's subnet, such as `192.168.0.0/16`.
    pub cidr: String,
    /// The address of the subnet's gateway, within `cidr`.
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
