//! Events, which two groups show: in `events.k8s.io`, some of their fields have other names than in the core group.

use serde_json::{Map, Value};

/// The names of fields in the core group, in which events are stored, and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The texts that an event of the core group has even if they are empty.
const ALWAYS: [&str; 2] = ["reportingComponent", "reportingInstance"];

fn rename(event: &mut Value, names: impl Iterator<Item = (&'static str, &'static str)>) {
    let Some(fields) = event.as_object_mut() else { return };
    for (old, new) in names {
        if let Some(value) = fields.remove(old) {
            fields.insert(new.to_owned(), value);
        }
    }
}

/// Turns an event of `events.k8s.io` into one of the core group.
pub(crate) fn to_core(event: &mut Value) {
    rename(event, NAMES.into_iter().map(|(core, own)| (own, core)));
    if let Some(fields) = event.as_object_mut() {
        for name in ALWAYS {
            fields.entry(name).or_insert_with(|| "".into());
        }
        for name in ["source", "involvedObject"] {
            fields.entry(name).or_insert_with(|| Map::new().into());
        }
    }
}

/// Turns an event of the core group into one of `events.k8s.io`.
pub(crate) fn from_core(event: &mut Value) {
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|name, value| !ALWAYS.contains(&name.as_str()) || *value != "");
    }
    rename(event, NAMES.into_iter());
}

/// Returns the path of a field in the core group.
pub(super) fn core_path(path: &str) -> String {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let core = NAMES.iter().find(|(_, own)| *own == first).map_or(first, |(core, _)| core);
    rest.map_or_else(|| core.to_owned(), |rest| format!("{core}.{rest}"))
}
