//! A queue of keys for the workers of a controller.
//!
//! # Guarantees
//! - **Stingy.** A key that is added several times before a worker takes it runs once.
//! - **Exclusive.** No two workers hold the same key at once. A key that is added while a worker
//!   holds it runs exactly once more when that worker has finished.
//! - **Fair.** Keys of one priority run in the order in which they were added. A delayed key is
//!   added at the moment its delay ends.
//! - **Priorities without starvation.** The key with the highest [`Priority`] runs first, but the
//!   key that has waited longest is overtaken at most seven times in a row. A key with `n` older
//!   keys in front of it is therefore taken within `8 × (n + 1)` takes, whatever is added.
//! - **A priority is never lowered.** Adding a queued or delayed key with a higher priority raises
//!   it, and the key keeps its age; adding it with a lower one changes nothing. A retry keeps the
//!   priority of the key.
//! - **Delays.** Of two delays for one key the earlier one counts. An [`add`](WorkQueue::add)
//!   without a delay replaces the delay of the key. The delay of a retry or a requeue gives way if
//!   the key was added while the worker held it. A delay that is set while the key is queued or
//!   running is kept.
//! - **Delays end in every runtime.** A delay needs one live runtime in which a worker waits for a
//!   key. It does not depend on the runtime that used the queue first.
//! - **Backoff.** A retry waits as long as the [`RateLimiter`] says; success forgets the failures
//!   of the key. If the limiter panics, the key waits for a second.
//! - **Events do not change a backoff.** With [`ExponentialBackoff`], which is the default, a key that is
//!   added during its backoff runs at once. If it fails again, its next retry is when it would have been
//!   without the event. The backoff of a key does not delay other keys.
//! - **A shutdown returns every key.** [`shutdown`](WorkQueue::shutdown) returns the keys that were
//!   queued, delayed or not finished in time. Later adds return their key as [`Added::Refused`].
//! - **An item dropped without an outcome is retried**, whether by a panic, a cancelled future or
//!   an early return.
//! - **Bounded.** The queue stores each key once, however often it is added.
//!
//! No call blocks its thread: only `next`, `run` and `shutdown` wait, and they are async. The clock
//! is tokio's, so tests can pause it. `next` and `run` need a tokio runtime with timers, in which
//! the queue has a small task; all other calls work anywhere.
//!
//! ```
//! # use genclient_runtime::{Action, WorkQueue};
//! # use tokio::time::Duration;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let queue = WorkQueue::new("networks");
//! queue.add("default/example-network".to_owned());
//!
//! let workers = queue.clone();
//! let running = tokio::spawn(async move {
//!     workers
//!         .run(2, |key: String| async move {
//!             println!("reconciling {key}");
//!             Ok::<_, std::io::Error>(Action::requeue(Duration::from_secs(300)))
//!         })
//!         .await
//! });
//!
//! # tokio::task::yield_now().await;
//! let left = queue.shutdown(Duration::from_secs(5)).await;
//! assert!(left.unfinished.is_empty());
//! running.await.unwrap();
//! # }
//! ```

mod add;
mod alarm;
mod builder;
mod guard;
mod item;
mod measure;
mod queue;
mod rate_limit;
mod ready;
mod run;
mod shutdown;
mod state;

use std::hash::Hash;

pub use self::{
    add::{AddOptions, Added},
    builder::Builder,
    item::Item,
    queue::WorkQueue,
    rate_limit::{ExponentialBackoff, MaxOf, RateLimiter, TokenBucket},
    ready::Priority,
    run::Action,
    shutdown::Shutdown,
};

/// A type whose values can be queued. Every type with these bounds implements it.
///
/// A key is cloned when a worker takes it, so a number or an `Arc` is a fast key.
pub trait Key: Clone + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Key for T {}
