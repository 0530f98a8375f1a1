//! The runtime of genclient: typed clients, shared informers, listers, work queues and events for
//! Kubernetes controllers, on top of [`kube`].
//!
//! Generated clientsets, informers and listers are thin typed wrappers around this crate. Everything
//! here also works without generated code, for every type that [`kube`] can list and watch.
//!
//! A controller connects a client, caches a kind in an informer, queues the key of every object that
//! changes, and reconciles the keys:
//!
//! ```no_run
//! use std::error::Error;
//!
//! use genclient_runtime::{
//!     Action, InformerFactory, ObjectKey, WorkQueue, client, control_loop::ControlLoop, enqueue,
//! };
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn Error>> {
//!     let client = client::try_default().await?;
//!     let factory = InformerFactory::builder(client).try_build()?;
//!     let config_maps = factory.informer::<ConfigMap>();
//!
//!     let queue = WorkQueue::new("config-maps");
//!     config_maps.add_event_handler(enqueue::changed(&queue));
//!
//!     let lister = config_maps.lister();
//!     let reconcile = move |key: ObjectKey| {
//!         let lister = lister.clone();
//!         async move {
//!             match lister.get(&key) {
//!                 Some(object) => println!("{key} is at {:?}", object.metadata.resource_version),
//!                 None => println!("{key} is deleted"),
//!             }
//!             Ok::<_, genclient_runtime::Error>(Action::await_change())
//!         }
//!     };
//!     let shutdown = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
//!     ControlLoop::new("config map", queue).factory(&factory).run(2, reconcile, shutdown).await?;
//!     Ok(())
//! }
//! ```
//!
//! | start here | |
//! | --- | --- |
//! | [`client`] | requests to the API server, with timeouts, rate limits and pages |
//! | [`apply`] | apply configurations: the fields of an object that a manager wants to own |
//! | [`patch`] | patches, and the difference of two objects |
//! | [`informer`] | the cache of a kind, and the handlers and streams of its changes |
//! | [`lister`] | typed reads of the cache |
//! | [`workqueue`] | keys with delays, priorities, retries and workers |
//! | [`enqueue`] | handlers that queue the keys of changed objects, of their owners, or of any mapping |
//! | [`control_loop`] | waits for the caches, runs the workers, shuts down in order |
//! | [`events`] | Kubernetes events about the objects of a controller |
//! | `cli` | with the feature `cli`: the flags, the log and the signals of a controller's program |
//!
//! | when you need it | |
//! | --- | --- |
//! | [`factory`] | one informer per type: namespaces, readiness, resync, list options, transforms, slim types |
//! | [`dynamic`] | informers, listers and clients of kinds whose type is not known at compile time |
//! | [`store`] | the cache itself: snapshots and typed indexes |
//! | [`selector`] | label selectors with the API server's grammar |
//! | [`retry`] | retries of a write that conflicts with another one |
//! | [`owner`] | owner references |
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
pub mod crd;
mod decode;
mod delta;
pub mod dynamic;
pub mod enqueue;
pub mod error;
pub mod events;
pub mod factory;
pub mod informer;
pub mod lister;
mod macros;
pub mod meta;
pub mod metrics;
pub mod object;
mod offload;
pub mod owner;
mod panics;
pub mod patch;
pub mod reflector;
mod resource_version;
pub mod retry;
pub mod scheme;
pub mod selector;
pub mod store;
mod wire;
pub mod workqueue;

// The names that a controller needs.
pub use client::{RestClient, TypedClient};
pub use error::{Error, Result};
pub use factory::InformerFactory;
pub use informer::{Cause, Event, FinalState, SharedInformer};
pub use lister::{Lister, NamespaceLister};
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
