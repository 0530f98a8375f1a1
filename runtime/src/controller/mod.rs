//! A controller: the kinds that it watches, and the function that reconciles an object.
//!
//! ```no_run
//! use std::{sync::Arc, time::Duration};
//!
//! use genclient_runtime::{Action, Controller, Error, Manager, TypedClient, owner};
//! use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
//! # type App = ConfigMap;
//! # fn deployment_of(app: &App) -> serde_json::Value { serde_json::Value::Null }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let manager = Manager::builder("app-controller").connect().await?;
//!     Controller::<App>::new(&manager).owns::<Deployment>().run(reconcile);
//!     Ok(manager.run().await?)
//! }
//!
//! async fn reconcile(app: Arc<App>, manager: Arc<Manager>) -> Result<Action, Error> {
//!     let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
//!     let deployments = TypedClient::<Deployment>::namespaced(manager.client(), namespace);
//!     deployments.apply_untyped(&deployment_of(&app)).force().await?;
//!     Ok(Action::requeue(Duration::from_secs(300)))
//! }
//! ```
//!
//! # Guarantees
//! - **An object is never reconciled twice at once.** A change during a reconciliation leads to one more. At most
//!   [`workers`](Controller::workers) objects are reconciled at the same time, two by default.
//! - **A deletion is never filtered out.** [Predicates](crate::predicate) are asked about updates only, and not
//!   about the update that begins a deletion.
//! - **Reads do not lie.** An object is not reconciled again before the caches have what its last reconciliation
//!   wrote, for at most ten seconds. If they do not have it by then, the object is reconciled once more when they do.
//!   This holds for writes of single objects of the watched kinds through genclient's clients, in the task of the
//!   reconciliation. Written objects that the selector of an informer leaves out cost these ten seconds each time.
//! - **Own writes do not lead to another reconciliation** if the write had a precondition or created the object:
//!   `create`, `update`, `update_with`, `update_status_with`. A change by anybody else always leads to one. An
//!   apply, and a patch without a resource version, are reconciled once more, because their answer does not show
//!   whether they or somebody else made the change. So is a deletion: a reconciliation that always creates and deletes
//!   an object of a watched kind repeats itself for ever.
//! - **A failed object is retried**, and how is decided [error by error](Controller::error_policy). The pause that
//!   a server asks for is kept, up to five minutes. A panic is a failure, and stops nothing else.
//!
//! # Compared with other frameworks
//!
//! kube-rs 5.0, controller-runtime 0.25, Java operator SDK 5.5:
//!
//! | | here | kube-rs | controller-runtime | Java operator SDK |
//! | --- | --- | --- | --- | --- |
//! | children | `.owns::<Deployment>()` | `.owns(api, config)` | `.Owns(&Deployment{})` | an `InformerEventSource`, or a dependent resource |
//! | other kinds | `.watches::<Secret>(keys)` | `.watches(api, config, mapper)` | `.Watches(&Secret{}, handler)` | an `InformerEventSource` with a mapper |
//! | updates | `.filter(predicate::generation())`, of old and new state | `predicate_filter` on a stream, of hashes of one state | `WithEventFilter(GenerationChangedPredicate{})` | the generation by default; `OnUpdateFilter` |
//! | finalizer | `.finalizer(name, cleanup)` | `finalizer(api, name, object, …)` in `reconcile` | `controllerutil.AddFinalizer` in `Reconcile` | implement `Cleaner` |
//! | errors | backoff by default, `.error_policy(\|error\| …)` | an error policy for every controller | backoff, `TerminalError` | `@GradualRetry`, `updateErrorStatus` |
//! | caches | shared by all controllers of a manager | one for each controller, unless streams are shared | shared | one for each event source |
//! | own writes | awaited, and not reconciled again | reconciled again, on whatever the cache has | reconciled again; awaited behind an option | awaited and filtered through `ResourceOperations` |
//! | at the same time | 2 objects | no limit | 1 object | 50 objects |
//! | replicas | a lease with a fence and warm caches | – | a lease with `exit`, warm caches behind an option | a lease with `exit` |
//!
//! What they do better: kube-rs builds a controller from any stream of events; controller-runtime also serves webhooks
//! and metrics; the Java operator SDK orders dependent resources in workflows.

mod ledger;
mod retry;
mod runner;
mod source;

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use futures::{FutureExt as _, Stream, StreamExt as _, future::BoxFuture, stream::SelectAll};
use kube::{Resource, core::DynamicObject};
use parking_lot::Mutex;

pub use self::retry::{BoxError, Retry};
pub(crate) use self::runner::Runner;
use self::{
    ledger::Ledger,
    retry::Failure,
    runner::{Shared, Trigger},
    source::{Cache, KeysOf, Source},
};
use crate::{
    client::ApiObject,
    dynamic::DynamicKind,
    error::Error,
    finalizer,
    informer::SharedInformer,
    leader::Elector,
    manager::Manager,
    meta::GroupResource,
    object::{CacheObject, ObjectKey, Watched},
    owner,
    predicate::Predicate,
    workqueue::{Action, RateLimiter, WorkQueue},
};

/// The number of objects that are reconciled at the same time by default.
const WORKERS: usize = 2;

/// A controller of the kind `K`; see [the module](self).
///
/// `C` is the context that the user's functions share, and `E` their error.
#[must_use = "a controller does nothing until it is given a function to run"]
pub struct Controller<K, C = Manager, E = Error> {
    manager: Manager,
    name: Arc<str>,
    informer: SharedInformer<K>,
    filter: Option<Predicate<K>>,
    resource: GroupResource,
    follows: Vec<Follow>,
    triggers: SelectAll<futures::stream::BoxStream<'static, Trigger>>,
    finalizer: Option<Finalizer<K, C, E>>,
    error_policy: Option<Arc<ErrorPolicy<E>>>,
    rate_limiter: Option<Box<dyn RateLimiter<ObjectKey>>>,
    workers: usize,
    timeout: Option<Duration>,
    debounce: Duration,
    fatal_panics: bool,
    types: PhantomData<fn(C) -> E>,
}

/// Adds an event handler for the source with this number, and returns the source.
type Follow = Box<dyn FnOnce(&Arc<Shared>, usize) -> Box<dyn Source> + Send>;

/// Decides what happens after an error.
type ErrorPolicy<E> = dyn Fn(&E) -> Retry + Send + Sync;

/// What happens to an object before it is reconciled.
enum Prepared<K> {
    Reconcile(Arc<K>),
    Done,
}

/// Prepares an object whose kind has a finalizer.
type Finalizer<K, C, E> =
    Arc<dyn Fn(Arc<K>, Arc<C>) -> BoxFuture<'static, Result<Prepared<K>, Failed<E>>> + Send + Sync>;

/// The error of a request of the controller, or of the user's function.
enum Failed<E> {
    Request(Error),
    User(E),
}

// The context and the error are those of the functions that the controller is given later, so they are inferred.
impl<K: Watched> Controller<K> {
    /// Creates a controller of the kind `K`. Its name is the kind in lower case; see [`named`](Self::named).
    pub fn new<C, E>(manager: &Manager) -> Controller<K, C, E> {
        let kind = DynamicKind::of::<K>();
        Controller::of(manager, manager.factory().informer::<K>(), &kind)
    }
}

impl Controller<DynamicObject> {
    /// Creates a controller of a [dynamic kind](crate::dynamic).
    pub fn of_kind<C, E>(manager: &Manager, kind: &DynamicKind) -> Controller<DynamicObject, C, E> {
        Controller::of(manager, manager.factory().dynamic_informer(kind), kind)
    }
}

impl<K: CacheObject, C, E> Controller<K, C, E> {
    fn of(manager: &Manager, informer: SharedInformer<K>, kind: &DynamicKind) -> Self {
        Self {
            manager: manager.clone(),
            name: kind.kind().to_lowercase().into(),
            informer,
            filter: None,
            resource: kind.group_resource(),
            follows: Vec::new(),
            triggers: SelectAll::new(),
            finalizer: None,
            error_policy: None,
            rate_limiter: None,
            workers: WORKERS,
            timeout: None,
            debounce: Duration::ZERO,
            fatal_panics: false,
            types: PhantomData,
        }
    }

    /// Names the controller, in the log, in metrics and in spans. The controllers of a manager need different
    /// names.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Returns the informer of the kind, to add an index or to make a lister for the context.
    pub fn informer(&self) -> &SharedInformer<K> {
        &self.informer
    }

    /// Reconciles an object for each change of an object of another kind. The function returns the keys of the
    /// objects to reconcile. For an updated object it is called with the old and with the new state.
    ///
    /// The informer calls the function, so it must not block. It may read the caches, for example an index.
    pub fn watches<O: Watched>(self, keys: impl Fn(&O) -> Vec<ObjectKey> + Send + Sync + 'static) -> Self {
        self.follow(None, keys)
    }

    /// Reconciles objects as [`watches`](Self::watches) does, for those updates for which the predicate holds.
    pub fn watches_if<O: Watched + Resource>(
        self,
        predicate: Predicate<O>,
        keys: impl Fn(&O) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        self.follow(Some(predicate.or_begins_deletion()), keys)
    }

    fn follow<O: Watched>(
        mut self,
        predicate: Option<Predicate<O>>,
        keys: impl Fn(&O) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        let informer = self.manager.factory().informer::<O>();
        let resource = DynamicKind::of::<O>().group_resource();
        let cache = Cache { resource, informer, keys: Arc::new(keys) };
        self.follows.push(Box::new(move |shared, source| {
            cache.follow(shared, source, predicate);
            Box::new(cache)
        }));
        self
    }

    /// Reconciles the keys that a stream yields.
    pub fn reconcile_on(mut self, keys: impl Stream<Item = ObjectKey> + Send + 'static) -> Self {
        self.triggers.push(keys.map(Trigger::Key).boxed());
        self
    }

    /// Reconciles all objects each time that a stream yields.
    ///
    /// Use it for what concerns all objects at once, such as a changed configuration file.
    pub fn reconcile_all_on(mut self, all: impl Stream<Item = ()> + Send + 'static) -> Self {
        let store = self.informer.store();
        self.triggers.push(all.map(move |()| Trigger::Keys(store.keys())).boxed());
        self
    }

    /// Sets what happens to an object whose reconciliation failed with an error. The default is [`Retry::of`].
    pub fn error_policy(mut self, policy: impl Fn(&E) -> Retry + Send + Sync + 'static) -> Self {
        self.error_policy = Some(Arc::new(policy));
        self
    }

    /// Sets the pauses of [`Retry::Backoff`]. The default is the
    /// [`ExponentialBackoff`](crate::workqueue::ExponentialBackoff).
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<ObjectKey>) -> Self {
        self.rate_limiter = Some(Box::new(limiter));
        self
    }

    /// Sets how many objects are reconciled at the same time. The default is two, the least is one.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Sets how long a reconciliation may take. A longer one is cancelled at its next await, and fails. By default
    /// there is no limit.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Waits for this time after a change, so that several changes within it lead to one reconciliation.
    pub fn debounce(mut self, time: Duration) -> Self {
        self.debounce = time;
        self
    }

    /// Ends the manager with an error when a reconciliation panics. By default the panic is logged and counted, and
    /// the object is retried.
    pub fn fatal_panics(mut self) -> Self {
        self.fatal_panics = true;
        self
    }
}

impl<K: Watched, C, E> Controller<K, C, E> {
    /// Reconciles the owner of the kind `K` for each change of an object of the kind `O` that it controls, by its
    /// owner references.
    pub fn owns<O: Watched + Resource>(self) -> Self {
        self.follow(None, |child: &O| owner::controller_key::<K>(child).into_iter().collect())
    }

    /// Reconciles owners as [`owns`](Self::owns) does, for those updates for which the predicate holds.
    pub fn owns_if<O: Watched + Resource>(self, predicate: Predicate<O>) -> Self {
        self.follow(Some(predicate.or_begins_deletion()), |child: &O| {
            owner::controller_key::<K>(child).into_iter().collect()
        })
    }
}

impl<K: CacheObject + Resource, C, E> Controller<K, C, E> {
    /// Reconciles an updated object only if the predicate holds. Added and deleted objects are always reconciled;
    /// see [`predicate`](crate::predicate).
    pub fn filter(mut self, predicate: Predicate<K>) -> Self {
        self.filter = Some(predicate.or_begins_deletion());
        self
    }
}

impl<K, C, E> Controller<K, C, E>
where
    K: Watched + ApiObject + Resource<DynamicType = ()>,
    C: Send + Sync + 'static,
    E: Send + 'static,
{
    /// Holds a deleted object back with a finalizer until `cleanup` has succeeded. Names such as
    /// `example.com/cleanup` are valid.
    ///
    /// The controller adds the finalizer before it reconciles an object for the first time, and removes it after
    /// `cleanup`, which may run several times. An object whose deletion has begun is not reconciled.
    pub fn finalizer<F, R>(mut self, name: &str, cleanup: F) -> Self
    where
        F: Fn(Arc<K>, Arc<C>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
    {
        let (name, client, cleanup) =
            (Arc::<str>::from(name), self.manager.client().clone(), Arc::new(cleanup));
        self.finalizer = Some(Arc::new(move |mut object, context| {
            let (name, client, cleanup) = (name.clone(), client.clone(), cleanup.clone());
            async move {
                if !finalizer::is_deleted(&*object) && !finalizer::has(&*object, &name) {
                    object = match finalizer::add(client.clone(), object, &name).await {
                        Err(error) if error.is_not_found() => return Ok(Prepared::Done),
                        added => added.map_err(Failed::Request)?,
                    };
                }
                if !finalizer::is_deleted(&*object) {
                    return Ok(Prepared::Reconcile(object));
                }
                if finalizer::has(&*object, &name) {
                    cleanup(object.clone(), context).await.map_err(Failed::User)?;
                    finalizer::remove(client, object, &name).await.map_err(Failed::Request)?;
                }
                Ok(Prepared::Done)
            }
            .boxed()
        }));
        self
    }
}

impl<K: CacheObject, E: Into<BoxError> + Send + 'static> Controller<K, Manager, E> {
    /// Adds the controller to its manager, with the manager as the context; see [`run_with`](Self::run_with).
    pub fn run<F, R>(self, reconcile: F)
    where
        F: Fn(Arc<K>, Arc<Manager>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, E>> + Send + 'static,
    {
        let manager = Arc::new(self.manager.clone());
        self.run_with(manager, reconcile);
    }
}

impl<K, C, E> Controller<K, C, E>
where
    K: CacheObject,
    C: Send + Sync + 'static,
    E: Into<BoxError> + Send + 'static,
{
    /// Adds the controller to its manager, which calls `reconcile` with the newest state of each object that has
    /// changed. An object that does not exist any more is not reconciled; see
    /// [`run_keys_with`](Self::run_keys_with).
    pub fn run_with<F, R>(mut self, context: Arc<C>, reconcile: F)
    where
        F: Fn(Arc<K>, Arc<C>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, E>> + Send + 'static,
    {
        let (store, prepare) = (self.informer.store(), self.finalizer.take());
        let reconcile = Arc::new(reconcile);
        self.register(move |key| {
            let (object, prepare) = (store.get(&key), prepare.clone());
            let (context, reconcile) = (context.clone(), reconcile.clone());
            async move {
                let Some(mut object) = object else { return Ok(Action::await_change()) };
                if let Some(prepare) = prepare {
                    match prepare(object, context.clone()).await? {
                        Prepared::Reconcile(prepared) => object = prepared,
                        Prepared::Done => return Ok(Action::await_change()),
                    }
                }
                reconcile(object, context).await.map_err(Failed::User)
            }
            .boxed()
        });
    }

    /// Adds the controller to its manager, which calls `reconcile` with the key of each object that has changed or
    /// was deleted.
    ///
    /// A [finalizer](Self::finalizer) has no effect, because it needs the object.
    pub fn run_keys_with<F, R>(self, context: Arc<C>, reconcile: F)
    where
        F: Fn(ObjectKey, Arc<C>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, E>> + Send + 'static,
    {
        self.register(move |key| {
            let reconciled = reconcile(key, context.clone());
            async move { reconciled.await.map_err(Failed::User) }.boxed()
        });
    }

    /// Adds the event handlers, and the controller to its manager.
    fn register(
        self,
        reconcile: impl Fn(ObjectKey) -> BoxFuture<'static, Result<Action, Failed<E>>> + Send + Sync + 'static,
    ) {
        let cluster = self.manager.cluster().cloned();
        let mut queue = match &cluster {
            Some(cluster) => WorkQueue::builder(&format!("{cluster}/{}", self.name)),
            None => WorkQueue::builder(&self.name),
        };
        if let Some(limiter) = self.rate_limiter {
            queue = queue.rate_limiter(limiter);
        }
        let shared = Arc::new(Shared {
            name: self.name,
            cluster,
            queue: queue.build(),
            ledger: Ledger::default(),
            debounce: self.debounce,
            is_active: AtomicBool::new(true),
        });
        let keys: KeysOf<K> = Arc::new(|object| vec![ObjectKey::of(object)]);
        let own = Cache { resource: self.resource, informer: self.informer, keys };
        own.follow(&shared, 0, self.filter);
        let mut sources: Vec<Box<dyn Source>> = vec![Box::new(own)];
        for follow in self.follows {
            sources.push(follow(&shared, sources.len()));
        }
        let policy = self.error_policy;
        self.manager.register(Runner {
            shared,
            sources: sources.into(),
            reconcile: Arc::new(move |key| {
                let (reconciled, policy) = (reconcile(key), policy.clone());
                async move { reconciled.await.map_err(|failed| failed.classified(policy.as_deref())) }.boxed()
            }),
            workers: self.workers,
            timeout: self.timeout,
            fatal_panics: self.fatal_panics,
            fence: self.manager.elector().map(Elector::fence),
            triggers: Mutex::new(self.triggers),
        });
    }
}

impl<E: Into<BoxError>> Failed<E> {
    fn classified(self, policy: Option<&ErrorPolicy<E>>) -> Failure {
        match self {
            Self::Request(error) => Failure::of(error),
            Self::User(error) => match policy {
                Some(policy) => Failure { retry: policy(&error), error: error.into() },
                None => Failure::of(error),
            },
        }
    }
}

impl<K: CacheObject, C, E> fmt::Debug for Controller<K, C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}
