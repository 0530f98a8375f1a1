//! The control loop, over a client with a scripted server.

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

use genclient_runtime::{
    Action, Event, InformerFactory, ObjectKey, WorkQueue,
    control_loop::{ControlLoop, Ended},
    enqueue,
    events::{EventRecorder, Reporter},
    informer::EventHandler as _,
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use parking_lot::Mutex;
use support::*;
use tokio::{
    runtime::Handle,
    time::{Instant, advance, sleep, timeout},
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

struct Fixture {
    /// Whether the server serves any kind.
    serves: Arc<AtomicBool>,
    /// One has ConfigMaps, whose keys are queued. The other has the metadata of Pods.
    factories: [InformerFactory; 2],
    queue: WorkQueue<ObjectKey>,
    /// The names of the reconciled keys.
    reconciled: Arc<Mutex<Vec<String>>>,
}

/// A server with one object of each kind.
fn fixture() -> Fixture {
    fixture_with(&["a"])
}

/// A server with these ConfigMaps, and as many Pods.
fn fixture_with(names: &[&str]) -> Fixture {
    let serves = Arc::new(AtomicBool::new(true));
    let objects: Vec<_> = names
        .iter()
        .map(|name| {
            let mut object = config_map(name, 5);
            for field in ["apiVersion", "kind", "data"] {
                object.as_object_mut().expect("an object").remove(field);
            }
            object
        })
        .collect();
    let (client, _log) = in_process(without_streaming({
        let serves = serves.clone();
        move |request: Received| match serves.load(SeqCst) {
            false => Answer::status(404, "NotFound", "not yet"),
            true if request.is_watch() => Answer::watch([]),
            true => Answer::json(list(10, objects.clone())),
        }
    }));
    let factories = [(); 2].map(|()| {
        let builder = InformerFactory::builder(client.clone());
        builder.tweak_list_options(|options| options.streaming_lists = false).build()
    });
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
        self.run_until(control_loop, work, sleep(2 * HOUR)).await
    }

    async fn run_until(
        &self,
        control_loop: ControlLoop<ObjectKey>,
        work: Duration,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), Ended> {
        let reconciled = self.reconciled.clone();
        let reconcile = move |key: ObjectKey| {
            let reconciled = reconciled.clone();
            async move {
                sleep(work).await;
                reconciled.lock().push(key.name);
                Ok::<_, String>(Action::await_change())
            }
        };
        control_loop.run(2, reconcile, shutdown).await
    }

    fn reconciled(&self) -> usize {
        self.reconciled.lock().len()
    }

    fn config_maps_are_stopped(&self) -> bool {
        self.factories[0].informer::<ConfigMap>().is_stopped()
    }
}

#[tokio::test(start_paused = true)]
async fn workers_start_when_every_cache_is_synced() {
    let test = fixture();
    test.serves.store(false, SeqCst);
    let observed = async {
        sleep(HOUR).await;
        assert_eq!(test.reconciled(), 0, "nothing is served yet");
        test.serves.store(true, SeqCst);
        sleep(HOUR / 2).await;
        assert_eq!(test.reconciled(), 1);
    };
    let (ended, ()) = tokio::join!(test.run(test.control_loop(), Duration::ZERO), observed);
    assert_eq!(ended, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn workers_start_when_every_handler_has_seen_the_first_list() {
    let test = fixture_with(&["a", "b", "c", "d", "e"]);
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    test.factories[1].informer::<Pod>().add_event_handler(move |_: &Event<Pod>| {
        std::thread::sleep(Duration::from_millis(10));
        counter.fetch_add(1, SeqCst);
    });
    let at_first = Arc::new(Mutex::new(None));
    let reconcile = {
        let (at_first, seen) = (at_first.clone(), seen.clone());
        move |_: ObjectKey| {
            at_first.lock().get_or_insert(seen.load(SeqCst));
            async { Ok::<_, String>(Action::await_change()) }
        }
    };
    test.control_loop().run(2, reconcile, sleep(HOUR)).await.expect("it ends at its shutdown");
    assert_eq!(*at_first.lock(), Some(5));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_blocks_is_reported_and_not_waited_for_after_its_removal() {
    let logged = Logged::default();
    let _subscribed = tracing::subscriber::set_default(logged.clone());
    let test = fixture();
    let (release, blocked) = mpsc::channel::<()>();
    let registration = test.factories[1].informer::<Pod>().add_event_handler(move |_: &Event<Pod>| {
        let _ = blocked.recv();
    });
    let observed = async {
        // The blocked thread holds the paused clock.
        for _ in 0..25 {
            settle().await;
            advance(SECOND).await;
        }
        assert_eq!(test.reconciled(), 0, "a handler has not seen the first list");
        let waits = logged.containing("still waiting");
        assert_eq!(waits.len(), 2, "{waits:?}");
        assert!(waits[0].contains("pods/v1") && waits[0].contains("event handler"), "{waits:?}");
        registration.remove();
        drop(release);
        for _ in 0..20 {
            settle().await;
            advance(SECOND).await;
        }
        assert_eq!(test.reconciled(), 1);
    };
    tokio::select! {
        _ = test.run(test.control_loop(), Duration::ZERO) => panic!("it does not end"),
        () = observed => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_before_the_caches_are_synced_is_no_error() {
    let test = fixture();
    test.serves.store(false, SeqCst);
    assert_eq!(test.run(test.control_loop(), Duration::ZERO).await, Ok(()));
    assert_eq!(test.reconciled(), 0);
}

#[tokio::test(start_paused = true)]
async fn running_keys_may_finish_for_25_seconds_and_the_informers_end() {
    for (left, finished) in [(24, 1), (26, 0)] {
        let test = fixture();
        let begun = Instant::now();
        let late = async {
            // The key starts just before the shutdown, and is still running then.
            sleep(2 * HOUR - SECOND).await;
            let _ = test.queue.add(ObjectKey::namespaced("default", "late"));
        };
        let work = Duration::from_secs(1 + left);
        let (ended, ()) = tokio::join!(test.run(test.control_loop(), work), late);
        assert_eq!(ended, Ok(()));
        assert_eq!(test.reconciled(), 1 + finished, "with {left} s to go");
        assert!(begun.elapsed() < 2 * HOUR + Duration::from_secs(27));
        assert!(test.config_maps_are_stopped());
        assert!(test.factories[1].metadata_informer::<Pod>().is_stopped());
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_loop_stops_everything_that_it_started() {
    // Whether the kinds are served, how long a key takes, when the shutdown begins, and when the loop is dropped.
    let cases = [
        ("before the caches are synced", false, Duration::ZERO, 2 * HOUR, SECOND),
        ("while no key runs", true, Duration::ZERO, 2 * HOUR, SECOND),
        ("while a key runs", true, HOUR, 2 * HOUR, SECOND),
        ("during the shutdown", true, HOUR, SECOND, 2 * SECOND),
    ];
    for (when, serves, work, shutdown, dropped) in cases {
        let test = fixture();
        test.serves.store(serves, SeqCst);
        let beats = Arc::new(AtomicUsize::new(0));
        let beating = {
            let beats = beats.clone();
            async move {
                loop {
                    sleep(SECOND / 4).await;
                    beats.fetch_add(1, SeqCst);
                }
            }
        };
        let control_loop = test.control_loop().task("the heartbeat", beating);
        let run = test.run_until(control_loop, work, sleep(shutdown));
        assert!(timeout(dropped, run).await.is_err(), "{when}");
        let before = (test.reconciled(), beats.load(SeqCst));
        let _ = test.queue.add(ObjectKey::namespaced("default", "late"));
        sleep(2 * HOUR).await;
        assert_eq!((test.reconciled(), beats.load(SeqCst)), before, "{when}");
        assert!(test.config_maps_are_stopped(), "{when}");
        drop(test);
        sleep(HOUR).await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0, "{when}");
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_run_until_the_last_key_is_reconciled() {
    let test = fixture();
    let last_beat = Arc::new(Mutex::new(Instant::now()));
    let beat = last_beat.clone();
    let lease = async move {
        loop {
            *beat.lock() = Instant::now();
            sleep(SECOND / 2).await;
        }
    };
    let control_loop = test.control_loop().task("the lease", lease);
    // The key starts at once and takes ten seconds; the shutdown begins after five.
    let ended = test.run_until(control_loop, 10 * SECOND, sleep(5 * SECOND)).await;
    let over = Instant::now();
    assert_eq!((ended, test.reconciled()), (Ok(()), 1));
    assert!(
        over - *last_beat.lock() <= SECOND,
        "the lease was last renewed {:?} ago",
        last_beat.lock().elapsed()
    );
    sleep(HOUR).await;
    assert!(*last_beat.lock() <= over, "the lease ends with the loop");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_a_blocked_handler_no_longer_than_its_deadline() {
    let test = fixture();
    let (release, blocked) = mpsc::channel::<()>();
    let registration = test.factories[1].informer::<Pod>().add_event_handler(move |_: &Event<Pod>| {
        let _ = blocked.recv();
    });
    let advanced = async {
        // Without the sync of this handler no worker would start.
        settle().await;
        registration.remove();
        for _ in 0..7 {
            settle().await;
            advance(SECOND).await;
        }
    };
    tokio::select! {
        biased;
        ended = test.run_until(test.control_loop(), Duration::ZERO, sleep(5 * SECOND)) => {
            assert_eq!(ended, Ok(()));
        }
        () = advanced => panic!("the shutdown waits without end"),
    }
    drop(release);
}

#[tokio::test(start_paused = true)]
async fn each_step_of_a_shutdown_has_its_own_deadline() {
    let test = fixture();
    let (silent, _log) = in_process(|_: Received| Answer::Silence);
    let events = EventRecorder::new(silent, Reporter::from("tester"));
    events.normal(&ConfigMap::default(), "Started", "this event is never answered");
    let control_loop = test.control_loop().events(&events);
    let control_loop = control_loop.drain_deadline(4 * SECOND).flush_deadline(2 * SECOND);
    let begun = Instant::now();
    assert_eq!(test.run_until(control_loop, HOUR, sleep(SECOND)).await, Ok(()));
    assert_eq!((begun.elapsed().as_secs(), test.reconciled()), (7, 0));
}

#[tokio::test(start_paused = true)]
async fn informers_run_until_the_last_loop_that_shares_them_ends() {
    let test = fixture();
    let other = WorkQueue::new("other");
    test.factories[0].informer::<ConfigMap>().add_event_handler(enqueue::changed(&other));
    let ends_later = async {
        let control_loop = ControlLoop::new("other", other.clone()).factory(&test.factories[0]);
        test.run(control_loop, Duration::ZERO).await
    };
    let ends_first = async {
        let ended = test.run_until(test.control_loop(), Duration::ZERO, sleep(HOUR)).await;
        assert!(!test.config_maps_are_stopped(), "the other loop needs it");
        assert!(test.factories[1].metadata_informer::<Pod>().is_stopped(), "no other loop needs it");
        ended
    };
    let is_dropped = async {
        assert!(timeout(HOUR / 2, test.run(test.control_loop(), Duration::ZERO)).await.is_err());
        assert!(!test.config_maps_are_stopped(), "the other loops need it");
    };
    assert_eq!(tokio::join!(ends_later, ends_first, is_dropped), (Ok(()), Ok(()), ()));
    assert!(test.config_maps_are_stopped());
}

#[tokio::test(start_paused = true)]
async fn a_factory_with_an_invalid_value_is_an_error() {
    let (client, log) = in_process(|_: Received| Answer::Refuse);
    let factory: InformerFactory = InformerFactory::builder(client).namespace("Not_One").build();
    factory.informer::<ConfigMap>();
    let control_loop = ControlLoop::new("test", WorkQueue::new("test")).factory(&factory);
    let reconcile = |_: ObjectKey| async { Ok::<_, String>(Action::await_change()) };
    let run = timeout(HOUR, control_loop.run(1, reconcile, std::future::pending()));
    let error = run.await.expect("it does not wait").expect_err("no informer can start").to_string();
    assert!(error.contains("`Not_One` is not a namespace"), "{error}");
    assert_eq!(log.len(), 0);
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
    assert_eq!((&*error.part, &*error.reason), ("the search", "it panicked: no list today"));
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_shut_down_by_other_code_ends_the_loop_with_an_error() {
    let test = fixture();
    let closed = async {
        sleep(HOUR).await;
        test.queue.shutdown_now();
    };
    let (ended, ()) = tokio::join!(test.run(test.control_loop(), Duration::ZERO), closed);
    assert_eq!(ended.unwrap_err().part, "the pool of workers");
}

#[tokio::test(start_paused = true)]
async fn a_change_is_reconciled_before_the_keys_of_the_first_list() {
    let names: Vec<_> = (0..1_000).map(|number| format!("listed-{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let test = fixture_with(&names);
    let config_maps = test.factories[0].informer::<ConfigMap>();
    let changed = async {
        config_maps.wait_for_sync().await;
        while test.reconciled() < 20 {
            sleep(SECOND / 100).await;
        }
        // A user creates an object.
        let mut created = ConfigMap::default();
        created.metadata.name = Some("created".to_owned());
        enqueue::changed(&test.queue).on_event(&Event::Added { object: Arc::new(created), initial: false });
    };
    let (ended, ()) = tokio::join!(test.run(test.control_loop(), SECOND / 10), changed);
    assert_eq!(ended, Ok(()));
    let position = test.reconciled.lock().iter().position(|name| name == "created");
    assert!(position.is_some_and(|position| position < 25), "{position:?}");
}

/// Lets tasks and threads act, without moving the clock.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Collects the messages of the log.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<String>>>);

impl Logged {
    fn containing(&self, text: &str) -> Vec<String> {
        self.0.lock().iter().filter(|message| message.contains(text)).cloned().collect()
    }
}

impl tracing::Subscriber for Logged {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Message<'a>(&'a mut Vec<String>);
        impl tracing::field::Visit for Message<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0.push(format!("{value:?}"));
                }
            }
        }
        event.record(&mut Message(&mut self.0.lock()));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
