//! The factory: owns one informer per type, starts them, waits for them and ends them.
//!
//! * The same type asked for twice is one informer, and one watch.
//! * `start` can be called any number of times; it starts the informers that do not run yet.
//! * An informer can be stopped without the others. It does not start again.
//! * `wait_for_cache_sync` has a deadline, and names each type that did not sync, and why.
//!
//! # Caching less
//!
//! Most of a cache's memory is fields that nobody reads. From the least effort to the least memory:
//!
//! * `managedFields` are skipped while decoding, unless one asks to keep them.
//! * [`InformerFactoryBuilder::transform`] drops fields of a type before it is cached.
//! * [`InformerFactory::metadata_informer`] asks the server for the metadata alone.
//! * A slim type has only the fields that one needs; the rest is skipped while decoding. It is a
//!   struct that implements `Deserialize`, [`CacheObject`](crate::object::CacheObject) and
//!   [`Watched`](crate::object::Watched), and then is like any other type:
//!
//! ```
//! use genclient_runtime::{InformerFactory, SharedInformer, object::{CacheObject, Watched}};
//! use k8s_openapi::api::core::v1::Pod;
//! use kube::core::ApiResource;
//!
//! #[derive(serde::Deserialize)]
//! struct NodeOfPod { metadata: Meta, spec: Spec }
//!
//! #[derive(serde::Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Meta { name: Box<str>, namespace: Box<str>, uid: Box<str>, resource_version: Box<str> }
//!
//! #[derive(serde::Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Spec { node_name: Option<Box<str>> }
//!
//! impl CacheObject for NodeOfPod {
//!     fn name(&self) -> &str { &self.metadata.name }
//!     fn namespace(&self) -> Option<&str> { Some(&self.metadata.namespace) }
//!     fn uid(&self) -> &str { &self.metadata.uid }
//!     fn resource_version(&self) -> &str { &self.metadata.resource_version }
//!     fn label(&self, _: &str) -> Option<&str> { None }
//! }
//!
//! impl Watched for NodeOfPod {
//!     type Scope = k8s_openapi::NamespaceResourceScope;
//!     fn api_resource() -> ApiResource { ApiResource::erase::<Pod>(&()) }
//! }
//!
//! fn nodes(factory: &InformerFactory) -> SharedInformer<NodeOfPod> {
//!     let pods = factory.informer::<NodeOfPod>();
//!     pods.add_index("node", |pod: &NodeOfPod| pod.spec.node_name.clone()).expect("it is the first");
//!     pods
//! }
//! ```

mod builder;
mod member;

use std::{any::TypeId, collections::HashMap, fmt, sync::Arc, time::Duration};

use futures::future::join_all;
use kube::core::{GroupVersionResource, PartialObjectMeta};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use self::{
    builder::Settings,
    member::{AnyMember, Member},
};
use crate::{
    informer::{GenericInformer, ResyncTooShort, SharedInformer},
    object::Watched,
    selector::ParseSelectorError,
};

pub use crate::reflector::ListOptions;
pub use builder::InformerFactoryBuilder;

/// Why a factory cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FactoryError {
    /// No namespace can have this name.
    #[error("`{0}` is not a namespace: it must be a DNS label")]
    Namespace(String),
    /// The resync period is too short.
    #[error("{}{error}", .of.map(|of| format!("for `{of}`: ")).unwrap_or_default())]
    Resync {
        /// The type that it was given for, or `None` where it was given for all.
        of: Option<&'static str>,
        /// The period, and what is wrong with it.
        error: ResyncTooShort,
    },
    /// The label selector does not parse.
    #[error(transparent)]
    Selector(ParseSelectorError),
    /// `start` was called where there is no Tokio runtime.
    #[error("the factory was started outside of a Tokio runtime")]
    NoRuntime,
}

/// Why the caches are not synced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CacheSyncError {
    /// The factory could not start.
    #[error(transparent)]
    Factory(#[from] FactoryError),
    /// The deadline passed, or an informer ended, before these were synced.
    #[error("not synced: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotSynced(Vec<NotSynced>),
}

/// A type that did not sync.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSynced {
    /// The resource, such as `networks.samplecrd.k8s.io/v1`.
    pub resource: String,
    /// Why, in words.
    pub reason: String,
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.resource, self.reason)
    }
}

/// Owns one shared informer per type. A cheap handle.
///
/// An informer runs until [`shutdown`](Self::shutdown), until it is stopped, or until the last handle
/// is dropped: of the factory, and of the informer itself, its listers, indexes and streams.
#[derive(Clone)]
pub struct InformerFactory {
    inner: Arc<Inner>,
}

struct Inner {
    client: kube::Client,
    settings: Settings,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    by_type: HashMap<TypeId, Arc<dyn AnyMember>>,
    /// What keeps the factory from working.
    fault: Option<FactoryError>,
    is_shut_down: bool,
}

impl fmt::Debug for InformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resources: Vec<_> = self.members().iter().map(|member| member.resource()).collect();
        f.debug_struct("InformerFactory").field("informers", &resources).finish_non_exhaustive()
    }
}

impl InformerFactory {
    /// Begins to build a factory.
    pub fn builder(client: impl Into<kube::Client>) -> InformerFactoryBuilder<Self> {
        InformerFactoryBuilder::new(client)
    }

    fn new(client: kube::Client, settings: Settings, fault: Option<FactoryError>) -> Self {
        let members = Mutex::new(Members { fault, ..Members::default() });
        Self { inner: Arc::new(Inner { client, settings, members }) }
    }

    /// The client that the informers use.
    pub fn client(&self) -> &kube::Client {
        &self.inner.client
    }

    /// The informer of a type. The first call makes it; it runs after the next
    /// [`start`](Self::start).
    pub fn informer<K: Watched>(&self) -> SharedInformer<K> {
        self.member()
    }

    /// An informer that asks the server for the metadata of a type only, and caches no more: for names,
    /// labels and owners of many large objects. It is another informer than that of
    /// [`informer`](Self::informer), with a watch of its own.
    pub fn metadata_informer<K>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        PartialObjectMeta<K>: Watched,
    {
        self.member()
    }

    fn member<K: Watched>(&self) -> SharedInformer<K> {
        let mut members = self.inner.members.lock();
        let is_shut_down = members.is_shut_down;
        let member = members
            .by_type
            .entry(TypeId::of::<K>())
            .or_insert_with(|| Arc::new(Member::<K>::new(&self.inner.settings)));
        let informer = Member::<K>::informer_of(member.as_ref());
        if is_shut_down {
            informer.stop();
        }
        informer
    }

    /// The informer of a resource, if its type has been asked for before. If there is one with whole
    /// objects and one with metadata, it is the former.
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Option<GenericInformer> {
        let mut members = self.members();
        // Of two informers of one resource the one with whole objects is meant.
        members.sort_by_key(|member| member.is_metadata_only());
        members.iter().map(|member| member.generic()).find(|informer| informer.resource() == *resource)
    }

    /// Starts every informer that does not run yet. Call it within a Tokio runtime, which the
    /// watches and the handlers then run on, and again after asking for further types.
    ///
    /// A factory with a bad value starts nothing; [`wait_for_cache_sync`](Self::wait_for_cache_sync)
    /// returns why.
    pub fn start(&self) {
        let mut members = self.inner.members.lock();
        if members.is_shut_down {
            return;
        }
        let runtime = match (Handle::try_current(), &members.fault) {
            (Ok(runtime), None | Some(FactoryError::NoRuntime)) => runtime,
            (_, Some(fault)) => {
                tracing::error!(%fault, "the informers are not started");
                return;
            }
            (Err(_), None) => {
                let fault = FactoryError::NoRuntime;
                tracing::error!(%fault, "the informers are not started");
                members.fault = Some(fault);
                return;
            }
        };
        members.fault = None;
        for member in members.by_type.values() {
            member.start(&self.inner.client, &self.inner.settings, &runtime);
        }
    }

    /// Waits until every informer that was asked for is synced.
    ///
    /// It fails after the deadline, or as soon as an informer can no longer sync, and then names
    /// each type that is not synced, and what stands in its way.
    pub async fn wait_for_cache_sync(&self, deadline: Duration) -> Result<(), CacheSyncError> {
        if let Some(fault) = self.inner.members.lock().fault.clone() {
            return Err(fault.into());
        }
        let members = self.members();
        let all = join_all(members.iter().map(|member| member.sync_signal().wait()));
        // Whether they synced, ended or took too long: each of them is asked for itself.
        let _ = tokio::time::timeout(deadline, all).await;
        let late: Vec<_> = members
            .iter()
            .filter(|member| !member.sync_signal().is_synced())
            .map(|member| NotSynced { resource: member.resource(), reason: member.reason() })
            .collect();
        if late.is_empty() { Ok(()) } else { Err(CacheSyncError::NotSynced(late)) }
    }

    /// Stops every informer, and waits until their watches are closed, their handlers have returned and
    /// nothing else of them runs. A handler that blocks for good holds this up: use a timeout if that
    /// can be. Every caller waits, also after another caller's timeout. The caches can still be read.
    pub async fn shutdown(&self) {
        self.inner.members.lock().is_shut_down = true;
        let members = self.members();
        members.iter().for_each(|member| member.stop());
        join_all(members.iter().map(|member| member.join())).await;
    }

    /// Every informer, by the name of its resource.
    fn members(&self) -> Vec<Arc<dyn AnyMember>> {
        let mut members: Vec<_> = self.inner.members.lock().by_type.values().cloned().collect();
        members.sort_by_key(|member| member.resource());
        members
    }
}
