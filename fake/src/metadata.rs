//! The rules for `metadata`.

use rand::RngExt;
use serde_json::{Map, Value};

use crate::{
    json,
    kinds::Kind,
    names::{self, NameRule},
    schema::quote,
    status::Cause,
};

/// The characters of generated names: no vowels, so that no words appear.
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The finalizers without a domain that everybody may use.
const STANDARD_FINALIZERS: [&str; 3] = ["foregroundDeletion", "orphan", "kubernetes"];

/// Returns the metadata of an object, which becomes an object if it is none.
pub(crate) fn of(object: &mut Value) -> &mut Map<String, Value> {
    json::object(json::at(object, "metadata"))
}

/// Returns a text of the metadata, or an empty one.
pub(crate) fn text<'o>(object: &'o Value, field: &str) -> &'o str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Sets a text of the metadata, or removes it if it is empty.
pub(crate) fn set_text(object: &mut Value, field: &str, text: &str) {
    if text.is_empty() {
        of(object).remove(field);
    } else {
        of(object).insert(field.to_owned(), text.into());
    }
}

/// Returns the finalizers.
pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.filter_map(|finalizer| Some(finalizer.as_str()?.to_owned())).collect()
}

/// Sets the finalizers. An empty list is no list.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    if finalizers.is_empty() {
        of(object).remove("finalizers");
    } else {
        of(object).insert("finalizers".to_owned(), finalizers.into());
    }
}

/// Counts a change of the specification, if the kind counts them.
pub(crate) fn increment_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"].as_i64().filter(|generation| *generation > 0) {
        of(object).insert("generation".to_owned(), generation.saturating_add(1).into());
    }
}

/// Returns a name that begins with `prefix`.
pub(crate) fn generate_name(prefix: &str) -> String {
    let mut end = prefix.len().min(58);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = prefix[..end].to_owned();
    let mut random = rand::rng();
    for _ in 0..5 {
        name.push(char::from(SUFFIX[random.random_range(0..SUFFIX.len())]));
    }
    name
}

/// Returns a new uid: a random UUID.
pub(crate) fn uid() -> String {
    let mut bytes: [u8; 16] = rand::rng().random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    text
}

/// Removes what is empty, as the server does not write it.
pub(crate) fn drop_empty(object: &mut Value) {
    drop_unset(object);
    of(object).retain(|_, value| !is_empty_collection(value));
}

/// Removes what is empty, except for lists and maps. One of which nothing is left is null.
pub(crate) fn drop_unset(object: &mut Value) {
    of(object).retain(|field, value| match value {
        Value::Null => matches!(field.as_str(), "annotations" | "finalizers" | "labels" | "ownerReferences"),
        Value::String(text) => !text.is_empty(),
        // A grace period of zero is one.
        Value::Number(number) => field != "generation" || number.as_i64() != Some(0),
        Value::Array(_) | Value::Object(_) | Value::Bool(_) => true,
    });
}

/// Returns whether a list or a map of the metadata is empty.
pub(crate) fn has_empty(object: &Value) -> bool {
    object["metadata"].as_object().is_some_and(|fields| fields.values().any(is_empty_collection))
}

fn is_empty_collection(value: &Value) -> bool {
    value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Returns what is wrong with the metadata of an object.
pub(crate) fn validate(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let rule = NameRule::of(&kind.group, &kind.kind, kind.is_custom());
    let (name, generate_name, namespace) =
        (text(object, "name"), text(object, "generateName"), text(object, "namespace"));
    if !generate_name.is_empty() {
        let problems = rule.check(generate_name, true);
        causes.extend(
            problems
                .iter()
                .map(|why| Cause::invalid_printed("metadata.generateName", quote(generate_name), why)),
        );
    }
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        let problems = rule.check(name, false);
        causes.extend(problems.iter().map(|why| Cause::invalid_printed("metadata.name", quote(name), why)));
    }
    if kind.namespaced {
        if namespace.is_empty() {
            causes.push(Cause::required("metadata.namespace", ""));
        } else {
            let problems = names::label(namespace);
            causes.extend(
                problems
                    .iter()
                    .map(|why| Cause::invalid_printed("metadata.namespace", quote(namespace), why)),
            );
        }
    } else if !namespace.is_empty() {
        causes.push(Cause::forbidden("metadata.namespace", "not allowed on this type"));
    }
    let metadata = &object["metadata"];
    validate_owners(&metadata["ownerReferences"], &mut causes);
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        causes.extend(
            names::qualified_name(key)
                .iter()
                .map(|why| Cause::invalid_printed("metadata.labels", quote(key), why)),
        );
        causes.extend(
            names::label_value(value)
                .iter()
                .map(|why| Cause::invalid_printed("metadata.labels", quote(value), why)),
        );
    }
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        let problems = names::qualified_name(&key.to_lowercase());
        causes.extend(
            problems.iter().map(|why| Cause::invalid_printed("metadata.annotations", quote(key), why)),
        );
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if let Some(why) = names::annotations_too_large(size) {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: {why}"),
            field: "metadata.annotations".to_owned(),
        });
    }
    for (index, finalizer) in finalizers(object).iter().enumerate() {
        let field = format!("metadata.finalizers[{index}]");
        let problems = names::qualified_name(finalizer);
        causes.extend(
            problems.iter().map(|why| Cause::invalid_printed("metadata.finalizers", quote(finalizer), why)),
        );
        if !kind.is_custom() && !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer.as_str())
        {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid_printed(&field, quote(finalizer), why));
        }
    }
    let both = finalizers(object);
    if ["orphan", "foregroundDeletion"].iter().all(|name| both.iter().any(|finalizer| finalizer == name)) {
        let value = both.join(" ");
        causes.push(Cause::invalid_printed(
            "metadata.finalizers",
            format!("[{value}]"),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    causes
}

fn validate_owners(owners: &Value, causes: &mut Vec<Cause>) {
    let mut controllers = Vec::new();
    for owner in owners.as_array().into_iter().flatten() {
        let field = |name: &str| format!("metadata.ownerReferences.{name}");
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        let version = text("apiVersion");
        if version.rsplit('/').next().is_none_or(str::is_empty) {
            causes.push(Cause::invalid_printed(
                field("apiVersion"),
                quote(version),
                "version must not be empty",
            ));
        }
        for (name, why) in
            [("kind", "must not be empty"), ("name", "must not be empty"), ("uid", "must not be empty")]
        {
            if text(name).is_empty() {
                causes.push(Cause::invalid_printed(field(name), "\"\"", why));
            }
        }
        if owner["controller"] == true {
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
        );
        causes.push(Cause::invalid_printed("metadata.ownerReferences", owners_text(owners), why));
    }
}

/// Prints owner references with their fields in the order of the server.
fn owners_text(owners: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let owner = |owner: &Value| {
        let fields = fields.iter().filter_map(|field| Some(format!("{field:?}:{}", owner.get(field)?)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    let owners: Vec<_> = owners.as_array().into_iter().flatten().map(owner).collect();
    format!("[{}]", owners.join(","))
}

/// Completes the metadata of an update from the old object, and returns what must not change.
pub(crate) fn validate_update(old: &Value, new: &mut Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let keep = |new: &mut Value, field: &str| {
        let value = old["metadata"][field].clone();
        if value.is_null() {
            of(new).remove(field);
        } else {
            of(new).insert(field.to_owned(), value);
        }
    };
    keep(new, "creationTimestamp");
    if text(new, "uid").is_empty() {
        keep(new, "uid");
    }
    if !text(old, "deletionTimestamp").is_empty() {
        keep(new, "deletionTimestamp");
    }
    if new["metadata"]["deletionGracePeriodSeconds"].is_null() {
        keep(new, "deletionGracePeriodSeconds");
    }
    of(new).remove("selfLink");
    if !text(old, "deletionTimestamp").is_empty() {
        let before = finalizers(old);
        let added: Vec<_> =
            finalizers(new).into_iter().filter(|finalizer| !before.contains(finalizer)).collect();
        if !added.is_empty() {
            let list: Vec<_> = added.iter().map(|finalizer| quote(finalizer)).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    for field in ["name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (before, after) = (&old["metadata"][field], &new["metadata"][field]);
        if before != after {
            let shown = if after.is_null() { "null".to_owned() } else { after.to_string() };
            causes.push(Cause::invalid_printed(format!("metadata.{field}"), shown, "field is immutable"));
        }
    }
    causes
}
