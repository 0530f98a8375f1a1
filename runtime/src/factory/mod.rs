//! The factory: owns one informer per type, starts them and stops them.
//!
//! - **One informer per type.** Requesting the same type twice returns the same informer, with one watch.
//!   For a [dynamic kind](crate::dynamic) it is one per type and kind.
//! - **`start` can be called any number of times.** It starts the informers that do not run yet.
//! - **An informer can be stopped without the others.** It does not start again.
//! - **`wait_for_cache_sync` has a deadline.** Its error names each type that did not sync, and why. `synced`
//!   has no deadline. It logs every ten seconds which types and handlers are missing.
//! - **`status` says how current each cache is.** A cache that was synced once stays readable when its resource
//!   can no longer be watched; see below.
//!
//! # Readiness
//!
//! An informer waits for a resource that the server does not serve, at the start and later. If the definition of
//! a custom resource is deleted, or comes back with another scope or without this version, the informer keeps
//! its last objects, and still counts as synced. [`InformerFactory::status`] shows it as
//! [`Problem::Absent`]. A program decides how long it accepts that:
//!
//! ```
//! use std::time::Duration;
//! use genclient_runtime::InformerFactory;
//!
//! fn is_ready(factory: &InformerFactory) -> bool {
//!     let patience = Duration::from_secs(300);
//!     factory.status().iter().all(|informer| {
//!         informer.synced && informer.failing_for.is_none_or(|failing| failing < patience)
//!     })
//! }
//! ```
//!
//! # Caching less
//!
//! Most of the memory of a cache is used by fields that no one reads. From the least effort to the least
//! memory:
//!
//! - `managedFields` are skipped while decoding, unless
//!   [`keep_managed_fields`](InformerFactoryBuilder::keep_managed_fields) is set.
//! - [`InformerFactoryBuilder::transform`] drops fields of a type before it is cached.
//! - [`InformerFactory::metadata_informer`] requests only the metadata from the server.
//! - A slim type has only the fields that you need; all others are skipped while decoding. It is a struct
//!   that implements `Deserialize`, [`CacheObject`](crate::object::CacheObject) and [`Watched`], and works
//!   like any other type:
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
//!     pods.add_index("node", |pod: &NodeOfPod| pod.spec.node_name.clone()).expect("the name is free");
//!     pods
//! }
//! ```

mod builder;
mod member;
mod shared;
mod turns;

use std::{any::TypeId, fmt, sync::Arc, time::Duration};

use futures::future::{join_all, select_all};
use kube::core::{DynamicObject, GroupVersionResource, PartialObjectMeta};
use parking_lot::Mutex;
use tokio::{runtime::Handle, time::Instant};
use tokio_util::task::TaskTracker;

pub(crate) use self::shared::FactoryUse;
use self::{
    builder::Settings,
    member::{AnyMember, Followed, Member},
};
use crate::{
    dynamic::DynamicKind,
    informer::{GenericInformer, ResyncTooShort, SharedInformer, SyncReceiver},
    object::{Decodable, Watched},
    reflector::Problem,
    selector::ParseSelectorError,
};

pub use crate::reflector::ListOptions;
pub use builder::InformerFactoryBuilder;

/// Why a factory cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FactoryError {
    /// The namespace is not a DNS label.
    #[error("`{0}` is not a namespace: it must be a DNS label")]
    Namespace(String),
    /// The resync period is too short.
    #[error("{}{error}", .of.map(|of| format!("for `{of}`: ")).unwrap_or_default())]
    Resync {
        /// The type with this period, or `None` if it is the period of all types.
        of: Option<&'static str>,
        /// The error, with the period.
        error: ResyncTooShort,
    },
    /// The label selector does not parse.
    #[error(transparent)]
    Selector(ParseSelectorError),
    /// `start` was called outside of a Tokio runtime.
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
    /// The deadline passed, or an informer ended, before these types were synced.
    #[error("not synced: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotSynced(Vec<NotSynced>),
}

/// A type that did not sync.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSynced {
    /// The resource, such as `networks.samplecrd.k8s.io/v1`.
    pub resource: String,
    /// Why the informer or one of its handlers is not synced.
    pub reason: String,
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.resource, self.reason)
    }
}

/// An informer that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedInformer {
    /// The resource, such as `networks.samplecrd.k8s.io/v1`.
    pub resource: String,
    /// Whether the informer cached metadata only.
    pub metadata_only: bool,
    /// Why it ended.
    pub reason: String,
}

impl fmt::Display for EndedInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = if self.metadata_only { "metadata informer" } else { "informer" };
        write!(f, "the {form} of {}", self.resource)
    }
}

/// How current the cache of an informer is; returned by [`InformerFactory::status`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The resource, such as `networks.samplecrd.k8s.io/v1`.
    pub resource: String,
    /// Whether the informer caches metadata only.
    pub metadata_only: bool,
    /// Whether the first list is in the cache. This remains true when the server later fails.
    pub synced: bool,
    /// The time since the cache last changed or was confirmed to be current; see
    /// [`SharedInformer::age`](crate::SharedInformer::age).
    pub age: Option<Duration>,
    /// Why the resource cannot be listed or watched at present. If several namespaces fail, the longest failure
    /// counts.
    pub problem: Option<Problem>,
    /// How long attempts have failed with this problem.
    pub failing_for: Option<Duration>,
    /// Why the informer does not run or cannot follow its resource, in words.
    pub reason: Option<String>,
}

/// The interval at which a cache that does not sync is logged.
const SYNC_REPORT: Duration = Duration::from_secs(10);

/// Owns one shared informer per type, or per type and dynamic kind. Cheap to clone.
///
/// An informer runs until [`shutdown`](Self::shutdown), until it is stopped, or until the last handle to
/// it is dropped: the factory and its clones, the informer itself, its listers, indexes and streams.
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
    /// The informers in the order of their first request. There are few enough to look through.
    requested: Vec<(MemberKey, Arc<dyn AnyMember>)>,
    /// The tasks of informers that were removed and may still be ending.
    ending: Vec<TaskTracker>,
    /// Why the factory cannot start.
    fault: Option<FactoryError>,
    is_shut_down: bool,
    /// How many control loops run with the factory.
    uses: usize,
}

/// The identity of an informer in its factory.
#[derive(PartialEq, Eq, Hash)]
struct MemberKey {
    object: TypeId,
    /// The kind, if it is dynamic.
    kind: Option<DynamicKind>,
    metadata_only: bool,
}

impl fmt::Debug for InformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resources: Vec<_> = self.members().iter().map(|member| member.resource()).collect();
        f.debug_struct("InformerFactory").field("informers", &resources).finish_non_exhaustive()
    }
}

impl InformerFactory {
    /// Returns a builder of a factory.
    pub fn builder(client: impl Into<kube::Client>) -> InformerFactoryBuilder<Self> {
        InformerFactoryBuilder::new(client)
    }

    fn new(client: kube::Client, settings: Settings, fault: Option<FactoryError>) -> Self {
        let members = Mutex::new(Members { fault, ..Members::default() });
        Self { inner: Arc::new(Inner { client, settings, members }) }
    }

    /// Returns the client that the informers use.
    pub fn client(&self) -> &kube::Client {
        &self.inner.client
    }

    /// Returns the informer of a type. The first call creates it, and the next [`start`](Self::start)
    /// runs it.
    pub fn informer<K: Watched>(&self) -> SharedInformer<K> {
        self.static_member()
    }

    /// Returns an informer that requests and caches only the metadata of a type, for the names, labels
    /// and owners of many large objects.
    ///
    /// The informer of [`informer`](Self::informer) is separate, with its own watch.
    pub fn metadata_informer<K>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        PartialObjectMeta<K>: Watched,
    {
        self.static_member()
    }

    /// Returns the informer of a [dynamic kind](crate::dynamic).
    ///
    /// ```
    /// # use genclient_runtime::{InformerFactory, SharedInformer, dynamic::DynamicKind};
    /// # use kube::core::DynamicObject;
    /// fn widgets(factory: &InformerFactory) -> SharedInformer<DynamicObject> {
    ///     factory.dynamic_informer(&DynamicKind::namespaced("example.com", "v1", "Widget", "widgets"))
    /// }
    /// ```
    ///
    /// The informer of a static type of the same kind is separate, with its own watch.
    pub fn dynamic_informer(&self, kind: &DynamicKind) -> SharedInformer<DynamicObject> {
        self.dynamic_member(kind, false)
    }

    /// Returns an informer that requests and caches only the metadata of a dynamic kind.
    pub fn dynamic_metadata_informer(
        &self,
        kind: &DynamicKind,
    ) -> SharedInformer<PartialObjectMeta<DynamicObject>> {
        self.dynamic_member(kind, true)
    }

    /// Returns an informer that decodes the objects of a kind as `K`. The type need not belong to the kind.
    ///
    /// One type can serve several kinds that have some fields in common:
    ///
    /// ```
    /// use genclient_runtime::{InformerFactory, SharedInformer, dynamic::DynamicKind, object::CacheObject};
    /// use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct WithConditions { metadata: ObjectMeta, #[serde(default)] status: Status }
    ///
    /// #[derive(Default, serde::Deserialize)]
    /// struct Status { #[serde(default)] conditions: Vec<Condition> }
    ///
    /// impl CacheObject for WithConditions {
    ///     fn name(&self) -> &str { self.metadata.name.as_deref().unwrap_or_default() }
    ///     fn namespace(&self) -> Option<&str> { self.metadata.namespace.as_deref() }
    ///     fn uid(&self) -> &str { self.metadata.uid.as_deref().unwrap_or_default() }
    ///     fn resource_version(&self) -> &str { self.metadata.resource_version.as_deref().unwrap_or_default() }
    ///     fn label(&self, key: &str) -> Option<&str> { self.metadata.labels.as_ref()?.get(key).map(|x| &**x) }
    /// }
    ///
    /// fn conditions(
    ///     factory: &InformerFactory,
    ///     kinds: &[DynamicKind],
    /// ) -> Vec<SharedInformer<WithConditions>> {
    ///     kinds.iter().map(|kind| factory.informer_as(kind)).collect()
    /// }
    /// ```
    ///
    /// An object that does not decode as `K` is listed in [`SharedInformer::invalid`].
    pub fn informer_as<K: Decodable>(&self, kind: &DynamicKind) -> SharedInformer<K> {
        self.dynamic_member(kind, false)
    }

    /// Stops and removes the informers of a dynamic kind. Returns `false` if the factory has none. The next
    /// request of the kind creates a new informer.
    ///
    /// Call it when the definition of the kind is deleted. Otherwise the informer waits until the definition
    /// exists again.
    pub fn remove_dynamic(&self, kind: &DynamicKind) -> bool {
        let mut members = self.inner.members.lock();
        let removed = members.requested.extract_if(.., |(key, _)| key.kind.as_ref() == Some(kind));
        let removed: Vec<_> = removed.map(|(_, member)| member).collect();
        members.ending.retain(|tasks| !tasks.is_empty());
        members.ending.extend(removed.iter().map(|member| member.tasks()));
        drop(members);
        removed.iter().for_each(|member| member.stop());
        !removed.is_empty()
    }

    fn static_member<K: Watched>(&self) -> SharedInformer<K> {
        let metadata_only = K::is_metadata_only();
        let key = MemberKey { object: TypeId::of::<K>(), kind: None, metadata_only };
        self.member(key, || Followed { kind: DynamicKind::of::<K>(), is_dynamic: false, metadata_only })
    }

    fn dynamic_member<K: Decodable>(&self, kind: &DynamicKind, metadata_only: bool) -> SharedInformer<K> {
        let key = MemberKey { object: TypeId::of::<K>(), kind: Some(kind.clone()), metadata_only };
        self.member(key, || Followed { kind: kind.clone(), is_dynamic: true, metadata_only })
    }

    fn member<K: Decodable>(&self, key: MemberKey, followed: impl FnOnce() -> Followed) -> SharedInformer<K> {
        let mut members = self.inner.members.lock();
        let is_shut_down = members.is_shut_down;
        let index = members.requested.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            members.requested.push((key, Arc::new(Member::<K>::new(followed(), &self.inner.settings))));
            members.requested.len() - 1
        });
        let informer = Member::<K>::informer_of(members.requested[index].1.as_ref());
        if is_shut_down {
            informer.stop();
        }
        informer
    }

    /// Returns the informer of a resource, if it was requested before.
    ///
    /// Of several, it prefers whole objects of a static type, then whole objects of a dynamic kind, then
    /// metadata. Of two static types it returns the one that was requested first.
    pub fn for_resource(&self, resource: &GroupVersionResource) -> Option<GenericInformer> {
        let mut members = self.members();
        members.retain(|member| member.followed().kind.resource() == *resource);
        let first = members.iter().min_by_key(|member| {
            let Followed { metadata_only, is_dynamic, .. } = member.followed();
            (*metadata_only, *is_dynamic)
        });
        first.map(|member| member.generic())
    }

    /// Starts every informer that does not run yet. Call it within a Tokio runtime, on which the watches
    /// and the handlers then run, and again after requesting further types.
    ///
    /// A factory with an invalid value starts nothing; [`wait_for_cache_sync`](Self::wait_for_cache_sync)
    /// and [`synced`](Self::synced) return the error.
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
        for (_, member) in &members.requested {
            member.start(&self.inner.client, &self.inner.settings, &runtime);
        }
    }

    /// Waits until every requested informer is synced. It does not wait for event handlers.
    ///
    /// # Errors
    ///
    /// Returns an error at the deadline, or as soon as an informer can no longer sync. It names each type
    /// that is not synced, and why.
    pub async fn wait_for_cache_sync(&self, deadline: Duration) -> Result<(), CacheSyncError> {
        self.wait(deadline, false).await
    }

    /// Waits until every requested informer is synced and each of its event handlers has handled the first
    /// list, and logs every ten seconds what is missing.
    ///
    /// It has no deadline, also not for an informer that was stopped; see
    /// [`informer_ended`](Self::informer_ended). A handler that was removed counts as synced.
    ///
    /// # Errors
    ///
    /// Returns an error if the factory cannot start.
    pub async fn synced(&self) -> Result<(), FactoryError> {
        loop {
            let next_report = Instant::now() + SYNC_REPORT;
            match self.wait(SYNC_REPORT, true).await {
                Ok(()) => return Ok(()),
                Err(CacheSyncError::Factory(fault)) => return Err(fault),
                Err(error) => tracing::info!("still waiting for informer caches to sync: {error}"),
            }
            tokio::time::sleep_until(next_report).await;
        }
    }

    /// Waits for each informer, and for its handlers if they are included.
    async fn wait(&self, deadline: Duration, with_handlers: bool) -> Result<(), CacheSyncError> {
        if let Some(fault) = self.inner.members.lock().fault.clone() {
            return Err(fault.into());
        }
        let members = self.members();
        let handlers = |member: &Arc<dyn AnyMember>| match with_handlers {
            true => member.syncing_handlers(),
            false => Vec::new(),
        };
        let all = join_all(members.iter().map(|member| async {
            member.sync_signal().wait().await;
            join_all(handlers(member).into_iter().map(SyncReceiver::wait)).await;
        }));
        // The outcome of each informer is checked below.
        let _ = tokio::time::timeout(deadline, all).await;
        let late: Vec<_> = members
            .iter()
            .filter(|member| !member.sync_signal().is_synced() || !handlers(member).is_empty())
            .map(|member| NotSynced { resource: member.resource(), reason: member.reason() })
            .collect();
        if late.is_empty() { Ok(()) } else { Err(CacheSyncError::NotSynced(late)) }
    }

    /// Returns the status of every requested informer, sorted by resource.
    pub fn status(&self) -> Vec<InformerStatus> {
        self.members().iter().map(|member| member.status()).collect()
    }

    /// Waits until an informer ends, for any reason. It considers the informers that were requested before the
    /// call.
    pub async fn informer_ended(&self) -> EndedInformer {
        let members = self.members();
        if members.is_empty() {
            return std::future::pending().await;
        }
        let (_, first, _) = select_all(members.iter().map(|member| member.stopped())).await;
        let member = &members[first];
        EndedInformer {
            resource: member.resource(),
            metadata_only: member.followed().metadata_only,
            reason: member.reason(),
        }
    }

    /// Stops every informer, and waits until their watches are closed and their handlers have returned. The
    /// caches can still be read.
    ///
    /// A handler that never returns blocks this call; use a timeout if that can happen. Every call waits, not
    /// only the first.
    pub async fn shutdown(&self) {
        self.stop();
        let mut tasks = self.inner.members.lock().ending.clone();
        tasks.extend(self.members().iter().map(|member| member.tasks()));
        join_all(tasks.iter().map(|tasks| {
            tasks.close();
            tasks.wait()
        }))
        .await;
    }

    /// Stops every informer.
    fn stop(&self) {
        self.inner.members.lock().is_shut_down = true;
        self.members().iter().for_each(|member| member.stop());
    }

    /// The informers, sorted by the name of their resource, then by their first request.
    fn members(&self) -> Vec<Arc<dyn AnyMember>> {
        let mut members: Vec<_> =
            self.inner.members.lock().requested.iter().map(|(_, member)| Arc::clone(member)).collect();
        members.sort_by_key(|member| member.resource());
        members
    }
}
