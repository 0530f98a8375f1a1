//! Patches of all four types.

use genclient_merge::{
    ApplyError, json_patch, merge_patch,
    strategic::{self, StrategicProblem},
};
use serde_json::Value;

use super::{
    Answer, Call, create, update,
    write::{self, Part},
};
use crate::{
    decode,
    kinds::Nulls,
    metadata,
    request::{PatchType, WriteOptions},
    schema::quote,
    status::{Cause, Failure},
};

/// The largest number of operations in a JSON patch.
const MAX_OPERATIONS: usize = 10_000;

pub(super) fn patch(call: &mut Call<'_>) -> Answer {
    let patch_type = PatchType::of(&call.request.headers, !call.kind.is_custom())?;
    let options = check_options(call, patch_type)?;
    call.check_name()?;
    if patch_type == PatchType::Apply {
        return apply(call, options);
    }
    let old = call.found()?;
    let before = old.value(&call.kind);
    let Patched { mut value, shown, unknown } = patched(call, &before, patch_type)?;
    if patch_type == PatchType::Strategic {
        // The server reads the result into a value of the kind, whatever kind the patch names.
        value["apiVersion"] = call.kind.api_version().into();
        value["kind"] = call.kind.kind.as_str().into();
    }
    check_kind(call, &value, &shown, options)?;
    write::conform(call, &mut value, options, &shown, unknown, Nulls::Pruned)?;
    create::check_namespace(call, &mut value)?;
    update::check_name(call, &value)?;
    write::apply_defaults(&call.kind, &mut value);
    let written = write::replace(call, &old, value, Part::of(&call.path.subresource), options, false)?;
    Ok(written.reply(200))
}

/// The result of a patch.
pub(super) struct Patched {
    pub(super) value: Value,
    /// What errors show: the result, or a strategic merge patch itself.
    pub(super) shown: String,
    /// Fields of a strategic merge patch that the kind does not have.
    unknown: Vec<String>,
}

/// Says that a patch does not make an object of the kind.
pub(super) fn invalid_patch(shown: &str, why: impl AsRef<str>) -> Failure {
    Failure::invalid_named("", "", "", &[Cause::invalid_printed("patch", quote(shown), why)])
}

/// Checks that a patch has not changed the kind.
fn check_kind(call: &mut Call<'_>, value: &Value, shown: &str, options: WriteOptions) -> Result<(), Failure> {
    let (kind, expected) = (call.kind.clone(), call.kind.api_version());
    let (api_version, found) =
        (value["apiVersion"].as_str().unwrap_or_default(), value["kind"].as_str().unwrap_or_default());
    if api_version == expected && found == kind.kind {
        return Ok(());
    }
    if !kind.is_custom() {
        return decode::check_kind(&mut value.clone(), &kind, &call.state.kinds).map_err(|failure| {
            let message = failure.message();
            invalid_patch(shown, message.split_once(": ").map_or(message, |(_, why)| why))
        });
    }
    if found.is_empty() {
        return Err(invalid_patch(shown, format!("Object 'Kind' is missing in '{value}'")));
    }
    if found == kind.kind {
        // No version has this name, so none of its fields is known.
        let fields = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let unknown = fields.filter(|name| !matches!(*name, "apiVersion" | "kind" | "metadata"));
        let unknown: Vec<_> = unknown.map(|name| format!("unknown field {}", quote(name))).collect();
        write::report_unknown(call, shown, &unknown, options)?;
    }
    let cause = if found == kind.kind {
        Cause::invalid_printed("apiVersion", quote(api_version), format!("must be {expected}"))
    } else {
        Cause::invalid_printed("kind", quote(found), format!("must be {}", kind.kind))
    };
    Err(Failure::invalid_named(&kind.group, found, &call.path.name, &[cause]))
}

/// Checks the options of a patch.
pub(super) fn check_options(call: &Call<'_>, patch_type: PatchType) -> Result<WriteOptions, Failure> {
    let query = &call.request.query;
    let options = query.write_options("PatchOptions")?;
    let mut causes = Vec::new();
    if patch_type == PatchType::Apply {
        if query.get("fieldManager").is_none() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
    } else if query.tri("force").is_some() {
        causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
    }
    if causes.is_empty() {
        Ok(options)
    } else {
        Err(Failure::invalid_named("meta.k8s.io", "PatchOptions", "", &causes))
    }
}

/// Applies the patch of a request.
pub(super) fn patched(call: &Call<'_>, before: &Value, patch_type: PatchType) -> Result<Patched, Failure> {
    let body = &call.request.body;
    let undecodable = |why: String| Failure::bad_request(format!("error decoding patch: {why}"));
    let patch: Value =
        serde_json::from_slice(body).map_err(|error| undecodable(decode::go_error(&error, body)))?;
    let whole = |value: Value| Patched { shown: value.to_string(), value, unknown: Vec::new() };
    let rejected =
        || Failure::unprocessable("the server rejected our request due to an error in our request");
    let found = decode::type_name(&patch);
    let not_an_object =
        format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
    match patch_type {
        PatchType::Json => {
            let Some(operations) = patch.as_array() else {
                let why =
                    format!("json: cannot unmarshal {found} into Go value of type []handlers.jsonPatchOp");
                return Err(undecodable(why));
            };
            if let Some(other) = operations.iter().find(|operation| !operation.is_object()) {
                let found = decode::type_name(other);
                let why =
                    format!("json: cannot unmarshal {found} into Go value of type handlers.jsonPatchOp");
                return Err(undecodable(why));
            }
            if operations.len() > MAX_OPERATIONS {
                return Err(Failure::too_large(format!(
                    "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                    operations.len()
                )));
            }
            json_patch_of(before, operations).map(whole).ok_or_else(rejected)
        }
        PatchType::Merge if patch.is_null() => Err(Failure::bad_request("Invalid JSON Patch")),
        PatchType::Merge if !patch.is_object() => Err(undecodable(not_an_object)),
        PatchType::Merge => Ok(whole(merge_patch::apply(before, &patch))),
        PatchType::Strategic if !patch.is_object() => Err(Failure::bad_request(not_an_object)),
        PatchType::Strategic => {
            let shown = go_text(&patch);
            let mut known = patch;
            let unknown = decode::prune_patch(&mut known, &call.kind);
            let value = strategic::apply(before, &known, call.kind.schema()).map_err(|error| match error
                .problem()
            {
                StrategicProblem::Directive { directive, .. } if directive == "$patch" => {
                    Failure::unknown(unknown_directive(&known).unwrap_or_else(|| error.to_string()))
                }
                StrategicProblem::NoMergeKey(key) => {
                    let pointer = error.path().to_string().replace('.', "/");
                    let items = known.pointer(&pointer).and_then(Value::as_array).into_iter().flatten();
                    let item = items
                        .into_iter()
                        .find(|item| item.get(key).is_none())
                        .map(go_text)
                        .unwrap_or_default();
                    Failure::unknown(format!("map: {item} does not contain declared merge key: {key}"))
                }
                _ => Failure::unknown(error.to_string()),
            })?;
            Ok(Patched { value, shown, unknown })
        }
        PatchType::Apply => Err(rejected()),
    }
}

/// Finds the directive of a strategic merge patch that there is not.
fn unknown_directive(patch: &Value) -> Option<String> {
    match patch {
        Value::Object(fields) => match fields.get("$patch").and_then(Value::as_str) {
            Some(word) if !matches!(word, "delete" | "replace" | "merge") => {
                Some(format!("unknown patch type: {word} in map: {}", go_text(patch)))
            }
            _ => fields.values().find_map(unknown_directive),
        },
        Value::Array(items) => items.iter().find_map(unknown_directive),
        _ => None,
    }
}

/// Applies a JSON patch, operation by operation. As on the server, a field that is replaced need not exist.
fn json_patch_of(before: &Value, operations: &[Value]) -> Option<Value> {
    let mut value = before.clone();
    for operation in operations {
        let mut operation = operation.clone();
        if operation["op"] == "replace"
            && let Some((parent, _)) = operation["path"].as_str().and_then(|path| path.rsplit_once('/'))
            && value.pointer(parent).is_some_and(Value::is_object)
        {
            operation["op"] = "add".into();
        }
        value = json_patch::apply(&value, &Value::Array(vec![operation])).ok()?;
    }
    Some(value)
}

/// Prints a value as Go prints its maps and slices.
fn go_text(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// Applies a configuration.
fn apply(call: &mut Call<'_>, options: WriteOptions) -> Answer {
    let kind = call.kind.clone();
    let part = Part::of(&call.path.subresource);
    let live = call.state.get(&kind, &call.path.namespace, &call.path.name);
    if live.is_none() && part != Part::Whole {
        return Err(Failure::not_found(&kind, &call.path.name));
    }
    let config = decode::yaml(&call.request.body)
        .map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))?;
    if !config.is_object() && !config.is_null() {
        return Err(Failure::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value \
             of type map[string]interface {{}}",
            decode::type_name(&config)
        )));
    }
    let text = |field: &str| config[field].as_str().unwrap_or_default().to_owned();
    let (api_version, found) = (text("apiVersion"), text("kind"));
    if api_version != kind.api_version() || found != kind.kind {
        let version = if api_version.contains('/') { api_version } else { format!("/{api_version}") };
        return Err(Failure::bad_request(format!("invalid object type: {version}, Kind={found}")));
    }
    if config["metadata"]["managedFields"].is_null() {
        create::check_namespace(call, &mut config.clone())?;
        update::check_name(call, &config)?;
    }
    let force = call.request.query.flag("force");
    let before = live.as_ref().map(|live| live.value(&kind));
    let writer = write::writer(call, part).force(force).keep_nulls();
    let mut value = writer.apply(before.as_ref(), &config, kind.schema()).map_err(failure)?;
    metadata::set_text(&mut value, "namespace", &call.path.namespace);
    let shown = value.to_string();
    write::conform(call, &mut value, options, &shown, Vec::new(), Nulls::Kept)?;
    write::apply_defaults(&kind, &mut value);
    if let Some(live) = live {
        return Ok(write::replace(call, &live, value, part, options, true)?.reply(200));
    }
    let uid = metadata::text(&config, "uid");
    if !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(Failure::conflict(&kind, &call.path.name, &why));
    }
    metadata::set_text(&mut value, "resourceVersion", "");
    Ok(write::insert(call, value, options, true)?.reply(201))
}

/// Translates what keeps a configuration from being applied.
pub(super) fn failure(error: ApplyError) -> Failure {
    match error {
        ApplyError::Conflict(conflicts) => {
            let causes: Vec<_> = conflicts
                .as_slice()
                .iter()
                .map(|conflict| Cause {
                    reason: "FieldManagerConflict",
                    message: format!("conflict with {}", conflict.description()),
                    field: conflict.path().to_string(),
                })
                .collect();
            Failure::apply_conflict(conflicts.to_string(), &causes)
        }
        ApplyError::ManagedFieldsInConfiguration | ApplyError::Version { .. } => {
            Failure::bad_request(error.to_string())
        }
        other => Failure::unknown(other.to_string()),
    }
}
