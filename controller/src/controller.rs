//! The controller: what queues keys, and the search for orphans beside the workers.

use std::{future::Future, sync::Arc, time::Duration};

use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use genclient_runtime::{
    Event, FinalState, Manager, ObjectKey,
    control_loop::Ended,
    informer::quick,
    store::IndexError,
    workqueue::{ExponentialBackoff, RateLimiter},
};
use parking_lot::Mutex;
use samplecrd_apis::samplecrd::v1::Network;
use samplecrd_client::informers::SharedInformerFactory;
use tokio::sync::Notify;
use tracing::{debug, error, info, warn};

use crate::{
    provider::{Fenced, Provider},
    reconcile::{NetworkMeta, Options, Reconciler},
    sweep::{MassDeletion, Swept},
};

/// The longest delay of a failed key, and so the longest time until it recovers after an outage.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Keeps a network in the provider for each Network object.
pub struct Controller<P> {
    manager: Manager,
    reconciler: Arc<Reconciler<P>>,
    sweeper: Arc<Sweeper>,
    found: UnboundedReceiver<ObjectKey>,
}

/// Why a controller did not end in order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A part of the controller ended without a shutdown.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// The last sweep before the shutdown was refused.
    #[error("{0}")]
    MassDeletion(MassDeletion),
}

/// When to sweep, where to send what was found, and how the last sweep ended.
struct Sweeper {
    now: Notify,
    found: UnboundedSender<ObjectKey>,
    refused: Mutex<Option<MassDeletion>>,
}

impl<P: Provider> Controller<P> {
    /// Adds the informers and the handler of deletions.
    pub fn new(manager: &Manager, provider: P, options: Options) -> Result<Self, IndexError> {
        info!("setting up event handlers");
        let factory = manager.factory();
        let objects = factory.metadata_informer::<Network>();
        let networks = SharedInformerFactory::from(factory.clone()).samplecrd().v1().networks();
        let (sender, found) = mpsc::unbounded();
        let fence = manager.elector().map(|elector| elector.fence());
        let sweeper = Arc::new(Sweeper { now: Notify::new(), found: sender, refused: Mutex::default() });
        let reconciler = Arc::new(Reconciler {
            client: manager.client().clone(),
            by_uid: objects.add_index("uid", |object| object.metadata.uid.clone())?,
            objects: objects.clone(),
            informer: networks.informer(),
            networks: networks.lister(),
            provider: Fenced::new(provider, fence.clone()),
            events: manager.events().clone(),
            options,
            condemned: Default::default(),
            reported: Default::default(),
        });

        // Before the handler that queues the key. A standby finds orphans with the sweep that begins its term.
        let (meta_reconciler, meta_sweeper, fence) = (reconciler.clone(), sweeper.clone(), fence.clone());
        objects.add_event_handler(quick(move |event: &Event<NetworkMeta>| match event {
            Event::Deleted { last, final_state: FinalState::Observed }
                if fence.as_ref().is_none_or(|fence| fence.term().is_ok()) =>
            {
                let uid = last.metadata.uid.clone().unwrap_or_default();
                meta_reconciler.condemned.add(event.key(), uid);
            }
            // A relist misses the object. The sweep finds out whether it was deleted.
            Event::Deleted { .. } => meta_sweeper.now.notify_one(),
            _ => {}
        }));
        Ok(Self { manager: manager.clone(), reconciler, sweeper, found })
    }

    /// Reconciles Networks with this many workers until `shutdown` completes, and lets running keys finish.
    ///
    /// # Errors
    ///
    /// Returns an error if a part of the controller ends before `shutdown`, or if the last sweep was refused.
    pub async fn run(self, workers: usize, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let Self { manager, reconciler, sweeper, found } = self;
        let backoff = backoff(reconciler.options.drift_interval);
        genclient_runtime::Controller::<NetworkMeta>::new(&manager)
            .named("network")
            .watches::<Network>(|network| vec![ObjectKey::of(network)])
            .reconcile_on(found)
            .rate_limiter(backoff)
            .workers(workers)
            .run_keys_with(reconciler.clone(), |key, reconciler: Arc<Reconciler<P>>| {
                reconciler.reconcile(key)
            });
        let sweeping = sweeper.clone();
        manager.add_task("the search for orphans", move || sweep(reconciler.clone(), sweeping.clone()));
        let ended = manager.run_until(shutdown).await;
        let refused = *sweeper.refused.lock();
        match (ended, refused) {
            (Err(ended), _) => Err(ended.into()),
            (Ok(()), Some(refused)) => Err(RunError::MassDeletion(refused)),
            (Ok(()), None) => Ok(()),
        }
    }
}

/// Sweeps at the start, at every drift interval, and whenever the sweeper is notified.
async fn sweep<P: Provider>(reconciler: Arc<Reconciler<P>>, sweeper: Arc<Sweeper>) {
    let mut failures = 0;
    loop {
        let mut wait = reconciler.options.drift_interval;
        match reconciler.sweep().await {
            Ok(Swept::Found(keys)) => {
                failures = 0;
                *sweeper.refused.lock() = None;
                debug!(found = keys.len(), "looked for orphaned networks");
                for key in keys {
                    // It is received until the shutdown.
                    let _ = sweeper.found.unbounded_send(key);
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

/// Returns the delays of failed keys. They do not depend on how many keys fail, so that all recover in time
/// after an outage; the number of workers limits the requests.
fn backoff(drift_interval: Duration) -> impl RateLimiter<ObjectKey> {
    ExponentialBackoff::new(Duration::from_millis(5), MAX_BACKOFF.min(drift_interval))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use genclient_runtime::{Client, InformerFactory, kube::client::Body};
    use http::{Request, Response};
    use http_body_util::Full;
    use serde_json::json;

    use super::*;
    use crate::provider::{self, Applied, Change, Desired, Listed, Owner};

    /// A provider whose lists fail in the given way.
    struct Listing(fn() -> Vec<Listed>);

    impl Provider for Listing {
        async fn apply(&self, owner: &Owner, _: &Desired) -> Result<Applied, provider::Error> {
            Ok(Applied { id: owner.uid.clone(), change: Change::None })
        }

        async fn tidy(&self, _: &Owner) -> Result<(), provider::Error> {
            Ok(())
        }

        async fn delete(&self, _: &Owner) -> Result<(), provider::Error> {
            Ok(())
        }

        async fn list(&self) -> Result<Vec<Listed>, provider::Error> {
            Ok(self.0())
        }
    }

    /// An API server that has no objects and never sends an event.
    fn empty_server() -> Client {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let query = request.uri().query().unwrap_or_default();
            let (status, answer) = if query.contains("sendInitialEvents") {
                (400, json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 400 }))
            } else if query.contains("watch=") {
                std::future::pending().await
            } else {
                (200, json!({ "metadata": { "resourceVersion": "7" }, "items": [] }))
            };
            let body = Full::new(Bytes::from(answer.to_string()));
            Response::builder().status(status).body(body).map_err(std::io::Error::other)
        });
        Client::new(service, "default")
    }

    /// Runs a controller until it ends or the shutdown comes, and gives it a day for that. `act` gets the
    /// factory when the workers have had an hour.
    async fn outcome(
        provider: Listing,
        act: impl FnOnce(&InformerFactory),
        shutdown: bool,
    ) -> Result<(), RunError> {
        let manager = Manager::builder("test").build(empty_server()).unwrap();
        let factory = manager.factory().clone();
        let options = Options {
            finalizer: true,
            drift_interval: Duration::from_secs(300),
            namespaces: Vec::new(),
            allow_mass_deletion: false,
        };
        let controller = Controller::new(&manager, provider, options).unwrap();
        let signal = async move {
            tokio::time::sleep(Duration::from_secs(if shutdown { 7200 } else { u64::from(u32::MAX) })).await;
        };
        let running = tokio::spawn(controller.run(2, signal));
        tokio::time::sleep(Duration::from_secs(3600)).await;
        act(&factory);
        let day = Duration::from_secs(24 * 3600);
        tokio::time::timeout(day, running).await.expect("it ends within a day").expect("it does not panic")
    }

    #[tokio::test(start_paused = true)]
    async fn a_controller_ends_without_an_error_at_the_shutdown_and_not_before() {
        assert_eq!(outcome(Listing(Vec::new), |_| {}, true).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_sweep_that_panics_ends_the_controller_with_an_error() {
        let error = outcome(Listing(|| panic!("no list today")), |_| {}, false).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("the search for orphans") && text.contains("no list today"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_ends_ends_the_controller_with_an_error() {
        let stop: [fn(&InformerFactory); 2] = [
            |factory| factory.informer::<Network>().stop(),
            |factory| factory.metadata_informer::<Network>().stop(),
        ];
        for stop in stop {
            let error = outcome(Listing(Vec::new), stop, false).await.unwrap_err();
            assert!(error.to_string().contains("informer"), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_no_longer_than_the_drift_interval_and_a_minute_however_many_keys_fail() {
        for (drift, longest) in [(2, 2), (300, 60)] {
            let (limiter, longest) = (backoff(Duration::from_secs(drift)), Duration::from_secs(longest));
            let keys: Vec<_> = (0..2000).map(|n| ObjectKey::namespaced("default", n.to_string())).collect();
            let mut waits = None;
            for _ in 0..20 {
                waits = keys.iter().map(|key| limiter.when(key)).max();
                tokio::time::sleep(longest).await;
            }
            // Each wait is shortened at random, by a half at most.
            assert!(waits.is_some_and(|wait| wait <= longest && wait > longest.mul_f64(0.9)), "{waits:?}");
        }
    }
}
