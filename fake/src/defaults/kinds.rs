//! Kinds with a few defaults.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{each, set_defaults};
use crate::{
    json::{at, object, set_default},
    kinds::Kind,
};

pub(super) fn apply(kind: &Kind, value: &mut Value) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret") => secret(value),
        ("", "Namespace") => {
            let name = crate::metadata::text(value, "name").to_owned();
            if !name.is_empty() {
                crate::namespaces::label(value, &name);
            }
        }
        ("", "PersistentVolumeClaim") => {
            set_default(value, "spec.volumeMode", "Filesystem");
            set_default(value, "status.phase", "Pending");
        }
        ("", "PersistentVolume") => {
            set_default(value, "spec.persistentVolumeReclaimPolicy", "Retain");
            set_default(value, "spec.volumeMode", "Filesystem");
            if value["spec"]["hostPath"].is_object() {
                set_default(value, "spec.hostPath.type", "");
            }
        }
        ("", "Endpoints") => {
            each(value, "subsets", |subset| {
                each(subset, "ports", |port| set_default(port, "protocol", "TCP"))
            });
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(value),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(value),
        ("networking.k8s.io", "IngressClass") if value["spec"]["parameters"].is_object() => {
            set_default(value, "spec.parameters.scope", "Cluster");
        }
        ("autoscaling", "HorizontalPodAutoscaler") => {
            set_default(value, "spec.minReplicas", 1);
            if kind.version == "v2" {
                let target = json!({ "type": "Utilization", "averageUtilization": 80 });
                let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
                set_default(value, "spec.metrics", json!([metric]));
            }
        }
        ("storage.k8s.io", "StorageClass") => {
            set_default(value, "reclaimPolicy", "Delete");
            set_default(value, "volumeBindingMode", "Immediate");
        }
        ("storage.k8s.io", "CSIDriver") => set_defaults(
            value,
            &[
                ("spec.attachRequired", json!(true)),
                ("spec.podInfoOnMount", json!(false)),
                ("spec.storageCapacity", json!(false)),
                ("spec.fsGroupPolicy", json!("ReadWriteOnceWithFSType")),
                ("spec.volumeLifecycleModes", json!(["Persistent"])),
                ("spec.requiresRepublish", json!(false)),
                ("spec.seLinuxMount", json!(false)),
            ],
        ),
        ("scheduling.k8s.io", "PriorityClass") => {
            set_default(value, "preemptionPolicy", "PreemptLowerPriority")
        }
        ("discovery.k8s.io", "EndpointSlice") => each(value, "ports", |port| {
            set_default(port, "name", "");
            set_default(port, "protocol", "TCP");
        }),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
            each(value, "webhooks", |webhook| self::webhook(webhook, false));
        }
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
            each(value, "webhooks", |webhook| self::webhook(webhook, true));
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crate::kinds::crd::apply_defaults(value),
        _ => {}
    }
}

/// Moves the texts of a secret to its data.
fn secret(value: &mut Value) {
    set_default(value, "type", "Opaque");
    let texts = object(value).remove("stringData");
    for (key, text) in texts.as_ref().and_then(Value::as_object).into_iter().flatten() {
        let data = object(at(value, "data"));
        data.insert(key.clone(), BASE64_STANDARD.encode(text.as_str().unwrap_or_default()).into());
    }
}

fn binding(value: &mut Value) {
    set_default(value, "roleRef.apiGroup", "rbac.authorization.k8s.io");
    if value["roleRef"]["apiGroup"] == "" {
        crate::json::set(value, "roleRef.apiGroup", "rbac.authorization.k8s.io");
    }
    each(value, "subjects", |subject| {
        if matches!(subject["kind"].as_str(), Some("User" | "Group")) {
            set_default(subject, "apiGroup", "rbac.authorization.k8s.io");
        }
    });
}

fn network_policy(value: &mut Value) {
    for rules in ["spec.ingress", "spec.egress"] {
        each(value, rules, |rule| each(rule, "ports", |port| set_default(port, "protocol", "TCP")));
    }
    let mut types = vec!["Ingress"];
    types.extend(value["spec"]["egress"].is_array().then_some("Egress"));
    set_default(value, "spec.policyTypes", json!(types));
}

fn webhook(webhook: &mut Value, mutating: bool) {
    set_defaults(
        webhook,
        &[
            ("failurePolicy", json!("Fail")),
            ("matchPolicy", json!("Equivalent")),
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
            ("timeoutSeconds", json!(10)),
        ],
    );
    if mutating {
        set_default(webhook, "reinvocationPolicy", "Never");
    }
    each(webhook, "rules", |rule| set_default(rule, "scope", "*"));
    if webhook["clientConfig"]["service"].is_object() {
        set_default(webhook, "clientConfig.service.port", 443);
    }
}
