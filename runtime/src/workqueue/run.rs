//! The loop of a controller: take a key, reconcile it, act on the result.

use std::{
    fmt::Display,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
};

use futures::FutureExt;
use tokio::{task::JoinSet, time::Duration};

use super::{Key, WorkQueue};
use crate::panics;

/// What happens to a key after a successful reconciliation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(Option<Duration>);

impl Action {
    /// The key runs again when it is added again.
    pub const fn await_change() -> Self {
        Self(None)
    }

    /// The key runs again when this time has passed, or earlier if it is added.
    pub const fn requeue(after: Duration) -> Self {
        Self(Some(after))
    }

    /// Returns the time after which the key runs again, or `None` if it waits for a change.
    pub const fn delay(&self) -> Option<Duration> {
        self.0
    }
}

impl<T: Key + Display> WorkQueue<T> {
    /// Reconciles keys with this many workers, at least one, until the queue is shut down.
    ///
    /// `Ok` forgets the failures of the key and does what the [`Action`] says. An error is logged,
    /// and the key is retried. So is a key whose reconciliation panics; the panic is counted and
    /// stops no worker.
    ///
    /// The call returns when each worker has finished its last key after a shutdown, or at the
    /// deadline of the shutdown. Then the work that still runs is cancelled at its next await.
    /// Dropping the future cancels all workers, and their keys are retried.
    pub async fn run<F, R, E>(&self, workers: usize, reconcile: F)
    where
        F: Fn(T) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        if workers == 0 {
            tracing::warn!(queue = self.name(), "no worker requested; running one");
        }
        let reconcile = Arc::new(reconcile);
        let mut tasks = JoinSet::new();
        for _ in 0..workers.max(1) {
            let (queue, reconcile) = (self.clone(), Arc::clone(&reconcile));
            tasks.spawn(async move { queue.work(&*reconcile).await });
        }
        tokio::select! {
            // A worker catches the panics of a reconciliation. Any other panic is a bug, and is passed on.
            () = async {
                while let Some(ended) = tasks.join_next().await {
                    if let Err(error) = ended && let Ok(panic) = error.try_into_panic() {
                        resume_unwind(panic);
                    }
                }
            } => {}
            () = self.ended() => {}
        }
    }

    async fn work<F, R, E>(&self, reconcile: &F)
    where
        F: Fn(T) -> R,
        R: Future<Output = Result<Action, E>>,
        E: Display,
    {
        while let Some(item) = self.next().await {
            let key = item.key().clone();
            // The user's `Display` of the error may panic, too.
            let reconcile = async { reconcile(key).await.map_err(|error| format!("{error:#}")) };
            match AssertUnwindSafe(reconcile).catch_unwind().await {
                Ok(Ok(Action(None))) => item.done(),
                Ok(Ok(Action(Some(after)))) => item.requeue_after(after),
                Ok(Err(error)) => {
                    let key = item.key().clone();
                    item.retry();
                    let failures = self.num_requeues(&key);
                    tracing::error!(queue = self.name(), %key, failures, "{error}");
                }
                Err(panic) => {
                    let panic = panics::message(&*panic);
                    tracing::error!(queue = self.name(), key = %item.key(), panic, "a reconciliation panicked");
                    item.panicked();
                }
            }
        }
    }
}
