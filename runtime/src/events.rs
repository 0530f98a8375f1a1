//! Telling users what happened to their objects, as Kubernetes events.
//!
//! # Guarantees
//! - **Never in the way.** [`EventRecorder::normal`] and [`EventRecorder::warning`] neither wait nor
//!   fail. They put the event into a bounded queue; if that is full, the event is dropped and counted.
//! - **No spam.** Each pair of object and reason has a bucket of 25 events, which gains one every five
//!   minutes. What exceeds it is dropped and counted before it can crowd out others.
//! - **One after the other.** Events are sent in the order in which they were recorded. A send that the
//!   server did not answer is tried again a few times; one that it refused is logged and counted.
//! - **Nothing is left behind by mistake.** [`EventRecorder::flush`] waits for what was recorded before.
//!
//! Sending, names and series are those of [`kube::runtime::events::Recorder`]. It joins events of one
//! object, type and reason that come within six minutes into a series, which keeps the first message;
//! what users must be able to tell apart needs reasons of its own. The program needs the verbs `create`
//! and `patch` on `events` in the group `events.k8s.io`.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use hashbrown::HashMap;
use k8s_openapi::api::core::v1::ObjectReference;
pub use kube::runtime::events::Reporter;
use kube::{
    Client, Resource,
    runtime::events::{Event, EventType, Recorder},
};
use metrics::{Counter, counter};
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, watch},
    time::{Duration, Instant, sleep, timeout},
};

use crate::metrics as names;

/// How many events wait at most for being sent.
const CAPACITY: usize = 1000;
/// How many events of one object and reason may come at once.
const SPAM_BURST: u32 = 25;
/// How long it takes until one more may come.
const SPAM_REFILL: Duration = Duration::from_secs(300);
/// For how many objects and reasons the buckets are remembered.
const SPAM_BUCKETS: usize = 4096;
/// How often an event is sent that gets no answer, and how long each waits for one.
const ATTEMPTS: u32 = 4;
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// What the API server allows.
const MAX_REASON: usize = 128;
const MAX_MESSAGE: usize = 1024;

/// Records events about objects; clones share the queue and the limits.
#[derive(Clone)]
pub struct EventRecorder {
    shared: Arc<Shared>,
    queue: mpsc::Sender<(Event, ObjectReference)>,
}

struct Shared {
    spam: Mutex<SpamFilter>,
    /// How many events were put into the queue.
    accepted: AtomicU64,
    /// How many events left the queue, sent or given up.
    settled: watch::Receiver<u64>,
    full: Counter,
    spammed: Counter,
}

impl EventRecorder {
    /// A recorder that reports in this controller's name.
    ///
    /// It sends from a task of its own, so it must be made inside a tokio runtime. The task ends
    /// when the last clone is dropped and the queue is empty.
    pub fn new(client: Client, reporter: Reporter) -> Self {
        let controller = reporter.controller.clone();
        let dropped = |reason: &'static str| counter!(names::EVENTS_DROPPED, "controller" => controller.clone(), "reason" => reason);
        let (queue, events) = mpsc::channel(CAPACITY);
        let (settled, watch_settled) = watch::channel(0);
        let shared = Shared {
            spam: Mutex::default(),
            accepted: AtomicU64::new(0),
            settled: watch_settled,
            full: dropped("queue_full"),
            spammed: dropped("spam"),
        };
        let sender = Sender {
            recorder: Recorder::new(client, reporter),
            sent: counter!(names::EVENTS_SENT, "controller" => controller.clone()),
            failed: dropped("failed"),
            settled,
        };
        tokio::spawn(sender.run(events));
        Self { shared: Arc::new(shared), queue }
    }

    /// Records that something went as it should.
    pub fn normal<K>(&self, object: &K, reason: &str, message: impl fmt::Display)
    where
        K: Resource<DynamicType = ()>,
    {
        self.record(EventType::Normal, object.object_ref(&()), reason, &message);
    }

    /// Records that something needs a person's attention.
    pub fn warning<K>(&self, object: &K, reason: &str, message: impl fmt::Display)
    where
        K: Resource<DynamicType = ()>,
    {
        self.record(EventType::Warning, object.object_ref(&()), reason, &message);
    }

    /// Waits until everything that was recorded before is sent or given up, at most until the deadline,
    /// and says how many events still wait then.
    pub async fn flush(&self, deadline: Duration) -> u64 {
        let wanted = self.shared.accepted.load(SeqCst);
        let mut settled = self.shared.settled.clone();
        // The outcome is read from the count itself, whichever way the wait ends.
        let _ = timeout(deadline, settled.wait_for(|&settled| settled >= wanted)).await;
        wanted.saturating_sub(*settled.borrow())
    }

    fn record(&self, type_: EventType, about: ObjectReference, reason: &str, message: &dyn fmt::Display) {
        let shared = &*self.shared;
        if !shared.spam.lock().allows(&about, reason, Instant::now()) {
            shared.spammed.increment(1);
            return;
        }
        let reason = clip(reason.to_owned(), MAX_REASON);
        let event = Event {
            type_,
            action: reason.clone(),
            reason,
            note: Some(clip(message.to_string(), MAX_MESSAGE)),
            secondary: None,
        };
        match self.queue.try_reserve() {
            Ok(place) => {
                // Counted before it is sent, so that a flush never overlooks it.
                shared.accepted.fetch_add(1, SeqCst);
                place.send((event, about));
            }
            Err(_) => shared.full.increment(1),
        }
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorder").finish_non_exhaustive()
    }
}

/// The task behind the queue.
struct Sender {
    recorder: Recorder,
    sent: Counter,
    failed: Counter,
    settled: watch::Sender<u64>,
}

impl Sender {
    async fn run(self, mut events: mpsc::Receiver<(Event, ObjectReference)>) {
        while let Some((event, about)) = events.recv().await {
            match self.send(&event, &about).await {
                Ok(()) => self.sent.increment(1),
                Err(error) => {
                    self.failed.increment(1);
                    let object = about.name.as_deref().unwrap_or_default();
                    tracing::warn!(object, reason = event.reason, "an event could not be sent: {error}");
                }
            }
            self.settled.send_modify(|settled| *settled += 1);
        }
    }

    async fn send(&self, event: &Event, about: &ObjectReference) -> Result<(), String> {
        let mut wait = Duration::from_millis(500);
        for attempt in 1.. {
            let problem = match timeout(SEND_TIMEOUT, self.recorder.publish(event, about)).await {
                Ok(Ok(())) => break,
                Ok(Err(error @ kube::Error::Api(_))) => return Err(error.to_string()),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the API server did not answer in time".to_owned(),
            };
            if attempt == ATTEMPTS {
                return Err(problem);
            }
            sleep(wait).await;
            wait *= 4;
        }
        Ok(())
    }
}

/// A token bucket for each object and reason, kept as the time at which it will be full again.
#[derive(Default)]
struct SpamFilter {
    full_at: HashMap<SpamKey, Instant>,
}

/// The object's kind, namespace, name and uid, and the reason.
type SpamKey = [String; 5];

impl SpamFilter {
    fn allows(&mut self, about: &ObjectReference, reason: &str, now: Instant) -> bool {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let key =
            [text(&about.kind), text(&about.namespace), text(&about.name), text(&about.uid), reason.into()];
        if self.full_at.len() >= SPAM_BUCKETS && !self.full_at.contains_key(&key) {
            self.make_room(now);
        }
        let full_at = self.full_at.entry(key).or_insert(now);
        let start = (*full_at).max(now);
        let allowed = start - now <= SPAM_REFILL * (SPAM_BURST - 1);
        if allowed {
            *full_at = start + SPAM_REFILL;
        }
        allowed
    }

    /// Forgets the full buckets, and the fuller half of the others if there were none.
    fn make_room(&mut self, now: Instant) {
        self.full_at.retain(|_, full_at| *full_at > now);
        if self.full_at.len() >= SPAM_BUCKETS {
            let mut times: Vec<_> = self.full_at.values().copied().collect();
            let (_, &mut middle, _) = times.select_nth_unstable(SPAM_BUCKETS / 2);
            self.full_at.retain(|_, full_at| *full_at > middle);
        }
    }
}

/// Cuts a text to so many bytes, between characters, and shows that it was cut.
fn clip(mut text: String, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() > max {
        let mut end = max - MARK.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(MARK);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use http::{Request, Response, StatusCode};
    use http_body_util::BodyExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::client::Body;
    use serde_json::Value;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::metrics::test_recorder::TestRecorder;

    /// An API server that keeps what it is sent, one request for each permit.
    #[derive(Clone)]
    struct Server {
        permits: Arc<Semaphore>,
        received: Arc<Mutex<Vec<Value>>>,
        status: StatusCode,
        /// How many requests fail without an answer first.
        silent: Arc<AtomicUsize>,
    }

    impl Server {
        fn new(permits: usize) -> Self {
            Self {
                permits: Arc::new(Semaphore::new(permits)),
                received: Arc::default(),
                status: StatusCode::CREATED,
                silent: Arc::default(),
            }
        }

        fn recorder(&self, metrics: &TestRecorder) -> EventRecorder {
            let server = self.clone();
            let service = tower::service_fn(move |request: Request<Body>| server.clone().answer(request));
            let reporter = Reporter { controller: "tester".into(), instance: None };
            metrics.observe(|| EventRecorder::new(Client::new(service, "default"), reporter))
        }

        async fn answer(self, request: Request<Body>) -> Result<Response<Body>, tower::BoxError> {
            self.permits.acquire().await?.forget();
            if self.silent.load(SeqCst) > 0 {
                self.silent.fetch_sub(1, SeqCst);
                return Err("connection reset".into());
            }
            let body = request.into_body().collect().await?.to_bytes();
            let event: Value = serde_json::from_slice(&body)?;
            self.received.lock().push(event);
            let answer = match self.status {
                StatusCode::CREATED => body,
                code => serde_json::to_vec(&serde_json::json!({
                    "kind": "Status", "status": "Failure", "code": code.as_u16(), "message": "no", "reason": "Forbidden",
                }))?
                .into(),
            };
            let answer = Response::builder().status(self.status).body(Body::from(answer.to_vec()));
            Ok(answer?)
        }

        fn notes(&self) -> Vec<String> {
            self.received.lock().iter().map(|event| event["note"].as_str().unwrap().to_owned()).collect()
        }
    }

    fn object(name: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.into());
        object.metadata.namespace = Some("default".into());
        object
    }

    const DROPPED: [&str; 3] = [
        "genclient_events_dropped_total{controller=\"tester\",reason=\"queue_full\"}",
        "genclient_events_dropped_total{controller=\"tester\",reason=\"spam\"}",
        "genclient_events_dropped_total{controller=\"tester\",reason=\"failed\"}",
    ];

    fn dropped(metrics: &TestRecorder) -> [u64; 3] {
        DROPPED.map(|name| metrics.counter(name))
    }

    fn sent(metrics: &TestRecorder) -> u64 {
        metrics.counter("genclient_events_sent_total{controller=\"tester\"}")
    }

    #[tokio::test(start_paused = true)]
    async fn events_reach_the_server_in_order_before_a_flush_returns() {
        let (server, metrics) = (Server::new(100), TestRecorder::default());
        let recorder = server.recorder(&metrics);
        recorder.normal(&object("a"), "Synced", "first");
        recorder.warning(&object("b"), "Invalid", format_args!("second {}", 2));
        assert_eq!(recorder.flush(Duration::from_secs(1)).await, 0);
        assert_eq!(server.notes(), ["first", "second 2"]);
        let received = server.received.lock();
        assert_eq!((&received[0]["type"], &received[1]["type"]), (&"Normal".into(), &"Warning".into()));
        assert_eq!(received[1]["regarding"]["name"], "b");
        assert_eq!(received[1]["reportingController"], "tester");
        assert_eq!((sent(&metrics), dropped(&metrics)), (2, [0, 0, 0]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_drops_and_counts_and_never_blocks() {
        let (server, metrics) = (Server::new(0), TestRecorder::default());
        let recorder = server.recorder(&metrics);
        for n in 0..CAPACITY + 10 {
            recorder.normal(&object(&n.to_string()), "Synced", n);
        }
        assert_eq!(dropped(&metrics), [10, 0, 0]);
        assert_eq!(recorder.flush(Duration::from_millis(1)).await, CAPACITY as u64, "nobody answers");
        server.permits.add_permits(2000);
        assert_eq!(recorder.flush(Duration::from_secs(1)).await, 0);
        assert_eq!(server.notes().len(), CAPACITY);
    }

    #[tokio::test(start_paused = true)]
    async fn one_object_and_reason_cannot_flood_the_server() {
        let (server, metrics) = (Server::new(1000), TestRecorder::default());
        let recorder = server.recorder(&metrics);
        let record = |count: usize, name: &str, reason: &str| {
            (0..count).for_each(|n| recorder.normal(&object(name), reason, n));
        };
        record(100, "a", "Synced");
        assert_eq!(dropped(&metrics), [0, 75, 0]);
        record(25, "a", "Other");
        record(25, "b", "Synced");
        assert_eq!(dropped(&metrics), [0, 75, 0], "others have their own buckets");
        tokio::time::advance(SPAM_REFILL * 2).await;
        record(3, "a", "Synced");
        assert_eq!(dropped(&metrics), [0, 76, 0], "two tokens came back");
    }

    #[test]
    fn the_spam_filter_remembers_a_bounded_number_of_objects() {
        let mut filter = SpamFilter::default();
        let now = Instant::now();
        for n in 0..10 * SPAM_BUCKETS {
            let about = ObjectReference { name: Some(n.to_string()), ..Default::default() };
            assert!(filter.allows(&about, "Synced", now + Duration::from_secs(n as u64 / 1000)));
            assert!(filter.full_at.len() <= SPAM_BUCKETS);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_event_is_tried_again_and_a_refused_one_is_not() {
        let (server, metrics) = (Server::new(100), TestRecorder::default());
        server.silent.store(2, SeqCst);
        let recorder = server.recorder(&metrics);
        recorder.normal(&object("a"), "Synced", "late");
        assert_eq!(recorder.flush(Duration::from_secs(60)).await, 0);
        assert_eq!((server.notes(), sent(&metrics)), (vec!["late".to_owned()], 1));

        let refusing = Server { status: StatusCode::FORBIDDEN, ..Server::new(100) };
        let recorder = refusing.recorder(&metrics);
        recorder.normal(&object("a"), "Synced", "refused");
        assert_eq!(recorder.flush(Duration::from_secs(60)).await, 0);
        assert_eq!((refusing.notes().len(), dropped(&metrics)), (1, [0, 0, 1]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_server_is_given_up_and_the_next_event_is_tried() {
        let (server, metrics) = (Server::new(0), TestRecorder::default());
        let recorder = server.recorder(&metrics);
        recorder.normal(&object("a"), "Synced", "never");
        recorder.normal(&object("b"), "Synced", "soon");
        tokio::time::sleep(Duration::from_secs(60)).await;
        server.permits.add_permits(10);
        assert_eq!(recorder.flush(Duration::from_secs(60)).await, 0);
        assert_eq!((server.notes(), dropped(&metrics)), (vec!["soon".to_owned()], [0, 0, 1]));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(clip("short".into(), 128), "short");
        let cut = clip("ä".repeat(1000), MAX_MESSAGE);
        assert!(cut.len() <= MAX_MESSAGE && cut.ends_with('…'));
        assert_eq!(clip("a".repeat(1024), MAX_MESSAGE).len(), 1024);
    }
}
