//! How Kubernetes objects merge: the rules of kube-apiserver, on [`serde_json::Value`]s and without I/O.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`path`] | the path of a field, as conflict messages print it |
//! | [`fields`] | sets of fields, and the `FieldsV1` format of `metadata.managedFields` |
//! | [`managed`] | the entries of `metadata.managedFields` |
//! | [`schema`] | how the values of a kind merge, read from a CRD or an OpenAPI document, or built in |
//! | [`apply`] | server-side apply, and the ownership of fields that other writes change |
//! | [`extract`] | the part of an object that a manager has applied |
//! | [`strategic`] | strategic merge patches: the difference of two objects, and the application |
//! | [`merge_patch`] | JSON merge patches (RFC 7386): the difference of two values, and the application |
//! | [`json_patch`] | the application of JSON patches (RFC 6902) |
//!
//! Two writers apply an object, and the second one meets a field that belongs to the first:
//! ```
//! use genclient_merge::{Schema, Writer};
//! use serde_json::json;
//!
//! let schema = Schema::from_crd(&json!({
//!     "type": "object",
//!     "properties": { "spec": { "type": "object", "properties": { "cidr": { "type": "string" } } } },
//! }))?;
//! let network = |cidr| json!({
//!     "apiVersion": "samplecrd.k8s.io/v1",
//!     "kind": "Network",
//!     "metadata": { "name": "example" },
//!     "spec": { "cidr": cidr },
//! });
//!
//! let mine = Writer::new("mine", "samplecrd.k8s.io/v1");
//! let created = mine.apply(None, &network("192.168.0.0/16"), &schema)?;
//!
//! let other = Writer::new("other", "samplecrd.k8s.io/v1");
//! let error = other.apply(Some(&created), &network("10.0.0.0/8"), &schema).unwrap_err();
//! assert_eq!(error.to_string(), r#"Apply failed with 1 conflict: conflict with "mine": .spec.cidr"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! `kubernetes`, which is off by default, adds the schemas of Kubernetes' own kinds:
//! `Schema::kubernetes("apps/v1", "Deployment")`. They make a program 230 KB larger.
//!
//! # Limits
//! A value that `serde_json` has parsed is nested at most [`MAX_DEPTH`] levels deep. Deeper values, which
//! only a program can build, are an error for every function that can fail, instead of a stack overflow.

pub mod apply;
pub mod extract;
pub mod fields;
mod json;
pub mod json_patch;
pub mod managed;
pub mod merge_patch;
pub mod path;
pub mod schema;
pub mod strategic;
mod typed;

pub use apply::{ApplyError, Conflicts, Writer};
pub use fields::FieldSet;
pub use json::MAX_DEPTH;
pub use managed::{ManagedFields, ManagedFieldsEntry, Operation};
pub use path::{FieldPath, PathElement};
pub use schema::Schema;
pub use typed::ValidationError;
