//! The shared informer: one cache of one kind, and everybody who wants to be told of its changes.
//!
//! * Readers see a change before any handler is told of it.
//! * Handlers can come and go at any time. One that comes late is told of every object first, as
//!   `Added { initial: true }`, and has a synced signal of its own.
//! * To each handler the events of one object come in order and without a gap; see [`Event`]. A
//!   handler that is slow hears fewer steps; see the table in `backlog`. Its backlog is bounded by
//!   two events a key, whatever happens meanwhile.
//! * A handler that panics, or blocks for good, disturbs nobody else.
//! * A resync tells a handler of every object again, on that handler's own schedule; it never takes
//!   the place of a change.
//! * The informer is synced when the first list of each of its scopes is in the cache.

mod apply;
mod backlog;
mod catch_up;
mod event;
mod generic;
mod handler;
mod metrics;
mod notice;
mod signal;
mod stream;
mod subscriber;

use std::{fmt, hash::Hash, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    task::JoinHandle,
    time::Instant,
};

use self::{
    apply::{Outcome, Progress},
    metrics::InformerMetrics,
    notice::{Notice, Step},
    signal::SyncSender,
    subscriber::Subscriber,
};
use crate::{
    delta::{Delta, DeltaReceiver, InvalidObject, Scope},
    lister::Lister,
    object::CacheObject,
    store::{Index, IndexError, State, Store, Writer},
};

pub use catch_up::CatchUpError;
pub use event::{Cause, Event, FinalState};
pub use generic::GenericInformer;
pub use handler::{EventHandler, HandlerRegistration};
pub(crate) use signal::SyncReceiver;
pub use stream::EventStream;

/// So many deltas are applied and published at once, if so many wait.
const BATCH: usize = 512;

/// How soon the writer looks again whether a slow reader has left an older generation of the cache,
/// if nothing happens meanwhile.
const CATCH_UP: Duration = Duration::from_millis(10);

/// The shortest resync that makes sense: a resync is for handlers that missed something, and costs
/// one event per object.
pub const SHORTEST_RESYNC: Duration = Duration::from_secs(1);

/// A resync period that is shorter than [`SHORTEST_RESYNC`] and not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a resync every {0:?} is too often: the shortest period is one second, and zero means never")]
pub struct ResyncTooShort(pub Duration);

/// Checks a resync period; zero means never.
pub(crate) fn checked_resync(period: Duration) -> Result<Option<Duration>, ResyncTooShort> {
    match period {
        Duration::ZERO => Ok(None),
        period if period < SHORTEST_RESYNC => Err(ResyncTooShort(period)),
        period => Ok(Some(period)),
    }
}

/// What an informer follows.
#[derive(Clone, Debug)]
pub struct InformerConfig {
    /// The name of the resource in logs and metrics, such as `networks.samplecrd.k8s.io`.
    pub resource: Arc<str>,
    /// The parts of the kind that are listed and watched. The informer is synced when all were listed.
    pub scopes: Vec<Scope>,
    /// How often handlers are told of every object again, if they do not say it themselves.
    pub resync: Option<Duration>,
}

/// One cache of one kind, shared by everybody who reads it or listens to it. A cheap handle.
pub struct SharedInformer<K> {
    inner: Arc<Inner<K>>,
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

struct Inner<K> {
    config: InformerConfig,
    store: Store<K>,
    core: Mutex<Core<K>>,
    synced: SyncSender,
    /// The number of batches that were applied, for whoever waits for the cache to move.
    moved: watch::Sender<u64>,
    stopped: watch::Sender<bool>,
    /// A resync schedule changed.
    rescheduled: Notify,
}

/// What only one thread changes at a time. The lock is held while a batch is applied and told, so
/// that a handler that comes meanwhile is replayed exactly what it is not told.
struct Core<K> {
    writer: Writer<K>,
    progress: Progress,
    listeners: Vec<Listener<K>>,
    /// The handlers that wait for the informer to run.
    idle: Vec<IdleHandler<K>>,
    /// Where handlers run; set while the informer runs.
    runtime: Option<Handle>,
    tasks: Vec<JoinHandle<()>>,
    metrics: InformerMetrics,
    phase: Phase,
}

/// Where the informer is in its life. It runs once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Running,
    Ended,
}

type IdleHandler<K> = (Arc<Subscriber<K>>, Box<dyn EventHandler<K>>);

struct Listener<K> {
    subscriber: Arc<Subscriber<K>>,
    resync: Option<Resync>,
}

struct Resync {
    period: Duration,
    /// When the next one is due; not set until the informer runs.
    due: Option<Instant>,
}

impl<K: CacheObject> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("resource", &self.inner.config.resource)
            .field("synced", &self.has_synced())
            .field("store", &self.inner.store)
            .finish_non_exhaustive()
    }
}

impl<K: CacheObject> SharedInformer<K> {
    /// An informer that does not run yet. The factory makes one per kind; made by hand it is
    /// [`run`](Self::run) over a delta queue that one feeds oneself.
    pub fn new(config: InformerConfig) -> Self {
        let (store, writer) = Store::new();
        let core = Core {
            writer,
            progress: Progress::new(config.scopes.clone()),
            listeners: Vec::new(),
            idle: Vec::new(),
            runtime: None,
            tasks: Vec::new(),
            metrics: InformerMetrics::new(config.resource.clone()),
            phase: Phase::New,
        };
        Self {
            inner: Arc::new(Inner {
                config,
                store,
                core: Mutex::new(core),
                synced: SyncSender::new(),
                moved: watch::Sender::new(0),
                stopped: watch::Sender::new(false),
                rescheduled: Notify::new(),
            }),
        }
    }

    /// What the informer follows.
    pub fn config(&self) -> &InformerConfig {
        &self.inner.config
    }

    /// Adds a handler, which resyncs as the factory says. It can be added before and after the
    /// informer runs, from any thread.
    pub fn add_event_handler(&self, handler: impl EventHandler<K>) -> HandlerRegistration {
        self.register(Box::new(handler), self.inner.config.resync)
    }

    /// Adds a handler with a resync period of its own; zero means never.
    pub fn add_event_handler_with_resync(
        &self,
        handler: impl EventHandler<K>,
        period: Duration,
    ) -> Result<HandlerRegistration, ResyncTooShort> {
        Ok(self.register(Box::new(handler), checked_resync(period)?))
    }

    fn register(&self, handler: Box<dyn EventHandler<K>>, resync: Option<Duration>) -> HandlerRegistration {
        let mut core = self.inner.core.lock();
        let subscriber = self.subscribe(&mut core, resync);
        match &core.runtime {
            Some(runtime) => {
                let task = runtime.spawn(handler::deliver(subscriber.clone(), handler, core.metrics.clone()));
                core.tasks.retain(|task| !task.is_finished());
                core.tasks.push(task);
            }
            None if core.phase == Phase::New => core.idle.push((subscriber.clone(), handler)),
            None => subscriber.close(),
        }
        drop(core);
        self.inner.rescheduled.notify_one();
        HandlerRegistration::new(subscriber)
    }

    /// The events as a stream: it begins with the objects that are there, and coalesces while
    /// nobody polls. It also feeds kube's `Controller`; see [`EventStream::objects`].
    pub fn events(&self) -> EventStream<K> {
        let mut core = self.inner.core.lock();
        let subscriber = self.subscribe(&mut core, self.inner.config.resync);
        if core.phase == Phase::Ended {
            subscriber.finish();
        }
        drop(core);
        self.inner.rescheduled.notify_one();
        EventStream::new(subscriber)
    }

    /// A new listener that is told of every object first.
    fn subscribe(&self, core: &mut Core<K>, resync: Option<Duration>) -> Arc<Subscriber<K>> {
        let subscriber = Subscriber::new();
        self.inner.store.read(|state| {
            let replay = state.iter().map(|object| {
                let (old, new) = (None, object.clone());
                Notice::new(Step::Put { old, new, cause: Cause::Relist, initial: true })
            });
            subscriber.push(replay, core.progress.is_complete());
        });
        core.listeners.retain(|listener| !listener.subscriber.is_closed());
        let due = |period| (core.phase == Phase::Running).then(|| Instant::now() + period);
        core.listeners.push(Listener {
            subscriber: subscriber.clone(),
            resync: resync.map(|period| Resync { period, due: due(period) }),
        });
        subscriber
    }

    /// Adds an index, at any time: over what the cache holds and will hold.
    ///
    /// The function gives any number of values for an object. It must be pure, and must not call
    /// this informer. If it panics on an object that the cache holds, the index is not added; if it
    /// panics later, the object is found under no value of this index, and the panic is counted.
    pub fn add_index<V, I>(
        &self,
        name: &str,
        values_of: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Result<Index<K, V>, IndexError>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
    {
        self.inner.core.lock().writer.add_index(name, values_of)
    }

    /// The cache, to read.
    pub fn store(&self) -> Store<K> {
        self.inner.store.clone()
    }

    /// The cache as a lister.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.store())
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        self.inner.synced.is_synced()
    }

    /// Waits until the first list is in the cache; `false` if the informer stopped before.
    pub async fn wait_for_sync(&self) -> bool {
        self.sync_signal().wait().await
    }

    pub(crate) fn sync_signal(&self) -> SyncReceiver {
        self.inner.synced.subscribe()
    }

    /// The objects that the server holds and that do not decode. Their last good state, if there
    /// was one, is still in the cache.
    pub fn invalid(&self) -> Vec<InvalidObject> {
        self.inner.core.lock().progress.invalid().cloned().collect()
    }

    /// The resource version that the cache has reached; see [`Store::resource_version`].
    pub fn resource_version(&self) -> Option<String> {
        self.inner.store.resource_version()
    }

    /// Stops this informer and no other: handlers hear nothing more, streams end, the watch is
    /// closed. The cache can still be read, and stays as it is. An informer does not start again.
    pub fn stop(&self) {
        self.inner.stopped.send_replace(true);
        self.end(Subscriber::close);
    }

    /// Whether the informer has been stopped.
    pub fn is_stopped(&self) -> bool {
        *self.inner.stopped.borrow()
    }

    /// Resolves when the informer has been stopped.
    pub(crate) async fn stopped(&self) {
        // The sender lives in this handle, so the only way out is the signal itself.
        let _ = self.inner.stopped.subscribe().wait_for(|stopped| *stopped).await;
    }

    /// Waits until everything that this informer spawned has ended.
    pub(crate) async fn join(&self) {
        loop {
            let Some(task) = self.inner.core.lock().tasks.pop() else { return };
            // A task that was cancelled with its runtime has ended as well.
            let _ = task.await;
        }
    }

    /// Notes a task that [`join`](Self::join) waits for.
    pub(crate) fn adopt(&self, task: JoinHandle<()>) {
        self.inner.core.lock().tasks.push(task);
    }

    /// Feeds the cache from a delta queue, and handlers from the cache, until the informer is
    /// stopped or every sender of the queue is gone. Handlers run on the runtime that this is
    /// polled on. An informer runs once; further calls return at once.
    pub async fn run(&self, mut deltas: DeltaReceiver<K>) {
        if !self.begin() {
            return;
        }
        let mut batch = Vec::new();
        loop {
            let (due, is_caught_up) = {
                let mut core = self.inner.core.lock();
                (core.next_resync(), core.writer.catch_up())
            };
            tokio::select! {
                () = self.stopped() => return,
                received = deltas.receive(&mut batch, BATCH) => match received {
                    0 => break,
                    _ => self.apply(&mut batch),
                },
                () = sleep_until(due) => self.resync_due(),
                () = tokio::time::sleep(CATCH_UP), if !is_caught_up => {}
                () = self.inner.rescheduled.notified() => {}
            }
        }
        self.end(Subscriber::finish);
    }

    fn begin(&self) -> bool {
        let mut core = self.inner.core.lock();
        if core.phase != Phase::New {
            return false;
        }
        core.phase = Phase::Running;
        // Counters are looked up again because the recorder may have been installed meanwhile.
        core.metrics = InformerMetrics::new(self.inner.config.resource.clone());
        let runtime = Handle::current();
        for (subscriber, handler) in std::mem::take(&mut core.idle) {
            let task = runtime.spawn(handler::deliver(subscriber, handler, core.metrics.clone()));
            core.tasks.push(task);
        }
        core.runtime = Some(runtime);
        let now = Instant::now();
        for resync in core.listeners.iter_mut().filter_map(|listener| listener.resync.as_mut()) {
            resync.due = Some(now + resync.period);
        }
        true
    }

    fn end(&self, farewell: impl Fn(&Subscriber<K>)) {
        let mut core = self.inner.core.lock();
        core.phase = Phase::Ended;
        core.runtime = None;
        core.idle.clear();
        core.listeners.drain(..).for_each(|listener| farewell(&listener.subscriber));
        drop(core);
        self.inner.synced.ended();
        self.inner.moved.send_modify(|moved| *moved += 1);
    }

    /// Applies a batch of deltas, publishes it, and tells the listeners.
    fn apply(&self, deltas: &mut Vec<Delta<K>>) {
        let mut core = self.inner.core.lock();
        if core.phase == Phase::Ended {
            deltas.clear();
            return;
        }
        core.apply(deltas);
        self.inner.store.read(|state| core.metrics.objects.set(state.len() as f64));
        let complete = core.progress.is_complete();
        drop(core);
        if complete {
            self.inner.synced.synced();
        }
        self.inner.moved.send_modify(|moved| *moved += 1);
    }

    fn resync_due(&self) {
        let mut core = self.inner.core.lock();
        let now = Instant::now();
        self.inner.store.read(|state| core.resync(state, now));
    }
}

impl<K: CacheObject> Core<K> {
    fn apply(&mut self, deltas: &mut Vec<Delta<K>>) {
        self.metrics.deltas.increment(deltas.len() as u64);
        let mut outcome = Outcome::default();
        let mut batch = self.writer.begin();
        for delta in deltas.drain(..) {
            self.metrics.relists.increment(u64::from(matches!(delta, Delta::Replace { .. })));
            self.progress.apply(delta, &mut batch, &mut outcome);
        }
        if outcome.resync {
            outcome.notices.extend(resync_of(batch.state()));
        }
        let index_panics = std::mem::take(&mut batch.index_panics);
        batch.publish();
        for (index, key, panic) in index_panics {
            self.metrics.index_panics.increment(1);
            tracing::error!(resource = self.metrics.resource(), %index, %key, panic, "an index function panicked");
        }
        self.metrics.stale.increment(outcome.stale);
        self.metrics.invalid.set(self.progress.invalid().count() as f64);
        self.metrics.events.increment(outcome.notices.len() as u64);
        let complete = self.progress.is_complete();
        self.metrics.synced.set(f64::from(u8::from(complete)));
        let Some(last) = self.listeners.pop() else { return };
        self.listeners.retain(|listener| listener.subscriber.push(outcome.notices.iter().cloned(), complete));
        // Most informers have one listener, which takes what the others were given copies of.
        if last.subscriber.push(outcome.notices, complete) {
            self.listeners.push(last);
        }
    }

    fn next_resync(&self) -> Option<Instant> {
        self.listeners.iter().filter_map(|listener| listener.resync.as_ref()?.due).min()
    }

    /// Tells every listener whose resync is due of every object.
    fn resync(&mut self, state: &State<K>, now: Instant) {
        for listener in &mut self.listeners {
            if let Some(resync) = &mut listener.resync
                && resync.due.is_some_and(|due| due <= now)
            {
                resync.due = Some(now + resync.period);
                listener.subscriber.push(resync_of(state), false);
            }
        }
    }
}

/// A resync of every object.
fn resync_of<K: CacheObject>(state: &State<K>) -> impl Iterator<Item = Notice<K>> {
    state.iter().map(|object| Notice::new(Step::Resync(object.clone())))
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
