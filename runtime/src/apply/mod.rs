//! Apply configurations: the fields of an object that a manager wants to own.
//!
//! Server-side apply gives the manager exactly the fields that its configuration has. A whole object is
//! therefore the wrong thing to apply: it has fields that somebody else set, and empty ones that nobody
//! wants to own. A configuration type has the same fields as the kind, each of which may be left out.
//!
//! - [`TypedClient::apply`](crate::TypedClient::apply) takes the configuration of its kind and nothing
//!   else.
//! - [`extract`] reads what a manager has applied out of an object, so that it can be changed and applied
//!   again. It loses nothing, or fails.
//! - Configurations that only the caller understands go through
//!   [`apply_untyped`](crate::TypedClient::apply_untyped).
//!
//! The generator writes a configuration type for each kind. By hand it is a struct like this one:
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use genclient_runtime::{
//!     Deserialize, RestClient, Serialize, TypedClient,
//!     apply::{ApiVersion, ApplyConfiguration, Kind, ObjectMetaApply},
//! };
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
//! #[serde(crate = "genclient_runtime::serde")]
//! pub struct ConfigMapApply {
//!     #[serde(rename = "apiVersion", default)]
//!     pub api_version: ApiVersion<ConfigMap>,
//!     #[serde(default)]
//!     pub kind: Kind<ConfigMap>,
//!     pub metadata: ObjectMetaApply,
//!     #[serde(skip_serializing_if = "Option::is_none")]
//!     pub data: Option<BTreeMap<String, String>>,
//! }
//!
//! impl ApplyConfiguration for ConfigMapApply {
//!     type Object = ConfigMap;
//!
//!     fn metadata(&self) -> &ObjectMetaApply {
//!         &self.metadata
//!     }
//! }
//!
//! # async fn example(client: kube::Client) -> genclient_runtime::Result<()> {
//! let client = RestClient::from(client).field_manager("example-controller");
//! let config_maps = TypedClient::<ConfigMap>::namespaced(client, "default");
//! let config = ConfigMapApply {
//!     api_version: ApiVersion::default(),
//!     kind: Kind::default(),
//!     metadata: ObjectMetaApply::new("example").labels([("app", "web")]),
//!     data: Some([("colour".to_owned(), "green".to_owned())].into()),
//! };
//! config_maps.apply(&config).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A whole object does not compile:
//!
//! ```compile_fail,E0277
//! # use genclient_runtime::TypedClient;
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # fn example(config_maps: TypedClient<ConfigMap>) {
//! config_maps.apply(&ConfigMap::default());
//! # }
//! ```

mod extract;
mod metadata;
mod types;

use kube::Resource;
use serde::Serialize;

pub use extract::{ExtractError, extract, extract_status};
pub use metadata::ObjectMetaApply;
pub use types::{ApiVersion, Kind};

use crate::client::ApiObject;

/// The fields of an object that a manager wants to own: what server-side apply takes.
///
/// The generated `…Apply` types implement it. A configuration serializes with `apiVersion`, `kind`,
/// `metadata.name` and those fields that are set, and with nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an apply configuration",
    label = "not an apply configuration",
    note = "a whole object is not an apply configuration: its manager would own every field that it has",
    note = "use the generated `…Apply` type of the kind, or `apply_untyped`, which takes any serializable value"
)]
pub trait ApplyConfiguration: Serialize {
    /// The kind of the objects that the configuration is for.
    type Object: ApiObject + Resource<DynamicType = ()>;

    /// Returns the metadata of the configuration, which names the object.
    fn metadata(&self) -> &ObjectMetaApply;
}

#[cfg(test)]
mod tests;
