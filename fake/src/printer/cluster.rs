//! The columns of what belongs to the whole cluster: nodes and priority classes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::builtin::{Cells, Column, column, created, integer, list, name, number, text, wide};

/// The beginning of the labels that name the roles of a node.
const ROLE: &str = "node-role.kubernetes.io/";

const NODES: &[Column] = &[
    column("Name"),
    column("Status"),
    column("Roles"),
    column("Age"),
    column("Version"),
    wide("Internal-IP"),
    wide("External-IP"),
    wide("OS-Image"),
    wide("Kernel-Version"),
    wide("Container-Runtime"),
];
const PRIORITY_CLASSES: &[Column] = &[
    column("Name"),
    integer("Value"),
    Column { name: "Global-Default", kind: "boolean", priority: 0 },
    column("Age"),
    column("PreemptionPolicy"),
];

pub(super) fn table(group: &str, kind: &str) -> Option<(&'static [Column], Cells)> {
    Some(match (group, kind) {
        ("", "Node") => (NODES, node),
        ("scheduling.k8s.io", "PriorityClass") => (PRIORITY_CLASSES, priority_class),
        _ => return None,
    })
}

fn node(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let ready = list(&status["conditions"]).iter().rfind(|condition| condition["type"] == "Ready");
    let mut shown = match ready.map(|condition| text(&condition["status"])) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if spec["unschedulable"] == true {
        shown += ",SchedulingDisabled";
    }
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let roles = labels.filter_map(|(key, value)| match key.strip_prefix(ROLE) {
        Some(role) => Some(role),
        None => (key == "kubernetes.io/role").then(|| text(value)),
    });
    let roles: BTreeSet<_> = roles.filter(|role| !role.is_empty()).collect();
    let roles: Vec<_> = roles.into_iter().collect();
    let address = |kind: &str| {
        let found = list(&status["addresses"]).iter().find(|address| address["type"] == kind);
        found.map_or_else(|| "<none>".into(), |address| address["address"].clone())
    };
    let info = |field: &str| match text(&status["nodeInfo"][field]) {
        "" => "<unknown>".to_owned(),
        text => text.to_owned(),
    };
    let kernel = match text(&status["nodeInfo"]["architecture"]) {
        "" => info("kernelVersion"),
        architecture => format!("{} ({architecture})", info("kernelVersion")),
    };
    vec![
        name(object),
        shown.into(),
        if roles.is_empty() { "<none>".into() } else { roles.join(",").into() },
        created(object, now),
        text(&status["nodeInfo"]["kubeletVersion"]).into(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage").into(),
        kernel.into(),
        info("containerRuntimeVersion").into(),
    ]
}

fn priority_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        number(&object["value"]).into(),
        object["globalDefault"].as_bool().unwrap_or_default().into(),
        created(object, now),
        text(&object["preemptionPolicy"]).into(),
    ]
}
