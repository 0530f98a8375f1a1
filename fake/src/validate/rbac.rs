//! The rules of roles and bindings.

use serde_json::Value;

use crate::{kinds::Kind, names, schema::quote, status::Cause};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn validate(kind: &Kind, new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    match kind.kind.as_str() {
        "Role" | "ClusterRole" => {
            for (index, rule) in items(&new["rules"]).enumerate() {
                policy_rule(rule, kind.namespaced, &format!("rules[{index}]"), causes);
            }
        }
        _ => {
            role_ref(&new["roleRef"], kind.namespaced, causes);
            for (index, found) in items(&new["subjects"]).enumerate() {
                subject(found, kind.namespaced, &format!("subjects[{index}]"), causes);
            }
            if old.is_some_and(|old| old["roleRef"] != new["roleRef"]) {
                let role = &new["roleRef"];
                let shown = format!(
                    "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
                    role["apiGroup"], role["kind"], role["name"]
                );
                causes.push(Cause::invalid_printed("roleRef", shown, "cannot change roleRef"));
            }
        }
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn policy_rule(rule: &Value, namespaced: bool, path: &str, causes: &mut Vec<Cause>) {
    let has = |field: &str| items(&rule[field]).next().is_some();
    if !has("verbs") {
        causes.push(Cause::required(format!("{path}.verbs"), "verbs must contain at least one value"));
    }
    if has("nonResourceURLs") {
        let mut refuse = |why: &str| {
            let at = format!("{path}.nonResourceURLs");
            causes.push(Cause::invalid_printed(at, &rule["nonResourceURLs"], why));
        };
        if namespaced {
            refuse("namespaced rules cannot apply to non-resource URLs");
        }
        if has("apiGroups") || has("resources") || has("resourceNames") {
            refuse("rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    for (field, why) in [
        ("apiGroups", "resource rules must supply at least one api group"),
        ("resources", "resource rules must supply at least one resource"),
    ] {
        if !has(field) {
            causes.push(Cause::required(format!("{path}.{field}"), why));
        }
    }
}

fn role_ref(role: &Value, namespaced: bool, causes: &mut Vec<Cause>) {
    if text(role, "apiGroup") != GROUP {
        causes.push(Cause::not_supported("roleRef.apiGroup", text(role, "apiGroup"), [GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text(role, "kind")) {
        causes.push(Cause::not_supported("roleRef.kind", text(role, "kind"), kinds));
    }
    if text(role, "name").is_empty() {
        causes.push(Cause::required("roleRef.name", ""));
    }
}

fn subject(subject: &Value, namespaced: bool, path: &str, causes: &mut Vec<Cause>) {
    let at = |field: &str| format!("{path}.{field}");
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        causes.push(Cause::required(at("name"), ""));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let why = names::subdomain(name);
                causes.extend(why.iter().map(|why| Cause::invalid_printed(at("name"), quote(name), why)));
            }
            if !group.is_empty() {
                causes.push(Cause::not_supported(at("apiGroup"), group, [""]));
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                causes.push(Cause::required(at("namespace"), ""));
            }
        }
        "User" | "Group" if group == GROUP => {}
        "User" | "Group" => causes.push(Cause::not_supported(at("apiGroup"), group, [GROUP])),
        other => causes.push(Cause::not_supported(at("kind"), other, ["ServiceAccount", "User", "Group"])),
    }
}
