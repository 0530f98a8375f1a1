//! The controller: handlers that queue keys, workers that reconcile them.

use std::{future::Future, sync::Arc, time::Duration};

use genclient_runtime::{
    Cause, Event, FinalState, InformerFactory, ObjectKey, WorkQueue,
    events::EventRecorder,
    store::IndexError,
    workqueue::{ExponentialBackoff, MaxOf, RateLimiter, TokenBucket},
};
use parking_lot::Mutex;
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::informers::SharedInformerFactory;
use tokio::{sync::Notify, task::JoinHandle, time::Instant};
use tracing::{error, info, warn};

use crate::{
    provider::Provider,
    reconcile::{NetworkMeta, Options, Reconciler},
    sweep::{MassDeletion, Swept},
};

/// How often a cache that does not sync is logged.
const SYNC_REPORT: Duration = Duration::from_secs(10);
/// How long running keys may take after the first signal.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(25);
/// How long the last events may take after that.
const FLUSH_DEADLINE: Duration = Duration::from_secs(3);
/// The longest wait of a key that fails: what an outage can cost after its end.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Keeps a network in the provider for each Network object.
pub struct Controller<P> {
    factory: SharedInformerFactory,
    queue: WorkQueue<ObjectKey>,
    reconciler: Arc<Reconciler<P>>,
    sweeper: Arc<Sweeper>,
}

/// Why a controller ended in another way than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The workers ended, although nobody asked them to.
    #[error("the workers ended by themselves; the log says why")]
    WorkersEnded,
    /// It was asked to end while it refused to delete networks.
    #[error("{0}")]
    MassDeletion(MassDeletion),
}

/// When to sweep, and how the last sweep ended.
#[derive(Default)]
struct Sweeper {
    now: Notify,
    refused: Mutex<Option<MassDeletion>>,
}

impl<P: Provider> Controller<P> {
    /// Registers the handlers: whatever happens to a Network queues its key.
    pub fn new(
        factory: InformerFactory,
        provider: P,
        events: EventRecorder,
        options: Options,
    ) -> Result<Self, IndexError> {
        info!("setting up event handlers");
        let client = factory.client().clone();
        let objects = factory.metadata_informer::<Network>();
        let factory = SharedInformerFactory::from(factory);
        let networks = factory.samplecrd().v1().networks();
        let queue = WorkQueue::builder("networks").rate_limiter(backoff(options.drift_interval)).build();
        let sweeper = Arc::new(Sweeper::default());
        let reconciler = Arc::new(Reconciler {
            client,
            by_uid: objects.add_index("uid", |object| object.metadata.uid.clone())?,
            objects: objects.clone(),
            informer: networks.informer(),
            networks: networks.lister(),
            provider,
            events,
            options,
            condemned: Default::default(),
            reported: Default::default(),
        });

        // A queue that refuses keys is shutting down, and the next start lists everything.
        let typed_queue = queue.clone();
        networks.informer().add_event_handler(move |event: &Event<Network>| {
            if !event.is_resync() {
                let _ = typed_queue.add(event.key());
            }
        });
        let (meta_queue, meta_reconciler, meta_sweeper) =
            (queue.clone(), reconciler.clone(), sweeper.clone());
        objects.add_event_handler(move |event: &Event<NetworkMeta>| {
            match event {
                Event::Updated { cause: Cause::Resync, .. } => return,
                Event::Deleted { last, final_state: FinalState::Observed } => {
                    let uid = last.metadata.uid.clone().unwrap_or_default();
                    meta_reconciler.condemned.add(event.key(), uid);
                }
                // That a list lacks an object can have other causes than its deletion: the sweep decides.
                Event::Deleted { .. } => meta_sweeper.now.notify_one(),
                _ => {}
            }
            let _ = meta_queue.add(event.key());
        });
        Ok(Self { factory, queue, reconciler, sweeper })
    }

    /// Starts the informers and waits for their caches, runs the workers until `shutdown` comes, and ends
    /// cleanly.
    pub async fn run(self, workers: usize, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        info!("starting network control loop");
        self.factory.start();
        let mut shutdown = std::pin::pin!(shutdown);
        tokio::select! {
            () = self.wait_for_caches() => {}
            () = &mut shutdown => {
                info!("asked to stop before the caches were there");
                self.factory.shutdown().await;
                return Ok(());
            }
        }
        info!(workers, "starting workers");
        let reconciler = Arc::clone(&self.reconciler);
        let sweeping = tokio::spawn(sweep(reconciler.clone(), self.queue.clone(), self.sweeper.clone()));
        let queue = self.queue.clone();
        let mut running = tokio::spawn(async move {
            queue.run(workers, move |key| Arc::clone(&reconciler).reconcile(key)).await;
        });
        info!("started workers");
        let asked = asked_to_stop(shutdown, &mut running).await;

        info!("shutting down workers");
        sweeping.abort();
        let left = self.queue.shutdown(SHUTDOWN_DEADLINE).await;
        if asked && let Err(error) = running.await {
            warn!(%error, "a worker ended in an unexpected way");
        }
        for key in &left.unfinished {
            warn!(%key, "this key was still worked on when the time was over");
        }
        let unsent = self.reconciler.events.flush(FLUSH_DEADLINE).await;
        self.factory.shutdown().await;
        info!(queued = left.queued.len(), delayed = left.delayed.len(), unsent_events = unsent, "stopped");
        let refused = *self.sweeper.refused.lock();
        match refused {
            _ if !asked => Err(RunError::WorkersEnded),
            Some(refused) => Err(RunError::MassDeletion(refused)),
            None => Ok(()),
        }
    }

    /// Waits for the first list, however long it takes, and logs what it waits for.
    async fn wait_for_caches(&self) {
        info!("waiting for informer caches to sync");
        loop {
            let next_report = Instant::now() + SYNC_REPORT;
            let Err(error) = self.factory.wait_for_cache_sync(SYNC_REPORT).await else { return };
            info!("still waiting for informer caches to sync: {error}");
            tokio::time::sleep_until(next_report).await;
        }
    }
}

/// Waits for the signal, and says whether it came before the workers ended by themselves.
async fn asked_to_stop(shutdown: impl Future<Output = ()>, workers: &mut JoinHandle<()>) -> bool {
    tokio::select! {
        () = shutdown => true,
        ended = workers => {
            error!(?ended, "the workers ended by themselves");
            false
        }
    }
}

/// Sweeps at the start, at every drift interval, and whenever there is a reason to.
async fn sweep<P: Provider>(
    reconciler: Arc<Reconciler<P>>,
    queue: WorkQueue<ObjectKey>,
    sweeper: Arc<Sweeper>,
) {
    let mut failures = 0;
    loop {
        let mut wait = reconciler.options.drift_interval;
        match reconciler.sweep().await {
            Ok(Swept::Found(keys)) => {
                failures = 0;
                *sweeper.refused.lock() = None;
                for key in keys {
                    let _ = queue.add(key);
                }
            }
            Ok(Swept::Refused(refused)) => {
                failures = 0;
                *sweeper.refused.lock() = Some(refused);
                error!("{refused}");
            }
            Err(error) => {
                warn!(%error, "cannot look for orphaned networks yet");
                wait = wait.min(MAX_BACKOFF).min(Duration::from_secs(1 << failures));
                failures = (failures + 1).min(6);
            }
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = sweeper.now.notified() => {}
        }
    }
}

/// How long failed keys wait: each for itself, and all together.
fn backoff(drift_interval: Duration) -> impl RateLimiter<ObjectKey> {
    MaxOf(backoff_per_key(drift_interval), TokenBucket::default())
}

fn backoff_per_key(drift_interval: Duration) -> ExponentialBackoff<ObjectKey> {
    ExponentialBackoff::new(Duration::from_millis(5), MAX_BACKOFF.min(drift_interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn workers_that_end_by_themselves_are_noticed() {
        let mut done = tokio::spawn(async {});
        assert!(!asked_to_stop(std::future::pending(), &mut done).await);
        let mut panicked = tokio::spawn(async { panic!("as a worker would") });
        assert!(!asked_to_stop(std::future::pending(), &mut panicked).await);
        let mut working = tokio::spawn(std::future::pending());
        assert!(asked_to_stop(std::future::ready(()), &mut working).await);
    }

    #[test]
    fn a_key_that_failed_for_hours_waits_no_longer_than_the_drift_interval_and_a_minute() {
        for (drift, longest) in [(2, 2), (300, 60)] {
            let limiter = backoff_per_key(Duration::from_secs(drift));
            let waits = (0..100).map(|_| limiter.when(&ObjectKey::namespaced("default", "a")));
            assert_eq!(waits.max(), Some(Duration::from_secs(longest)));
        }
    }
}
