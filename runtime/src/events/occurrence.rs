//! Recorded occurrences, and their events on the API server.

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use kube::runtime::events::Reporter;
use tokio::time::Instant;

use crate::{clip::clip, selector::is_dns_subdomain};

/// The limits of the API server, in bytes.
const MAX_REASON: usize = 128;
const MAX_INSTANCE: usize = 128;
const MAX_NOTE: usize = 1024;

/// Whether an event needs the attention of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EventType {
    Normal,
    Warning,
}

/// Something that happened to an object.
#[derive(Debug)]
pub(super) struct Occurrence {
    pub type_: EventType,
    pub object: ObjectReference,
    pub reason: String,
    pub note: String,
    /// The time of the recording, on the user's clock and on tokio's.
    pub time: Timestamp,
    pub recorded: Instant,
}

/// The identity of an object, without its resource version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectId {
    api_version: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
}

impl From<&ObjectReference> for ObjectId {
    fn from(object: &ObjectReference) -> Self {
        let ObjectReference { api_version, kind, namespace, name, uid, .. } = object.clone();
        Self { api_version, kind, namespace, name, uid }
    }
}

impl Occurrence {
    pub fn new(
        type_: EventType,
        object: ObjectReference,
        reason: &str,
        note: String,
        time: Timestamp,
    ) -> Self {
        let reason = clip(reason.to_owned(), MAX_REASON);
        Self { type_, object, reason, note: clip(note, MAX_NOTE), time, recorded: Instant::now() }
    }

    /// Returns the namespace of the event. The server requires `default` for a cluster-scoped object.
    pub fn namespace(&self) -> &str {
        self.object.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or("default")
    }

    /// Returns a name for the event, as client-go forms it.
    ///
    /// The names of some objects, such as the roles of RBAC, cannot be part of it.
    pub fn name(&self) -> String {
        let object = self.object.name.as_deref().unwrap_or_default();
        let name = format!("{object}.{:x}", self.time.as_nanosecond());
        if is_dns_subdomain(&name) { name } else { random_name() }
    }

    /// Returns the event that the API server creates for this occurrence.
    pub fn event(&self, name: &str, reporter: &Reporter) -> Event {
        let instance = reporter.instance.as_deref().filter(|instance| !instance.is_empty());
        let instance = instance.unwrap_or(&reporter.controller).to_owned();
        Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(self.namespace().to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some(format!("{:?}", self.type_)),
            regarding: Some(self.object.clone()),
            // The server requires an action. The reason describes it as well.
            action: Some(self.reason.clone()),
            reason: Some(self.reason.clone()),
            note: Some(self.note.clone()),
            event_time: Some(MicroTime(self.time)),
            reporting_controller: Some(reporter.controller.clone()),
            reporting_instance: Some(clip(instance, MAX_INSTANCE)),
            ..Event::default()
        }
    }
}

/// Returns a name that no other event has.
pub(super) fn random_name() -> String {
    format!("event.{:032x}", rand::random::<u128>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(name: &str) -> Occurrence {
        let object = ObjectReference { name: Some(name.into()), ..Default::default() };
        let time = "2026-01-02T03:04:05.678901Z".parse().unwrap();
        Occurrence::new(EventType::Normal, object, "Synced", "ok".into(), time)
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(clip("short".into(), 128), "short");
        let cut = clip("ä".repeat(1000), MAX_NOTE);
        assert!(cut.len() <= MAX_NOTE && cut.ends_with('…'));
        assert_eq!(clip("a".repeat(1024), MAX_NOTE).len(), 1024);
    }

    #[test]
    fn every_object_gets_a_valid_event_name() {
        assert_eq!(occurrence("network-1").name(), "network-1.1886caf2450d6708");
        for odd in ["system:node", "UPPER", "a_b", "", "-a", &"a".repeat(250)] {
            let name = occurrence(odd).name();
            assert!(name.starts_with("event.") && is_dns_subdomain(&name), "{odd}: {name}");
        }
    }

    #[test]
    fn an_event_without_an_instance_names_the_controller_twice() {
        for instance in [None, Some(String::new())] {
            let event = occurrence("a").event("a", &Reporter { controller: "tester".into(), instance });
            assert_eq!(event.reporting_instance.as_deref(), Some("tester"));
        }
    }
}
