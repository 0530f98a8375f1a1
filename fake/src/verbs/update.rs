//! Replacing objects, or parts of them.

use serde_json::Value;

use super::{Answer, Call, Reply, create, write};
use crate::{kinds::Kind, metadata, status::Failure, verbs::write::Part};

pub(super) fn update(call: &mut Call<'_>) -> Answer {
    let options = call.request.query.write_options("UpdateOptions")?;
    let mut value = write::read(call, options)?;
    create::check_namespace(call, &mut value)?;
    check_name(call, &value)?;
    write::apply_defaults(&call.kind, &mut value);
    let part = Part::of(&call.path.subresource);
    let old = match call.found() {
        Err(_) if part == Part::Whole && creates_on_update(&call.kind) => {
            if !metadata::text(&value, "resourceVersion").is_empty() {
                let why = "the object has been modified; please apply your changes to the latest version and try again";
                return Err(Failure::conflict(&call.kind, &call.path.name, why));
            }
            return Ok(write::insert(call, value, options, false)?.reply(201));
        }
        found => found?,
    };
    write::check_uid(&call.kind, &old, &value)?;
    Ok(write::replace(call, &old, value, part, options, false)?.reply(200))
}

/// Returns whether an update creates an object that does not exist.
fn creates_on_update(kind: &Kind) -> bool {
    if kind.is_custom() {
        return false;
    }
    match kind.group.as_str() {
        "" => matches!(kind.kind.as_str(), "Endpoints" | "Event" | "LimitRange" | "PodTemplate" | "Service"),
        "coordination.k8s.io" | "rbac.authorization.k8s.io" | "events.k8s.io" => true,
        _ => false,
    }
}

/// Checks that the object has the name of the path.
pub(super) fn check_name(call: &Call<'_>, value: &Value) -> Result<(), Failure> {
    let (name, wanted) = (metadata::text(value, "name"), call.path.name.as_str());
    if name.is_empty() {
        return Err(Failure::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )));
    }
    if name != wanted {
        return Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

/// Binds a pod to a node.
pub(super) fn bind(call: &mut Call<'_>) -> Answer {
    let options = call.request.query.write_options("CreateOptions")?;
    let body: Value = serde_json::from_slice(&call.request.body)
        .map_err(|error| Failure::bad_request(error.to_string()))?;
    let node = body["target"]["name"].as_str().unwrap_or_default().to_owned();
    let old = call.found()?;
    let mut value = old.value(&call.kind);
    let bound = value["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
    if !bound.is_empty() {
        let why = format!("pod {} is already assigned to node {bound:?}", old.name);
        return Err(Failure::conflict(&call.kind, &old.name, &why));
    }
    crate::json::set(&mut value, "spec.nodeName", node);
    write::replace(call, &old, value, Part::Other("binding"), options, false)?;
    let success = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    Ok(Reply::Plain(201, success))
}
