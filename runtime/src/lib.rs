//! The runtime under genclient's generated clientsets, listers and shared informers.
//!
//! Generated code is a thin typed face over this crate: whatever it does is done here, and every
//! name it needs, of kube and k8s-openapi too, is exported from here.

// Whatever can fail is an error that the caller can handle; tests may end with a panic.
#![warn(clippy::unwrap_used)]

// The derives name this crate by its name, in its own tests too.
extern crate self as genclient_runtime;

#[doc(hidden)]
#[path = "derive.rs"]
#[allow(missing_docs, reason = "only the code of the derives refers to it")]
pub mod __private;
mod client;
pub mod crd;
mod decode;
mod delta;
mod error;
mod event;
pub mod events;
mod factory;
mod generic;
mod informer;
mod lister;
mod meta;
pub mod metrics;
mod object;
mod owner;
mod panics;
mod reflector;
mod resource_version;
mod retry;
pub mod scheme;
mod selector;
mod store;
mod wire;
pub mod workqueue;

pub use client::{
    ApiObject, Apply, Create, Delete, DeleteCollection, Deleted, Get, List, PatchRequest, SubresourceApply,
    SubresourceCreate, SubresourceGet, SubresourceList, SubresourcePatch, SubresourceUpdate, TypedClient,
    Update, WatchEvent, WatchStream,
};
pub use delta::{Delta, DeltaReceiver, DeltaSender, InvalidObject, Scope, delta_queue};
pub use error::{Cause as ErrorCause, Error, InvalidRequest, Operation, Result};
pub use event::{Cause, Event, FinalState};
pub use factory::{
    CacheSyncError, FactoryError, InformerFactory, InformerFactoryBuilder, InformerListOptions, NotSynced,
};
pub use generic::GenericInformer;
pub use informer::{
    CatchUpError, EventHandler, EventStream, HandlerRegistration, InformerConfig, ResyncTooShort,
    SHORTEST_RESYNC, SharedInformer,
};
pub use lister::{Lister, NamespaceLister, NotFound};
pub use meta::{GroupKind, GroupResource, KindList, UnknownResource};
pub use object::{CacheObject, ObjectKey, ParseObjectKeyError, Watched};
pub use owner::{controller_of, controller_ref, is_controlled_by, owner_ref};
pub use reflector::{
    BackoffConfig, DeltaSink, ErrorHook, Problem, Reflector, ReflectorConfig, ReflectorState, Selectors,
    SinkClosed, Transform,
};
pub use retry::{RetryPolicy, retry_if, retry_on_conflict};
pub use scheme::{DecodeError, KnownObject, KnownType};
pub use selector::{LabelDigest, LabelSelectorError, ParseSelectorError, Selector};
pub use store::{Index, IndexError, Snapshot, Store};
pub use workqueue::{Action, Priority, WorkQueue};

pub use genclient_macros::{GenClient, GenClientList, group_version};

pub use k8s_openapi::{
    self,
    apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta},
};
pub use kube::{
    self, Api, Client, CustomResourceExt,
    api::{
        DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Preconditions,
        PropagationPolicy, ValidationDirective, VersionMatch,
    },
    core::{GroupVersionResource, ObjectList},
};
pub use schemars;
pub use serde::{self, Serialize};
pub use serde_json::Value;
