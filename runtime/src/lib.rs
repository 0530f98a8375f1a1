//! The runtime under genclient's generated clientsets, listers and shared informers.
//!
//! Generated code is a thin typed face over this crate: whatever it does is done here, and every
//! name it needs, of kube and k8s-openapi too, is exported from here.

mod delta;
mod event;
mod factory;
mod generic;
mod informer;
mod lister;
mod object;
mod panics;
mod resource_version;
mod selector;
mod store;

pub use delta::{Delta, DeltaReceiver, DeltaSender, InvalidObject, QueueClosed, Scope, delta_queue};
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
pub use object::{CacheObject, ObjectKey, ParseObjectKeyError, Watched};
pub use selector::{LabelSelectorError, ParseSelectorError, Selector};
pub use store::{Index, IndexError, Snapshot, Store};
