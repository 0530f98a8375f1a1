//! The scale subresource.

use genclient_merge::Schema;
use serde_json::Value;

use super::{
    Answer, Call, Reply, patch as patches,
    write::{self, Part},
};
use crate::{
    decode, json,
    kinds::{Kind, text_at},
    metadata,
    request::{PatchType, WriteOptions},
    status::{Cause, Failure},
};

/// What the server says of every body that is not the scale of a custom resource.
const UNREADABLE: &str =
    r#"no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111""#;

/// Where an object keeps what its scale shows.
struct Paths {
    spec_replicas: String,
    status_replicas: String,
    selector: Option<String>,
}

fn paths(kind: &Kind) -> Paths {
    match kind.custom.as_ref().and_then(|custom| custom.scale.clone()) {
        Some(scale) => Paths {
            spec_replicas: scale.spec_replicas,
            status_replicas: scale.status_replicas,
            selector: scale.label_selector,
        },
        None => Paths {
            spec_replicas: ".spec.replicas".to_owned(),
            status_replicas: ".status.replicas".to_owned(),
            selector: None,
        },
    }
}

/// Returns the scale of an object.
fn scale_of(kind: &Kind, object: &Value) -> Value {
    let paths = paths(kind);
    let number = |path: &str| text_at(object, path).parse::<i64>().unwrap_or(0);
    let mut meta = serde_json::json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            meta[field] = value.clone();
        }
    }
    let mut scale = serde_json::json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": meta,
        "spec": {},
        "status": { "replicas": number(&paths.status_replicas) },
    });
    if number(&paths.spec_replicas) != 0 {
        scale["spec"]["replicas"] = number(&paths.spec_replicas).into();
    }
    let selector = match &paths.selector {
        Some(path) => text_at(object, path),
        None if kind.is_custom() => String::new(),
        None => selector_text(&object["spec"]["selector"]),
    };
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// Writes a label selector as a query has it.
fn selector_text(selector: &Value) -> String {
    let labels = selector.get("matchLabels").unwrap_or(selector);
    let pairs = labels.as_object().into_iter().flatten();
    let pairs: Vec<_> = pairs.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    pairs.join(",")
}

pub(super) fn get(call: &mut Call<'_>) -> Answer {
    let object = call.asked()?.value(&call.kind);
    let path = paths(&call.kind).spec_replicas;
    if call.kind.is_custom() && text_at(&object, &path).is_empty() {
        return Err(Failure::internal(format!("the spec replicas field {path:?} does not exist")));
    }
    Ok(Reply::Plain(200, scale_of(&call.kind, &object)))
}

fn read(call: &mut Call<'_>, options: WriteOptions) -> Result<Value, Failure> {
    let scale = write::read_as(call, Kind::scale(), options)?;
    for (part, owner) in [("spec", "ScaleSpec"), ("status", "ScaleStatus")] {
        let replicas = &scale[part]["replicas"];
        if replicas.as_i64().is_some_and(|replicas| i32::try_from(replicas).is_err()) {
            let why = format!(
                "json: cannot unmarshal number {replicas} into Go struct field {owner}.{part}.replicas of type int32"
            );
            return Err(Failure::bad_request(decode::cannot_be_handled(Kind::scale(), &why)));
        }
    }
    Ok(scale)
}

pub(super) fn update(call: &mut Call<'_>) -> Answer {
    let options = call.request.query.write_options("UpdateOptions")?;
    let scale = read(call, options).map_err(|failure| match failure.code {
        400 if call.kind.is_custom() => Failure::bad_request(UNREADABLE),
        _ => failure,
    })?;
    super::update::check_name(call, &scale)?;
    write_scale(call, &scale, options)
}

pub(super) fn patch(call: &mut Call<'_>) -> Answer {
    let patch_type = PatchType::of(&call.request.headers, true)?;
    let options = patches::check_options(call, patch_type)?;
    let object = call.found()?.value(&call.kind);
    let before = scale_of(&call.kind, &object);
    let scale = match patch_type {
        PatchType::Apply => return apply(call, options),
        PatchType::Strategic => {
            let schema = Schema::kubernetes("autoscaling/v1", "Scale").unwrap_or_else(Schema::deduced);
            let patch = serde_json::from_slice(&call.request.body)
                .map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))?;
            genclient_merge::strategic::apply(&before, &patch, &schema)
                .map_err(|error| Failure::unknown(error.to_string()))?
        }
        other => patches::patched(call, &before, other)?.value,
    };
    write_scale(call, &scale, options)
}

/// Applies a scale: the one field of the object that it has.
fn apply(call: &mut Call<'_>, options: WriteOptions) -> Answer {
    let scale = decode::yaml(&call.request.body)
        .map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))?;
    super::update::check_name(call, &scale)?;
    let live = call.found()?;
    let mut config = serde_json::json!({
        "apiVersion": call.kind.api_version(),
        "kind": call.kind.kind,
        "metadata": { "name": call.path.name },
    });
    json::set(&mut config, &paths(&call.kind).spec_replicas, scale["spec"]["replicas"].clone());
    let writer = write::writer(call, Part::Other("scale")).force(call.request.query.flag("force"));
    let before = live.value(&call.kind);
    let mut value = writer.apply(Some(&before), &config, call.kind.schema()).map_err(patches::failure)?;
    if call.kind.is_custom() {
        return Err(Failure::unknown(format!(
            "failed to convert new object (/{}; autoscaling/v1, Kind=Scale) to proper version: request to convert CR \
             to an invalid group/version: autoscaling/v1",
            call.path.name
        )));
    }
    metadata::set_text(&mut value, "namespace", &call.path.namespace);
    let written = write::replace(call, &live, value, Part::Other("scale"), options, true)?;
    Ok(Reply::Plain(200, scale_of(&call.kind, &written.value(&call.kind))))
}

/// Assigns the owner of the replicas.
///
/// The server looks at the scale as an object of its own. Such an object has no owners if nobody owned the replicas
/// before, and then gets none; and it does not show zero replicas, so nobody owns them.
fn own_replicas(call: &Call<'_>, before: &Value, object: &mut Value) {
    let path = paths(&call.kind).spec_replicas;
    let pointer: String =
        path.split('.').filter(|part| !part.is_empty()).map(|part| format!("/f:{part}")).collect();
    let mut entries = before["metadata"]["managedFields"].as_array().into_iter().flatten();
    if !entries.any(|entry| entry["fieldsV1"].pointer(&pointer).is_some()) {
        return;
    }
    let as_scale = |object: &Value| {
        let mut object = object.clone();
        if text_at(&object, &path).parse() == Ok(0) {
            json::remove(&mut object, &path);
        }
        object
    };
    let writer = write::writer(call, Part::Other("scale"));
    let managed = writer
        .update(Some(&as_scale(before)), &as_scale(object), call.kind.schema())
        .ok()
        .and_then(|mut written| metadata::of(&mut written).remove("managedFields"));
    match managed {
        Some(managed) => metadata::of(object).insert("managedFields".to_owned(), managed),
        None => metadata::of(object).remove("managedFields"),
    };
}

fn write_scale(call: &mut Call<'_>, scale: &Value, options: WriteOptions) -> Answer {
    let old = call.found()?;
    let mut object = old.value(&call.kind);
    super::update::check_name(call, scale)?;
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    let given = &scale["spec"]["replicas"];
    if !given.is_null() && !given.is_i64() {
        let found = decode::type_name(given);
        let why = format!(
            "json: cannot unmarshal {found} into Go struct field ScaleSpec.spec.replicas of type int32"
        );
        return Err(patches::invalid_patch(&scale.to_string(), why));
    }
    if replicas < 0 {
        return Err(if call.kind.is_custom() {
            let path = paths(&call.kind).spec_replicas;
            let cause = Cause::invalid_printed(path, replicas, "should be a non-negative integer");
            Failure::invalid(&call.kind, &old.name, &[cause])
        } else {
            let cause =
                Cause::invalid_printed("spec.replicas", replicas, "must be greater than or equal to 0");
            Failure::invalid_named("autoscaling", "Scale", &old.name, &[cause])
        });
    }
    json::set(&mut object, &paths(&call.kind).spec_replicas, replicas);
    let version = metadata::text(scale, "resourceVersion").to_owned();
    metadata::set_text(&mut object, "resourceVersion", if version.is_empty() { "" } else { &version });
    if version.is_empty() {
        metadata::set_text(&mut object, "resourceVersion", &old.version.to_string());
    }
    let uid = metadata::text(scale, "uid").to_owned();
    if !uid.is_empty() {
        metadata::set_text(&mut object, "uid", &uid);
    }
    own_replicas(call, &old.value(&call.kind), &mut object);
    let written = write::replace(call, &old, object, Part::Other("scale"), options, true)?;
    Ok(Reply::Plain(200, scale_of(&call.kind, &written.value(&call.kind))))
}
