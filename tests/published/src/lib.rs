//! Kinds of this package's own, beside those of other people, and the client of them all.

use genclient_runtime::{GenClient, GenClientOptions, ObjectMeta};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod generated;

genclient_runtime::group_version!("shop.example.com/v1");

/// A kind that is annotated for genclient.
#[derive(Clone, Debug, GenClient)]
pub struct Order {
    /// The metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: OrderSpec,
}

/// What is wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OrderSpec {
    /// How many.
    pub pieces: u32,
}

/// A kind that is annotated for kube, with a client that only reads.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, CustomResource, GenClientOptions)]
#[kube(group = "shop.example.com", version = "v1", kind = "Parcel", namespaced, status = "ParcelStatus")]
#[genclient(only_verbs(get, list, watch))]
pub struct ParcelSpec {
    /// Where it goes.
    pub address: String,
}

/// What has become of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ParcelStatus {
    /// Whether it has arrived.
    pub arrived: bool,
}
