//! The shutdown of a manager.

use super::*;
use genclient_runtime::Controller;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn running_keys_finish_and_their_events_are_sent() {
    let test = Test::new();
    test.config_maps().create(&config_map("a")).await.unwrap();
    let done = Arc::new(Counter::default());
    let context = Arc::new((test.manager.clone(), done.clone()));
    Controller::<ConfigMap>::new(&test.manager).run_with(
        context,
        |object: Arc<ConfigMap>, context: Arc<(Manager, Arc<Counter>)>| async move {
            sleep(10 * SECOND).await;
            context.0.events().normal(&*object, "Done", "it is done");
            context.1.count();
            Ok::<_, Error>(Action::await_change())
        },
    );
    let running = test.start();
    sleep(5 * SECOND).await;
    running.stop().await;
    assert_eq!(done.get(), 1);
    let events = test.server.actions().writes().of("events");
    assert_eq!(events.iter().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_does_not_finish_is_cancelled_at_the_deadline() {
    let test = Test::with(|builder| builder.drain_deadline(5 * SECOND));
    test.config_maps().create(&config_map("a")).await.unwrap();
    let counter = Arc::new(Counter::default());
    Controller::<ConfigMap>::new(&test.manager).run_with(
        counter.clone(),
        |_: Arc<ConfigMap>, counter: Arc<Counter>| async move {
            counter.count();
            sleep(3600 * SECOND).await;
            counter.count();
            Ok::<_, Error>(Action::await_change())
        },
    );
    let running = test.start();
    sleep(SECOND).await;
    let asked = Instant::now();
    running.stop().await;
    assert!(asked.elapsed() <= 6 * SECOND, "{:?}", asked.elapsed());
    sleep(7200 * SECOND).await;
    assert_eq!(counter.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_runs_until_the_last_key_is_finished() {
    let test = Test::new();
    test.config_maps().create(&config_map("a")).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    struct Note(Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Note {
        fn drop(&mut self) {
            self.0.lock().push("task ended");
        }
    }
    let noted = order.clone();
    test.manager.add_task("task", move || {
        let note = Note(noted.clone());
        async move {
            let _note = note;
            std::future::pending::<()>().await;
        }
    });
    Controller::<ConfigMap>::new(&test.manager).run_with(
        order.clone(),
        |_: Arc<ConfigMap>, order: Arc<Mutex<Vec<&'static str>>>| async move {
            sleep(5 * SECOND).await;
            order.lock().push("key finished");
            Ok::<_, Error>(Action::await_change())
        },
    );
    let running = test.start();
    sleep(SECOND).await;
    running.stop().await;
    assert_eq!(*order.lock(), ["key finished", "task ended"]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_before_the_caches_are_synced_is_no_error() {
    let test = Test::new();
    super::smallest::control(&test.manager);
    let running = test.start();
    settle().await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconciliation_that_blocks_its_thread_does_not_hold_up_the_end_and_the_lease_is_kept() {
    use genclient_runtime::k8s_openapi::api::coordination::v1::Lease;

    const MOMENT: Duration = Duration::from_millis(200);
    let test =
        Test::with(|builder| builder.lease("default/test").drain_deadline(MOMENT).stop_deadline(MOMENT));
    test.config_maps().create(&config_map("a")).await.unwrap();
    let counter = Arc::new(Counter::default());
    Controller::<ConfigMap>::new(&test.manager).run_with(
        counter.clone(),
        |_: Arc<ConfigMap>, counter: Arc<Counter>| async move {
            counter.count();
            std::thread::sleep(3 * SECOND);
            Ok::<_, Error>(Action::await_change())
        },
    );
    let running = test.start();
    while counter.get() == 0 {
        sleep(MOMENT / 10).await;
    }
    let asked = Instant::now();
    running.stop().await;
    assert!(asked.elapsed() < 2 * SECOND, "{:?}", asked.elapsed());
    // Another replica must not lead while the reconciliation goes on.
    let lease = TypedClient::<Lease>::namespaced(test.server.client(), "default").get("test").await.unwrap();
    assert_ne!(lease.spec.unwrap().holder_identity.as_deref(), Some(""));
}
