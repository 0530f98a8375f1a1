use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{Client, client::Body};
use serde_json::json;
use tokio::time::sleep;

use super::*;
use crate::{enqueue, object::ObjectKey};

/// An API server with one object of each kind, which never sends an event. It serves no kind before `serves`.
fn server(serves: Arc<AtomicBool>) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let serves = serves.load(SeqCst);
        async move {
            let query = request.uri().query().unwrap_or_default();
            let refused = |code| {
                (code, json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code }))
            };
            let (status, answer) = if !serves {
                refused(404)
            } else if query.contains("sendInitialEvents") {
                refused(400)
            } else if query.contains("watch=") {
                std::future::pending().await
            } else {
                let meta = json!({ "name": "a", "namespace": "default", "uid": "1", "resourceVersion": "7" });
                (200, json!({ "metadata": { "resourceVersion": "7" }, "items": [{ "metadata": meta }] }))
            };
            let body = Full::new(Bytes::from(answer.to_string()));
            Response::builder().status(status).body(body).map_err(std::io::Error::other)
        }
    });
    Client::new(service, "default")
}

const HOUR: Duration = Duration::from_secs(3600);

struct Fixture {
    serves: Arc<AtomicBool>,
    factories: [InformerFactory; 2],
    queue: WorkQueue<ObjectKey>,
    /// How many keys were reconciled.
    reconciled: Arc<AtomicUsize>,
}

/// Two factories, whose objects are queued.
fn fixture() -> Fixture {
    let serves = Arc::new(AtomicBool::new(true));
    let factories = [(); 2].map(|()| InformerFactory::builder(server(serves.clone())).build());
    let queue = WorkQueue::new("test");
    factories[0].informer::<ConfigMap>().add_event_handler(enqueue::changed(&queue));
    factories[1].metadata_informer::<Pod>();
    Fixture { serves, factories, queue, reconciled: Arc::default() }
}

impl Fixture {
    fn control_loop(&self) -> ControlLoop<ObjectKey> {
        let [first, second] = &self.factories;
        ControlLoop::new("test", self.queue.clone()).factory(first).factory(second)
    }

    /// Runs the loop, with a shutdown after two hours; a key takes `work`.
    async fn run(&self, control_loop: ControlLoop<ObjectKey>, work: Duration) -> Result<(), Ended> {
        let counter = self.reconciled.clone();
        let reconcile = move |_: ObjectKey| {
            let counter = counter.clone();
            async move {
                sleep(work).await;
                counter.fetch_add(1, SeqCst);
                Ok::<_, String>(Action::await_change())
            }
        };
        control_loop.run(2, reconcile, sleep(2 * HOUR)).await
    }
}

#[tokio::test(start_paused = true)]
async fn workers_start_when_every_cache_is_synced() {
    let test = fixture();
    test.serves.store(false, SeqCst);
    let observed = async {
        sleep(HOUR).await;
        assert_eq!(test.reconciled.load(SeqCst), 0, "nothing is served yet");
        test.serves.store(true, SeqCst);
        sleep(HOUR / 2).await;
        assert_eq!(test.reconciled.load(SeqCst), 1);
    };
    let (ended, ()) = tokio::join!(test.run(test.control_loop(), Duration::ZERO), observed);
    assert_eq!(ended, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_before_the_caches_are_synced_is_no_error() {
    let test = fixture();
    test.serves.store(false, SeqCst);
    assert_eq!(test.run(test.control_loop(), Duration::ZERO).await, Ok(()));
    assert_eq!(test.reconciled.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn running_keys_may_finish_for_25_seconds_and_the_informers_end() {
    for (left, finished) in [(24, 1), (26, 0)] {
        let test = fixture();
        let begun = tokio::time::Instant::now();
        let late = async {
            // The key starts just before the shutdown, and is still running then.
            sleep(2 * HOUR - Duration::from_secs(1)).await;
            let _ = test.queue.add(ObjectKey::namespaced("default", "late"));
        };
        let work = Duration::from_secs(1 + left);
        let (ended, ()) = tokio::join!(test.run(test.control_loop(), work), late);
        assert_eq!(ended, Ok(()));
        assert_eq!(test.reconciled.load(SeqCst), 1 + finished, "with {left} s to go");
        assert!(begun.elapsed() < 2 * HOUR + Duration::from_secs(27));
        assert!(test.factories[0].informer::<ConfigMap>().is_stopped());
        assert!(test.factories[1].metadata_informer::<Pod>().is_stopped());
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_ends_ends_the_loop_with_an_error_that_names_it() {
    let stop: [(fn(&Fixture), _); 2] = [
        (|test| test.factories[0].informer::<ConfigMap>().stop(), "the informer of configmaps/v1"),
        (|test| test.factories[1].metadata_informer::<Pod>().stop(), "the metadata informer of pods/v1"),
    ];
    for (stop, part) in stop {
        let test = fixture();
        let stopped = async {
            sleep(HOUR).await;
            stop(&test);
        };
        let (ended, ()) = tokio::join!(test.run(test.control_loop(), Duration::ZERO), stopped);
        let error = ended.unwrap_err();
        assert_eq!((&*error.part, &*error.reason), (part, "the informer was stopped"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ends_ends_the_loop_with_an_error_that_names_it() {
    let test = fixture();
    let waits = async { std::future::pending().await };
    let panics = async { panic!("no list today") };
    let control_loop = test.control_loop().task("the wait", waits).task("the search", panics);
    let error = test.run(control_loop, Duration::ZERO).await.unwrap_err();
    assert_eq!(error.to_string(), "the search ended without a shutdown: it panicked: no list today");
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_shut_down_by_somebody_else_ends_the_loop_with_an_error() {
    let test = fixture();
    let closed = async {
        sleep(HOUR).await;
        test.queue.shutdown_now();
    };
    let (ended, ()) = tokio::join!(test.run(test.control_loop(), Duration::ZERO), closed);
    assert_eq!(ended.unwrap_err().part, "the pool of workers");
}
