//! Dynamic kinds: informers, listers and clients of kinds without a Rust type.
//!
//! A dynamic kind is a kind whose group, version, plural and scope are values at run time; a [`DynamicKind`].
//! A factory creates informers of its [`DynamicObject`](kube::core::DynamicObject)s or of their metadata. They
//! have the same store, handlers, indexes, resync, list options and metrics as informers of static types:
//!
//! ```no_run
//! use std::{error::Error, time::Duration};
//!
//! use genclient_runtime::{
//!     GroupVersionResource, InformerFactory, ObjectKey, client,
//!     dynamic::{DynamicClient, DynamicKind},
//! };
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Box<dyn Error>> {
//! let client = client::try_default().await?;
//! let resource = GroupVersionResource::gvr("example.com", "v1", "widgets");
//! let kind = DynamicKind::discover(client.clone(), &resource).await?;
//!
//! let factory = InformerFactory::builder(client.clone()).try_build()?;
//! let widgets = factory.dynamic_informer(&kind);
//! factory.start();
//! factory.wait_for_cache_sync(Duration::from_secs(30)).await?;
//! if let Some(widget) = widgets.dynamic_lister().get(&ObjectKey::namespaced("default", "example")) {
//!     println!("{}", widget.data["spec"]["size"]);
//! }
//!
//! let widgets = DynamicClient::new(client, &kind).in_namespace("default");
//! widgets.create(&kind.object("other").data(json!({"spec": {"size": 3}}))).await?;
//! # Ok(())
//! # }
//! ```
//!
//! - **One informer per type and kind.** Two requests for the same kind return one informer with one watch.
//! - **A kind need not exist yet.** An informer waits until the server serves it. [`DynamicKind::discover`]
//!   does not wait; its error names similar resources that the server serves.
//! - **A definition that is deleted or changes its scope or version is reported.** The informer of the old kind
//!   keeps its last objects and still counts as synced, because the definition may come back.
//!   [`InformerFactory::status`](crate::InformerFactory::status) shows it as
//!   [`Problem::Absent`](crate::reflector::Problem::Absent).
//!   [`remove_dynamic`](crate::InformerFactory::remove_dynamic) removes it, and `discover` returns the new kind.
//! - **The scope is a value.** A [`DynamicLister`] finds an object by its [`ObjectKey`](crate::ObjectKey), and a
//!   request for a namespace of a cluster-scoped kind fails without being sent.
//! - **Objects have their kind.** The server omits `apiVersion` and `kind` from the objects of some lists. The
//!   objects of an informer and of [`pages`](crate::TypedClient::pages) always have them, in
//!   [`DynamicObject::types`](kube::core::DynamicObject::types).
//!
//! A generated factory wraps the factory of this crate, so both can share their informers:
//! `SharedInformerFactory::from(factory.clone())`.
//!
//! | | whole objects | metadata | another type |
//! | --- | --- | --- | --- |
//! | informer | [`dynamic_informer`] | [`dynamic_metadata_informer`] | [`informer_as`] |
//! | client | [`DynamicClient`] | [`DynamicMetadataClient`] | `get_as`, `create_as`, … of a [`DynamicClient`] |
//!
//! [`dynamic_informer`]: crate::InformerFactory::dynamic_informer
//! [`dynamic_metadata_informer`]: crate::InformerFactory::dynamic_metadata_informer
//! [`informer_as`]: crate::InformerFactory::informer_as

mod client;
mod discover;
mod kind;
mod lister;

pub use client::{DynamicClient, DynamicList, DynamicMetadataClient};
pub use discover::DiscoverError;
pub use kind::DynamicKind;
pub(crate) use kind::completion;
pub use lister::DynamicLister;
