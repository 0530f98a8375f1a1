//! Reading the bodies of requests.

mod conform;
mod document;

use document::Location;
use serde::de::DeserializeSeed;
use serde_json::Value;

use crate::{
    kinds::{Kind, Nulls, Registry},
    request::{FieldValidation, Input},
    status::Failure,
};

/// What every version of a group has beside its kinds.
const OPTIONS: [&str; 7] = [
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
];

/// A body that was read, and what was lost.
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// Fields that are there twice, or that nobody knows.
    pub(crate) problems: Vec<String>,
}

/// Reads the body of a create or an update: JSON or YAML.
pub(crate) fn object(headers: &http::HeaderMap, body: &[u8], kind: &Kind) -> Result<Decoded, Failure> {
    let unrecognized = |message: String| {
        let kind = &kind.kind;
        Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {message}"
        ))
    };
    let mut problems = Vec::new();
    let value = match Input::of(headers)? {
        Input::Json => {
            // Of a custom resource, the schema knows the fields, later.
            let shape = (!kind.is_custom()).then(|| kind.schema().shape());
            let seed = document::Document { shape, path: Location::Root, problems: &mut problems };
            json(body, seed).map_err(|error| {
                let shown = if body.is_empty() { "<empty>".to_owned() } else { shown(body) };
                let error = go_error(&error, body);
                unrecognized(format!("couldn't get version/kind; json parse error: {error} ({shown})"))
            })?
        }
        Input::Yaml => {
            let mut value = yaml(body).map_err(|error| {
                unrecognized(format!("couldn't get version/kind; json parse error: {error}"))
            })?;
            if !kind.is_custom() {
                document::prune(&mut value, kind.schema().shape(), &Location::Root, &mut problems);
            }
            value
        }
    };
    let value = match value {
        // Nothing is an object without fields.
        Value::Null if !kind.is_custom() => Value::Object(serde_json::Map::new()),
        Value::Null => {
            return Err(unrecognized(format!("Object 'Kind' is missing in 'null' ({})", shown(body))));
        }
        value => value,
    };
    for field in ["apiVersion", "kind"] {
        if let Some(found) = value.get(field).filter(|found| !found.is_string() && !found.is_null()) {
            return Err(unrecognized(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go struct field .{field} of \
                 type string ({})",
                type_name(found),
                shown(body)
            )));
        }
    }
    if let Some(version) = value["apiVersion"].as_str().filter(|version| version.matches('/').count() > 1) {
        return Err(unrecognized(format!("unexpected GroupVersion string: {version} ({})", shown(body))));
    }
    if value.is_object() {
        if kind.is_custom() && value["kind"].as_str().is_none_or(str::is_empty) {
            let (all, shown) = (String::from_utf8_lossy(body), shown(body));
            return Err(unrecognized(format!("Object 'Kind' is missing in '{all}' ({shown})")));
        }
        return Ok(Decoded { value, problems });
    }
    let hex: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
    let what = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    Err(unrecognized(format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type {what} ({hex})",
        type_name(&value)
    )))
}

fn json(body: &[u8], seed: document::Document<'_>) -> Result<Value, serde_json::Error> {
    // Bytes that are no text are replaced, as in Go.
    let text = String::from_utf8_lossy(body);
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads YAML, of which JSON is a part.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, String> {
    // JSON is by far the usual case, and much faster to read.
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    serde_saphyr::from_slice(body).map_err(|error| error.to_string())
}

/// Checks that an object is of the kind that the path names, and completes it.
pub(crate) fn check_kind(value: &mut Value, kind: &Kind, kinds: &Registry) -> Result<(), Failure> {
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (api_version, found) = (text("apiVersion"), text("kind"));
    if kind.is_custom() {
        if let Some(why) = metadata_mismatch(value, kind) {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            return Err(Failure::bad_request(format!(
                "{found} in version {version:?} cannot be handled as a {}: {why}",
                kind.kind
            )));
        }
        let expected = kind.api_version();
        if api_version != expected {
            return Err(Failure::bad_request(version_mismatch(&api_version, &expected)));
        }
        // Whether it is of the right kind is asked when it is validated.
        return Ok(());
    }
    // What an object does not say, the path says.
    let or = |found: String, expected: &str| if found.is_empty() { expected.to_owned() } else { found };
    let expected = kind.api_version();
    let (api_version, found) = (or(api_version, &expected), or(found, &kind.kind));
    if api_version != expected || found != kind.kind {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        // The server reads the object as what it says to be, and only then finds that it is something else.
        let other = kinds.of_kind(&api_version, &found);
        let mismatch =
            other.as_ref().and_then(|other| conform(&mut value.clone(), other, Nulls::Pruned).err());
        if mismatch.is_none() && other.as_ref().is_some_and(|other| other.resource == kind.resource) {
            return Err(Failure::bad_request(version_mismatch(&api_version, &expected)));
        }
        let why = if let Some(mismatch) = mismatch {
            mismatch
        } else if other.is_some() || is_registered(kinds, &api_version, &found) {
            format!("converting ({version}.{found}) to ({}.{}): unknown conversion", package(kind), kind.kind)
        } else {
            format!(
                "no kind {found:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
            )
        };
        return Err(Failure::bad_request(format!(
            "{found} in version {version:?} cannot be handled as a {}: {why}",
            kind.kind
        )));
    }
    if let Some(object) = value.as_object_mut() {
        object.insert("apiVersion".to_owned(), kind.api_version().into());
        object.insert("kind".to_owned(), kind.kind.as_str().into());
    }
    Ok(())
}

/// Says that an object is in another version than the path.
fn version_mismatch(found: &str, expected: &str) -> String {
    format!("the API version in the data ({found}) does not match the expected API version ({expected})")
}

/// Returns whether the server knows a kind of which there is no resource.
fn is_registered(kinds: &Registry, api_version: &str, kind: &str) -> bool {
    let is_list = kind.strip_suffix("List").is_some_and(|item| kinds.of_kind(api_version, item).is_some());
    let is_scale = (api_version, kind) == (&*Kind::scale().api_version(), &*Kind::scale().kind);
    is_list
        || is_scale
        || OPTIONS.contains(&kind) && kinds.all().any(|other| other.api_version() == api_version)
}

/// Returns the type of objects of a kind in Go.
pub(crate) fn go_type(kind: &Kind) -> String {
    if kind.is_custom() {
        "unstructured.Unstructured".to_owned()
    } else {
        format!("{}.{}", package(kind), kind.kind)
    }
}

/// Returns the name of the Go package of a group.
fn package(kind: &Kind) -> &str {
    if kind.group.is_empty() { "core" } else { kind.group.split('.').next().unwrap_or_default() }
}

/// Brings an object into the form that the server writes: without unknown fields, without what is empty.
///
/// Returns the fields that were unknown.
///
/// # Errors
/// If a value has not the type of its field.
pub(crate) fn conform(value: &mut Value, kind: &Kind, nulls: Nulls) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let shape = kind.schema().shape();
    match &kind.custom {
        None => {
            document::prune(value, shape, &Location::Root, &mut problems);
            if let Some(mismatch) = conform::mismatch(value, shape, &kind.kind, &Location::Root) {
                return Err(mismatch);
            }
            if matches!(kind.group.as_str(), "" | "apps" | "batch")
                && crate::defaults::bad_quantity(&value["spec"])
            {
                return Err(crate::quantity::MALFORMED.to_owned());
            }
            if let Some(bad) = crate::validate::bad_bytes(kind, value) {
                return Err(bad);
            }
            let kept = conform::kept_list(kind)
                .filter(|path| value.pointer(path).and_then(Value::as_array).is_some_and(Vec::is_empty));
            conform::complete(value, shape);
            if let Some(path) = kept {
                crate::json::set(value, &path.replace('/', "."), Vec::<Value>::new());
            }
        }
        Some(custom) => {
            if let (Some(metadata), Some(shape)) = (value.get_mut("metadata"), shape.field("metadata")) {
                document::prune(
                    metadata,
                    shape,
                    &Location::Field(&Location::Root, "metadata"),
                    &mut problems,
                );
            }
            if let Some(mismatch) = metadata_mismatch(value, kind) {
                return Err(mismatch);
            }
            problems.extend(custom.prune(value, nulls));
        }
    }
    // What is applied to a custom resource is stored as it is, and only read without what is empty.
    if !kind.is_custom() || nulls == Nulls::Pruned {
        crate::metadata::drop_empty(value);
    } else {
        crate::metadata::drop_unset(value);
    }
    Ok(problems)
}

/// Returns the first field of the metadata of a custom resource that has not its type.
fn metadata_mismatch(value: &Value, kind: &Kind) -> Option<String> {
    conform::mismatch(
        value.get("metadata")?,
        kind.schema().shape().field("metadata")?,
        "ObjectMeta",
        &Location::Root,
    )
}

/// Removes the fields of a strategic merge patch that the kind does not have, and returns them.
pub(crate) fn prune_patch(patch: &mut Value, kind: &Kind) -> Vec<String> {
    let mut problems = Vec::new();
    document::prune(patch, kind.schema().shape(), &Location::Root, &mut problems);
    problems
}

/// Adds the parts that the server always writes.
pub(crate) fn complete(value: &mut Value, kind: &Kind) {
    conform::complete(value, kind.schema().shape());
}

/// Reports fields that the kind does not have, as the request wants it.
pub(crate) fn report_unknown(
    kind: &Kind,
    problems: &[String],
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    match validation {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            warnings.extend_from_slice(problems);
            Ok(())
        }
        FieldValidation::Strict => Err(Failure::bad_request(cannot_be_handled(
            kind,
            &format!("strict decoding error: {}", problems.join(", ")),
        ))),
    }
}

/// Says that a body cannot be read as an object of the kind.
pub(crate) fn cannot_be_handled(kind: &Kind, why: &str) -> String {
    format!("{} in version {:?} cannot be handled as a {}: {why}", kind.kind, kind.version, kind.kind)
}

/// Says why a text is not JSON, as Go does where it is simple.
pub(crate) fn go_error(error: &serde_json::Error, body: &[u8]) -> String {
    if error.is_eof() || body.is_empty() {
        return "unexpected end of JSON input".to_owned();
    }
    let line = body.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let found = line.get(error.column().saturating_sub(1)).map(|byte| match byte {
        0..0x20 => format!("\\x{byte:02x}"),
        byte => char::from(*byte).to_string(),
    });
    let text = error.to_string();
    if text.starts_with("recursion limit exceeded") {
        return format!("invalid character '{}' exceeded max depth", found.unwrap_or_default());
    }
    if text.starts_with("expected ident") {
        return bad_literal(line, error.column()).unwrap_or(text);
    }
    match found {
        Some(found) if text.starts_with("trailing characters") => {
            format!("invalid character '{found}' after top-level value")
        }
        Some(found) if text.starts_with("expected value") => {
            format!("invalid character '{found}' looking for beginning of value")
        }
        _ => text,
    }
}

/// Says which character of `true`, `false` or `null` is another one.
fn bad_literal(line: &[u8], column: usize) -> Option<String> {
    // The parser stops at, or behind, the wrong character.
    let start = line.get(..column)?.iter().rposition(|byte| b"tfn".contains(byte))?;
    let word = ["true", "false", "null"].into_iter().find(|word| word.as_bytes()[0] == line[start])?;
    let (expected, found) = word.bytes().zip(&line[start..]).find(|(expected, found)| expected != *found)?;
    let (expected, found) = (char::from(expected), char::from(*found));
    Some(format!("invalid character '{found}' in literal {word} (expecting '{expected}')"))
}

/// Shows the beginning of a body, as the server does.
fn shown(body: &[u8]) -> String {
    if body.first() != Some(&b'{') {
        let hex: String = body.iter().take(30).map(|byte| format!("{byte:02x}")).collect();
        return if body.len() > 30 { format!("{hex} ...") } else { hex };
    }
    let text = String::from_utf8_lossy(body);
    if text.chars().count() <= 30 {
        return text.into_owned();
    }
    let beginning: String = text.chars().take(30).collect();
    format!("{beginning} ...")
}

/// Names the type of a value as Go does.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
