//! The rules of services.

use serde_json::Value;

use crate::status::Cause;

pub(super) fn validate(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    families(new, causes);
    if !causes.is_empty() {
        return;
    }
    if let Some(old) = old {
        addresses(new, old, causes);
    }
    let spec = &new["spec"];
    let kind = spec["type"].as_str().unwrap_or_default();
    let ports: Vec<&Value> = spec["ports"].as_array().into_iter().flatten().collect();
    if ports.is_empty() && kind != "ExternalName" && spec["clusterIP"] != "None" {
        causes.push(Cause::required("spec.ports", ""));
    }
    if kind == "ExternalName" && spec["externalName"].as_str().is_none_or(str::is_empty) {
        causes.push(Cause::required("spec.externalName", ""));
    }
    for (index, port) in ports.iter().enumerate() {
        let at = |field: &str| format!("spec.ports[{index}].{field}");
        if ports.len() > 1 && port["name"].as_str().is_none_or(str::is_empty) {
            causes.push(Cause::required(at("name"), ""));
        }
        for field in ["port", "targetPort"] {
            if let Some(number) = port[field].as_i64().filter(|number| !(1..=65535).contains(number)) {
                causes.push(Cause::invalid_printed(
                    at(field),
                    number,
                    "must be between 1 and 65535, inclusive",
                ));
            }
        }
    }
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if !types.contains(&kind) {
        causes.push(Cause::not_supported("spec.type", kind, types));
    }
}

/// The cluster has addresses of one family. A service without addresses and without pods may name others.
fn families(new: &Value, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    if spec["type"] == "ExternalName" || spec["clusterIP"] == "None" && spec["selector"].is_null() {
        return;
    }
    for (index, family) in spec["ipFamilies"].as_array().into_iter().flatten().enumerate() {
        if family != "IPv4" {
            let at = format!("spec.ipFamilies[{index}]");
            causes.push(Cause::invalid_printed(at, family, "not configured on this cluster"));
        }
    }
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        causes.push(Cause::invalid_printed("spec.ipFamilyPolicy", &spec["ipFamilyPolicy"], why));
    }
}

/// The addresses of a service stay, unless it is, or was, the name of another one.
fn addresses(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let is_name = |service: &Value| service["spec"]["type"] == "ExternalName";
    let is_headless = |service: &Value| service["spec"]["clusterIP"] == "None";
    if is_name(new) || is_name(old) || is_headless(new) && is_headless(old) {
        return;
    }
    for (field, always) in [("clusterIPs", true), ("ipFamilies", is_headless(new) == is_headless(old))] {
        let (before, after) = (&old["spec"][field], &new["spec"][field]);
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let common = list(before).into_iter().zip(list(after));
        for (index, _) in common.enumerate().filter(|(_, (before, after))| always && before != after) {
            let at = format!("spec.{field}[{index}]");
            causes.push(Cause::invalid_printed(at, after, "may not change once set"));
        }
    }
}
