//! Kubernetes events about the objects of a controller.
//!
//! # Guarantees
//! - **Recording never blocks and never fails.** [`EventRecorder::normal`] and
//!   [`EventRecorder::warning`] put the event into a queue of 1000. A full queue drops its oldest
//!   event.
//! - **One object and reason cannot flood the server.** Each pair of object and reason has a bucket
//!   of 25 events that gains one every five minutes. An event that finds its bucket empty is dropped
//!   before it enters the queue.
//! - **Events arrive in the order in which they were recorded**, with the time of the recording.
//! - **Equal events become a series.** If an event with the same object, type, reason and message was
//!   recorded less than six minutes before, the new one raises its count. An event with another message
//!   is a new event. If the server refuses to change the old event, for example because it was deleted,
//!   a new event is created.
//! - **An event is tried four times** if the server does not answer, or answers with 429 or 5xx. An event
//!   that the server refuses is not tried again.
//! - **A silent server cannot fill the queue for long.** An event that has not been sent five minutes
//!   after it was recorded is dropped.
//! - **Every dropped event is counted**, with the reason, in `genclient_events_dropped_total`.
//! - **[`EventRecorder::flush`] waits for the events that were recorded before it.**
//!
//! Events go to the API `events.k8s.io/v1`. The program needs the verbs `create` and `patch` for
//! `events` of the group `events.k8s.io`. The events of a cluster-scoped object go to the namespace
//! `default`.

mod occurrence;
mod queue;
mod recent;
mod recorder;
mod sender;
mod series;
mod spam;
#[cfg(test)]
mod tests;

pub use self::recorder::EventRecorder;
pub use kube::runtime::events::Reporter;
