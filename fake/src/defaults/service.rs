//! Services: their defaults, addresses and ports.

use serde_json::{Value, json};

use super::{each, set_defaults};
use crate::{
    json::{set, set_default},
    storage::State,
};

pub(super) fn defaults(value: &mut Value) {
    set_default(value, "spec.sessionAffinity", "None");
    set_default(value, "spec.type", "ClusterIP");
    if value["spec"]["sessionAffinity"] == "ClientIP" {
        set_default(value, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", 10800);
    }
    each(value, "spec.ports", |port| {
        set_default(port, "protocol", "TCP");
        let number = port["port"].clone();
        if port["targetPort"].is_null() || port["targetPort"] == 0 || port["targetPort"] == "" {
            set(port, "targetPort", number);
        }
    });
    let kind = value["spec"]["type"].as_str().unwrap_or_default().to_owned();
    if kind != "ExternalName" {
        set_default(value, "spec.internalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        set_default(value, "spec.externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_default(value, "spec.allocateLoadBalancerNodePorts", true);
    }
}

/// Gives a service its addresses and ports, or those that it had.
pub(super) fn allocate(state: &mut State, value: &mut Value, old: Option<&Value>) {
    let kind = value["spec"]["type"].as_str().unwrap_or_default().to_owned();
    if kind == "ExternalName" {
        return;
    }
    if let Some(old) = old {
        let (before, after) = (&old["spec"]["clusterIP"], value["spec"]["clusterIP"].clone());
        if *before != after && old["spec"]["clusterIPs"] == value["spec"]["clusterIPs"] {
            // The writer knows one of the two fields only.
            let addresses = if after.is_null() { Value::Null } else { json!([after]) };
            set(value, "spec.clusterIPs", addresses);
        }
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if value["spec"][field].is_null() && !old["spec"][field].is_null() {
                set(value, &format!("spec.{field}"), old["spec"][field].clone());
            }
        }
    }
    let given = value["spec"]["clusterIP"].as_str().unwrap_or_default().to_owned();
    let address = if given.is_empty() { state.next_address() } else { given };
    let headless = address == "None";
    let without_selector = value["spec"]["selector"].is_null();
    set(value, "spec.clusterIP", address.as_str());
    set_defaults(value, &[("spec.clusterIPs", json!([address]))]);
    let (families, policy) = if headless && without_selector {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!(["IPv4"]), "SingleStack")
    };
    set_default(value, "spec.ipFamilies", families);
    set_default(value, "spec.ipFamilyPolicy", policy);
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        let before = old.and_then(|old| old["spec"]["ports"].as_array()).cloned().unwrap_or_default();
        each(value, "spec.ports", |port| {
            if port["nodePort"].is_null() || port["nodePort"] == 0 {
                let kept = before
                    .iter()
                    .find(|old| old["port"] == port["port"] && old["protocol"] == port["protocol"]);
                let number = kept.and_then(|kept| kept["nodePort"].as_i64());
                set(port, "nodePort", number.unwrap_or_else(|| state.next_node_port()));
            }
        });
    }
}
