//! The loop that most controllers want: take a key, reconcile it, act on the outcome.

use std::{
    any::Any,
    fmt::Display,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
};

use futures::FutureExt;
use tokio::{task::JoinSet, time::Duration};

use super::{Key, WorkQueue};

/// What a reconciliation that succeeded wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(Option<Duration>);

impl Action {
    /// Nothing, until the key is added again.
    pub const fn await_change() -> Self {
        Self(None)
    }

    /// Another look when this time has passed, or earlier if the key is added.
    pub const fn requeue(after: Duration) -> Self {
        Self(Some(after))
    }
}

impl<T: Key + Display> WorkQueue<T> {
    /// Reconciles keys with `workers` tasks until the queue is shut down.
    ///
    /// `Ok` forgets the key's failures and does what the [`Action`] says. An error is logged, and
    /// the key is tried again with backoff. So is a panic, which is counted too and stops neither
    /// the worker nor the others.
    ///
    /// The call returns when each worker has finished its last key after a shutdown, or when the
    /// shutdown's deadline has passed: then what still runs is cancelled where it next waits.
    /// Dropping the call's future cancels all workers; their keys are retried.
    pub async fn run<F, R, E>(&self, workers: usize, reconcile: F)
    where
        F: Fn(T) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let reconcile = Arc::new(reconcile);
        let mut tasks = JoinSet::new();
        for _ in 0..workers {
            let (queue, reconcile) = (self.clone(), Arc::clone(&reconcile));
            tasks.spawn(async move { queue.work(&*reconcile).await });
        }
        tokio::select! {
            // A worker catches what the reconciliation throws; anything else that panics is a bug
            // that must not pass for the end of the work.
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
            let outcome = AssertUnwindSafe(async { reconcile(key).await }).catch_unwind().await;
            match outcome {
                Ok(Ok(Action(None))) => item.done(),
                Ok(Ok(Action(Some(after)))) => item.requeue_after(after),
                Ok(Err(error)) => {
                    let failures = self.num_requeues(item.key()) + 1;
                    tracing::error!(queue = self.name(), key = %item.key(), failures, "{error:#}");
                    item.retry();
                }
                Err(panic) => {
                    self.count_panic();
                    let text = panic_text(&*panic);
                    tracing::error!(queue = self.name(), key = %item.key(), "the worker panicked: {text}");
                    item.retry();
                }
            }
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no text)")
}
