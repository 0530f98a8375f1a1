//! One informer of a factory, and its reflectors.

use std::any::Any;

use futures::{
    FutureExt,
    future::{BoxFuture, join_all, pending},
};
use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::watch, task::coop::unconstrained};
use tokio_util::task::TaskTracker;

use super::{InformerStatus, builder::Settings, turns::in_turns};
use crate::{
    delta::{Scope, delta_queue},
    dynamic::DynamicKind,
    informer::{GenericInformer, SharedInformer, SyncReceiver},
    object::Decodable,
    reflector::{Reflector, ReflectorState},
};

/// The capacity of the queue between the reflectors of an informer and its cache.
const QUEUE: usize = 1024;

/// The kind of an informer, and the form of its objects.
#[derive(Clone)]
pub(super) struct Followed {
    pub(super) kind: DynamicKind,
    /// Whether the kind is a value, not a type.
    pub(super) is_dynamic: bool,
    /// Whether requests are for metadata only.
    pub(super) metadata_only: bool,
}

/// One informer of a factory, and its reflectors.
pub(super) struct Member<K> {
    followed: Followed,
    informer: SharedInformer<K>,
    /// The reflectors, once they are started.
    reflectors: Mutex<Option<Vec<ReflectorHandle>>>,
}

struct ReflectorHandle {
    scope: Scope,
    state: watch::Receiver<ReflectorState>,
}

/// A member of any type.
pub(super) trait AnyMember: Send + Sync {
    /// The resource with its group and version.
    fn resource(&self) -> String;
    fn followed(&self) -> &Followed;
    /// Starts the informer and its reflectors, unless they are started.
    fn start(&self, client: &kube::Client, settings: &Settings, runtime: &Handle);
    fn stop(&self);
    /// Waits until the informer has ended.
    fn stopped(&self) -> BoxFuture<'_, ()>;
    /// Everything that runs for the informer.
    fn tasks(&self) -> TaskTracker;
    fn sync_signal(&self) -> SyncReceiver;
    /// The sync signals of the handlers that have not handled the first list.
    fn syncing_handlers(&self) -> Vec<SyncReceiver>;
    /// Why the informer or one of its handlers is not synced.
    fn reason(&self) -> String;
    fn status(&self) -> InformerStatus;
    fn generic(&self) -> GenericInformer;
    fn as_any(&self) -> &dyn Any;
}

impl<K: Decodable> Member<K> {
    pub(super) fn new(followed: Followed, settings: &Settings) -> Self {
        let informer = SharedInformer::new(settings.informer::<K>(&followed));
        Self { followed, informer, reflectors: Mutex::new(None) }
    }

    /// The informer of a member of this type.
    pub(super) fn informer_of(member: &dyn AnyMember) -> SharedInformer<K> {
        member
            .as_any()
            .downcast_ref::<Self>()
            .expect("a member is stored under its own type")
            .informer
            .clone()
    }
}

impl<K: Decodable> AnyMember for Member<K> {
    fn resource(&self) -> String {
        self.followed.kind.to_string()
    }

    fn followed(&self) -> &Followed {
        &self.followed
    }

    fn start(&self, client: &kube::Client, settings: &Settings, runtime: &Handle) {
        let mut reflectors = self.reflectors.lock();
        if reflectors.is_some() || self.informer.is_stopped() {
            return;
        }
        let (sender, receiver) = delta_queue(QUEUE);
        // The task holds no handle of the informer, so it ends when its users have dropped theirs.
        let inner = self.informer.inner();
        let start = |scope: &Scope| {
            let config = settings.reflector::<K>(&self.followed, scope.clone());
            let reflector = Reflector::of_kind(client.clone(), &self.followed.kind, config)
                .track_jobs(inner.tasks.clone());
            let handle = ReflectorHandle { scope: scope.clone(), state: reflector.state() };
            (handle, reflector.run(sender.clone()))
        };
        let (handles, following): (_, Vec<_>) = self.informer.config().scopes.iter().map(start).unzip();
        *reflectors = Some(handles);
        let tasks = inner.tasks.clone();
        // Reflectors and informer share a task, so that an event wakes one task on its way to the handlers.
        let running = async move {
            let follow = join_all(following).then(|_| pending());
            tokio::select! {
                biased;
                () = follow => {}
                // A busy stream must not use up the budget of the task: the informer empties the queue, which is
                // bounded.
                () = unconstrained(inner.run(receiver)) => {}
            }
        };
        tasks.spawn_on(in_turns(running), runtime);
    }

    fn stop(&self) {
        self.informer.stop();
    }

    fn stopped(&self) -> BoxFuture<'_, ()> {
        self.informer.stopped().boxed()
    }

    fn tasks(&self) -> TaskTracker {
        self.informer.inner().tasks.clone()
    }

    fn sync_signal(&self) -> SyncReceiver {
        self.informer.sync_signal()
    }

    fn syncing_handlers(&self) -> Vec<SyncReceiver> {
        self.informer.inner().syncing_handlers()
    }

    fn reason(&self) -> String {
        let status = self.status();
        match status.reason {
            Some(reason) => reason,
            None if !status.synced => "the first list is not complete".to_owned(),
            None => match self.syncing_handlers().len() {
                1 => "an event handler has not handled the first list".to_owned(),
                handlers => format!("{handlers} event handlers have not handled the first list"),
            },
        }
    }

    fn status(&self) -> InformerStatus {
        let mut status = InformerStatus {
            resource: self.resource(),
            metadata_only: self.followed.metadata_only,
            synced: self.informer.has_synced(),
            age: self.informer.age(),
            problem: None,
            failing_for: None,
            reason: None,
        };
        if let Some(failure) = self.informer.failure() {
            status.reason = Some(failure.to_string());
        } else if self.informer.is_stopped() {
            status.reason = Some("the informer was stopped".to_owned());
        } else if let Some(reflectors) = &*self.reflectors.lock() {
            let mut reasons = Vec::new();
            for ReflectorHandle { scope, state } in reflectors {
                let ReflectorState::Waiting { problem, reason, since, .. } = &*state.borrow() else {
                    continue;
                };
                if status.failing_for.is_none_or(|longest| longest < since.elapsed()) {
                    (status.problem, status.failing_for) = (Some(*problem), Some(since.elapsed()));
                }
                reasons.push(match scope {
                    Scope::All => reason.to_string(),
                    Scope::Namespace(namespace) => format!("in namespace {namespace}: {reason}"),
                });
            }
            status.reason = (!reasons.is_empty()).then(|| reasons.join(", "));
        } else {
            status.reason = Some("the informer was not started: call `start` after requesting it".to_owned());
        }
        status
    }

    fn generic(&self) -> GenericInformer {
        self.informer.generic_of(&self.followed.kind)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
