//! The running part of a controller, without its types: a queue, and workers that reconcile its keys.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{
    FutureExt as _, StreamExt as _,
    future::BoxFuture,
    stream::{BoxStream, SelectAll},
};
use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tracing::{Instrument as _, field::Empty};

use super::{
    ledger::{Change, Ledger, Own, Verdict},
    retry::{Failure, Retry},
    source::Source,
};
use crate::{
    leader::{Fence, in_term},
    object::ObjectKey,
    panics,
    workqueue::{Action, AddOptions, Item, Priority, Shutdown, WorkQueue},
    written::{Recording, Write},
};

/// How long a reconciliation waits for the caches to have the writes of the one before.
const CATCH_UP: Duration = Duration::from_secs(10);

/// Reconciles a key.
pub(super) type Reconcile =
    Arc<dyn Fn(ObjectKey) -> BoxFuture<'static, Result<Action, Failure>> + Send + Sync>;

/// What the event handlers of a controller share with its workers.
pub(super) struct Shared {
    pub(super) name: Arc<str>,
    pub(super) cluster: Option<Arc<str>>,
    pub(super) queue: WorkQueue<ObjectKey>,
    pub(super) ledger: Ledger,
    pub(super) debounce: Duration,
    /// Whether changes are queued. They are not while the replica stands by.
    pub(super) is_active: AtomicBool,
}

/// A controller that a manager runs.
pub(crate) struct Runner {
    pub(super) shared: Arc<Shared>,
    pub(super) sources: Arc<[Box<dyn Source>]>,
    pub(super) reconcile: Reconcile,
    pub(super) workers: usize,
    pub(super) timeout: Option<Duration>,
    pub(super) fatal_panics: bool,
    /// Open while this replica leads, if there is a lease.
    pub(super) fence: Option<Fence>,
    /// Streams of keys to reconcile, until the manager runs.
    pub(super) triggers: Mutex<SelectAll<BoxStream<'static, Trigger>>>,
}

/// What a stream of the user asks for.
pub(super) enum Trigger {
    Key(ObjectKey),
    /// All keys of the controller's kind.
    Keys(Vec<ObjectKey>),
}

impl Shared {
    /// Queues a key because of a change, unless the change is a write of the key's own reconciliation.
    pub(super) fn changed(&self, key: ObjectKey, change: &Arc<Change>, priority: Option<Priority>) {
        if self.ledger.changed(&key, change, priority) == Verdict::Queue {
            self.add(key, priority.unwrap_or_default());
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Acquire)
    }

    fn add(&self, key: ObjectKey, priority: Priority) {
        let _ = self.queue.add_with(key, AddOptions::new().priority(priority).after(self.debounce));
    }
}

impl Runner {
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.shared.name
    }

    /// Starts the workers. Their tasks end after a shutdown of the queue, or with the message of a panic that is
    /// fatal.
    pub(crate) fn spawn(self: &Arc<Self>, tasks: &mut JoinSet<Result<(), String>>) {
        for _ in 0..self.workers {
            let runner = Arc::clone(self);
            tasks.spawn(async move { runner.work().await });
        }
    }

    /// Stops queueing changes, and forgets the keys of a term that has ended. The caches stay current.
    pub(crate) fn stand_by(&self) {
        let Shared { is_active, queue, ledger, .. } = &*self.shared;
        is_active.store(false, Ordering::Release);
        queue.clear();
        ledger.clear();
    }

    /// Queues changes from now on, and the keys of all objects, as after a first list.
    pub(crate) fn begin_term(&self) {
        self.shared.is_active.store(true, Ordering::Release);
        for key in self.sources.iter().flat_map(|source| source.keys()) {
            let _ = self.shared.queue.add_with(key, Priority::LOW);
        }
    }

    /// Queues what the streams of the user yield, and the keys of own writes whose objects others have deleted.
    pub(crate) async fn follow_triggers(&self) {
        let mut triggers = std::mem::take(&mut *self.triggers.lock()).fuse();
        let mut sweeps = interval(CATCH_UP);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let keys = tokio::select! {
                Some(trigger) = triggers.next() => match trigger {
                    Trigger::Key(key) => vec![key],
                    Trigger::Keys(keys) => keys,
                },
                _ = sweeps.tick() => self.sweep(),
            };
            if self.shared.is_active() {
                keys.into_iter().for_each(|key| self.shared.add(key, Priority::NORMAL));
            }
        }
    }

    fn sweep(&self) -> Vec<ObjectKey> {
        let source = |own: &Own| &self.sources[own.source];
        let has = |own: &Own| source(own).has(&own.write);
        self.shared.ledger.sweep(has, |own| source(own).contains(&own.write.key))
    }

    /// Refuses further keys, and waits for the running ones. Logs those that do not finish before the deadline.
    pub(crate) async fn drain(&self, deadline: Duration) -> Shutdown<ObjectKey> {
        let left = self.shared.queue.shutdown(deadline).await;
        for key in &left.unfinished {
            tracing::warn!(controller = %self.name(), %key, "this key was not finished before the deadline");
        }
        left
    }

    async fn work(&self) -> Result<(), String> {
        while let Some(item) = self.shared.queue.next().await {
            if let Err(panic) = self.reconcile(item).await
                && self.fatal_panics
            {
                return Err(panic);
            }
        }
        Ok(())
    }

    /// Reconciles a key and reports the outcome to the queue. Returns the message of a panic.
    async fn reconcile(&self, item: Item<ObjectKey>) -> Result<(), String> {
        let Shared { name, cluster, queue, ledger, .. } = &*self.shared;
        let key = item.key().clone();
        let begun = ledger.begin(&key);
        let recording = Recording::default();
        let running = Running { runner: self, key: &key, recording: &recording };
        if !self.catch_up(&key, &begun.writes).await {
            ledger.read_behind(&key);
        }
        let attempt = queue.num_requeues(&key).saturating_add(1);
        let span = tracing::info_span!(
            "reconcile",
            controller = &**name,
            cluster = cluster.as_deref(),
            %key,
            attempt,
            reason = Empty,
            otel.name = format_args!("reconcile {name}"),
            otel.status_code = Empty,
        );
        if let Some(reason) = &begun.reason {
            span.record("reason", tracing::field::display(reason));
        }
        let reconciled = recording.of(self.call(key.clone()));
        // The user's error writes its own text, which may panic.
        let reconciled =
            reconciled.map(|outcome| outcome.map_err(|failure| (failure.retry, failure.to_string())));
        let reconciled = AssertUnwindSafe(reconciled).catch_unwind().instrument(span.clone());
        let outcome = in_term(self.fence.as_ref(), reconciled).await;
        drop(running);
        if !matches!(outcome, Ok(Ok(_))) {
            span.record("otel.status_code", "ERROR");
        }
        let _entered = span.entered();
        match outcome {
            Ok(Ok(action)) => {
                match action.delay() {
                    None => item.done(),
                    Some(after) => item.requeue_after(after),
                }
                Ok(())
            }
            Ok(Err((retry, error))) => {
                match retry {
                    Retry::Backoff => item.retry(),
                    Retry::After(after) => item.requeue_after(after),
                    Retry::Never => item.done(),
                }
                tracing::error!(?retry, "{error}");
                Ok(())
            }
            Err(panic) => {
                item.panicked();
                let panic = panics::message(&*panic);
                tracing::error!(panic, "the reconciliation panicked");
                Err(format!("the reconciliation of {key} panicked: {panic}"))
            }
        }
    }

    /// Calls the user's function, for at most the timeout.
    async fn call(&self, key: ObjectKey) -> Result<Action, Failure> {
        let reconciled = (self.reconcile)(key);
        match self.timeout {
            None => reconciled.await,
            Some(limit) => timeout(limit, reconciled).await.unwrap_or_else(|_| {
                Err(Failure::of(format!("the reconciliation took longer than {limit:?}")))
            }),
        }
    }

    /// Waits until the caches have the writes of the last reconciliation. Returns whether they have.
    async fn catch_up(&self, key: &ObjectKey, writes: &[Own]) -> bool {
        let (deadline, mut has_all) = (Instant::now() + CATCH_UP, true);
        for Own { source, write } in writes {
            if !self.sources[*source]
                .catch_up(write, deadline.saturating_duration_since(Instant::now()))
                .await
            {
                let (controller, resource, object) = (self.name(), &write.resource, &write.key);
                tracing::warn!(%controller, %key, %resource, %object, "the cache does not have the last write yet");
                has_all = false;
            }
        }
        has_all
    }

    /// Returns a write as each source of its kind will show it.
    fn expected(&self, write: &Write) -> Vec<Own> {
        let sources = self.sources.iter().enumerate();
        let sources = sources.filter(|(_, source)| *source.resource() == write.resource);
        sources.map(|(source, _)| Own { source, write: write.clone() }).collect()
    }
}

/// Ends a reconciliation when it is dropped, also if it is cancelled.
struct Running<'a> {
    runner: &'a Runner,
    key: &'a ObjectKey,
    recording: &'a Recording,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Self { runner, key, recording } = self;
        let writes = recording.take().iter().flat_map(|write| runner.expected(write)).collect();
        let has = |own: &Own| runner.sources[own.source].has(&own.write);
        if let Some(priority) = runner.shared.ledger.end(key, writes, has) {
            runner.shared.add((*key).clone(), priority);
        }
    }
}
