//! The runtime of genclient: typed clients, shared informers, listers, work queues and events for
//! Kubernetes controllers, on top of [`kube`].
//!
//! Generated clientsets, informers and listers are thin typed wrappers around this crate. Everything
//! here also works without generated code, for every type that [`kube`] can list and watch.
//!
//! A controller reconciles the objects of a kind. A [`Manager`] runs it, with one informer per kind, and with a
//! lease, so that one of several replicas works:
//!
//! ```no_run
//! use std::{sync::Arc, time::Duration};
//!
//! use genclient_runtime::{Action, Controller, Error, Manager, TypedClient, owner};
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use serde_json::json;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let manager = Manager::builder("copier").lease("default/copier").connect().await?;
//!     Controller::<Secret>::new(&manager).owns::<ConfigMap>().run(reconcile);
//!     Ok(manager.run().await?)
//! }
//!
//! /// Keeps a ConfigMap with the names of the keys of each Secret.
//! async fn reconcile(secret: Arc<Secret>, manager: Arc<Manager>) -> Result<Action, Error> {
//!     let namespace = secret.metadata.namespace.as_deref().unwrap_or_default();
//!     let config_maps = TypedClient::<ConfigMap>::namespaced(manager.client(), namespace);
//!     let keys: Vec<_> = secret.data.iter().flatten().map(|(key, _)| &**key).collect();
//!     let config = json!({
//!         "apiVersion": "v1",
//!         "kind": "ConfigMap",
//!         "metadata": { "name": secret.metadata.name, "ownerReferences": [owner::controller_ref(&*secret)] },
//!         "data": { "keys": keys.join(",") },
//!     });
//!     config_maps.apply_untyped(&config).await?;
//!     Ok(Action::requeue(Duration::from_secs(300)))
//! }
//! ```
//!
//! Everything below works without a manager: informers, queues and clients can be wired by hand, and
//! [`control_loop`] runs them.
//!
//! | start here | |
//! | --- | --- |
//! | [`controller`] | the kinds that a controller watches, and what happens to an object that has changed |
//! | [`manager`] | what controllers share: client, informers, events, lease, shutdown |
//! | [`leader`] | one leader among several replicas, and writes that only the leader can make |
//! | [`predicate`] | which updates are reconciled |
//! | [`client`] | requests to the API server, with timeouts, rate limits and pages |
//! | [`apply`] | apply configurations: the fields of an object that a manager wants to own |
//! | [`patch`] | patches, and the difference of two objects |
//! | [`informer`] | the cache of a kind, and the handlers and streams of its changes |
//! | [`lister`] | typed reads of the cache |
//! | [`workqueue`] | keys with delays, priorities, retries and workers |
//! | [`enqueue`] | handlers that queue the keys of changed objects, of their owners, or of any mapping |
//! | [`events`] | Kubernetes events about the objects of a controller |
//! | `cli` | with the feature `cli`: the flags, the log and the signals of a controller's program |
//!
//! | when you need it | |
//! | --- | --- |
//! | [`control_loop`] | runs the workers of one queue: waits for the caches, shuts down in order |
//! | [`factory`] | one informer per type: namespaces, readiness, resync, list options, transforms, slim types |
//! | [`dynamic`] | informers, listers and clients of kinds whose type is not known at compile time |
//! | [`store`] | the cache itself: snapshots and typed indexes |
//! | [`selector`] | label selectors with the API server's grammar |
//! | [`retry`] | retries of a write that conflicts with another one |
//! | [`owner`] | owner references |
//! | [`finalizer`] | finalizers, which hold a deleted object back |
//! | [`conditions`] | the conditions of a status |
//! | [`scheme`] | manifests decoded into the types of a clientset |
//! | [`crd`] | CRD manifests of annotated types |
//! | [`metrics`] | the name and meaning of every metric |
//!
//! | under the hood | |
//! | --- | --- |
//! | [`reflector`] | lists and watches a collection and sends its changes to a sink |
//! | [`object`] | the traits of cached types, and object keys |
//! | [`error`](mod@error) | the error of every request |
//! | [`meta`] | group-qualified names, and the trait of list types |
//! | [`backoff`] | the pauses between failed attempts |
//!
//! Panics of handlers, of reconciliations, of index functions and of decoded types are caught, logged and counted.
//! This needs unwinding: with `panic = "abort"` in the profile each of them ends the program.

// Failures are returned as errors. Tests may panic.
#![warn(clippy::unwrap_used)]

// The derives refer to this crate by its name, also in its own tests.
extern crate self as genclient_runtime;

#[doc(hidden)]
#[allow(missing_docs, reason = "only derived code uses it")]
pub mod __private;
pub mod apply;
pub mod backoff;
mod bucket;
#[cfg(feature = "cli")]
pub mod cli;
pub mod client;
mod clip;
pub mod conditions;
pub mod control_loop;
pub mod controller;
pub mod crd;
mod decode;
mod delta;
pub mod dynamic;
pub mod enqueue;
pub mod error;
pub mod events;
pub mod factory;
pub mod finalizer;
pub mod informer;
pub mod leader;
pub mod lister;
mod macros;
pub mod manager;
pub mod meta;
pub mod metrics;
pub mod object;
mod offload;
pub mod owner;
mod panics;
pub mod patch;
pub mod predicate;
pub mod reflector;
mod resource_version;
pub mod retry;
pub mod scheme;
pub mod selector;
mod signal;
pub mod store;
mod wire;
pub mod workqueue;
mod written;

// The names that a controller needs.
pub use client::{RestClient, TypedClient};
pub use controller::{Controller, Retry};
pub use error::{Error, Result};
pub use factory::InformerFactory;
pub use informer::{Cause, Event, FinalState, SharedInformer};
pub use lister::{Lister, NamespaceLister};
pub use manager::Manager;
pub use object::ObjectKey;
pub use patch::Patch;
pub use selector::Selector;
pub use workqueue::{Action, Priority, WorkQueue};

// The derives of annotated types, and of kube's custom resources.
pub use genclient_macros::{GenClient, GenClientList, GenClientOptions};

// The names of other crates that generated code uses.
pub use k8s_openapi::{
    self,
    apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta},
};
pub use kube::{
    self, Api, Client, CustomResourceExt,
    api::{ListParams, PropagationPolicy, ValidationDirective, VersionMatch},
    core::{GroupVersionResource, ObjectList},
};
pub use schemars;
pub use serde::{self, Deserialize, Serialize};
pub use serde_json::Value;
