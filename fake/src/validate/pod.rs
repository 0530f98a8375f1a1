//! The rules of pods and of the templates of pods.

use serde_json::Value;

use crate::{
    names,
    schema::{Quantity, quote},
    status::Cause,
};

/// The fields of a specification that an update may change.
const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                         `spec.tolerations` (only additions to existing tolerations),\
                         `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(super) fn validate(pod: &Value, causes: &mut Vec<Cause>) {
    containers(&pod["spec"], "spec", causes);
    let policies = ["Always", "OnFailure", "Never"];
    let policy = pod["spec"]["restartPolicy"].as_str().unwrap_or_default();
    if !policies.contains(&policy) {
        causes.push(Cause::not_supported("spec.restartPolicy", policy, policies));
    }
}

fn items<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn containers(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let containers = items(spec, "containers");
    if containers.is_empty() {
        causes.push(Cause::required(format!("{path}.containers"), ""));
    }
    for (index, container) in containers.iter().enumerate() {
        let at = format!("{path}.containers[{index}].name");
        let name = container["name"].as_str().unwrap_or_default();
        if !name.is_empty() {
            causes.extend(names::label(name).iter().map(|why| Cause::invalid_printed(&at, quote(name), why)));
        }
        if containers[..index].iter().any(|other| other["name"] == container["name"]) && !name.is_empty() {
            let message = format!("Duplicate value: {name:?}");
            causes.push(Cause { reason: "FieldValueDuplicate", message, field: at });
        }
        for field in ["name", "image"] {
            if container[field].as_str().is_none_or(str::is_empty) {
                causes.push(Cause::required(format!("{path}.containers[{index}].{field}"), ""));
            }
        }
        resources(&container["resources"], &format!("{path}.containers[{index}].resources"), causes);
    }
}

/// Nothing asks for more than its limit.
fn resources(resources: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (name, request) in resources["requests"].as_object().into_iter().flatten() {
        let (Some(asked), Some(limit)) = (request.as_str(), resources["limits"][name].as_str()) else {
            continue;
        };
        let (Ok(quantity), Ok(most)) = (Quantity::parse(asked), Quantity::parse(limit)) else { continue };
        // What is not of Kubernetes' own cannot be shared.
        let shared = !name.contains('/') && !name.starts_with("hugepages-");
        let why = match quantity.cmp(&most) {
            std::cmp::Ordering::Equal => continue,
            _ if !shared => format!("must be equal to {name} limit of {limit}"),
            std::cmp::Ordering::Greater => format!("must be less than or equal to {name} limit of {limit}"),
            std::cmp::Ordering::Less => continue,
        };
        causes.push(Cause::invalid_printed(format!("{path}.requests"), request, why));
    }
}

/// Returns what an update of a pod may not change.
pub(crate) fn update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (spec, before) = (&new["spec"], &old["spec"]);
    for field in ["containers", "initContainers"] {
        if items(spec, field).len() != items(before, field).len() {
            let why = "pod updates may not add or remove containers";
            return vec![Cause::forbidden(format!("spec.{field}"), why)];
        }
    }
    let (deadline, earlier) = (&spec["activeDeadlineSeconds"], &before["activeDeadlineSeconds"]);
    let longer = deadline.as_i64().zip(earlier.as_i64()).is_some_and(|(new, old)| old < new);
    if longer {
        let why = "must be less than or equal to previous value";
        return vec![Cause::invalid_printed("spec.activeDeadlineSeconds", deadline, why)];
    }
    if deadline.is_null() && !earlier.is_null() {
        let why = "must not update from a positive integer to nil value";
        causes.push(Cause::invalid_printed("spec.activeDeadlineSeconds", "null", why));
    }
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        crate::json::object(&mut toleration).remove("tolerationSeconds");
        toleration
    };
    let tolerations: Vec<_> = items(spec, "tolerations").iter().map(without_seconds).collect();
    if items(before, "tolerations").iter().any(|old| !tolerations.contains(&without_seconds(old))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
    let old_gates = items(before, "schedulingGates");
    for (index, gate) in items(spec, "schedulingGates").iter().enumerate() {
        if !old_gates.iter().any(|old| old["name"] == gate["name"]) {
            let name = gate["name"].as_str().unwrap_or_default();
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            causes.push(Cause::forbidden(format!("spec.schedulingGates[{index}].name"), &why));
        }
    }
    if fixed(spec, before) != fixed(before, before) {
        causes.push(Cause::forbidden(
            "spec",
            &format!("pod updates may not change fields other than {UPDATABLE}"),
        ));
    }
    causes
}

/// Returns the part of a specification that an update may not change.
fn fixed(spec: &Value, before: &Value) -> Value {
    let mut spec = spec.clone();
    for field in ["containers", "initContainers"] {
        for container in spec[field].as_array_mut().into_iter().flatten() {
            crate::json::object(container).remove("image");
        }
    }
    let fields = crate::json::object(&mut spec);
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        fields.remove(field);
    }
    if before["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        fields.remove("terminationGracePeriodSeconds");
    }
    // A pod that waits at a gate has no node yet, and what it wants of one may still become narrower.
    if !items(before, "schedulingGates").is_empty() {
        fields.remove("nodeSelector");
        fields.remove("affinity");
    }
    spec
}
