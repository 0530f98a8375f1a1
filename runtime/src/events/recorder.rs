//! The recorder of events.

use std::{fmt, sync::Arc};

use k8s_openapi::{api::core::v1::ObjectReference, jiff::Timestamp};
use kube::{Client, Resource, runtime::events::Reporter};
use metrics::{Counter, counter};
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::{
    occurrence::{EventType, Occurrence},
    queue::{EventQueue, Pushed},
    sender::Sender,
    spam::SpamFilter,
};
use crate::metrics as names;

/// Records events about objects. Clones share the queue and the limits; [the module](super) states
/// the guarantees.
#[derive(Clone)]
pub struct EventRecorder {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Arc<EventQueue>,
    spam: Mutex<SpamFilter>,
    clock: fn() -> Timestamp,
    dropped: Dropped,
}

/// Counts dropped events, by reason.
#[derive(Clone)]
pub(super) struct Dropped {
    pub queue_full: Counter,
    pub spam: Counter,
    pub expired: Counter,
    pub failed: Counter,
}

impl EventRecorder {
    /// Creates a recorder that reports in the name of a controller.
    ///
    /// The name of the controller must be a qualified name, such as `samplecrd-controller` or
    /// `samplecrd.k8s.io/controller`. Otherwise the server refuses the events.
    ///
    /// The events are sent by a task in the current tokio runtime. It ends when the last clone of
    /// the recorder is dropped and the queue is empty, or with its runtime.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn new(client: Client, reporter: Reporter) -> Self {
        Self::with_clock(client, reporter, Timestamp::now)
    }

    pub(super) fn with_clock(client: Client, reporter: Reporter, clock: fn() -> Timestamp) -> Self {
        let dropped = |reason: &'static str| {
            let controller = reporter.controller.clone();
            counter!(names::EVENTS_DROPPED, "controller" => controller, "reason" => reason)
        };
        let dropped = Dropped {
            queue_full: dropped("queue_full"),
            spam: dropped("spam"),
            expired: dropped("expired"),
            failed: dropped("failed"),
        };
        let queue = Arc::new(EventQueue::default());
        tokio::spawn(Sender::new(client, reporter, Arc::clone(&queue), dropped.clone()).run());
        Self { shared: Arc::new(Shared { queue, spam: Mutex::default(), clock, dropped }) }
    }

    /// Records a regular occurrence.
    pub fn normal<K>(&self, object: &K, reason: &str, message: impl fmt::Display)
    where
        K: Resource<DynamicType = ()>,
    {
        self.shared.record(EventType::Normal, object.object_ref(&()), reason, &message);
    }

    /// Records an occurrence that needs the attention of a person.
    pub fn warning<K>(&self, object: &K, reason: &str, message: impl fmt::Display)
    where
        K: Resource<DynamicType = ()>,
    {
        self.shared.record(EventType::Warning, object.object_ref(&()), reason, &message);
    }

    /// Records a regular occurrence about the object of a reference, such as a dynamic object:
    ///
    /// ```
    /// # use genclient_runtime::{dynamic::DynamicKind, events::EventRecorder};
    /// # use kube::{Resource, core::DynamicObject};
    /// fn synced(events: &EventRecorder, widgets: &DynamicKind, widget: &DynamicObject) {
    ///     events.normal_about(widget.object_ref(widgets.api_resource()), "Synced", "the widget is in sync");
    /// }
    /// ```
    pub fn normal_about(&self, object: ObjectReference, reason: &str, message: impl fmt::Display) {
        self.shared.record(EventType::Normal, object, reason, &message);
    }

    /// Records an occurrence about the object of a reference that needs the attention of a person; see
    /// [`normal_about`](Self::normal_about).
    pub fn warning_about(&self, object: ObjectReference, reason: &str, message: impl fmt::Display) {
        self.shared.record(EventType::Warning, object, reason, &message);
    }

    /// Waits until the events that were recorded before are sent or dropped, or `deadline` has passed.
    /// Returns how many are still waiting.
    pub async fn flush(&self, deadline: Duration) -> u64 {
        self.shared.queue.flush(deadline).await
    }
}

impl Shared {
    fn record(&self, type_: EventType, object: ObjectReference, reason: &str, message: &dyn fmt::Display) {
        if !self.spam.lock().allows(&object, reason, Instant::now()) {
            self.dropped.spam.increment(1);
            return;
        }
        let occurrence = Occurrence::new(type_, object, reason, message.to_string(), (self.clock)());
        match self.queue.push(occurrence) {
            Pushed::Accepted => {}
            Pushed::InPlaceOfOldest => self.dropped.queue_full.increment(1),
            Pushed::Dropped => self.dropped.failed.increment(1),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorder").finish_non_exhaustive()
    }
}
