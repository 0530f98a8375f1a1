//! Handlers that put the keys of changed objects into a work queue.
//!
//! A resync, which delivers an unchanged object again, queues nothing. A queue that is shut down refuses keys;
//! they are not lost, because the next start of the controller lists every object.

use kube::Resource;

use crate::{
    informer::Event,
    object::{CacheObject, ObjectKey, Watched},
    owner,
    store::Index,
    workqueue::WorkQueue,
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
pub fn changed<K: CacheObject>(queue: &WorkQueue<ObjectKey>) -> impl FnMut(&Event<K>) + Send + use<K> {
    let queue = queue.clone();
    move |event| {
        if !event.is_resync() {
            let _ = queue.add(event.key());
        }
    }
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
) -> impl FnMut(&Event<K>) + Send + use<O, K> {
    let queue = queue.clone();
    move |event| {
        if event.is_resync() {
            return;
        }
        let new = owner::controller_key::<O>(&**event.object());
        if let Event::Updated { old, .. } = event
            && let Some(old) = owner::controller_key::<O>(&**old)
            && new.as_ref() != Some(&old)
        {
            let _ = queue.add(old);
        }
        if let Some(new) = new {
            let _ = queue.add(new);
        }
    }
}

/// Returns a handler that queues the keys of the objects that refer to what is added, changed or deleted: those that
/// an index of another informer has under its key.
///
/// A controller needs it for objects that it does not own, such as a Secret that its objects name, or an object of
/// somebody else that is in their way.
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
) -> impl FnMut(&Event<K>) + Send + use<O, K> {
    let queue = queue.clone();
    move |event| {
        if !event.is_resync() {
            for object in index.get(&event.key()) {
                let _ = queue.add(ObjectKey::of(&*object));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    use super::*;
    use crate::informer::{Cause, FinalState};

    type Handler<K> = Box<dyn FnMut(&Event<K>)>;

    /// The keys that a handler queues for an event.
    fn queued<K>(handler: impl Fn(&WorkQueue<ObjectKey>) -> Handler<K>, event: Event<K>) -> Vec<String> {
        let queue = WorkQueue::new("test");
        handler(&queue)(&event);
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
}
