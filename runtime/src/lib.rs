//! The runtime under genclient's generated clientsets, listers and shared informers.
//!
//! Generated code is a thin typed face over this crate: whatever it does is done here, and every
//! name it needs, of kube and k8s-openapi too, is exported from here.

// Whatever can fail is an error that the caller can handle; tests may end with a panic.
#![warn(clippy::unwrap_used)]

// The derives name this crate by its name, in its own tests too.
extern crate self as genclient_runtime;

#[doc(hidden)]
#[allow(missing_docs, reason = "only the code of the derives refers to it")]
pub mod __private;
pub mod backoff;
mod bucket;
pub mod client;
pub mod crd;
mod decode;
mod delta;
pub mod error;
pub mod events;
pub mod factory;
pub mod informer;
pub mod lister;
pub mod meta;
pub mod metrics;
pub mod object;
mod offload;
pub mod owner;
mod panics;
pub mod reflector;
mod resource_version;
pub mod retry;
pub mod scheme;
pub mod selector;
pub mod store;
mod wire;
pub mod workqueue;

pub use client::{RestClient, TypedClient};
pub use error::{Error, Result};
pub use factory::InformerFactory;
pub use informer::{Cause, Event, FinalState, SharedInformer};
pub use lister::{Lister, NamespaceLister};
pub use object::ObjectKey;
pub use selector::Selector;
pub use workqueue::{Action, Priority, WorkQueue};

pub use genclient_macros::{GenClient, GenClientList, group_version};

pub use k8s_openapi::{
    self,
    apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta},
};
pub use kube::{
    self, Api, Client, CustomResourceExt,
    api::{ListParams, Patch, PropagationPolicy, ValidationDirective, VersionMatch},
    core::{GroupVersionResource, ObjectList},
};
pub use schemars;
pub use serde::{self, Serialize};
pub use serde_json::Value;
