//! Event handlers that put the keys of objects into a work queue.
//!
//! These handlers are [quick](EventHandler::is_quick): the informer itself calls them, without a task or a thread.
//!
//! - **A resync queues nothing.** It delivers objects that did not change. A reconciliation that must run again
//!   after some time returns [`Action::requeue`](crate::Action::requeue).
//! - **The first list has low priority.** The keys of objects that existed before the handler are queued with
//!   [`Priority::LOW`]. A change is queued with [`Priority::NORMAL`] and so is reconciled first, also after a
//!   restart with thousands of objects.
//! - **A queue that is shut down refuses keys.** They are not lost: the next start lists every object again.

use kube::Resource;

use crate::{
    informer::{Event, EventHandler, quick},
    object::{CacheObject, ObjectKey, Watched},
    owner,
    store::Index,
    workqueue::{Key, Priority, WorkQueue},
};

/// Returns a handler that queues the key of each object that is added, changed or deleted.
///
/// ```
/// # use genclient_runtime::{ObjectKey, SharedInformer, WorkQueue, enqueue};
/// # use k8s_openapi::api::apps::v1::Deployment;
/// fn follow(deployments: &SharedInformer<Deployment>, queue: &WorkQueue<ObjectKey>) {
///     deployments.add_event_handler(enqueue::changed(queue));
/// }
/// ```
pub fn changed<K: CacheObject>(queue: &WorkQueue<ObjectKey>) -> impl EventHandler<K> + use<K> {
    let queue = queue.clone();
    quick(move |event: &Event<K>| {
        if !event.is_resync() {
            add(&queue, event, [event.key()]);
        }
    })
}

/// Returns a handler that queues the keys that a function returns for each object that is added, changed or
/// deleted. For a changed object these are the keys of the old and of the new state.
///
/// The informer calls the function, so it must not block. It may read caches.
///
/// ```
/// # use genclient_runtime::{ObjectKey, SharedInformer, WorkQueue, enqueue};
/// # use k8s_openapi::api::core::v1::Pod;
/// /// Queues the node of each Pod.
/// fn follow(pods: &SharedInformer<Pod>, nodes: &WorkQueue<ObjectKey>) {
///     let node = |pod: &Pod| pod.spec.as_ref()?.node_name.clone().map(ObjectKey::cluster);
///     pods.add_event_handler(enqueue::map(nodes, node));
/// }
/// ```
pub fn map<T, K, I, F>(queue: &WorkQueue<T>, keys: F) -> impl EventHandler<K> + use<T, K, I, F>
where
    T: Key,
    K: CacheObject,
    I: IntoIterator<Item = T>,
    F: Fn(&K) -> I + Send + 'static,
{
    let queue = queue.clone();
    quick(move |event: &Event<K>| {
        if event.is_resync() {
            return;
        }
        let new: Vec<_> = keys(event.object()).into_iter().collect();
        if let Event::Updated { old, .. } = event {
            add(&queue, event, keys(old).into_iter().filter(|key| !new.contains(key)));
        }
        add(&queue, event, new);
    })
}

/// Returns a handler that queues the key of the controller of each object that is added, changed or deleted, if
/// the controller is of the kind `O`. If an object changes its controller, both are queued.
///
/// ```
/// # use genclient_runtime::{ObjectKey, SharedInformer, WorkQueue, enqueue};
/// # use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
/// fn follow(pods: &SharedInformer<Pod>, replica_sets: &WorkQueue<ObjectKey>) {
///     pods.add_event_handler(enqueue::controller::<ReplicaSet, _>(replica_sets));
/// }
/// ```
pub fn controller<O: Watched, K: CacheObject + Resource>(
    queue: &WorkQueue<ObjectKey>,
) -> impl EventHandler<K> + use<O, K> {
    map(queue, |object: &K| owner::controller_key::<O>(object))
}

/// Returns a handler that queues the keys of all owners of the kind `O` of each object that is added, changed or
/// deleted, whether they are its controller or not.
pub fn owners<O: Watched, K: CacheObject + Resource>(
    queue: &WorkQueue<ObjectKey>,
) -> impl EventHandler<K> + use<O, K> {
    map(queue, |object: &K| owner::owner_keys::<O>(object))
}

/// Returns a handler that queues the keys of the objects that refer to the object that is added, changed or
/// deleted. It finds them under the key of this object in an index of another informer.
///
/// A controller needs it for objects that it does not own, such as a Secret that its objects name.
///
/// ```
/// # use genclient_runtime::{ObjectKey, SharedInformer, WorkQueue, enqueue, store::IndexError};
/// # use k8s_openapi::api::{core::v1::Secret, networking::v1::Ingress};
/// fn follow(
///     secrets: &SharedInformer<Secret>,
///     ingresses: &SharedInformer<Ingress>,
///     queue: &WorkQueue<ObjectKey>,
/// ) -> Result<(), IndexError> {
///     let by_secret = ingresses.add_index("secret", |ingress: &Ingress| {
///         let namespace = ingress.metadata.namespace.clone().unwrap_or_default();
///         let tls = ingress.spec.iter().flat_map(|spec| spec.tls.iter().flatten());
///         let names: Vec<_> = tls.filter_map(|tls| tls.secret_name.clone()).collect();
///         names.into_iter().map(move |name| ObjectKey::namespaced(namespace.clone(), name))
///     })?;
///     secrets.add_event_handler(enqueue::referring(queue, by_secret));
///     Ok(())
/// }
/// ```
pub fn referring<O: CacheObject, K: CacheObject>(
    queue: &WorkQueue<ObjectKey>,
    index: Index<O, ObjectKey>,
) -> impl EventHandler<K> + use<O, K> {
    let queue = queue.clone();
    quick(move |event: &Event<K>| {
        if !event.is_resync() {
            add(&queue, event, index.get(&event.key()).iter().map(|object| ObjectKey::of(&**object)));
        }
    })
}

fn add<T: Key, K>(queue: &WorkQueue<T>, event: &Event<K>, keys: impl IntoIterator<Item = T>) {
    let priority = match event {
        Event::Added { initial: true, .. } => Priority::LOW,
        _ => Priority::NORMAL,
    };
    for key in keys {
        let _ = queue.add_with(key, priority);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    use super::*;
    use crate::informer::{Cause, FinalState};

    type Handler<K> = Box<dyn EventHandler<K>>;

    /// The keys that a handler queues for an event.
    fn queued<K: 'static>(
        handler: impl Fn(&WorkQueue<ObjectKey>) -> Handler<K>,
        event: Event<K>,
    ) -> Vec<String> {
        let queue = WorkQueue::new("test");
        handler(&queue).on_event(&event);
        queue.shutdown_now().queued.iter().map(ToString::to_string).collect()
    }

    fn config_map(name: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.into());
        object.metadata.namespace = Some("default".into());
        object.metadata.uid = Some(format!("uid of {name}"));
        object
    }

    fn pod_of(owner: Option<&str>) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = Some("pod".into());
        pod.metadata.namespace = Some("default".into());
        pod.metadata.owner_references = owner.map(|owner| vec![owner::controller_ref(&config_map(owner))]);
        Arc::new(pod)
    }

    #[test]
    fn each_change_queues_the_key_and_a_resync_queues_nothing() {
        let handler = |queue: &_| -> Handler<ConfigMap> { Box::new(changed(queue)) };
        let object = Arc::new(config_map("a"));
        let (old, new) = (object.clone(), object.clone());
        for event in [
            Event::Added { object: object.clone(), initial: true },
            Event::Updated { old: old.clone(), new: new.clone(), cause: Cause::Watch },
            Event::Updated { old: old.clone(), new: new.clone(), cause: Cause::Relist },
            Event::Deleted { last: object, final_state: FinalState::Unknown },
        ] {
            assert_eq!(queued(handler, event), ["default/a"]);
        }
        assert_eq!(queued(handler, Event::Updated { old, new, cause: Cause::Resync }), [""; 0]);
    }

    #[test]
    fn each_change_of_an_object_queues_its_controller() {
        let handler = |queue: &_| -> Handler<Pod> { Box::new(controller::<ConfigMap, _>(queue)) };
        let update = |old, new, cause| Event::Updated { old: pod_of(old), new: pod_of(new), cause };
        let (a, b) = (Some("a"), Some("b"));
        assert_eq!(queued(handler, Event::Added { object: pod_of(a), initial: false }), ["default/a"]);
        assert_eq!(
            queued(handler, Event::Deleted { last: pod_of(a), final_state: FinalState::Observed }),
            ["default/a"]
        );
        assert_eq!(queued(handler, update(a, a, Cause::Watch)), ["default/a"]);
        assert_eq!(queued(handler, update(a, b, Cause::Watch)), ["default/a", "default/b"]);
        assert_eq!(queued(handler, update(a, None, Cause::Watch)), ["default/a"]);
        assert_eq!(queued(handler, update(a, a, Cause::Resync)), [""; 0]);
        assert_eq!(queued(handler, update(None, None, Cause::Watch)), [""; 0]);
    }

    #[test]
    fn each_change_queues_the_mapped_keys_of_the_old_and_the_new_state() {
        let handler = |queue: &_| -> Handler<ConfigMap> {
            let of_data = |map: &ConfigMap| map.data.clone().unwrap_or_default().into_keys();
            Box::new(map(queue, move |map| of_data(map).map(ObjectKey::cluster)))
        };
        let config_map = |keys: &[&str]| {
            let data = keys.iter().map(|key| (key.to_string(), String::new())).collect();
            Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() })
        };
        let update = Event::Updated {
            old: config_map(&["a", "b"]),
            new: config_map(&["b", "c"]),
            cause: Cause::Relist,
        };
        assert_eq!(queued(handler, update), ["a", "b", "c"]);
        let deleted = Event::Deleted { last: config_map(&["a", "b"]), final_state: FinalState::Observed };
        assert_eq!(queued(handler, deleted), ["a", "b"]);
    }

    #[test]
    fn each_change_of_an_object_queues_all_its_owners_of_the_kind() {
        let handler = |queue: &_| -> Handler<Pod> { Box::new(owners::<ConfigMap, _>(queue)) };
        let mut pod = Pod::clone(&pod_of(Some("a")));
        let references = pod.metadata.owner_references.get_or_insert_default();
        references.push(owner::owner_ref(&config_map("b")));
        references.push(owner::owner_ref(&Pod::default()));
        let added = Event::Added { object: Arc::new(pod), initial: false };
        assert_eq!(queued(handler, added), ["default/a", "default/b"]);
    }

    #[test]
    fn the_first_list_has_a_lower_priority_than_a_change() {
        let queue = WorkQueue::new("test");
        let mut handler = changed(&queue);
        for (name, initial) in [("listed", true), ("other", true), ("created", false), ("other", false)] {
            handler.on_event(&Event::Added { object: Arc::new(config_map(name)), initial });
        }
        let order: Vec<_> = queue.shutdown_now().queued.into_iter().map(|key| key.name).collect();
        assert_eq!(order, ["other", "created", "listed"]);
    }
}
