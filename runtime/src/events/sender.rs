//! The task that sends events to the API server.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;
use k8s_openapi::{
    api::events::v1::{Event, EventSeries},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    runtime::events::Reporter,
};
use metrics::{Counter, counter};
use serde_json::json;
use tokio::time::{Duration, Instant, sleep, timeout};

use super::{
    occurrence::{Occurrence, random_name},
    queue::EventQueue,
    recorder::Dropped,
    series::{Series, SeriesCache, SeriesKey},
};
use crate::{backoff::exponential, error::Refused, metrics as names, panics};

/// The number of attempts to send an event.
const ATTEMPTS: u32 = 4;
/// The timeout of an attempt.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The pauses between the attempts: 500 ms, 2 s, 8 s.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PAUSE_FACTOR: u32 = 4;
/// The age at which an event is dropped.
const MAX_AGE: Duration = Duration::from_secs(300);

pub(super) struct Sender {
    client: Client,
    reporter: Reporter,
    queue: Arc<EventQueue>,
    series: SeriesCache,
    sent: Counter,
    dropped: Dropped,
    /// Whether the last event had expired. Only the first in a row is logged as a warning.
    expired: bool,
}

/// Why an event was not sent.
enum Failure {
    /// The server refused the event.
    Refused(String),
    /// The server did not answer, or a later answer may differ.
    Unanswered(String),
    /// The event is too old.
    Expired,
}

impl Sender {
    pub fn new(client: Client, reporter: Reporter, queue: Arc<EventQueue>, dropped: Dropped) -> Self {
        let sent = counter!(names::EVENTS_SENT, "controller" => reporter.controller.clone());
        Self { client, reporter, queue, series: SeriesCache::default(), sent, dropped, expired: false }
    }

    pub async fn run(mut self) {
        let queue = Arc::clone(&self.queue);
        while let Some(occurrence) = queue.next().await {
            let sending = AssertUnwindSafe(self.send(&occurrence)).catch_unwind();
            let result = sending.await.unwrap_or_else(|panic| {
                Err(Failure::Refused(format!("the client panicked: {}", panics::message(&*panic))))
            });
            self.report(&occurrence, result);
            queue.settle();
        }
    }

    fn report(&mut self, occurrence: &Occurrence, result: Result<(), Failure>) {
        let object = occurrence.object.name.as_deref().unwrap_or_default();
        let reason = &*occurrence.reason;
        let was_expired = std::mem::replace(&mut self.expired, matches!(result, Err(Failure::Expired)));
        match result {
            Ok(()) => self.sent.increment(1),
            Err(Failure::Refused(error) | Failure::Unanswered(error)) => {
                self.dropped.failed.increment(1);
                tracing::warn!(object, reason, "cannot send an event: {error}");
            }
            Err(Failure::Expired) => {
                self.dropped.expired.increment(1);
                if !was_expired {
                    tracing::warn!(
                        object,
                        reason,
                        "dropping events that could not be sent within {MAX_AGE:?}"
                    );
                }
            }
        }
    }

    /// Sends an event, in several attempts if need be.
    async fn send(&mut self, occurrence: &Occurrence) -> Result<(), Failure> {
        let mut name = occurrence.name();
        // Whether an earlier attempt may have created the event without an answer.
        let mut maybe_created = false;
        for attempt in 1.. {
            let left = MAX_AGE.saturating_sub(Instant::now().duration_since(occurrence.recorded));
            if left.is_zero() {
                return Err(Failure::Expired);
            }
            let trying = self.attempt(occurrence, &mut name, maybe_created);
            let failure = match timeout(ANSWER_TIMEOUT.min(left), trying).await {
                Ok(Err(Failure::Unanswered(error))) => error,
                Ok(result) => return result,
                Err(_) => "the API server did not answer in time".to_owned(),
            };
            if attempt == ATTEMPTS {
                return Err(Failure::Unanswered(failure));
            }
            maybe_created = true;
            sleep(exponential(FIRST_PAUSE, PAUSE_FACTOR, attempt - 1, MAX_AGE)).await;
        }
        Ok(())
    }

    /// Raises the count of an equal event, or creates a new one.
    async fn attempt(
        &mut self,
        occurrence: &Occurrence,
        name: &mut String,
        maybe_created: bool,
    ) -> Result<(), Failure> {
        let api = Api::namespaced(self.client.clone(), occurrence.namespace());
        let key = SeriesKey::from(occurrence);
        if let Some(series) = self.series.next(&key, occurrence.recorded) {
            match extend(&api, &series, occurrence).await {
                // The event was deleted, or may not be changed. A new event replaces it.
                Err(Failure::Refused(_)) => self.series.forget(&key),
                Err(failure) => return Err(failure),
                Ok(()) => {
                    self.series.store(key, series);
                    return Ok(());
                }
            }
        }
        let created = self.create(&api, occurrence, name).await?;
        if created == Created::NameTaken && !maybe_created {
            *name = random_name();
            if self.create(&api, occurrence, name).await? == Created::NameTaken {
                return Err(Failure::Refused("the API server accepts no name for the event".to_owned()));
            }
        }
        self.series.store(key, Series { name: name.clone(), count: 1, last: occurrence.recorded });
        Ok(())
    }

    async fn create(
        &self,
        api: &Api<Event>,
        occurrence: &Occurrence,
        name: &str,
    ) -> Result<Created, Failure> {
        let event = occurrence.event(name, &self.reporter);
        match api.create(&PostParams::default(), &event).await {
            Ok(_) => Ok(Created::Now),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Created::NameTaken),
            Err(error) => Err(error.into()),
        }
    }
}

/// The answer to the creation of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Created {
    Now,
    /// An event of this name exists: an earlier attempt may have created it, or another client.
    NameTaken,
}

/// Changes the count of the event at the server. The same change twice does no harm.
async fn extend(api: &Api<Event>, series: &Series, occurrence: &Occurrence) -> Result<(), Failure> {
    let last_observed_time = MicroTime(occurrence.time);
    let patch = json!({ "series": EventSeries { count: series.count, last_observed_time } });
    api.patch(&series.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if status.code < 500 && status.code != 429 => {
                Self::Refused(error.to_string())
            }
            // The leader reports what happened.
            kube::Error::Service(refused) if refused.is::<Refused>() => Self::Refused(error.to_string()),
            _ => Self::Unanswered(error.to_string()),
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // The runtime has ended, or all events are sent.
        self.dropped.failed.increment(self.queue.abandon());
    }
}
