//! The kinds whose events queue the keys of a controller.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};

use super::{ledger::Change, runner::Shared};
use crate::{
    delta::Scope,
    informer::{Event, EventHandler, SharedInformer, quick},
    meta::GroupResource,
    object::{CacheObject, ObjectKey},
    panics,
    predicate::Predicate,
    resource_version::is_ordered,
    workqueue::Priority,
    written::{Effect, Write},
};

/// A cache whose events queue keys, and in which the writes of a reconciliation appear.
pub(super) trait Source: Send + Sync {
    fn resource(&self) -> &GroupResource;

    /// Returns the keys that the objects of the cache lead to.
    fn keys(&self) -> Vec<ObjectKey>;

    /// Returns whether the cache has an object.
    fn contains(&self, key: &ObjectKey) -> bool;

    /// Returns whether the cache has the state of a write, or a later one.
    fn has(&self, write: &Write) -> bool;

    /// Waits until [`has`](Self::has). Returns `false` at the deadline, or if the informer ends before.
    fn catch_up<'a>(&'a self, write: &'a Write, deadline: Duration) -> BoxFuture<'a, bool>;
}

/// Returns the keys that an object leads to.
pub(super) type KeysOf<O> = Arc<dyn Fn(&O) -> Vec<ObjectKey> + Send + Sync>;

/// The informer of a kind.
pub(super) struct Cache<O> {
    pub(super) resource: GroupResource,
    pub(super) informer: SharedInformer<O>,
    pub(super) keys: KeysOf<O>,
}

impl<O: CacheObject> Cache<O> {
    /// Queues the keys of a controller for each change of an object. `number` is the number of the source.
    pub(super) fn follow(&self, shared: &Arc<Shared>, number: usize, predicate: Option<Predicate<O>>) {
        let (resource, keys) = (self.resource.clone(), self.keys.clone());
        self.informer.add_event_handler(handler(shared.clone(), number, resource, predicate, keys));
    }
}

impl<O: CacheObject> Source for Cache<O> {
    fn resource(&self) -> &GroupResource {
        &self.resource
    }

    fn keys(&self) -> Vec<ObjectKey> {
        let snapshot = self.informer.store().snapshot();
        let keys_of = |object: &Arc<O>| {
            catch_unwind(AssertUnwindSafe(|| (self.keys)(object))).unwrap_or_else(|panic| {
                let panic = panics::message(&*panic);
                tracing::error!(resource = %self.resource, panic, "mapping an object to keys panicked");
                Vec::new()
            })
        };
        let mut keys: Vec<_> = snapshot.iter().flat_map(keys_of).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn contains(&self, key: &ObjectKey) -> bool {
        self.informer.store().get(key).is_some()
    }

    fn has(&self, write: &Write) -> bool {
        let Self { informer, .. } = self;
        let Write { key, effect, .. } = write;
        match effect {
            Effect::Deleted { uid } => informer.store().get(key).is_none_or(|object| {
                // Without a uid nothing can be waited for.
                uid.as_deref().is_none_or(|uid| object.uid() != uid)
            }),
            Effect::Stored { version, .. } => {
                let scopes = &informer.config().scopes;
                let scope = match key.namespace.as_deref() {
                    Some(namespace) if !scopes.contains(&Scope::All) => {
                        scopes.iter().find(|scope| scope.is_namespace(namespace))
                    }
                    _ => Some(&Scope::All),
                };
                // A namespace that is not watched has no events to wait for, and versions of some aggregated APIs
                // have no order.
                let can_wait = scope.filter(|_| is_ordered(version));
                can_wait.is_none_or(|scope| informer.has_reached(std::slice::from_ref(scope), version))
            }
        }
    }

    fn catch_up<'a>(&'a self, write: &'a Write, deadline: Duration) -> BoxFuture<'a, bool> {
        async move { self.informer.moved_until(|| self.has(write), deadline).await == Some(true) }.boxed()
    }
}

/// Returns the handler that queues the keys of a controller for each change of an object.
///
/// The keys of an updated object are those of its old and of its new state. `source` is the number of the source.
fn handler<O: CacheObject>(
    shared: Arc<Shared>,
    source: usize,
    resource: GroupResource,
    predicate: Option<Predicate<O>>,
    keys: KeysOf<O>,
) -> impl EventHandler<O> {
    quick(move |event: &Event<O>| {
        if event.is_resync() || !shared.is_active() {
            return;
        }
        let (mut affected, mut priority) = (keys(event.object()), Some(Priority::NORMAL));
        match event {
            Event::Added { initial: true, .. } => priority = Some(Priority::LOW),
            Event::Updated { old, new, .. } => {
                affected.extend(keys(old));
                affected.sort();
                affected.dedup();
                if predicate.as_ref().is_some_and(|predicate| !predicate.holds(old, new)) {
                    priority = None;
                }
            }
            _ => {}
        }
        let change = Arc::new(Change::of(source, &resource, event));
        for key in affected {
            shared.changed(key, &change, priority);
        }
    })
}
