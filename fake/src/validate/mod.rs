//! The rules of Kubernetes' own kinds that users meet most.

mod event;
mod pod;
mod rbac;
mod service;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

pub(crate) use pod::update as pod_update;

use crate::{kinds::Kind, schema::quote, status::Cause};

/// The largest sum of the values of a config map or a secret, in bytes.
const MAX_DATA: usize = 1024 * 1024;

/// Returns what breaks the rules of a kind, beside its metadata.
pub(crate) fn validate(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ConfigMap") => config_map(new, old, &mut causes),
        ("", "Secret") => secret(new, old, &mut causes),
        ("", "Service") => service::validate(new, old, &mut causes),
        ("", "Pod") => pod::validate(new, &mut causes),
        ("coordination.k8s.io", "Lease") => {
            for field in ["leaseDurationSeconds", "leaseTransitions"] {
                let (least, why) = if field == "leaseTransitions" {
                    (0, "must be greater than or equal to 0")
                } else {
                    (1, "must be greater than 0")
                };
                if let Some(seconds) = new["spec"][field].as_i64().filter(|seconds| *seconds < least) {
                    causes.push(Cause::invalid_printed(format!("spec.{field}"), seconds, why));
                }
            }
        }
        ("" | "events.k8s.io", "Event") => event::validate(kind, new, old, &mut causes),
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") => {
            workload(new, old, &mut causes)
        }
        ("batch", "Job") => {
            pod::containers(&new["spec"]["template"]["spec"], "spec.template.spec", &mut causes);
        }
        ("", "Namespace") => namespace(new, &mut causes),
        ("rbac.authorization.k8s.io", _) => rbac::validate(kind, new, old, &mut causes),
        _ => {}
    }
    causes
}

/// Says which bytes of an object are no base64, or which time has another format.
pub(crate) fn bad_bytes(kind: &Kind, value: &Value) -> Option<String> {
    if kind.is("coordination.k8s.io", "Lease") {
        return ["renewTime", "acquireTime"]
            .iter()
            .find_map(|field| bad_micro_time(value["spec"][field].as_str()?));
    }
    let field = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ConfigMap") => "binaryData",
        ("", "Secret") => "data",
        _ => return None,
    };
    let texts = value[field].as_object()?.values().filter_map(Value::as_str);
    let (text, error) = texts.filter_map(|text| Some((text, BASE64_STANDARD.decode(text).err()?))).next()?;
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) => at,
        _ => text.len() / 4 * 4,
    };
    Some(format!("illegal base64 data at input byte {at}"))
}

/// Says why a text is no time to the microsecond, as Go does.
fn bad_micro_time(text: &str) -> Option<String> {
    let layout = "2006-01-02T15:04:05.000000Z07:00";
    let wrong = |rest: &str, part: &str| {
        Some(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"))
    };
    if text.parse::<jiff::Timestamp>().is_err() {
        return wrong(text, "2006");
    }
    let rest = text.get(19..).unwrap_or_default();
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    if digits == 6 { None } else { wrong(rest, ".000000") }
}

fn keys<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v String> {
    value[field].as_object().into_iter().flat_map(Map::keys)
}

fn data_keys(value: &Value, fields: &[&str], causes: &mut Vec<Cause>) {
    for field in fields {
        for key in keys(value, field) {
            let path = format!("{field}[{key}]");
            if key.len() > 253 {
                causes.push(Cause::invalid_printed(&path, quote(key), "must be no more than 253 characters"));
            }
            let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            if key.is_empty() || !key.bytes().all(good) {
                let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
                           'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
                causes.push(Cause::invalid_printed(&path, quote(key), why));
            } else if key == "." || key == ".." || key.starts_with("..") {
                let why = if key == "." || key == ".." {
                    format!("must not be '{key}'")
                } else {
                    "must not start with '..'".to_owned()
                };
                causes.push(Cause::invalid_printed(&path, quote(key), why));
            }
        }
    }
}

/// An object that is immutable keeps its data.
fn immutable(new: &Value, old: Option<&Value>, fields: &[&str], causes: &mut Vec<Cause>) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return };
    let why = "field is immutable when `immutable` is set";
    if new["immutable"] != true {
        causes.push(Cause::forbidden("immutable", why));
    }
    for field in fields {
        if old[field] != new[field] {
            causes.push(Cause::forbidden(*field, why));
        }
    }
}

/// Objects that hold data have a largest size.
fn data_size(new: &Value, fields: &[&str], causes: &mut Vec<Cause>) {
    let texts = fields.iter().flat_map(|field| new[field].as_object().into_iter().flat_map(Map::values));
    let size: usize = texts.filter_map(Value::as_str).map(str::len).sum();
    if size > MAX_DATA {
        let message = format!("Too long: may not be more than {MAX_DATA} bytes");
        causes.push(Cause { reason: "FieldValueTooLong", message, field: "[]".to_owned() });
    }
}

fn config_map(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    immutable(new, old, &["data", "binaryData"], causes);
    data_keys(new, &["data"], causes);
    for key in keys(new, "data").filter(|key| new["binaryData"].get(*key).is_some()) {
        causes.push(Cause::invalid_printed(
            format!("data[{key}]"),
            quote(key),
            "duplicate of key present in binaryData",
        ));
    }
    data_keys(new, &["binaryData"], causes);
    data_size(new, &["data", "binaryData"], causes);
}

fn secret(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if let Some(old) = old
        && old["type"] != new["type"]
    {
        causes.push(Cause::invalid_printed("type", new["type"].to_string(), "field is immutable"));
    }
    immutable(new, old, &["data"], causes);
    data_keys(new, &["data"], causes);
    data_size(new, &["data"], causes);
    let has = |key: &str| !new["data"][key].is_null();
    let mut require = |key: &str| causes.push(Cause::required(format!("data[{key}]"), ""));
    match new["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => {
            ["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)).for_each(&mut require)
        }
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            require("username");
            require("password");
        }
        "kubernetes.io/ssh-auth" if !has("ssh-privatekey") => require("ssh-privatekey"),
        "kubernetes.io/dockerconfigjson" if !has(".dockerconfigjson") => require(".dockerconfigjson"),
        "kubernetes.io/dockercfg" if !has(".dockercfg") => require(".dockercfg"),
        kind @ ("kubernetes.io/dockerconfigjson" | "kubernetes.io/dockercfg") => {
            let key = if kind.ends_with("json") { ".dockerconfigjson" } else { ".dockercfg" };
            let bytes =
                BASE64_STANDARD.decode(new["data"][key].as_str().unwrap_or_default()).unwrap_or_default();
            if serde_json::from_slice::<Map<String, Value>>(&bytes).is_err() {
                let why = match bytes.first() {
                    Some(first) if *first != b'{' => {
                        format!("invalid character '{}' looking for beginning of value", char::from(*first))
                    }
                    _ => "unexpected end of JSON input".to_owned(),
                };
                causes.push(Cause::invalid_printed(
                    format!("data[{key}]"),
                    "\"<secret contents redacted>\"",
                    why,
                ));
            }
        }
        _ => {}
    }
}

fn workload(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    if let Some(replicas) = spec["replicas"].as_i64().filter(|replicas| *replicas < 0) {
        causes.push(Cause::invalid_printed("spec.replicas", replicas, "must be greater than or equal to 0"));
    }
    if spec["selector"].is_null() {
        causes.push(Cause::required("spec.selector", ""));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let wanted = spec["selector"]["matchLabels"].as_object();
    let matches = wanted.is_none_or(|wanted| wanted.iter().all(|(key, value)| labels[key] == *value));
    let expressions = spec["selector"]["matchExpressions"].is_array();
    if (spec["selector"].is_null() || !matches) && !expressions {
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid_printed("spec.template.metadata.labels", labels, why));
    }
    pod::containers(&spec["template"]["spec"], "spec.template.spec", causes);
    if old.is_some_and(|old| old["spec"]["selector"] != spec["selector"]) {
        causes.push(Cause::invalid_printed("spec.selector", &spec["selector"], "field is immutable"));
    }
}

fn namespace(new: &Value, causes: &mut Vec<Cause>) {
    for (index, finalizer) in new["spec"]["finalizers"].as_array().into_iter().flatten().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        if !name.contains('/') && name != "kubernetes" {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid_printed(format!("spec.finalizers[{index}]"), finalizer, why));
        }
    }
}
