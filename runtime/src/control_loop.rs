//! The control loop: what is around the workers of a controller, from the start of its informers to the last
//! event.
//!
//! # Guarantees
//! - **Workers start when every cache is synced.** Until then the log says every ten seconds what is missing,
//!   for example the definition of a custom resource.
//! - **A shutdown is orderly.** Running keys may finish, for 25 seconds at most; then the last events are sent,
//!   for 3 seconds at most; then the informers end.
//! - **No part ends in silence.** If an informer, a task or the pool of workers ends before the shutdown, the
//!   loop shuts down and returns an error that names the part.
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

use std::{fmt, sync::Arc, time::Duration};

use futures::{
    FutureExt, StreamExt,
    future::{BoxFuture, join_all},
    stream::FuturesUnordered,
};
use tokio::task::{AbortHandle, JoinError};

use crate::{
    events::EventRecorder,
    factory::InformerFactory,
    panics,
    workqueue::{Action, Key, WorkQueue},
};

/// How long running keys may take after the shutdown began.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(25);
/// How long the last events may take after that.
const FLUSH_DEADLINE: Duration = Duration::from_secs(3);

/// The control loop of a controller; see [the module](self).
#[must_use = "a control loop does nothing until it runs"]
pub struct ControlLoop<T: Key> {
    name: Arc<str>,
    queue: WorkQueue<T>,
    factories: Vec<InformerFactory>,
    events: Option<EventRecorder>,
    tasks: Vec<(&'static str, BoxFuture<'static, ()>)>,
}

/// A part of a controller ended without a shutdown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} ended without a shutdown: {reason}")]
#[non_exhaustive]
pub struct Ended {
    /// The part, such as `the pool of workers`.
    pub part: String,
    /// Why it ended, as far as is known.
    pub reason: String,
}

impl<T: Key + fmt::Display> ControlLoop<T> {
    /// Creates the loop of the controller with this name, which the log shows, such as `network`.
    pub fn new(name: impl Into<Arc<str>>, queue: WorkQueue<T>) -> Self {
        Self { name: name.into(), queue, factories: Vec::new(), events: None, tasks: Vec::new() }
    }

    /// Adds a factory: its informers are started, waited for, and shut down.
    pub fn factory(mut self, factory: &InformerFactory) -> Self {
        self.factories.push(factory.clone());
        self
    }

    /// Sends the last events of this recorder before the end.
    pub fn events(mut self, events: &EventRecorder) -> Self {
        self.events = Some(events.clone());
        self
    }

    /// Adds a task that runs beside the workers, and is cancelled at the shutdown. `part` names it in the
    /// error if it ends before.
    pub fn task(mut self, part: &'static str, task: impl Future<Output = ()> + Send + 'static) -> Self {
        self.tasks.push((part, task.boxed()));
        self
    }

    /// Starts the informers, waits for their caches, reconciles keys until `shutdown` completes, and lets
    /// running keys finish; see [`WorkQueue::run`].
    ///
    /// # Errors
    ///
    /// Returns an error if a part of the controller ends before `shutdown`.
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
        let Self { name, queue, factories, events, tasks } = self;
        tracing::info!("starting {name} control loop");
        factories.iter().for_each(InformerFactory::start);
        let mut shutdown = std::pin::pin!(shutdown);
        tokio::select! {
            () = wait_for_caches(&factories) => {}
            () = &mut shutdown => {
                tracing::info!("asked to stop before the caches were synced");
                end_factories(&factories).await;
                return Ok(());
            }
            ended = informer_ended(&factories) => {
                end_factories(&factories).await;
                return Err(ended);
            }
        }

        tracing::info!(workers, "starting workers");
        let (mut parts, aborts) = spawn(tasks);
        let running = queue.clone();
        let mut running = tokio::spawn(async move { running.run(workers, reconcile).await });
        tracing::info!("started workers");
        let ended = tokio::select! {
            () = shutdown => None,
            ended = &mut running => Some(Ended::of_task("the pool of workers", ended)),
            Some(ended) = parts.next() => Some(ended),
            ended = informer_ended(&factories) => Some(ended),
        };
        if let Some(error) = &ended {
            tracing::error!("{error}");
        }

        tracing::info!("shutting down workers");
        aborts.iter().for_each(AbortHandle::abort);
        let left = queue.shutdown(SHUTDOWN_DEADLINE).await;
        // Without a shutdown this task may have been awaited already.
        if ended.is_none()
            && let Err(error) = running.await
        {
            tracing::warn!(%error, "a worker ended unexpectedly");
        }
        for key in &left.unfinished {
            tracing::warn!(%key, "this key was not finished before the deadline");
        }
        let unsent = match events {
            Some(events) => events.flush(FLUSH_DEADLINE).await,
            None => 0,
        };
        end_factories(&factories).await;
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
    fn new(part: impl Into<String>, reason: String) -> Self {
        Self { part: part.into(), reason }
    }

    /// The error of a task that ended without a shutdown.
    fn of_task(part: &str, result: Result<(), JoinError>) -> Self {
        let reason = match result.map_err(JoinError::try_into_panic) {
            Ok(()) => "the log says why".to_owned(),
            Err(Ok(panic)) => format!("it panicked: {}", panics::message(&*panic)),
            Err(Err(error)) => error.to_string(),
        };
        Self::new(part, reason)
    }
}

async fn wait_for_caches(factories: &[InformerFactory]) {
    tracing::info!("waiting for informer caches to sync");
    join_all(factories.iter().map(InformerFactory::synced)).await;
}

async fn end_factories(factories: &[InformerFactory]) {
    join_all(factories.iter().map(InformerFactory::shutdown)).await;
}

/// Waits until an informer of any factory ends.
async fn informer_ended(factories: &[InformerFactory]) -> Ended {
    let mut all: FuturesUnordered<_> = factories.iter().map(InformerFactory::informer_ended).collect();
    match all.next().await {
        Some(ended) => Ended::new(ended.to_string(), ended.reason),
        None => std::future::pending().await,
    }
}

/// Spawns the tasks. Each item of the stream is the end of one.
fn spawn(
    tasks: Vec<(&'static str, BoxFuture<'static, ()>)>,
) -> (FuturesUnordered<impl Future<Output = Ended>>, Vec<AbortHandle>) {
    let spawned = tasks.into_iter().map(|(part, task)| {
        let task = tokio::spawn(task);
        let abort = task.abort_handle();
        (async move { Ended::of_task(part, task.await) }, abort)
    });
    spawned.unzip()
}

#[cfg(test)]
mod tests;
