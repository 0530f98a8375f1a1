//! OpenAPI documents (version 3), as `kubectl explain` and `kubectl apply` read them.
//!
//! [`index`] is what the server gives at `/openapi/v3`, [`document`] what it gives for one group and version, such as
//! at `/openapi/v3/apis/samplecrd.k8s.io/v1`. Both are pure functions of CRDs. The server gives such documents for
//! Kubernetes' own kinds, too.
//!
//! # What is guaranteed
//! - The schema of a kind is the one that the real server publishes, and the paths, their operations, the actions and
//!   kinds of these and the names of their parameters are the same: `tests/openapi_parity.rs` asks both.
//!
//! # What is left out
//! - In the documents of CRDs, the kinds of `meta.k8s.io` have no descriptions. Parameters have none anywhere, and
//!   responses only name their schemas.
//! - In the documents of Kubernetes' own kinds, types, defaults and merge keys are those of 1.36. Descriptions, formats
//!   and required fields are those of the version of `k8s-openapi` that the program has chosen, and allowed values
//!   are not listed.

mod builtin;
mod described;
mod meta;
mod paths;

use serde_json::{Map, Value, json};

pub(crate) use self::builtin::document as builtin_document;
use self::paths::{ALL_VERBS, CUSTOM_PATCHES, Resource, SUBRESOURCE_VERBS, Subresource};

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
                           convert recognized schemas to the latest internal value, and may reject unrecognized \
                           values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
                    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
                    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
                        https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA: &str = "Standard list metadata. More info: \
                             https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const EMBEDDED_API_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More \
                                    info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: \
                             https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// The list of all documents, which the server gives at `/openapi/v3`. A document's hash changes with it, so that a
/// client can keep what it has read.
///
/// ```
/// use genclient_fake::openapi;
///
/// let documents = [("samplecrd.k8s.io", "v1", openapi::document(&[], "samplecrd.k8s.io", "v1"))];
/// let index = openapi::index(documents.iter().map(|(group, version, document)| (*group, *version, document)));
/// let url = index["paths"]["apis/samplecrd.k8s.io/v1"]["serverRelativeURL"].as_str().unwrap();
/// assert!(url.starts_with("/openapi/v3/apis/samplecrd.k8s.io/v1?hash="));
/// ```
pub fn index<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str, &'a Value)>) -> Value {
    let entries =
        documents.into_iter().map(|(group, version, document)| entry(group, version, &document.to_string()));
    json!({ "paths": entries.collect::<Map<_, _>>() })
}

/// The entry of a document in the index. The content tells it from other documents at the same place.
pub(crate) fn entry(group: &str, version: &str, content: &str) -> (String, Value) {
    let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
    let url = format!("/openapi/v3/{path}?hash={:016X}", hash(content));
    (path, json!({ "serverRelativeURL": url }))
}

/// FNV-1a: the same on every machine, unlike the hashes of the standard library.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The document of one group and version, from the CRDs of the group. CRDs that do not serve the version are left out.
pub fn document(crds: &[Value], group: &str, version: &str) -> Value {
    let mut paths = Map::new();
    let mut schemas = meta::schemas();
    for crd in crds {
        let versions = crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let served = |entry: &&Value| entry["name"] == version && entry["served"] == true;
        let Some(definition) = versions.iter().find(served).filter(|_| crd["spec"]["group"] == group) else {
            continue;
        };
        let names = &crd["spec"]["names"];
        let kind = names["kind"].as_str().unwrap_or_default();
        let resource = Resource {
            group,
            version,
            kind,
            plural: names["plural"].as_str().unwrap_or_default(),
            namespaced: crd["spec"]["scope"] == "Namespaced",
            component: component(group, version, kind),
            verbs: ALL_VERBS.to_vec(),
            subresources: subresources(definition),
            patches: CUSTOM_PATCHES,
        };
        resource.add_paths(&mut paths);
        let list_kind = names["listKind"].as_str().map_or_else(|| format!("{kind}List"), str::to_owned);
        schemas.insert(component(group, version, kind), schema(&resource, definition));
        schemas.insert(component(group, version, &list_kind), list_schema(&resource, &list_kind, definition));
        if resource.subresources.iter().any(|subresource| subresource.name == "scale") {
            schemas.extend(meta::scale());
        }
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes CRD Swagger", "version": "v0.1.0" },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn subresources(definition: &Value) -> Vec<Subresource<'_>> {
    let offered = |name: &&str| definition["subresources"][*name].is_object();
    let described = |name| Subresource {
        name,
        component: (name == "scale").then(|| meta::SCALE.to_owned()),
        verbs: SUBRESOURCE_VERBS.to_vec(),
    };
    ["status", "scale"].into_iter().filter(offered).map(described).collect()
}

/// The name of a kind's schema: `io.k8s.samplecrd.v1.Network`.
fn component(group: &str, version: &str, kind: &str) -> String {
    let reversed: Vec<_> = group.split('.').rev().collect();
    format!("{}.{version}.{kind}", reversed.join("."))
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn described_reference(name: &str, description: &str) -> Value {
    json!({ "description": description, "allOf": [reference(name)] })
}

fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}

fn schema(resource: &Resource<'_>, definition: &Value) -> Value {
    let source = &definition["schema"]["openAPIV3Schema"];
    let kinds = json!([{ "group": resource.group, "version": resource.version, "kind": resource.kind }]);
    if !source.is_object() {
        return json!({ "type": "object", "x-kubernetes-group-version-kind": kinds });
    }
    let mut schema = published(source);
    let mut properties = schema["properties"].as_object().cloned().unwrap_or_default();
    properties.insert("apiVersion".into(), text(API_VERSION));
    properties.insert("kind".into(), text(KIND));
    properties.insert("metadata".into(), described_reference(meta::OBJECT_META, METADATA));
    schema["properties"] = properties.into();
    schema["x-kubernetes-group-version-kind"] = kinds;
    add_selectable_fields(&mut schema, definition);
    schema
}

fn add_selectable_fields(schema: &mut Value, definition: &Value) {
    let selectable = definition["selectableFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !selectable.is_empty() {
        let path =
            |field: &Value| field["jsonPath"].as_str().unwrap_or_default().trim_start_matches('.').to_owned();
        let fields: Vec<_> = selectable.iter().map(|field| json!({ "fieldPath": path(field) })).collect();
        schema["x-kubernetes-selectable-fields"] = fields.into();
    }
}

fn list_schema(resource: &Resource<'_>, list_kind: &str, definition: &Value) -> Value {
    let Resource { group, version, kind, plural, .. } = resource;
    let items = format!(
        "List of {plural}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
    );
    let mut schema = json!({
        "description": format!("{list_kind} is a list of {kind}"),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text(API_VERSION),
            "kind": text(KIND),
            "metadata": described_reference(meta::LIST_META, LIST_METADATA),
            "items": { "description": items, "type": "array", "items": reference(&component(group, version, kind)) },
        },
        "x-kubernetes-group-version-kind": [{ "group": group, "version": version, "kind": list_kind }],
    });
    add_selectable_fields(&mut schema, definition);
    schema
}

/// A schema of a CRD as the server publishes it: without what says nothing, and with the metadata of embedded objects.
fn published(schema: &Value) -> Value {
    let Some(source) = schema.as_object() else { return schema.clone() };
    let mut result = Map::new();
    for (key, value) in source {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(fields)) if !fields.is_empty() => {
                Value::Object(fields.iter().map(|(name, schema)| (name.clone(), published(schema))).collect())
            }
            ("items" | "additionalProperties" | "not", Value::Object(_)) => published(value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => parts.iter().map(published).collect(),
            ("x-kubernetes-validations", Value::Array(rules)) => rules.iter().map(without_nothing).collect(),
            ("default" | "example" | "enum" | "additionalProperties", value) => value.clone(),
            (_, value) if is_nothing(value) => continue,
            (_, value) => value.clone(),
        };
        result.insert(key.clone(), value);
    }
    if source.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        spell_out_int_or_string(&mut result);
    }
    if source.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        add_embedded_properties(&mut result);
    }
    Value::Object(result)
}

/// The server says in words that every client understands what `x-kubernetes-int-or-string` means.
fn spell_out_int_or_string(schema: &mut Map<String, Value>) {
    let either = json!([{ "type": "integer" }, { "type": "string" }]);
    let all = schema.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default();
    let first = all.first().map_or(&Value::Null, |part| &part["anyOf"]);
    if schema.get("anyOf") == Some(&either) || *first == either {
        return;
    }
    if schema.contains_key("anyOf") {
        let parts = [json!({ "anyOf": either })].into_iter().chain(all);
        schema.insert("allOf".into(), parts.collect());
    } else {
        schema.insert("anyOf".into(), either);
    }
}

fn add_embedded_properties(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    properties["apiVersion"] = text(EMBEDDED_API_VERSION);
    properties["kind"] = text(EMBEDDED_KIND);
    properties["metadata"] = described_reference(meta::OBJECT_META, METADATA);
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known == name) {
                required.push(name.into());
            }
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn without_nothing(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let fields = fields.iter().filter(|(_, value)| !is_nothing(value) || value.is_boolean());
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}
