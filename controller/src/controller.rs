//! The controller: handlers that queue keys, workers that reconcile them.

use std::{collections::HashSet, future::Future, sync::Arc, time::Duration};

use genclient_runtime::{Cause, Event, ObjectKey, Selector, WorkQueue, events::EventRecorder};
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::{clientset::Clientset, informers::SharedInformerFactory};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{
    provider::{self, Provider},
    reconcile::{Options, Reconciler},
};

/// How often a cache that does not sync is spoken of.
const SYNC_REPORT: Duration = Duration::from_secs(10);
/// How long running keys may take after the first signal.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(25);
/// How long the last events may take after that.
const FLUSH_DEADLINE: Duration = Duration::from_secs(3);

/// Keeps a network in the provider for each Network object.
pub struct Controller<P> {
    factory: SharedInformerFactory,
    queue: WorkQueue<ObjectKey>,
    reconciler: Arc<Reconciler<P>>,
}

impl<P: Provider> Controller<P> {
    /// Registers the handlers: whatever happens to a Network queues its key.
    pub fn new(
        clientset: Clientset,
        factory: SharedInformerFactory,
        provider: P,
        events: EventRecorder,
        options: Options,
    ) -> Self {
        info!("setting up event handlers");
        let networks = factory.samplecrd().v1().networks();
        let queue = WorkQueue::new("networks");
        let handler_queue = queue.clone();
        networks.informer().add_event_handler(move |event: &Event<Network>| match event {
            // A resync tells of nothing new; drift in the provider is found by looking at the provider.
            Event::Updated { cause: Cause::Resync, .. } => {}
            event => {
                // A queue that refuses keys is shutting down, and the next start lists everything.
                let _ = handler_queue.add(event.key());
            }
        });
        let reconciler = Arc::new(Reconciler {
            clientset,
            informer: networks.informer(),
            networks: networks.lister(),
            provider,
            events,
            options,
            reported: Default::default(),
        });
        Self { factory, queue, reconciler }
    }

    /// Starts the informers and waits for their caches, runs the workers until `shutdown` comes, and ends
    /// cleanly.
    pub async fn run(self, workers: usize, shutdown: impl Future<Output = ()>) {
        info!("starting network control loop");
        self.factory.start();
        let mut shutdown = std::pin::pin!(shutdown);
        tokio::select! {
            () = self.wait_for_caches() => {}
            () = &mut shutdown => {
                info!("asked to stop before the caches were there");
                return self.factory.shutdown().await;
            }
        }
        info!(workers, "starting workers");
        let reconciler = Arc::clone(&self.reconciler);
        let sweep = tokio::spawn(sweep(Arc::clone(&self.reconciler), self.queue.clone()));
        let queue = self.queue.clone();
        let running = tokio::spawn(async move {
            queue.run(workers, move |key| Arc::clone(&reconciler).reconcile(key)).await;
        });
        info!("started workers");
        shutdown.await;

        info!("shutting down workers");
        sweep.abort();
        let left = self.queue.shutdown(SHUTDOWN_DEADLINE).await;
        if let Err(error) = running.await {
            warn!(%error, "a worker ended in an unexpected way");
        }
        for key in &left.unfinished {
            warn!(%key, "this key was still worked on when the time was over");
        }
        let unsent = self.reconciler.events.flush(FLUSH_DEADLINE).await;
        self.factory.shutdown().await;
        info!(queued = left.queued.len(), delayed = left.delayed.len(), unsent_events = unsent, "stopped");
    }

    /// Waits for the first list, however long it takes, and keeps saying what it waits for.
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

/// Queues every key under which the provider holds a network that no object asks for any more: what
/// was deleted while no controller ran, or force-deleted past the finalizer.
async fn sweep<P: Provider>(reconciler: Arc<Reconciler<P>>, queue: WorkQueue<ObjectKey>) {
    let mut wait = Duration::from_secs(1);
    let owners = loop {
        match reconciler.provider.owners().await {
            Ok(owners) => break owners,
            Err(error) => warn!(%error, "cannot look for orphaned networks yet"),
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(Duration::from_secs(60));
    };
    // By uid alone: a network that somebody renamed in the provider still has its object.
    let present: HashSet<String> = reconciler
        .networks
        .list(&Selector::everything())
        .iter()
        .filter_map(|network| network.metadata.uid.clone())
        .collect();
    // Nor is one an orphan whose object is there and cannot be read.
    let invalid: HashSet<String> =
        reconciler.informer.invalid().into_iter().map(|object| object.uid).collect();
    for owner in owners.iter().filter(|owner| reconciler.is_watched(owner)) {
        if !present.contains(&owner.uid) && !invalid.contains(&owner.uid) {
            info!(key = %owner.key(), uid = %owner.uid, "found an orphaned network in the provider");
            let _ = queue.add(owner.key());
        }
    }
}

impl<P> Reconciler<P> {
    /// Whether this controller is responsible for the owner's namespace.
    fn is_watched(&self, owner: &provider::Owner) -> bool {
        self.options.namespaces.is_empty() || self.options.namespaces.contains(&owner.namespace)
    }
}
