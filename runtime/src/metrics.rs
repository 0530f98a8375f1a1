//! The names of everything that is measured, in one place.
//!
//! All of it goes through the [`metrics`] crate's facade. A program installs the recorder of its
//! choice *before* it runs informers and workers and builds event recorders, because these look up
//! their metrics then; without a recorder nothing is measured. [`describe`] gives the recorder the texts of this table.
//!
//! | name | kind | labels | meaning |
//! | --- | --- | --- | --- |
//! | `genclient_workqueue_depth` | gauge | `queue` | keys that wait for a worker, or for their own current run to end |
//! | `genclient_workqueue_adds_total` | counter | `queue` | keys that began to wait; one that waits already does not count |
//! | `genclient_workqueue_queue_duration_seconds` | histogram | `queue` | how long a key waited for a worker |
//! | `genclient_workqueue_work_duration_seconds` | histogram | `queue` | how long the work on a key took |
//! | `genclient_workqueue_unfinished_work_seconds` | gauge | `queue` | how long all keys in work have been worked on, together |
//! | `genclient_workqueue_longest_running_processor_seconds` | gauge | `queue` | how long the key that is longest in work has been worked on |
//! | `genclient_workqueue_retries_total` | counter | `queue` | failures of keys for which the rate limiter set a delay |
//! | `genclient_workqueue_panics_total` | counter | `queue` | panics of reconciliations and of the rate limiter that were caught |
//! | `genclient_events_sent_total` | counter | `controller` | events that the API server took |
//! | `genclient_events_dropped_total` | counter | `controller`, `reason` | events that were dropped: `queue_full`, `spam`, `expired` or `failed` |
//! | `genclient_reflector_lists_total` | counter | `resource`, `mode` | whole states told, `streamed` or `paged` |
//! | `genclient_reflector_list_duration_seconds` | histogram | `resource` | how long reading a whole state took |
//! | `genclient_reflector_listed_objects` | gauge | `resource` | objects in the last whole state |
//! | `genclient_reflector_watches_total` | counter | `resource` | watches begun |
//! | `genclient_reflector_events_total` | counter | `resource` | changes and bookmarks told |
//! | `genclient_reflector_invalid_objects_total` | counter | `resource` | objects that did not decode, each time they came |
//! | `genclient_reflector_last_event_timestamp_seconds` | gauge | `resource` | when the server last sent a list, a change or a bookmark, in Unix time; `time() -` this is the age of the cache |
//! | `genclient_reflector_errors_total` | counter | `resource`, `problem` | failed attempts to list or watch |
//! | `genclient_informer_deltas_total` | counter | `resource` | deltas that the cache took in |
//! | `genclient_informer_relists_total` | counter | `resource` | lists that the cache was compared with |
//! | `genclient_informer_events_total` | counter | `resource` | changes that listeners were to be told of, before coalescing; a resync that a delta asks for counts |
//! | `genclient_informer_stale_total` | counter | `resource` | states that were dropped because the cache held a newer one |
//! | `genclient_informer_objects` | gauge | `resource` | objects in the cache |
//! | `genclient_informer_invalid_objects` | gauge | `resource` | objects at the server that do not decode |
//! | `genclient_informer_synced` | gauge | `resource` | 1 once the first list is in the cache |
//! | `genclient_informer_handler_backlog` | gauge | `resource` | objects that handlers and streams have still to be told of, all together |
//! | `genclient_informer_failures_total` | counter | `resource` | informers that ended because of a panic while they applied changes |
//! | `genclient_informer_handler_panics_total` | counter | `resource` | panics of event handlers that were caught |
//! | `genclient_informer_index_panics_total` | counter | `resource` | panics of index functions that were caught |
//!
//! The two gauges of the work in progress are brought up to date every half second.

#[cfg(test)]
pub(crate) mod test_recorder;

use metrics::{Label, Unit, describe_counter, describe_gauge, describe_histogram};

/// Keys that wait for a worker, or for their own current run to end.
pub const WORKQUEUE_DEPTH: &str = "genclient_workqueue_depth";
/// Keys that began to wait.
pub const WORKQUEUE_ADDS: &str = "genclient_workqueue_adds_total";
/// How long a key waited for a worker.
pub const WORKQUEUE_QUEUE_DURATION: &str = "genclient_workqueue_queue_duration_seconds";
/// How long the work on a key took.
pub const WORKQUEUE_WORK_DURATION: &str = "genclient_workqueue_work_duration_seconds";
/// How long all keys in work have been worked on, together.
pub const WORKQUEUE_UNFINISHED: &str = "genclient_workqueue_unfinished_work_seconds";
/// How long the key that is longest in work has been worked on.
pub const WORKQUEUE_LONGEST_RUNNING: &str = "genclient_workqueue_longest_running_processor_seconds";
/// Failures of keys for which the rate limiter set a delay.
pub const WORKQUEUE_RETRIES: &str = "genclient_workqueue_retries_total";
/// Panics of reconciliations and of the rate limiter that were caught.
pub const WORKQUEUE_PANICS: &str = "genclient_workqueue_panics_total";
/// Events that the API server took.
pub const EVENTS_SENT: &str = "genclient_events_sent_total";
/// Events that were dropped.
pub const EVENTS_DROPPED: &str = "genclient_events_dropped_total";
/// Whole states told.
pub const REFLECTOR_LISTS: &str = "genclient_reflector_lists_total";
/// How long reading a whole state took.
pub const REFLECTOR_LIST_DURATION: &str = "genclient_reflector_list_duration_seconds";
/// Objects in the last whole state.
pub const REFLECTOR_LISTED_OBJECTS: &str = "genclient_reflector_listed_objects";
/// Watches begun.
pub const REFLECTOR_WATCHES: &str = "genclient_reflector_watches_total";
/// Changes and bookmarks told.
pub const REFLECTOR_EVENTS: &str = "genclient_reflector_events_total";
/// Objects that did not decode, each time they came.
pub const REFLECTOR_INVALID_OBJECTS: &str = "genclient_reflector_invalid_objects_total";
/// When the server last sent something, in Unix time.
pub const REFLECTOR_LAST_EVENT: &str = "genclient_reflector_last_event_timestamp_seconds";
/// Failed attempts to list or watch.
pub const REFLECTOR_ERRORS: &str = "genclient_reflector_errors_total";
/// Deltas that the cache took in.
pub const INFORMER_DELTAS: &str = "genclient_informer_deltas_total";
/// Lists that the cache was compared with.
pub const INFORMER_RELISTS: &str = "genclient_informer_relists_total";
/// Changes that listeners were to be told of, before coalescing.
pub const INFORMER_EVENTS: &str = "genclient_informer_events_total";
/// States that were dropped because the cache held a newer one.
pub const INFORMER_STALE: &str = "genclient_informer_stale_total";
/// Objects in the cache.
pub const INFORMER_OBJECTS: &str = "genclient_informer_objects";
/// Objects at the server that do not decode.
pub const INFORMER_INVALID: &str = "genclient_informer_invalid_objects";
/// 1 once the first list is in the cache.
pub const INFORMER_SYNCED: &str = "genclient_informer_synced";
/// Objects that handlers and streams have still to be told of.
pub const INFORMER_BACKLOG: &str = "genclient_informer_handler_backlog";
/// Informers that ended because of a panic.
pub const INFORMER_FAILURES: &str = "genclient_informer_failures_total";
/// Panics of event handlers that were caught.
pub const INFORMER_HANDLER_PANICS: &str = "genclient_informer_handler_panics_total";
/// Panics of index functions that were caught.
pub const INFORMER_INDEX_PANICS: &str = "genclient_informer_index_panics_total";

/// The labels of what concerns one resource.
///
/// An informer of metadata alone has a label of its own, and so has one of a named factory, so that two
/// informers of one resource do not share their series.
pub(crate) fn resource_labels(resource: &str, metadata_only: bool, name: Option<&str>) -> Vec<Label> {
    let mut labels = vec![Label::new("resource", resource.to_owned())];
    if metadata_only {
        labels.push(Label::from_static_parts("form", "metadata"));
    }
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
    (WORKQUEUE_ADDS, Kind::Counter, Unit::Count, "Keys that began to wait"),
    (WORKQUEUE_QUEUE_DURATION, Kind::Histogram, Unit::Seconds, "How long a key waited for a worker"),
    (WORKQUEUE_WORK_DURATION, Kind::Histogram, Unit::Seconds, "How long the work on a key took"),
    (WORKQUEUE_UNFINISHED, Kind::Gauge, Unit::Seconds, "How long all keys in work have been worked on"),
    (WORKQUEUE_LONGEST_RUNNING, Kind::Gauge, Unit::Seconds, "How long the longest key has been worked on"),
    (
        WORKQUEUE_RETRIES,
        Kind::Counter,
        Unit::Count,
        "Failures of keys for which the rate limiter set a delay",
    ),
    (
        WORKQUEUE_PANICS,
        Kind::Counter,
        Unit::Count,
        "Panics of reconciliations and of the rate limiter that were caught",
    ),
    (EVENTS_SENT, Kind::Counter, Unit::Count, "Events that the API server took"),
    (EVENTS_DROPPED, Kind::Counter, Unit::Count, "Events that were dropped"),
    (REFLECTOR_LISTS, Kind::Counter, Unit::Count, "Whole states told, streamed or paged"),
    (REFLECTOR_LIST_DURATION, Kind::Histogram, Unit::Seconds, "How long reading a whole state took"),
    (REFLECTOR_LISTED_OBJECTS, Kind::Gauge, Unit::Count, "Objects in the last whole state"),
    (REFLECTOR_WATCHES, Kind::Counter, Unit::Count, "Watches begun"),
    (REFLECTOR_EVENTS, Kind::Counter, Unit::Count, "Changes and bookmarks told"),
    (
        REFLECTOR_INVALID_OBJECTS,
        Kind::Counter,
        Unit::Count,
        "Objects that did not decode, each time they came",
    ),
    (REFLECTOR_LAST_EVENT, Kind::Gauge, Unit::Seconds, "When the server last sent something, in Unix time"),
    (REFLECTOR_ERRORS, Kind::Counter, Unit::Count, "Failed attempts to list or watch"),
    (INFORMER_DELTAS, Kind::Counter, Unit::Count, "Deltas that the cache took in"),
    (INFORMER_RELISTS, Kind::Counter, Unit::Count, "Lists that the cache was compared with"),
    (
        INFORMER_EVENTS,
        Kind::Counter,
        Unit::Count,
        "Changes that listeners were to be told of, before coalescing",
    ),
    (
        INFORMER_STALE,
        Kind::Counter,
        Unit::Count,
        "States that were dropped because the cache held a newer one",
    ),
    (INFORMER_OBJECTS, Kind::Gauge, Unit::Count, "Objects in the cache"),
    (INFORMER_INVALID, Kind::Gauge, Unit::Count, "Objects at the server that do not decode"),
    (INFORMER_SYNCED, Kind::Gauge, Unit::Count, "1 once the first list is in the cache"),
    (INFORMER_BACKLOG, Kind::Gauge, Unit::Count, "Objects that handlers have still to be told of"),
    (INFORMER_FAILURES, Kind::Counter, Unit::Count, "Informers that ended because of a panic"),
    (INFORMER_HANDLER_PANICS, Kind::Counter, Unit::Count, "Panics of event handlers that were caught"),
    (INFORMER_INDEX_PANICS, Kind::Counter, Unit::Count, "Panics of index functions that were caught"),
];

/// Gives the installed recorder the unit and the meaning of every metric.
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
