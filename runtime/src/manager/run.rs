//! The run of a manager: sync, lead, work, shut down.

use std::{
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
};

use futures::{
    FutureExt as _,
    future::{self, join_all},
};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{Inner, Manager, StartTask, fail};
use crate::{
    control_loop::{Ended, informer_ended, stop, synced},
    controller::Runner,
    factory::FactoryUse,
    leader::{Elector, Leadership, Lost, in_term},
    panics,
    signal::shutdown_signal,
};

/// The tasks of a leader. Each ends with the name of its part, and why it ended.
type Tasks = JoinSet<Ended>;

/// Why a leader stops its workers.
enum Stop {
    Shutdown,
    Lost,
    Failed(Ended),
}

impl Manager {
    /// Runs the controllers until SIGINT or SIGTERM, or until the [token](Self::shutdown_token) is cancelled. A
    /// second signal exits with 1 at once.
    ///
    /// # Errors
    ///
    /// Returns an error if a part of the manager ends before the shutdown.
    pub async fn run(&self) -> Result<(), Ended> {
        match shutdown_signal() {
            Ok(signal) => self.run_until(signal).await,
            Err(error) => Err(Ended::new("the handling of signals", error.to_string())),
        }
    }

    /// Runs the controllers as [`run`](Self::run) does, until `shutdown` completes. Signals are not caught.
    ///
    /// A manager runs once; a second call returns an error.
    ///
    /// # Errors
    ///
    /// Returns an error if a part of the manager ends before the shutdown.
    pub async fn run_until(&self, shutdown: impl Future<Output = ()>) -> Result<(), Ended> {
        let inner = &*self.inner;
        let (controllers, tasks) = {
            let mut parts = inner.parts.lock();
            if parts.has_started {
                return Err(Ended::new(
                    format!("the manager {}", inner.name),
                    "it ran already; build another one",
                ));
            }
            parts.has_started = true;
            (std::mem::take(&mut parts.controllers), std::mem::take(&mut parts.tasks))
        };
        let mut shutdown = pin!(
            async {
                tokio::select! {
                    () = shutdown => {}
                    () = inner.shutdown.cancelled() => {}
                }
            }
            .fuse()
        );
        tracing::info!(manager = %inner.name, controllers = controllers.len(), "starting");
        if inner.elector.is_some() {
            controllers.iter().for_each(|controller| controller.stand_by());
        }
        let factories = [FactoryUse::new(inner.factory.clone())];
        factories[0].start();
        let mut run = Run { inner, controllers, tasks, factories: &factories, background: JoinSet::new() };
        let ended = run.lead(shutdown.as_mut()).await;
        run.withdraw().await;
        if let Err(error) = &ended {
            tracing::error!("{error}");
        }
        let background = std::mem::take(&mut run.background);
        stop(factories.into(), background, inner.deadlines.stop).await;
        tracing::info!(manager = %inner.name, "stopped");
        ended
    }
}

/// A manager that runs.
struct Run<'a> {
    inner: &'a Inner,
    controllers: Vec<Arc<Runner>>,
    tasks: Vec<(Arc<str>, StartTask)>,
    factories: &'a [FactoryUse; 1],
    /// Tasks that also run while the replica does not lead.
    background: JoinSet<()>,
}

impl Run<'_> {
    /// Fills the caches, then leads and works, as often as the lease is won, until the shutdown.
    async fn lead(
        &mut self,
        mut shutdown: Pin<&mut impl future::FusedFuture<Output = ()>>,
    ) -> Result<(), Ended> {
        for controller in &self.controllers {
            let (controller, fault) = (controller.clone(), self.inner.fault.clone());
            self.background.spawn(async move {
                let followed = AssertUnwindSafe(controller.follow_triggers()).catch_unwind().await;
                fail(
                    &fault,
                    Ended::of(&format!("a stream of the controller {}", controller.name()), followed),
                );
            });
        }
        tracing::info!("waiting for informer caches to sync");
        tokio::select! {
            biased;
            () = &mut shutdown => {
                tracing::info!("asked to stop before the caches were synced");
                return Ok(());
            }
            fault = self.fault() => return Err(fault),
            synced = synced(self.factories) => synced?,
        }
        loop {
            let leadership = match &self.inner.elector {
                None => None,
                Some(elector) => tokio::select! {
                    biased;
                    () = &mut shutdown => return Ok(()),
                    fault = self.fault() => return Err(fault),
                    leadership = elector.acquire() => Some(leadership),
                },
            };
            match self.work(leadership, shutdown.as_mut()).await {
                Stop::Lost => {}
                Stop::Shutdown => return Ok(()),
                Stop::Failed(error) => return Err(error),
            }
        }
    }

    /// Runs workers and tasks until the shutdown, or until the leadership is lost.
    async fn work(
        &self,
        mut leadership: Option<Leadership>,
        mut shutdown: Pin<&mut impl Future<Output = ()>>,
    ) -> Stop {
        let term = leadership.as_ref().map(Leadership::term);
        tracing::info!(term, "starting workers");
        if leadership.is_some() {
            self.controllers.iter().for_each(|controller| controller.begin_term());
        }
        let mut workers = JoinSet::new();
        self.controllers.iter().for_each(|controller| controller.spawn(&mut workers));
        let mut tasks = Tasks::new();
        for (name, start) in &self.tasks {
            let (name, start) = (name.clone(), start.clone());
            let fence = self.inner.elector.as_ref().map(Elector::fence);
            tasks.spawn(async move {
                let task = AssertUnwindSafe(async { start().await }).catch_unwind();
                Ended::of(&name, in_term(fence.as_ref(), task).await)
            });
        }
        tracing::info!("started workers");
        let stopped = tokio::select! {
            biased;
            () = &mut shutdown => Stop::Shutdown,
            _ = lost(&mut leadership) => Stop::Lost,
            fault = self.fault() => Stop::Failed(fault),
            Some(Ok(ended)) = tasks.join_next() => Stop::Failed(ended),
            Some(ended) = workers.join_next() => Stop::Failed(match ended {
                Ok(Ok(())) => Ended::new("a worker", "it ended before the shutdown"),
                Ok(Err(panic)) => Ended::new("a worker", panic),
                Err(error) => Ended::new("a worker", error.try_into_panic().map_or_else(
                    |error| error.to_string(),
                    |panic| format!("it panicked: {}", panics::message(&*panic)),
                )),
            }),
        };
        let drained = match stopped {
            Stop::Lost => None,
            Stop::Shutdown | Stop::Failed(_) => self.drain(&mut leadership).await,
        };
        if drained.is_none() {
            // Another replica may lead from now on.
            tracing::warn!("no longer the leader: cancelling workers");
        }
        let cancelled = future::join(workers.shutdown(), tasks.shutdown());
        if matches!(stopped, Stop::Lost) {
            let stood_by = async {
                cancelled.await;
                self.controllers.iter().for_each(|controller| controller.stand_by());
                self.hand_over(leadership).await;
            };
            // A term must not begin beside the work of an earlier one.
            return tokio::select! {
                biased;
                () = stood_by => Stop::Lost,
                () = shutdown => Stop::Shutdown,
            };
        }
        let has_ended = timeout(self.inner.deadlines.stop, cancelled).await.is_ok();
        if !has_ended {
            tracing::warn!("a reconciliation or a task blocks its thread; the manager ends without it");
        }
        if let Some(has_finished) = drained {
            self.finish(leadership, has_finished && has_ended).await;
        }
        stopped
    }

    /// Lets the running keys finish, and returns whether they did. Returns `None` if the leadership is lost meanwhile.
    async fn drain(&self, leadership: &mut Option<Leadership>) -> Option<bool> {
        tracing::info!("shutting down workers");
        let deadline = self.inner.deadlines.drain;
        let drained = join_all(self.controllers.iter().map(|controller| controller.drain(deadline)));
        let left = tokio::select! {
            biased;
            _ = lost(leadership) => return None,
            left = drained => left,
        };
        let queued: usize = left.iter().map(|left| left.queued.len()).sum();
        let delayed: usize = left.iter().map(|left| left.delayed.len()).sum();
        tracing::info!(queued, delayed, "stopped workers");
        Some(left.iter().all(|left| left.unfinished.is_empty()))
    }

    /// Sends the last events and releases the lease, unless cancelled work may still have requests under way.
    async fn finish(&self, leadership: Option<Leadership>, is_quiet: bool) {
        let deadlines = self.inner.deadlines;
        let unsent = self.inner.events.flush(deadlines.flush).await;
        if unsent > 0 {
            tracing::warn!(unsent, "events were not sent before the deadline");
        }
        let (Some(elector), Some(leadership)) = (&self.inner.elector, leadership) else { return };
        if !is_quiet || elector.may_have_requests_under_way() {
            tracing::warn!("the lease is not released, and expires: cancelled requests may be under way");
            return;
        }
        self.release(leadership).await;
    }

    /// Releases the lease if the API server asked for it, when the requests of cancelled keys must have arrived.
    async fn hand_over(&self, leadership: Option<Leadership>) {
        let (Some(elector), Some(leadership)) = (&self.inner.elector, leadership) else { return };
        if !leadership.steps_down() {
            return;
        }
        sleep(elector.longest_delay()).await;
        self.release(leadership).await;
    }

    async fn release(&self, leadership: Leadership) {
        match timeout(self.inner.deadlines.release, leadership.release()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the lease is not released, and expires"),
            Err(_) => tracing::warn!("the lease is not released before the deadline, and expires"),
        }
    }

    /// Ends the candidacy, so that the API server does not choose this replica any more.
    async fn withdraw(&self) {
        let Some(elector) = &self.inner.elector else { return };
        match timeout(self.inner.deadlines.release, elector.withdraw()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the LeaseCandidate is not deleted"),
            Err(_) => tracing::warn!("the LeaseCandidate is not deleted before the deadline"),
        }
    }

    /// Waits for a fault of any part.
    async fn fault(&self) -> Ended {
        let mut fault = self.inner.fault.subscribe();
        let set = async {
            match fault.wait_for(Option::is_some).await.map(|fault| fault.clone()) {
                Ok(Some(fault)) => fault,
                // The manager has the sender.
                _ => future::pending().await,
            }
        };
        tokio::select! {
            fault = set => fault,
            ended = informer_ended(self.factories) => ended,
        }
    }
}

/// Waits until the leadership is lost. Without a lease it never is.
async fn lost(leadership: &mut Option<Leadership>) -> Lost {
    match leadership {
        Some(leadership) => leadership.lost().await,
        None => future::pending().await,
    }
}
