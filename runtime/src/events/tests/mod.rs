//! The guarantees of the recorder, one sentence each.

mod delivery;
mod limits;
mod series;
mod server;

use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    jiff::{SignedDuration, Timestamp},
};
use tokio::time::{Duration, Instant, sleep};

use self::server::{Answer, Server};
use super::*;
use crate::metrics::test_recorder::TestRecorder;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A clock that follows tokio's, also while it is paused.
fn clock() -> Timestamp {
    thread_local!(static START: (Timestamp, Instant) = (Timestamp::UNIX_EPOCH, Instant::now()));
    let passed = START.with(|&(start, instant)| (start, instant.elapsed()));
    passed.0 + SignedDuration::try_from(passed.1).unwrap()
}

fn object(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    object.metadata.namespace = Some("apps".into());
    object
}

/// The dropped events by reason: a full queue, spam, age, and failure.
fn dropped(metrics: &TestRecorder) -> [u64; 4] {
    ["queue_full", "spam", "expired", "failed"].map(|reason| {
        let labels = format!("controller=\"tester\",reason=\"{reason}\"");
        metrics.counter(&format!("genclient_events_dropped_total{{{labels}}}"))
    })
}

fn sent(metrics: &TestRecorder) -> u64 {
    metrics.counter("genclient_events_sent_total{controller=\"tester\"}")
}
