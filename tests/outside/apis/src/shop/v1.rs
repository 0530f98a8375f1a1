//! Orders.

use genclient_runtime::{GenClient, GenClientList, ListMeta, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

genclient_runtime::group_version!("shop.example.com/v1");

/// Order is what a customer wants.
#[derive(Clone, Debug, PartialEq, GenClient)]
#[genclient(shortname = "ord", scale(spec_replicas_path = ".spec.pieces", status_replicas_path = ".status.pieces"))]
pub struct Order {
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: OrderSpec,
    /// What there is.
    pub status: Option<OrderStatus>,
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OrderSpec {
    /// How many.
    pub pieces: i32,
    /// In a hurry?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub express: bool,
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OrderStatus {
    /// How many have been sent.
    pub pieces: i32,
}

/// OrderList is a list of orders.
#[derive(Clone, Debug, PartialEq, GenClientList)]
pub struct OrderList {
    /// The list's metadata.
    pub metadata: ListMeta,
    /// The orders.
    pub items: Vec<Order>,
}
