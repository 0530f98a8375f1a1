//! What the handles of an informer share, and the loop that runs it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    time::{Duration, Instant, sleep, sleep_until},
};
use tokio_util::task::TaskTracker;

use super::{
    EventHandler, InformerConfig,
    core::Core,
    handler::deliver,
    metrics::InformerMetrics,
    signal::{SyncReceiver, SyncSender},
    subscriber::Subscriber,
};
use crate::{
    delta::{Delta, DeltaReceiver},
    object::CacheObject,
    offload::offload,
    panics,
    store::{Store, Writer},
};

/// The most deltas that are applied and published at once.
const BATCH: usize = 512;

/// Work on more objects than this is done on a blocking thread.
const MANY: usize = BATCH;

/// How soon the writer looks again whether a slow reader has left an older generation of the cache, if
/// nothing happens meanwhile. The pause doubles each time.
const CATCH_UP: Duration = Duration::from_millis(10);
const LONGEST_CATCH_UP: Duration = Duration::from_secs(10);

/// What the handles of an informer share.
///
/// It does not hold the store, so that the informer can notice when no reader is left.
pub(crate) struct Inner<K> {
    pub(super) config: InformerConfig,
    /// Locked while a batch is applied or an index is computed, which can take long. Only the loop and
    /// `add_index` lock it.
    core: Mutex<Core<K>>,
    /// `add_index` has unlocked the core.
    indexed: Notify,
    /// Locked for a moment only.
    registry: Mutex<Registry<K>>,
    pub(super) synced: SyncSender,
    /// When each scope of the cache last changed, or was confirmed not to have changed.
    pub(super) moved: watch::Sender<Vec<Option<Instant>>>,
    /// Set to end the informer.
    ending: watch::Sender<bool>,
    /// Set when it has ended.
    ended: watch::Sender<bool>,
    /// The registry changed.
    registered: Notify,
    pub(super) failure: OnceLock<Arc<str>>,
    /// Everything that runs for this informer.
    pub(crate) tasks: TaskTracker,
}

/// The listeners of an informer, and what it takes to add one.
struct Registry<K> {
    phase: Phase,
    /// Where handlers run; set while the informer runs.
    runtime: Option<Handle>,
    /// The listeners that the loop has not seen yet.
    new: Vec<NewListener<K>>,
    /// Every listener.
    all: Vec<Arc<Subscriber<K>>>,
    /// The handlers that may still have to handle the first list.
    syncing: Vec<SyncReceiver>,
    metrics: InformerMetrics,
}

impl<K: CacheObject> Registry<K> {
    /// Takes out the new listeners that were removed again, to be dropped without the lock.
    fn take_removed(&mut self) -> Vec<NewListener<K>> {
        let new = std::mem::take(&mut self.new);
        let (removed, new) = new.into_iter().partition(|new| new.subscriber.is_closed());
        self.new = new;
        removed
    }
}

/// Whether the informer runs. It runs once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Running,
    Ended,
}

/// A listener that is still to be called with every object of the cache.
pub(super) struct NewListener<K> {
    pub(super) subscriber: Arc<Subscriber<K>>,
    pub(super) resync: Option<Duration>,
    /// The handler, until the informer runs, or for good if it is quick.
    pub(super) handler: Option<Box<dyn EventHandler<K>>>,
}

/// A new listener.
pub(super) enum Registered<K> {
    /// It will get every object and every change.
    Open(Arc<Subscriber<K>>),
    /// The informer has ended.
    Ended(Arc<Subscriber<K>>),
}

/// Something for the loop to do.
enum Work<K> {
    Apply(Vec<Delta<K>>),
    Resync,
    /// Only look after new listeners.
    Listen,
}

impl<K: CacheObject> Inner<K> {
    pub(super) fn new(config: InformerConfig) -> (Arc<Self>, Store<K>) {
        let ending = watch::Sender::new(false);
        let (store, writer) = Store::new(ending.clone());
        let metrics = InformerMetrics::new(&config);
        let inner = Self {
            core: Mutex::new(Core::new(writer, config.scopes.clone(), metrics.clone())),
            registry: Mutex::new(Registry {
                phase: Phase::New,
                runtime: None,
                new: Vec::new(),
                all: Vec::new(),
                syncing: Vec::new(),
                metrics,
            }),
            synced: SyncSender::new(),
            moved: watch::Sender::new(vec![None; config.scopes.len()]),
            indexed: Notify::new(),
            ending,
            ended: watch::Sender::new(false),
            registered: Notify::new(),
            failure: OnceLock::new(),
            tasks: TaskTracker::new(),
            config,
        };
        (Arc::new(inner), store)
    }

    /// Adds a listener, with or without a handler to call.
    pub(super) fn register(
        &self,
        handler: Option<Box<dyn EventHandler<K>>>,
        resync: Option<Duration>,
    ) -> Registered<K> {
        let subscriber = Subscriber::new();
        let mut registry = self.registry.lock();
        if registry.phase == Phase::Ended {
            return Registered::Ended(subscriber);
        }
        registry.syncing.retain(SyncReceiver::is_waiting);
        if handler.is_some() {
            registry.syncing.push(subscriber.synced());
        }
        let mut new = NewListener { subscriber: subscriber.clone(), resync, handler };
        if let Some(runtime) = registry.runtime.clone() {
            self.spawn_handler(&mut new, &runtime, &registry.metrics);
        }
        registry.all.retain(|listener| !listener.is_closed());
        registry.all.push(subscriber.clone());
        let removed = match registry.new.len() == registry.new.capacity() {
            true => registry.take_removed(),
            false => Vec::new(),
        };
        registry.new.push(new);
        drop(registry);
        self.registered.notify_one();
        panics::drop_caught(removed);
        Registered::Open(subscriber)
    }

    /// The sync signals of the handlers that have not handled the first list.
    pub(crate) fn syncing_handlers(&self) -> Vec<SyncReceiver> {
        let mut syncing = self.registry.lock().syncing.clone();
        syncing.retain(SyncReceiver::is_waiting);
        syncing
    }

    /// Spawns the task that calls a handler. A quick handler is called by the informer itself.
    fn spawn_handler(&self, new: &mut NewListener<K>, runtime: &Handle, metrics: &InformerMetrics) {
        if let Some(handler) = new.handler.take_if(|handler| !handler.is_quick()) {
            let delivering = deliver(new.subscriber.clone(), handler, metrics.clone());
            self.tasks.spawn_on(delivering, runtime);
        }
    }

    /// Ends the informer at once: no further call of a handler begins.
    pub(crate) fn stop(&self) {
        self.end(Subscriber::close);
    }

    pub(crate) fn is_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Resolves when the informer has ended.
    pub(crate) async fn ended(&self) {
        is_set(&mut self.ended.subscribe()).await;
    }

    /// Runs the loop until the informer ends.
    pub(crate) async fn run(self: &Arc<Self>, mut deltas: DeltaReceiver<K>) {
        let Some(metrics) = self.begin() else { return };
        // If the future is dropped, no caller must wait for a signal that will not come.
        let _end = EndOnDrop(self);
        let (mut batch, mut ending) = (Vec::new(), self.ending.subscribe());
        let mut catch_up = CATCH_UP;
        self.with_core(|core| core.metrics = metrics).await;
        loop {
            let looked = self.with_core(|core| {
                catch_unwind(AssertUnwindSafe(|| (core.next_resync(), core.writer.catch_up())))
            });
            let (due, is_caught_up) = match looked.await {
                Ok(looked) => looked,
                Err(panic) => return self.fail(&panics::message(&*panic)),
            };
            let work = tokio::select! {
                () = is_set(&mut ending) => {
                    tracing::debug!(resource = %self.config.resource, "the informer was stopped, or no handle of it is left");
                    return self.end(Subscriber::close);
                }
                received = deltas.receive(&mut batch, BATCH) => match received {
                    0 => return self.end(Subscriber::finish),
                    _ => Work::Apply(std::mem::take(&mut batch)),
                },
                () = until(due) => Work::Resync,
                () = sleep(catch_up), if !is_caught_up => {
                    catch_up = (catch_up * 2).min(LONGEST_CATCH_UP);
                    continue;
                }
                () = self.registered.notified() => Work::Listen,
            };
            catch_up = CATCH_UP;
            match self.work(work).await {
                Ok(emptied) => batch = emptied,
                Err(panic) => return self.fail(&panic),
            }
        }
    }

    /// Does one piece of work, on another thread if it is large. Returns the emptied batch, or the
    /// message of a panic.
    async fn work(self: &Arc<Self>, work: Work<K>) -> Result<Vec<Delta<K>>, String> {
        let (changed, visits_all) = match &work {
            Work::Apply(deltas) => (
                deltas.iter().map(size_of_delta).sum(),
                // A list is compared with every object of the cache.
                deltas.iter().any(|delta| matches!(delta, Delta::Replace { .. })),
            ),
            Work::Resync => (0, true),
            Work::Listen => (0, false),
        };
        // The registry is not locked while the core is looked at, which may have to be waited for.
        let has_new = !self.registry.lock().new.is_empty();
        let (cached, is_ready) = self.with_core(|core| (core.len(), core.writer.is_ready())).await;
        let visited = if visits_all || has_new || !is_ready { cached } else { 0 };
        // While an index is computed the core is waited for on another thread.
        if changed.max(visited) <= MANY
            && let Some(core) = self.core.try_lock()
        {
            return self.work_with(core, work);
        }
        let inner = self.clone();
        offload(move || inner.work_with(inner.core.lock(), work)).await
    }

    /// Calls the function with the core, without blocking the thread while an index is computed.
    async fn with_core<T>(&self, f: impl FnOnce(&mut Core<K>) -> T) -> T {
        loop {
            // Created before the lock is tried, so that no notification is missed.
            let indexed = self.indexed.notified();
            if let Some(mut core) = self.core.try_lock() {
                return f(&mut core);
            }
            indexed.await;
        }
    }

    /// Calls the function with the writer of the cache. Blocks while a list is applied.
    pub(super) fn with_writer<T>(&self, f: impl FnOnce(&mut Writer<K>) -> T) -> T {
        /// Wakes the loop after the core is unlocked, also if the function panics.
        struct Wake<'a>(&'a Notify);

        impl Drop for Wake<'_> {
            fn drop(&mut self) {
                self.0.notify_waiters();
            }
        }

        let _wake = Wake(&self.indexed);
        f(&mut self.core.lock().writer)
    }

    fn work_with(&self, mut core: MutexGuard<'_, Core<K>>, work: Work<K>) -> Result<Vec<Delta<K>>, String> {
        catch_unwind(AssertUnwindSafe(|| {
            // Listeners that are added later get these changes as part of the cache.
            let new = std::mem::take(&mut self.registry.lock().new);
            new.into_iter().for_each(|listener| core.listen(listener));
            let mut batch = Vec::new();
            match work {
                Work::Apply(deltas) if !self.is_ended() => {
                    batch = deltas;
                    let heard = core.apply(&mut batch, &self.synced, || self.is_ended());
                    drop(core);
                    let now = Instant::now();
                    self.moved
                        .send_modify(|moved| heard.into_iter().for_each(|scope| moved[scope] = Some(now)));
                }
                Work::Resync => {
                    core.resync(Instant::now());
                    drop(core);
                }
                Work::Apply(_) | Work::Listen => drop(core),
            }
            if self.is_ended()
                && let Some(mut core) = self.core.try_lock()
            {
                panics::drop_caught(core.take_listeners());
            }
            batch
        }))
        .map_err(|panic| panics::message(&*panic))
    }

    /// Ends the informer because applying a change panicked.
    fn fail(&self, panic: &str) {
        let resource = &self.config.resource;
        tracing::error!(%resource, panic, "applying a change panicked: the informer ends");
        // An informer runs once, so it fails once.
        let _ = self.failure.set(format!("applying a change panicked: {panic}").into());
        self.registry.lock().metrics.failures.increment(1);
        self.end(Subscriber::finish);
    }

    /// Returns the metrics of the informer, unless it runs or has run already.
    fn begin(&self) -> Option<InformerMetrics> {
        // Panics outside of a runtime, before anything is changed.
        let runtime = Handle::current();
        let mut registry = self.registry.lock();
        if registry.phase != Phase::New {
            return None;
        }
        registry.phase = Phase::Running;
        // Metrics are looked up again because the recorder may have been installed meanwhile.
        registry.metrics = InformerMetrics::new(&self.config);
        let metrics = registry.metrics.clone();
        registry.new.iter_mut().for_each(|new| self.spawn_handler(new, &runtime, &metrics));
        registry.runtime = Some(runtime);
        drop(registry);
        self.registered.notify_one();
        Some(metrics)
    }

    /// Ends the informer, and closes or finishes every listener.
    fn end(&self, farewell: impl Fn(&Subscriber<K>)) {
        let mut registry = self.registry.lock();
        registry.phase = Phase::Ended;
        registry.runtime = None;
        let (new, all) = (std::mem::take(&mut registry.new), std::mem::take(&mut registry.all));
        drop(registry);
        all.iter().for_each(|listener| farewell(listener));
        self.synced.ended();
        self.ended.send_replace(true);
        self.ending.send_replace(true);
        self.moved.send_modify(|_| {});
        // Handlers that never ran are dropped without a lock: their captures may use this informer.
        panics::drop_caught(new);
    }
}

/// Ends an informer whose loop is dropped or unwinds.
struct EndOnDrop<'a, K: CacheObject>(&'a Arc<Inner<K>>);

impl<K: CacheObject> Drop for EndOnDrop<'_, K> {
    fn drop(&mut self) {
        if !self.0.is_ended() {
            self.0.end(Subscriber::finish);
        }
        // Quick handlers may own handles of this informer. If the core is locked, a list is being applied on
        // another thread, which drops them afterwards.
        let listeners = self.0.core.try_lock().map(|mut core| core.take_listeners());
        panics::drop_caught(listeners);
    }
}

fn size_of_delta<K>(delta: &Delta<K>) -> usize {
    match delta {
        Delta::Replace { objects, invalid, .. } => 1 + objects.len() + invalid.len(),
        _ => 1,
    }
}

/// Waits for the signal. The borrow of its value must not outlive the wait, or sending would block.
async fn is_set(signal: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which cannot be while the informer exists.
    let _ = signal.wait_for(|is_set| *is_set).await;
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
