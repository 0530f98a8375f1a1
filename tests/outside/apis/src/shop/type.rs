//! A module whose name is a keyword.

use genclient_runtime::{GenClient, ObjectMeta};

genclient_runtime::group_version!("type.shop.example.com/v1");

/// Letter is of a type.
#[derive(Clone, Debug, PartialEq, GenClient)]
#[genclient(cluster_scoped)]
pub struct Letter {
    /// The object's metadata.
    pub metadata: ObjectMeta,
}
