//! The fields that field selectors can name.

use serde_json::Value;

use super::Kind;

/// Returns the fields of Kubernetes' own kinds, beside the name and the namespace.
pub(super) fn of_builtin(group: &str, kind: &str) -> Vec<String> {
    let fields: &[&str] = match (group, kind) {
        ("", "Pod") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("events.k8s.io", "Event") => &[
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
        ],
        ("", "Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("", "Secret") => &["type"],
        ("", "Namespace") => &["status.phase"],
        ("", "Node") => &["spec.unschedulable"],
        ("", "ReplicationController") | ("apps", "ReplicaSet") => &["status.replicas"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("batch", "Job") => &["status.successful"],
        ("certificates.k8s.io", "CertificateSigningRequest") => &["spec.signerName"],
        ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver"],
        _ => &[],
    };
    fields.iter().map(|&field| field.to_owned()).collect()
}

/// Returns the value of a field as a selector compares it.
pub(super) fn value_of(kind: &Kind, object: &Value, path: &str) -> String {
    if kind.is_custom() {
        return text_at(object, path);
    }
    match (kind.kind.as_str(), path) {
        ("Pod", "spec.hostNetwork") | ("Node", "spec.unschedulable") => {
            let text = text_at(object, path);
            if text.is_empty() { "false".to_owned() } else { text }
        }
        ("ReplicationController" | "ReplicaSet", "status.replicas") => {
            let text = text_at(object, path);
            if text.is_empty() { "0".to_owned() } else { text }
        }
        ("Job", "status.successful") => {
            let text = text_at(object, "status.succeeded");
            if text.is_empty() { "0".to_owned() } else { text }
        }
        ("Event", "source") => {
            let text = text_at(object, "source.component");
            if text.is_empty() { text_at(object, "reportingComponent") } else { text }
        }
        ("Event", path) => text_at(object, &super::events::core_path(path)),
        _ => text_at(object, path),
    }
}

/// Returns the scalar at a path such as `.spec.nodeName`, or an empty text.
pub(crate) fn text_at(object: &Value, path: &str) -> String {
    let found =
        path.split('.').filter(|part| !part.is_empty()).try_fold(object, |value, part| value.get(part));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(flag)) => flag.to_string(),
        _ => String::new(),
    }
}
