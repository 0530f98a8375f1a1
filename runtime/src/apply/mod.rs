//! Apply configurations: the fields of an object that a manager wants to own.
//!
//! With server-side apply, a manager owns exactly the fields in its configuration. Do not apply a whole
//! object: it contains fields that other managers set, and empty fields that no manager should own. A
//! configuration type has the same fields as the kind, all of them optional.
//!
//! - [`TypedClient::apply`](crate::TypedClient::apply) accepts only configurations of its kind.
//! - [`extract`] returns the configuration that a manager has applied to an object, to be changed and applied
//!   again. It is complete, or an error.
//! - [`apply_untyped`](crate::TypedClient::apply_untyped) accepts any serializable value.
//!
//! The generator writes a configuration type for each kind. A handwritten one looks like this:
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

use crate::object::ApiObject;

/// A configuration for server-side apply: the fields of an object that a manager wants to own.
///
/// The generated `…Apply` types implement it. A configuration serializes `apiVersion`, `kind`,
/// `metadata.name` and the fields that are set, and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an apply configuration",
    label = "not an apply configuration",
    note = "a whole object is not an apply configuration: the manager would own every field in it",
    note = "use the generated `…Apply` type of the kind, or `apply_untyped`, which accepts any serializable value"
)]
pub trait ApplyConfiguration: Serialize {
    /// The type of the objects to which the configuration applies.
    type Object: ApiObject + Resource<DynamicType = ()>;

    /// Returns the metadata of the configuration, which names the object.
    fn metadata(&self) -> &ObjectMetaApply;
}
