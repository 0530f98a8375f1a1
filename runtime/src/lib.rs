//! The runtime under genclient's generated clientsets, listers and shared informers.
//!
//! Generated code is a thin typed face over this crate: whatever it does is done here, and every
//! name it needs, of kube and k8s-openapi too, is exported from here.

mod delta;
pub mod events;
pub mod metrics;
mod object;
pub mod workqueue;

pub use delta::{Delta, InvalidObject, Scope};
pub use object::{CacheObject, ObjectKey, ParseObjectKeyError, Watched};
pub use workqueue::{Action, Priority, WorkQueue};
