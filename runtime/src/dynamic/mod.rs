//! Kinds that are known only at run time: their informers, listers and clients.
//!
//! A [`DynamicKind`] names a kind as a value. With it, a factory has informers of
//! [`DynamicObject`](kube::core::DynamicObject)s or of their metadata, next to those of static types and with
//! the same store, handlers, indexes, resync, list options and metrics:
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
//! let factory = InformerFactory::builder(client.clone()).build();
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
//! - **One informer per type and kind.** Asking twice for the same kind gives one informer with one watch.
//! - **A kind need not exist yet.** An informer waits until the server serves it. [`DynamicKind::discover`]
//!   does not wait; its error says what the server offers instead.
//! - **The scope is known only at run time.** A [`DynamicLister`] finds an object by its
//!   [`ObjectKey`](crate::ObjectKey), and a request for a namespace of a cluster-scoped kind fails without
//!   being sent.
//! - **Objects say what they are.** The server leaves `apiVersion` and `kind` out of the objects of some
//!   lists. The objects of an informer and of [`pages`](crate::TypedClient::pages) always have them, in
//!   [`DynamicObject::types`](kube::core::DynamicObject::types).
//!
//! A generated factory is made of the factory of this crate, so both can share their informers:
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
