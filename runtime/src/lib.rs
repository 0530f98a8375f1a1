//! The runtime under genclient's generated clientsets, listers and shared informers.
//!
//! Generated code is a thin typed face over this crate: whatever it does is done here, and every
//! name it needs, of kube and k8s-openapi too, is exported from here.

mod client;
mod decode;
mod delta;
mod error;
mod object;
mod owner;
mod reflector;
mod retry;
mod wire;

pub use client::{
    ApiObject, Apply, Create, Delete, DeleteCollection, Deleted, Get, List, PatchRequest, SubresourceApply,
    SubresourceCreate, SubresourceGet, SubresourceList, SubresourcePatch, SubresourceUpdate, TypedClient,
    Update, WatchEvent, WatchStream,
};
pub use delta::{Delta, InvalidObject, Scope};
pub use error::{Cause, Error, InvalidRequest, Operation, Result};
pub use object::{CacheObject, ObjectKey, ParseObjectKeyError, Watched};
pub use owner::{controller_of, controller_ref, is_controlled_by, owner_ref};
pub use reflector::{
    BackoffConfig, DeltaSink, ErrorHook, Problem, Reflector, ReflectorConfig, ReflectorState, Selectors,
    SinkClosed, Transform,
};
pub use retry::{RetryPolicy, retry_if, retry_on_conflict};

pub use kube::api::{
    DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
    ValidationDirective, VersionMatch,
};
