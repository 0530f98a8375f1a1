//! Runs a controller: starts its informers, waits for their caches, runs the workers, and shuts down in order.
//!
//! # Guarantees
//! - **Workers start when every cache is synced**, and when every event handler has handled the first list.
//!   Until then the log lists the missing caches and handlers every ten seconds, and why they are missing.
//! - **A shutdown is orderly and bounded.** The queue refuses keys, and running keys may finish. Then the tasks
//!   end, so a lease is held until the last key is written. Then the last events are sent, and the informers
//!   stop. Each step has a deadline, and the defaults add up to 29 seconds: Kubernetes kills a pod after 30.
//! - **No part ends unnoticed.** If an informer, a task or the pool of workers ends before the shutdown, the
//!   loop shuts down and returns an error that names the part.
//! - **Dropping [`run`](ControlLoop::run) stops everything that it started**, at any point: workers and tasks are
//!   cancelled, and the informers stop.
//! - **Loops can share a factory.** Its informers run until the last of these loops ends or is dropped.
//!
//! ```no_run
//! use genclient_runtime::{Action, Error, InformerFactory, ObjectKey, WorkQueue, control_loop::ControlLoop, enqueue};
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! # async fn example(factory: InformerFactory) -> Result<(), Box<dyn std::error::Error>> {
//! let queue = WorkQueue::new("config-maps");
//! let config_maps = factory.informer::<ConfigMap>();
//! config_maps.add_event_handler(enqueue::changed(&queue));
//!
//! let shutdown = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
//! ControlLoop::new("config map", queue)
//!     .factory(&factory)
//!     .run(2, |key: ObjectKey| async move { Ok::<_, Error>(Action::await_change()) }, shutdown)
//!     .await?;
//! # Ok(())
//! # }
//! ```

use std::{any::Any, fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{self, BoxFuture, FusedFuture, join_all, select_all, try_join_all},
};
use tokio::{task::JoinSet, time::timeout};

use crate::{
    events::EventRecorder,
    factory::{FactoryError, FactoryUse, InformerFactory},
    panics,
    workqueue::{Action, Key, WorkQueue},
};

/// The control loop of a controller; see [the module](self).
#[must_use = "a control loop does nothing until it runs"]
pub struct ControlLoop<T: Key> {
    name: Arc<str>,
    queue: WorkQueue<T>,
    factories: Vec<InformerFactory>,
    events: Option<EventRecorder>,
    tasks: Vec<(&'static str, BoxFuture<'static, ()>)>,
    deadlines: Deadlines,
}

/// How long each step of a shutdown may take.
#[derive(Clone, Copy)]
struct Deadlines {
    drain: Duration,
    flush: Duration,
    stop: Duration,
}

/// A part of a controller failed, or ended before the shutdown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} failed: {reason}")]
#[non_exhaustive]
pub struct Ended {
    /// The part, such as `the pool of workers`.
    pub part: String,
    /// Why it ended, as far as is known.
    pub reason: String,
}

impl<T: Key + fmt::Display> ControlLoop<T> {
    /// Creates the loop of the controller with this name, which appears in the log, such as `network`.
    pub fn new(name: impl Into<Arc<str>>, queue: WorkQueue<T>) -> Self {
        let deadlines = Deadlines {
            drain: Duration::from_secs(25),
            flush: Duration::from_secs(3),
            stop: Duration::from_secs(1),
        };
        Self { name: name.into(), queue, factories: Vec::new(), events: None, tasks: Vec::new(), deadlines }
    }

    /// Adds a factory. The loop starts its informers, waits for their caches, and stops them at the end, unless
    /// another loop that runs has the factory too.
    pub fn factory(mut self, factory: &InformerFactory) -> Self {
        self.factories.push(factory.clone());
        self
    }

    /// Adds a recorder, whose last events are sent before the loop ends.
    pub fn events(mut self, events: &EventRecorder) -> Self {
        self.events = Some(events.clone());
        self
    }

    /// Adds a task that runs beside the workers. It starts with them, and is cancelled when the last key is
    /// finished. `part` names it in the error if it ends before that.
    pub fn task(mut self, part: &'static str, task: impl Future<Output = ()> + Send + 'static) -> Self {
        self.tasks.push((part, task.boxed()));
        self
    }

    /// Sets how long running keys may take to finish after the shutdown begins. The default is 25 seconds.
    ///
    /// Keys that are still running then are cancelled at their next await, and logged.
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.deadlines.drain = deadline;
        self
    }

    /// Sets how long the last events may take to be sent. The default is 3 seconds.
    pub fn flush_deadline(mut self, deadline: Duration) -> Self {
        self.deadlines.flush = deadline;
        self
    }

    /// Sets how long tasks and event handlers may take to return at the end. The default is 1 second.
    ///
    /// A task or handler that blocks its thread cannot be cancelled. The loop logs it and ends without it.
    pub fn stop_deadline(mut self, deadline: Duration) -> Self {
        self.deadlines.stop = deadline;
        self
    }

    /// Starts the informers, waits for their caches and handlers, reconciles keys until `shutdown` completes, and
    /// lets running keys finish; see [`WorkQueue::run`].
    ///
    /// # Errors
    ///
    /// Returns an error if a factory has an invalid value, or if a part of the controller ends before `shutdown`.
    pub async fn run<F, R, E>(
        self,
        workers: usize,
        reconcile: F,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), Ended>
    where
        F: Fn(T) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, E>> + Send + 'static,
        E: fmt::Display + Send + 'static,
    {
        let Self { name, queue, factories, events, tasks, deadlines } = self;
        tracing::info!("starting {name} control loop");
        let factories: Vec<_> = factories.into_iter().map(FactoryUse::new).collect();
        factories.iter().for_each(|factory| factory.start());
        let mut shutdown = std::pin::pin!(shutdown);
        tracing::info!("waiting for informer caches to sync");
        // Loops that share a factory end at the same signal, and the first must not look like a failure to the second.
        let ended = tokio::select! {
            biased;
            () = &mut shutdown => {
                tracing::info!("asked to stop before the caches were synced");
                Some(Ok(()))
            }
            ended = informer_ended(&factories) => Some(Err(ended)),
            synced = synced(&factories) => synced.err().map(Err),
        };
        let mut parts = JoinSet::new();
        if let Some(ended) = ended {
            stop(factories, parts, deadlines.stop).await;
            return ended;
        }

        tracing::info!(workers, "starting workers");
        for (part, task) in tasks {
            parts.spawn(async move { (part, AssertUnwindSafe(task).catch_unwind().await) });
        }
        let running = AssertUnwindSafe(queue.run(workers, reconcile)).catch_unwind();
        let mut running = std::pin::pin!(running.fuse());
        tracing::info!("started workers");
        let ended = tokio::select! {
            biased;
            () = shutdown => None,
            ended = &mut running => Some(Ended::of("the pool of workers", ended)),
            Some(Ok((part, ended))) = parts.join_next() => Some(Ended::of(part, ended)),
            ended = informer_ended(&factories) => Some(ended),
        };
        if let Some(error) = &ended {
            tracing::error!("{error}");
        }

        tracing::info!("shutting down workers");
        let finishing = async {
            if !running.is_terminated()
                && let Err(panic) = running.await
            {
                tracing::error!(panic = panics::message(&*panic), "the pool of workers panicked");
            }
        };
        let (left, ()) = tokio::join!(queue.shutdown(deadlines.drain), finishing);
        for key in &left.unfinished {
            tracing::warn!(%key, "this key was not finished before the deadline");
        }
        parts.abort_all();
        let unsent = match events {
            Some(events) => events.flush(deadlines.flush).await,
            None => 0,
        };
        stop(factories, parts, deadlines.stop).await;
        tracing::info!(
            queued = left.queued.len(),
            delayed = left.delayed.len(),
            unsent_events = unsent,
            "stopped"
        );
        ended.map_or(Ok(()), Err)
    }
}

impl<T: Key> fmt::Debug for ControlLoop<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlLoop").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Ended {
    pub(crate) fn new(part: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { part: part.into(), reason: reason.into() }
    }

    /// The error of a future that ended before the shutdown.
    pub(crate) fn of(part: &str, result: Result<(), Box<dyn Any + Send>>) -> Self {
        match result {
            Ok(()) => Self::new(part, "it ended before the shutdown"),
            Err(panic) => Self::new(part, format!("it panicked: {}", panics::message(&*panic))),
        }
    }
}

impl From<FactoryError> for Ended {
    fn from(error: FactoryError) -> Self {
        Self::new("the informer factory", error.to_string())
    }
}

/// Waits for the caches and handlers of all factories.
pub(crate) async fn synced(factories: &[FactoryUse]) -> Result<(), Ended> {
    try_join_all(factories.iter().map(|factory| factory.synced())).await?;
    Ok(())
}

/// Waits until an informer of any factory ends.
pub(crate) async fn informer_ended(factories: &[FactoryUse]) -> Ended {
    if factories.is_empty() {
        return future::pending().await;
    }
    let (ended, ..) = select_all(factories.iter().map(|factory| factory.informer_ended().boxed())).await;
    Ended::new(ended.to_string(), ended.reason)
}

/// Cancels the tasks, stops the informers of each factory that no other loop uses, and waits for them.
pub(crate) async fn stop<P: Send + 'static>(
    factories: Vec<FactoryUse>,
    mut parts: JoinSet<P>,
    deadline: Duration,
) {
    let stopped: Vec<_> = factories.into_iter().filter_map(FactoryUse::end).collect();
    let handlers = join_all(stopped.iter().map(InformerFactory::shutdown));
    if timeout(deadline, future::join(parts.shutdown(), handlers)).await.is_err() {
        tracing::warn!("a task or an event handler blocks its thread; the loop ends without it");
    }
}
