//! What happens to an object whose reconciliation failed.

use super::*;
use genclient_fake::{Fault, Verb};
use genclient_runtime::{Controller, Retry, workqueue::ExponentialBackoff};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Trouble {
    #[error("try again")]
    Passing,
    #[error("the provider asks for a pause")]
    Busy,
    #[error("the spec cannot work")]
    Permanent,
}

/// A reconciliation that always fails with one error, and the moments at which it was called.
type Failing = (Trouble, Mutex<Vec<Instant>>);

async fn fail(_: Arc<ConfigMap>, failing: Arc<Failing>) -> Result<Action, Trouble> {
    failing.1.lock().push(Instant::now());
    Err(failing.0)
}

/// Returns the pauses between the calls within a minute.
async fn pauses(trouble: Trouble) -> Vec<Duration> {
    let test = Test::new();
    test.config_maps().create(&config_map("a")).await.unwrap();
    let failing = Arc::new((trouble, Mutex::default()));
    Controller::<ConfigMap>::new(&test.manager)
        .rate_limiter(ExponentialBackoff::new(SECOND, 8 * SECOND).jitter(0.0))
        .error_policy(|trouble: &Trouble| match trouble {
            Trouble::Passing => Retry::Backoff,
            Trouble::Busy => Retry::After(20 * SECOND),
            Trouble::Permanent => Retry::Never,
        })
        .run_with(failing.clone(), fail);
    let running = test.start();
    sleep(50 * SECOND).await;
    running.stop().await;
    let calls = failing.1.lock();
    calls.windows(2).map(|pair| Duration::from_secs((pair[1] - pair[0]).as_secs())).collect()
}

#[tokio::test(start_paused = true)]
async fn the_policy_decides_error_by_error() {
    let seconds = |seconds: &[u64]| -> Vec<_> { seconds.iter().copied().map(Duration::from_secs).collect() };
    assert_eq!(pauses(Trouble::Passing).await, seconds(&[1, 2, 4, 8, 8, 8, 8, 8]));
    assert_eq!(pauses(Trouble::Busy).await, seconds(&[20, 20]));
    assert_eq!(pauses(Trouble::Permanent).await, seconds(&[]));
}

#[tokio::test(start_paused = true)]
async fn the_pause_that_the_server_asks_for_is_kept() {
    let test = Test::new();
    test.config_maps().create(&config_map("a")).await.unwrap();
    // kube itself retries such answers.
    let _refused = test.server.on(Verb::Get, "secrets").fail(Fault::too_many_requests(30 * SECOND));
    let calls = Arc::new(Mutex::new(Vec::new()));
    let context = Arc::new((test.manager.clone(), calls.clone()));
    Controller::<ConfigMap>::new(&test.manager).run_with(
        context,
        |_: Arc<ConfigMap>, context: Arc<(Manager, Arc<Mutex<Vec<Instant>>>)>| async move {
            let answer = TypedClient::<Secret>::namespaced(context.0.client(), "default").get("a").await;
            context.1.lock().push(Instant::now());
            answer.map(|_| Action::await_change())
        },
    );
    let running = test.start();
    sleep(100 * SECOND).await;
    let calls = std::mem::take(&mut *calls.lock());
    assert!(calls.len() >= 2, "{calls:?}");
    assert!(calls.windows(2).all(|pair| pair[1] - pair[0] >= 30 * SECOND), "{calls:?}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_reconciliation_that_takes_too_long_fails() {
    let test = Test::new();
    test.config_maps().create(&config_map("a")).await.unwrap();
    let counter = Arc::new(Counter::default());
    Controller::<ConfigMap>::new(&test.manager).timeout(5 * SECOND).run_with(
        counter.clone(),
        |_: Arc<ConfigMap>, counter: Arc<Counter>| async move {
            counter.count();
            std::future::pending::<Result<Action, Error>>().await
        },
    );
    let running = test.start();
    sleep(60 * SECOND).await;
    assert!(counter.get() >= 5, "{} calls", counter.get());
    running.stop().await;
}

async fn panic_at_first(_: Arc<ConfigMap>, counter: Arc<Counter>) -> Result<Action, Error> {
    counter.count();
    assert!(counter.get() > 1, "the first time");
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_retried() {
    let test = Test::new();
    test.config_maps().create(&config_map("a")).await.unwrap();
    let counter = Arc::new(Counter::default());
    Controller::<ConfigMap>::new(&test.manager).run_with(counter.clone(), panic_at_first);
    let running = test.start();
    settle().await;
    assert_eq!(counter.get(), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_the_manager_if_that_is_chosen() {
    let test = Test::new();
    test.config_maps().create(&config_map("a")).await.unwrap();
    Controller::<ConfigMap>::new(&test.manager).fatal_panics().run_with(Arc::default(), panic_at_first);
    let error = test.start().failed().await;
    assert!(error.reason.contains("the reconciliation of default/a panicked: the first time"), "{error}");
}

thread_local! {
    /// The log of the test that runs on this thread.
    static LOG: Mutex<Vec<u8>> = const { Mutex::new(Vec::new()) };
}

struct Log;

impl std::io::Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        LOG.with(|log| log.lock().extend(text));
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_of_a_reconciliation_says_which_change_of_which_object_queued_the_key() {
    // One subscriber for all tests: those of single threads disturb each other's caches of what is logged.
    tracing_subscriber::fmt().with_ansi(false).with_writer(|| Log).init();
    let test = Test::new();
    let failing = Arc::new((Trouble::Passing, Mutex::default()));
    Controller::<ConfigMap>::new(&test.manager).run_with(failing, fail);
    let running = test.start();
    let created = test.config_maps().create(&config_map("a")).await.unwrap();
    settle().await;
    running.stop().await;
    let log = LOG.with(|log| String::from_utf8(log.lock().clone())).unwrap();
    let version = created.metadata.resource_version.unwrap();
    let reason = format!("reason=configmaps default/a added at {version}");
    let lines: Vec<_> = log.lines().filter(|line| line.contains("try again")).collect();
    assert!(lines.len() > 2, "{log}");
    for (attempt, line) in (1..).zip(&lines) {
        assert!(
            line.contains(&format!("controller=\"configmap\" key=default/a attempt={attempt}")),
            "{line}"
        );
        assert_eq!(line.contains(&reason), attempt == 1, "only the change queued it: {line}");
    }
}
