//! The documents of Kubernetes' own kinds.
//!
//! Types, defaults and how fields merge are those of Kubernetes 1.36, and come from `genclient-merge`. Descriptions,
//! formats and required fields come from the types of `k8s-openapi`, and are left out where it has none.

use std::sync::Arc;

use genclient_merge::Schema;
use serde_json::{Map, Value, json};

use crate::{
    kinds::{Kind, api_version},
    protobuf,
};

use super::{API_VERSION, KIND, LIST_METADATA, described, described_reference, meta, paths::Resource, text};

/// What a schema has from the types of `k8s-openapi`.
const DESCRIBED: [&str; 3] = ["description", "format", "required"];

/// What are numbers or texts.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

/// The document of one group and version of Kubernetes' own.
pub(crate) fn document(kinds: &[Arc<Kind>], group: &str, version: &str) -> Value {
    let (mut paths, mut schemas) = (Map::new(), meta::schemas());
    let described = described::definitions(group, version);
    for kind in kinds.iter().filter(|kind| kind.group == group && kind.version == version) {
        let Some(own) = add_schemas(&api_version(group, version), &kind.kind, &described, &mut schemas)
        else {
            continue;
        };
        mark(&mut schemas, own, group, version, &kind.kind);
        for (group, version, kind) in kind.subresources.iter().filter_map(|sub| sub.body.as_ref()) {
            if let Some(name) = add_schemas(&api_version(group, version), kind, &described, &mut schemas) {
                mark(&mut schemas, name, group, version, kind);
            }
        }
        let list = format!("{own}List");
        schemas.insert(list.clone(), list_schema(kind, own));
        mark(&mut schemas, &list, group, version, &kind.list_kind);
        Resource::builtin(kind, own).add_paths(&mut paths);
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "v1.36.4" },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

/// Adds the schema of a kind and of all that it refers to, and returns its name.
fn add_schemas(
    api_version: &str,
    kind: &str,
    described: &Map<String, Value>,
    schemas: &mut Map<String, Value>,
) -> Option<&'static str> {
    let (own, definitions) = Schema::kubernetes_definitions(api_version, kind)?;
    for (name, mut schema) in definitions {
        let described = described.get(&name);
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            for (field, property) in properties {
                let described = described.map(|described| &described["properties"][field.as_str()]);
                complete(property, described);
            }
        }
        complete(&mut schema, described);
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            // The types in Rust require structs that those in Go have always, and that clients may leave out.
            required.retain(|field| !protobuf::is_optional(&name, field.as_str().unwrap_or_default()));
            if required.is_empty() {
                schema.as_object_mut().map(|schema| schema.remove("required"));
            }
        }
        match name.as_str() {
            QUANTITY => schema["oneOf"] = json!([{ "type": "string" }, { "type": "number" }]),
            INT_OR_STRING => {
                schema["format"] = "int-or-string".into();
                schema["oneOf"] = json!([{ "type": "integer" }, { "type": "string" }]);
            }
            _ => {}
        }
        schemas.insert(name, schema);
    }
    Some(own)
}

/// Adds the description of a schema, and writes its references as documents do.
fn complete(schema: &mut Value, described: Option<&Value>) {
    let Some(fields) = schema.as_object_mut() else { return };
    for key in DESCRIBED {
        if let Some(value) = described.and_then(|described| described.get(key)) {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(schema) = fields.get_mut(inner) {
            complete(schema, described.and_then(|described| described.get(inner)));
            // Only the field itself is described.
            if let Some(schema) = schema.as_object_mut() {
                schema.remove("description");
            }
        }
    }
    if let Some(Value::String(name)) = fields.remove("$ref") {
        fields.remove("required");
        let target = format!("#/components/schemas/{name}");
        if fields.is_empty() {
            fields.insert("$ref".to_owned(), target.into());
        } else {
            fields.insert("allOf".to_owned(), json!([{ "$ref": target }]));
        }
    }
}

/// Says of which kind a schema is.
fn mark(schemas: &mut Map<String, Value>, name: &str, group: &str, version: &str, kind: &str) {
    if let Some(schema) = schemas.get_mut(name) {
        schema["x-kubernetes-group-version-kind"] =
            json!([{ "group": group, "kind": kind, "version": version }]);
    }
}

fn list_schema(kind: &Kind, own: &str) -> Value {
    let reference = json!({ "allOf": [{ "$ref": format!("#/components/schemas/{own}") }], "default": {} });
    json!({
        "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text(API_VERSION),
            "kind": text(KIND),
            "metadata": described_reference(meta::LIST_META, LIST_METADATA),
            "items": { "description": format!("The {}.", kind.plural), "type": "array", "items": reference },
        },
    })
}
