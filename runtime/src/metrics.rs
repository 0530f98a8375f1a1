//! The metrics of this crate.
//!
//! They are recorded through the facade of the [`metrics`] crate. Install a recorder *before* running
//! informers and workers and creating event recorders, because these look up their metrics at that time.
//! Without a recorder nothing is recorded. [`describe`] registers the unit and the description of every
//! metric.
//!
//! | name | kind | labels | meaning |
//! | --- | --- | --- | --- |
//! | `genclient_workqueue_depth` | gauge | `queue` | keys that wait for a worker or for the end of their current run |
//! | `genclient_workqueue_adds_total` | counter | `queue` | queued keys; adding a key that is already queued does not count |
//! | `genclient_workqueue_queue_duration_seconds` | histogram | `queue` | time that a key waited for a worker |
//! | `genclient_workqueue_work_duration_seconds` | histogram | `queue` | duration of the reconciliation of a key |
//! | `genclient_workqueue_unfinished_work_seconds` | gauge | `queue` | total time that the running reconciliations have taken so far |
//! | `genclient_workqueue_longest_running_processor_seconds` | gauge | `queue` | time that the longest running reconciliation has taken so far |
//! | `genclient_workqueue_retries_total` | counter | `queue` | failed reconciliations that the rate limiter delays |
//! | `genclient_workqueue_panics_total` | counter | `queue` | caught panics of reconciliations and of the rate limiter |
//! | `genclient_events_sent_total` | counter | `controller` | events that the API server accepted |
//! | `genclient_events_dropped_total` | counter | `controller`, `reason` | dropped events: `queue_full`, `spam`, `expired` or `failed` |
//! | `genclient_reflector_lists_total` | counter | `resource`, `mode` | complete lists, `streamed` or `paged` |
//! | `genclient_reflector_list_duration_seconds` | histogram | `resource` | duration of a list |
//! | `genclient_reflector_listed_objects` | gauge | `resource` | objects in the last list |
//! | `genclient_reflector_watches_total` | counter | `resource` | opened watches |
//! | `genclient_reflector_events_total` | counter | `resource` | changes and bookmarks received |
//! | `genclient_reflector_invalid_objects_total` | counter | `resource` | objects that did not decode, counted each time they arrive |
//! | `genclient_reflector_last_event_timestamp_seconds` | gauge | `resource` | Unix time of the last list, change or bookmark; `time()` minus this value is the age of the cache |
//! | `genclient_reflector_errors_total` | counter | `resource`, `problem` | failed attempts to list or watch |
//! | `genclient_informer_deltas_total` | counter | `resource` | deltas applied to the cache |
//! | `genclient_informer_relists_total` | counter | `resource` | lists applied to the cache |
//! | `genclient_informer_events_total` | counter | `resource` | changes passed to the handlers, before coalescing |
//! | `genclient_informer_stale_total` | counter | `resource` | states dropped because the cache had a newer one |
//! | `genclient_informer_objects` | gauge | `resource` | objects in the cache |
//! | `genclient_informer_invalid_objects` | gauge | `resource` | objects on the server that do not decode |
//! | `genclient_informer_synced` | gauge | `resource` | 1 once the first list is in the cache |
//! | `genclient_informer_handler_backlog` | gauge | `resource` | objects in the backlogs of all handlers and streams |
//! | `genclient_informer_failures_total` | counter | `resource` | informers that ended because applying a change panicked |
//! | `genclient_informer_handler_panics_total` | counter | `resource` | caught panics of event handlers |
//! | `genclient_informer_index_panics_total` | counter | `resource` | caught panics of index functions |
//!
//! The metrics of a reflector have the additional label `namespace` if it watches a single namespace.
//!
//! The two gauges of running reconciliations are updated every half second.
//!
//! The metrics of reflectors and informers have a label `form` unless whole objects of a static type are
//! cached: `metadata`, or `dynamic` or `dynamic_metadata` for a [dynamic kind](crate::dynamic). The name of a
//! factory is the label `factory`. Name the factories if two of them watch the same resource, and do not
//! request two static types of one resource from one factory, because they would share their series.

#[cfg(test)]
pub(crate) mod test_recorder;

use metrics::{Label, Unit, describe_counter, describe_gauge, describe_histogram};

/// Keys that wait for a worker or for the end of their current run.
pub const WORKQUEUE_DEPTH: &str = "genclient_workqueue_depth";
/// Queued keys.
pub const WORKQUEUE_ADDS: &str = "genclient_workqueue_adds_total";
/// Time that a key waited for a worker.
pub const WORKQUEUE_QUEUE_DURATION: &str = "genclient_workqueue_queue_duration_seconds";
/// Duration of the reconciliation of a key.
pub const WORKQUEUE_WORK_DURATION: &str = "genclient_workqueue_work_duration_seconds";
/// Total time that the running reconciliations have taken so far.
pub const WORKQUEUE_UNFINISHED: &str = "genclient_workqueue_unfinished_work_seconds";
/// Time that the longest running reconciliation has taken so far.
pub const WORKQUEUE_LONGEST_RUNNING: &str = "genclient_workqueue_longest_running_processor_seconds";
/// Failed reconciliations that the rate limiter delays.
pub const WORKQUEUE_RETRIES: &str = "genclient_workqueue_retries_total";
/// Caught panics of reconciliations and of the rate limiter.
pub const WORKQUEUE_PANICS: &str = "genclient_workqueue_panics_total";
/// Events that the API server accepted.
pub const EVENTS_SENT: &str = "genclient_events_sent_total";
/// Dropped events.
pub const EVENTS_DROPPED: &str = "genclient_events_dropped_total";
/// Complete lists.
pub const REFLECTOR_LISTS: &str = "genclient_reflector_lists_total";
/// Duration of a list.
pub const REFLECTOR_LIST_DURATION: &str = "genclient_reflector_list_duration_seconds";
/// Objects in the last list.
pub const REFLECTOR_LISTED_OBJECTS: &str = "genclient_reflector_listed_objects";
/// Opened watches.
pub const REFLECTOR_WATCHES: &str = "genclient_reflector_watches_total";
/// Changes and bookmarks received.
pub const REFLECTOR_EVENTS: &str = "genclient_reflector_events_total";
/// Objects that did not decode, counted each time they arrive.
pub const REFLECTOR_INVALID_OBJECTS: &str = "genclient_reflector_invalid_objects_total";
/// Unix time of the last list, change or bookmark.
pub const REFLECTOR_LAST_EVENT: &str = "genclient_reflector_last_event_timestamp_seconds";
/// Failed attempts to list or watch.
pub const REFLECTOR_ERRORS: &str = "genclient_reflector_errors_total";
/// Deltas applied to the cache.
pub const INFORMER_DELTAS: &str = "genclient_informer_deltas_total";
/// Lists applied to the cache.
pub const INFORMER_RELISTS: &str = "genclient_informer_relists_total";
/// Changes passed to the handlers, before coalescing.
pub const INFORMER_EVENTS: &str = "genclient_informer_events_total";
/// States dropped because the cache had a newer one.
pub const INFORMER_STALE: &str = "genclient_informer_stale_total";
/// Objects in the cache.
pub const INFORMER_OBJECTS: &str = "genclient_informer_objects";
/// Objects on the server that do not decode.
pub const INFORMER_INVALID: &str = "genclient_informer_invalid_objects";
/// 1 once the first list is in the cache.
pub const INFORMER_SYNCED: &str = "genclient_informer_synced";
/// Objects in the backlogs of all handlers and streams.
pub const INFORMER_BACKLOG: &str = "genclient_informer_handler_backlog";
/// Informers that ended because applying a change panicked.
pub const INFORMER_FAILURES: &str = "genclient_informer_failures_total";
/// Caught panics of event handlers.
pub const INFORMER_HANDLER_PANICS: &str = "genclient_informer_handler_panics_total";
/// Caught panics of index functions.
pub const INFORMER_INDEX_PANICS: &str = "genclient_informer_index_panics_total";

/// The form in which a resource is cached.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// Whether the kind is dynamic.
    pub(crate) is_dynamic: bool,
    /// Whether only the metadata is cached.
    pub(crate) is_metadata: bool,
}

impl Form {
    fn label(self) -> Option<&'static str> {
        match (self.is_dynamic, self.is_metadata) {
            (false, false) => None,
            (false, true) => Some("metadata"),
            (true, false) => Some("dynamic"),
            (true, true) => Some("dynamic_metadata"),
        }
    }
}

/// The labels of the metrics of one resource.
///
/// Metadata informers, dynamic informers and informers of a named factory have additional labels, so that two
/// informers of one resource do not share their series.
pub(crate) fn resource_labels(resource: &str, form: Form, name: Option<&str>) -> Vec<Label> {
    let mut labels = vec![Label::new("resource", resource.to_owned())];
    labels.extend(form.label().map(|form| Label::from_static_parts("form", form)));
    labels.extend(name.map(|name| Label::new("factory", name.to_owned())));
    labels
}

enum Kind {
    Counter,
    Gauge,
    Histogram,
}

const ALL: &[(&str, Kind, Unit, &str)] = &[
    (WORKQUEUE_DEPTH, Kind::Gauge, Unit::Count, "Keys that wait for a worker"),
    (WORKQUEUE_ADDS, Kind::Counter, Unit::Count, "Queued keys"),
    (WORKQUEUE_QUEUE_DURATION, Kind::Histogram, Unit::Seconds, "Time that a key waited for a worker"),
    (WORKQUEUE_WORK_DURATION, Kind::Histogram, Unit::Seconds, "Duration of the reconciliation of a key"),
    (WORKQUEUE_UNFINISHED, Kind::Gauge, Unit::Seconds, "Total age of the running reconciliations"),
    (WORKQUEUE_LONGEST_RUNNING, Kind::Gauge, Unit::Seconds, "Age of the longest running reconciliation"),
    (WORKQUEUE_RETRIES, Kind::Counter, Unit::Count, "Failed reconciliations that the rate limiter delays"),
    (
        WORKQUEUE_PANICS,
        Kind::Counter,
        Unit::Count,
        "Caught panics of reconciliations and of the rate limiter",
    ),
    (EVENTS_SENT, Kind::Counter, Unit::Count, "Events that the API server accepted"),
    (EVENTS_DROPPED, Kind::Counter, Unit::Count, "Dropped events"),
    (REFLECTOR_LISTS, Kind::Counter, Unit::Count, "Complete lists, streamed or paged"),
    (REFLECTOR_LIST_DURATION, Kind::Histogram, Unit::Seconds, "Duration of a list"),
    (REFLECTOR_LISTED_OBJECTS, Kind::Gauge, Unit::Count, "Objects in the last list"),
    (REFLECTOR_WATCHES, Kind::Counter, Unit::Count, "Opened watches"),
    (REFLECTOR_EVENTS, Kind::Counter, Unit::Count, "Changes and bookmarks received"),
    (
        REFLECTOR_INVALID_OBJECTS,
        Kind::Counter,
        Unit::Count,
        "Objects that did not decode, counted each time they arrive",
    ),
    (REFLECTOR_LAST_EVENT, Kind::Gauge, Unit::Seconds, "Unix time of the last list, change or bookmark"),
    (REFLECTOR_ERRORS, Kind::Counter, Unit::Count, "Failed attempts to list or watch"),
    (INFORMER_DELTAS, Kind::Counter, Unit::Count, "Deltas applied to the cache"),
    (INFORMER_RELISTS, Kind::Counter, Unit::Count, "Lists applied to the cache"),
    (INFORMER_EVENTS, Kind::Counter, Unit::Count, "Changes passed to the handlers, before coalescing"),
    (INFORMER_STALE, Kind::Counter, Unit::Count, "States dropped because the cache had a newer one"),
    (INFORMER_OBJECTS, Kind::Gauge, Unit::Count, "Objects in the cache"),
    (INFORMER_INVALID, Kind::Gauge, Unit::Count, "Objects on the server that do not decode"),
    (INFORMER_SYNCED, Kind::Gauge, Unit::Count, "1 once the first list is in the cache"),
    (INFORMER_BACKLOG, Kind::Gauge, Unit::Count, "Objects in the backlogs of all handlers and streams"),
    (INFORMER_FAILURES, Kind::Counter, Unit::Count, "Informers that ended because of a panic"),
    (INFORMER_HANDLER_PANICS, Kind::Counter, Unit::Count, "Caught panics of event handlers"),
    (INFORMER_INDEX_PANICS, Kind::Counter, Unit::Count, "Caught panics of index functions"),
];

/// Registers the unit and the description of every metric with the installed recorder.
pub fn describe() {
    for (name, kind, unit, help) in ALL {
        match kind {
            Kind::Counter => describe_counter!(*name, *unit, *help),
            Kind::Gauge => describe_gauge!(*name, *unit, *help),
            Kind::Histogram => describe_histogram!(*name, *unit, *help),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_and_the_descriptions_name_the_same_metrics() {
        let kind = |kind: &Kind| match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let described: BTreeSet<_> =
            ALL.iter().map(|(name, of, ..)| format!("| `{name}` | {}", kind(of))).collect();
        let documented: BTreeSet<_> = include_str!("metrics.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! ").filter(|row| row.starts_with("| `")))
            .map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" | "))
            .collect();
        assert_eq!(described, documented);
        assert_eq!(described.len(), ALL.len(), "no metric is described twice");
    }

    #[test]
    fn names_follow_prometheus() {
        for (name, kind, unit, _) in ALL {
            assert!(name.starts_with("genclient_"), "{name}");
            assert_eq!(name.ends_with("_total"), matches!(kind, Kind::Counter), "{name}");
            assert_eq!(name.ends_with("_seconds"), matches!(unit, Unit::Seconds), "{name}");
        }
    }
}
