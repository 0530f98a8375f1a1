//! Pods, and the templates of pods.

use serde_json::{Value, json};

use super::{each, set_defaults};
use crate::{
    json::{at, set, set_default},
    metadata,
};

/// Sets the defaults of a pod's specification.
pub(super) fn spec(spec: &mut Value) {
    set_defaults(
        spec,
        &[
            ("restartPolicy", json!("Always")),
            ("terminationGracePeriodSeconds", json!(30)),
            ("dnsPolicy", json!("ClusterFirst")),
            ("securityContext", json!({})),
            ("schedulerName", json!("default-scheduler")),
        ],
    );
    // An account that is named in the old field is named in both.
    for (from, to) in [("serviceAccount", "serviceAccountName"), ("serviceAccountName", "serviceAccount")] {
        if let Some(name) = spec[from].as_str().filter(|name| !name.is_empty()).map(str::to_owned) {
            set_default(spec, to, name);
        }
    }
    let host_network = spec["hostNetwork"] == true;
    for containers in ["containers", "initContainers", "ephemeralContainers"] {
        each(spec, containers, |container| self::container(container, host_network));
    }
    each(spec, "volumes", volume);
}

fn container(container: &mut Value, host_network: bool) {
    let image = container["image"].as_str().unwrap_or_default();
    let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    set_defaults(
        container,
        &[
            ("terminationMessagePath", json!("/dev/termination-log")),
            ("terminationMessagePolicy", json!("File")),
            ("imagePullPolicy", json!(policy)),
        ],
    );
    each(container, "ports", |port| {
        set_default(port, "protocol", "TCP");
        if host_network {
            let number = port["containerPort"].clone();
            set_default(port, "hostPort", number);
        }
    });
    each(container, "env", |variable| {
        if variable["valueFrom"]["fieldRef"].is_object() {
            set_default(variable, "valueFrom.fieldRef.apiVersion", "v1");
        }
    });
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container[probe].is_object() {
            let probe = at(container, probe);
            set_defaults(
                probe,
                &[
                    ("timeoutSeconds", json!(1)),
                    ("periodSeconds", json!(10)),
                    ("successThreshold", json!(1)),
                    ("failureThreshold", json!(3)),
                ],
            );
            http_get(probe);
            if probe["grpc"].is_object() {
                set_default(probe, "grpc.service", "");
            }
        }
    }
    for hook in ["postStart", "preStop"] {
        if container["lifecycle"][hook].is_object() {
            http_get(at(container, &format!("lifecycle.{hook}")));
        }
    }
}

fn http_get(handler: &mut Value) {
    if handler["httpGet"].is_object() {
        set_default(handler, "httpGet.path", "/");
        set_default(handler, "httpGet.scheme", "HTTP");
    }
}

/// Returns whether an image has the tag `latest`, or no tag and no digest.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn volume(volume: &mut Value) {
    let sources = volume.as_object().map_or(0, |fields| fields.keys().filter(|key| *key != "name").count());
    if sources == 0 {
        set(volume, "emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if volume[source].is_object() {
            set_default(volume, &format!("{source}.defaultMode"), 420);
        }
    }
    if volume["hostPath"].is_object() {
        set_default(volume, "hostPath.type", "");
    }
    let field_ref = |item: &mut Value| {
        if item["fieldRef"].is_object() {
            set_default(item, "fieldRef.apiVersion", "v1");
        }
    };
    each(volume, "downwardAPI.items", field_ref);
    each(volume, "projected.sources", |source| {
        if source["serviceAccountToken"].is_object() {
            set_default(source, "serviceAccountToken.expirationSeconds", 3600);
        }
        each(source, "downwardAPI.items", field_ref);
    });
}

/// Completes a status: the list of addresses, and the times of conditions, which are written even if they are not
/// known.
pub(super) fn status(pod: &mut Value) {
    let address = pod["status"]["podIP"].clone();
    if address.is_string() {
        set_default(pod, "status.podIPs", json!([{ "ip": address }]));
    }
    each(pod, "status.conditions", |condition| {
        for time in ["lastProbeTime", "lastTransitionTime"] {
            crate::json::object(condition).entry(time).or_insert(Value::Null);
        }
    });
}

/// Sets the requests that the limits imply.
pub(super) fn requests(spec: &mut Value) {
    for containers in ["containers", "initContainers"] {
        each(spec, containers, |container| {
            for (resource, limit) in
                container["resources"]["limits"].as_object().cloned().into_iter().flatten()
            {
                let requests = at(container, "resources.requests");
                crate::json::object(requests).entry(resource).or_insert(limit);
            }
        });
    }
}

/// Sets what the server and its admission set in a new pod.
pub(super) fn prepare_create(pod: &mut Value) {
    let quality = quality(pod);
    set(pod, "status", json!({ "phase": "Pending", "qosClass": quality }));
    tolerate(pod);
    set_defaults(
        pod,
        &[("spec.priority", json!(0)), ("spec.preemptionPolicy", json!("PreemptLowerPriority"))],
    );
    metadata::drop_empty(pod);
}

/// Keeps what admission has set in a pod, so that it can be replaced by its manifest.
pub(super) fn prepare_update(old: &Value, new: &mut Value) {
    tolerate(new);
    for field in ["priority", "preemptionPolicy"] {
        if new["spec"][field].is_null() && !old["spec"][field].is_null() {
            at(new, "spec")[field] = old["spec"][field].clone();
        }
    }
}

/// Lets a pod stay for a while on a node that is not ready, unless it says otherwise.
fn tolerate(pod: &mut Value) {
    let toleration = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
    let tolerations = at(pod, "spec.tolerations");
    if !tolerations.is_array() {
        *tolerations = json!([]);
    }
    if let Some(tolerations) = tolerations.as_array_mut() {
        for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
            let tolerated = tolerations.iter().any(|found| {
                (found["key"] == key || found["key"].as_str().is_none_or(str::is_empty))
                    && matches!(found["effect"].as_str(), None | Some("" | "NoExecute"))
            });
            if !tolerated {
                tolerations.push(toleration(key));
            }
        }
    }
}

/// Returns the class of a pod by its requests and limits.
fn quality(pod: &Value) -> &'static str {
    let containers = ["containers", "initContainers"];
    let containers: Vec<&Value> =
        containers.iter().flat_map(|name| pod["spec"][name].as_array().into_iter().flatten()).collect();
    let none = |container: &&Value| {
        ["requests", "limits"].iter().all(|part| {
            container["resources"][part]
                .as_object()
                .is_none_or(|part| !part.contains_key("cpu") && !part.contains_key("memory"))
        })
    };
    if containers.iter().all(none) {
        return "BestEffort";
    }
    let guaranteed = containers.iter().all(|container| {
        let (requests, limits) = (&container["resources"]["requests"], &container["resources"]["limits"]);
        ["cpu", "memory"].iter().all(|part| !limits[part].is_null() && requests[part] == limits[part])
    });
    if guaranteed { "Guaranteed" } else { "Burstable" }
}
