//! The rules of events.

use serde_json::Value;

use crate::{kinds::Kind, names, schema::quote, status::Cause};

/// The longest name of a reporting instance, of an action and of a reason.
const MAX_NAME: usize = 128;

/// The longest message.
const MAX_MESSAGE: usize = 1024;

/// The fields of an event that an update through `events.k8s.io` keeps.
const IMMUTABLE: [&str; 13] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
];

pub(super) fn validate(kind: &Kind, new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let strict = !kind.group.is_empty();
    let in_core = |value: &Value| {
        let mut value = value.clone();
        if strict {
            crate::kinds::events::to_core(&mut value);
        }
        value
    };
    let (new, old) = (in_core(new), old.map(in_core));
    common(&new, if strict { "reportingController" } else { "reportingComponent" }, causes);
    if strict {
        match old {
            None => created(&new, causes),
            Some(old) => updated(&new, &old, causes),
        }
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// The rules of all events, however they are written.
fn common(event: &Value, controller: &str, causes: &mut Vec<Cause>) {
    let (about, own) = (text(&event["involvedObject"], "namespace"), text(&event["metadata"], "namespace"));
    let mut misplaced = || {
        let why = "does not match event.namespace";
        causes.push(Cause::invalid_printed("involvedObject.namespace", quote(about), why));
    };
    if event["eventTime"].is_null() {
        if about != own && !(about.is_empty() && own == "default") {
            misplaced();
        }
        return;
    }
    if about.is_empty() && !matches!(own, "default" | "kube-system") {
        misplaced();
    }
    let name = text(event, "reportingComponent");
    if name.is_empty() {
        causes.push(Cause::required(controller, ""));
    }
    let problems = names::qualified_name(name);
    causes.extend(problems.iter().map(|why| Cause::invalid_printed(controller, quote(name), why)));
    for field in ["reportingInstance", "action", "reason"] {
        if text(event, field).is_empty() {
            causes.push(Cause::required(field, ""));
        }
        at_most(event, field, MAX_NAME, causes);
    }
    at_most(event, "message", MAX_MESSAGE, causes);
}

fn at_most(event: &Value, field: &str, length: usize, causes: &mut Vec<Cause>) {
    if text(event, field).len() > length {
        let why = format!("can have at most {length} characters");
        causes.push(Cause::invalid_printed(field, "\"\"", why));
    }
}

fn series(event: &Value, causes: &mut Vec<Cause>) {
    let series = &event["series"];
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        causes.push(Cause::invalid_printed("series.count", "\"\"", "should be at least 2"));
    }
    if series["lastObservedTime"].is_null() {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
}

fn created(event: &Value, causes: &mut Vec<Cause>) {
    series(event, causes);
    if event["eventTime"].is_null() {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        causes.push(Cause::invalid_printed("type", "\"\"", format!("has invalid value: {kind}")));
    }
    let source = &event["source"];
    let sourced = !text(source, "component").is_empty() || !text(source, "host").is_empty();
    for (field, set) in [
        ("firstTimestamp", !event["firstTimestamp"].is_null()),
        ("lastTimestamp", !event["lastTimestamp"].is_null()),
        ("count", event["count"].as_i64().unwrap_or(0) != 0),
        ("source", sourced),
    ] {
        if set {
            causes.push(Cause::invalid_printed(field, "\"\"", "needs to be unset"));
        }
    }
}

fn updated(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if new["series"] != old["series"] {
        series(new, causes);
    }
    for field in IMMUTABLE.into_iter().filter(|field| new[field] != old[field]) {
        let shown = if field == "reportingComponent" { "reportingController" } else { field };
        causes.push(Cause::invalid_printed(shown, &new[field], "field is immutable"));
    }
}
