//! One informer of a factory, and what feeds it.

use std::any::Any;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::builder::Settings;
use crate::{GenericInformer, InformerConfig, SharedInformer, Watched, delta_queue, informer::SyncReceiver};

/// So many deltas can wait between the reflectors of an informer and its cache.
const QUEUE: usize = 1024;

/// One informer of a factory, and what feeds it.
pub(super) struct Member<K> {
    informer: SharedInformer<K>,
    phase: Mutex<Phase>,
}

enum Phase {
    New,
    Started,
}

/// A member of any type.
pub(super) trait AnyMember: Send + Sync {
    /// The resource, with its group and version.
    fn resource(&self) -> String;
    /// Starts the informer and its reflectors, if they were not.
    fn start(&self, client: &kube::Client, settings: &Settings, runtime: &Handle);
    fn stop(&self);
    /// Waits until everything that was started has ended.
    fn join(&self) -> BoxFuture<'_, ()>;
    fn sync_signal(&self) -> SyncReceiver;
    /// Why the informer is not synced.
    fn reason(&self) -> String;
    fn generic(&self) -> GenericInformer;
    fn as_any(&self) -> &dyn Any;
}

impl<K: Watched> Member<K> {
    pub(super) fn new(settings: &Settings) -> Self {
        let config = InformerConfig {
            resource: resource_name::<K>().into(),
            scopes: settings.scopes::<K>(),
            resync: settings.resync::<K>(),
        };
        Self { informer: SharedInformer::new(config), phase: Mutex::new(Phase::New) }
    }

    /// The informer of the member that is filed under this type.
    pub(super) fn informer_of(member: &dyn AnyMember) -> SharedInformer<K> {
        member
            .as_any()
            .downcast_ref::<Self>()
            .expect("the factory files a member under its own type")
            .informer
            .clone()
    }
}

/// Such as `networks.samplecrd.k8s.io`, or `pods` in the core group.
fn resource_name<K: Watched>() -> String {
    let resource = K::api_resource();
    if resource.group.is_empty() {
        resource.plural
    } else {
        format!("{}.{}", resource.plural, resource.group)
    }
}

impl<K: Watched> AnyMember for Member<K> {
    fn resource(&self) -> String {
        format!("{}/{}", resource_name::<K>(), K::api_resource().version)
    }

    fn start(&self, _client: &kube::Client, _settings: &Settings, runtime: &Handle) {
        let mut phase = self.phase.lock();
        if matches!(*phase, Phase::Started) || self.informer.is_stopped() {
            return;
        }
        *phase = Phase::Started;
        let (_sender, receiver) = delta_queue::<K>(QUEUE);
        let informer = self.informer.clone();
        self.informer.adopt(runtime.spawn(async move { informer.run(receiver).await }));
    }

    fn stop(&self) {
        self.informer.stop();
    }

    fn join(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.informer.join())
    }

    fn sync_signal(&self) -> SyncReceiver {
        self.informer.sync_signal()
    }

    fn reason(&self) -> String {
        String::new()
    }

    fn generic(&self) -> GenericInformer {
        self.informer.generic()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
