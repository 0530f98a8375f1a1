//! The paths of a resource, and what can be done there.

use genclient_merge::Schema;
use serde_json::{Map, Value, json};

use crate::kinds::{Kind, api_version};

use super::{meta, reference};

/// A kind as far as its paths depend on it.
pub(super) struct Resource<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub kind: &'a str,
    pub plural: &'a str,
    pub namespaced: bool,
    /// The name of its schema.
    pub component: String,
    /// What can be done with it.
    pub verbs: Vec<&'a str>,
    pub subresources: Vec<Subresource<'a>>,
    /// The media types of its patches.
    pub patches: &'static [&'static str],
}

/// A subresource as far as its path depends on it.
pub(super) struct Subresource<'a> {
    pub name: &'a str,
    /// The name of the schema of its body, if that is not the one of the resource.
    pub component: Option<String>,
    pub verbs: Vec<&'a str>,
}

/// The verbs of a custom resource.
pub(super) const ALL_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The verbs of the subresources of a custom resource.
pub(super) const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// The patches of custom resources.
pub(super) const CUSTOM_PATCHES: &[&str] =
    &["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

/// The patches of Kubernetes' own kinds.
const BUILTIN_PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
const READ: &[&str] = &["resourceVersion"];
const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
const DELETE: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];

/// One thing that can be done at a path.
struct Operation {
    /// The verb that the resource has to have.
    verb: &'static str,
    method: &'static str,
    action: &'static str,
    parameters: &'static [&'static str],
}

const fn operation(
    verb: &'static str,
    method: &'static str,
    action: &'static str,
    parameters: &'static [&'static str],
) -> Operation {
    Operation { verb, method, action, parameters }
}

const ON_COLLECTION: &[Operation] = &[
    operation("list", "get", "list", LIST),
    operation("create", "post", "post", WRITE),
    operation("deletecollection", "delete", "deletecollection", LIST),
];
const ON_OBJECT: &[Operation] = &[
    operation("get", "get", "get", READ),
    operation("update", "put", "put", WRITE),
    operation("patch", "patch", "patch", PATCH),
    operation("delete", "delete", "delete", DELETE),
];
/// An object can be deleted, its subresources cannot.
const ON_SUBRESOURCE: &[Operation] = &[
    operation("get", "get", "get", READ),
    operation("create", "post", "post", WRITE),
    operation("update", "put", "put", WRITE),
    operation("patch", "patch", "patch", PATCH),
];

impl<'a> Resource<'a> {
    /// Describes one of Kubernetes' own kinds.
    pub fn builtin(kind: &'a Kind, component: &str) -> Self {
        let texts = |texts: &'a [String]| texts.iter().map(String::as_str).collect();
        let subresources = kind.subresources.iter().map(|subresource| Subresource {
            name: &subresource.name,
            component: subresource.body.as_ref().and_then(|(group, version, kind)| {
                let (name, _) = Schema::kubernetes_definitions(&api_version(group, version), kind)?;
                Some(name.to_owned())
            }),
            verbs: texts(&subresource.verbs),
        });
        Self {
            group: &kind.group,
            version: &kind.version,
            kind: &kind.kind,
            plural: &kind.plural,
            namespaced: kind.namespaced,
            component: component.to_owned(),
            verbs: texts(&kind.verbs),
            subresources: subresources.collect(),
            patches: BUILTIN_PATCHES,
        }
    }

    pub fn add_paths(&self, paths: &mut Map<String, Value>) {
        let root = match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        let place = if self.namespaced { "/namespaces/{namespace}" } else { "" };
        let collection = format!("{root}{place}/{}", self.plural);
        let object = format!("{collection}/{{name}}");
        let in_place: &[&str] = if self.namespaced { &["namespace"] } else { &[] };
        let of_object = [&["name"], in_place].concat();
        let own = &self.component;
        let mut add = |path: String, operations, verbs: &[&str], place: &[&str], schema: &str| {
            if let Some(described) = self.path(operations, verbs, place, schema) {
                paths.insert(path, described);
            }
        };
        add(collection, ON_COLLECTION, &self.verbs, in_place, own);
        add(object.clone(), ON_OBJECT, &self.verbs, &of_object, own);
        for Subresource { name, component, verbs } in &self.subresources {
            let schema = component.as_ref().unwrap_or(own);
            add(format!("{object}/{name}"), ON_SUBRESOURCE, verbs, &of_object, schema);
        }
        let everywhere = [operation("list", "get", "list", &[])];
        if let Some(mut path) = self.path(&everywhere, &self.verbs, &[], own).filter(|_| self.namespaced) {
            let mut parameters: Vec<_> = LIST.iter().map(|name| parameter(name, "query")).collect();
            parameters.push(parameter("pretty", "query"));
            path["parameters"] = parameters.into();
            paths.insert(format!("{root}/{}", self.plural), path);
        }
    }

    /// Describes a path, if anything can be done there.
    fn path(&self, operations: &[Operation], verbs: &[&str], place: &[&str], schema: &str) -> Option<Value> {
        let mut path = Map::new();
        for operation in operations.iter().filter(|operation| verbs.contains(&operation.verb)) {
            path.insert(operation.method.into(), self.operation(operation, schema));
        }
        if path.is_empty() {
            return None;
        }
        let mut parameters: Vec<_> = place.iter().map(|name| parameter(name, "path")).collect();
        parameters.push(parameter("pretty", "query"));
        path.insert("parameters".into(), parameters.into());
        Some(path.into())
    }

    fn operation(&self, operation: &Operation, schema: &str) -> Value {
        let list = format!("{schema}List");
        let schema = if operation.action == "list" { &list } else { schema };
        let mut result = json!({
            "responses": {
                "200": { "description": "OK", "content": { "application/json": { "schema": reference(schema) } } },
                "401": { "description": "Unauthorized" },
            },
            "x-kubernetes-action": operation.action,
            "x-kubernetes-group-version-kind": {
                "group": self.group,
                "version": self.version,
                "kind": self.kind,
            },
        });
        if !operation.parameters.is_empty() {
            let parameters = operation.parameters.iter().map(|name| parameter(name, "query"));
            result["parameters"] = parameters.collect();
        }
        let (medias, schema): (&[&str], _) = match operation.method {
            "post" | "put" => (&["application/json"], schema),
            "patch" => (self.patches, meta::PATCH),
            _ => (&[], schema),
        };
        if !medias.is_empty() {
            let content =
                medias.iter().map(|&media| (media.to_owned(), json!({ "schema": reference(schema) })));
            let content: Map<String, Value> = content.collect();
            result["requestBody"] = json!({ "content": content, "required": true });
        }
        result
    }
}

fn parameter(name: &str, place: &str) -> Value {
    let kind = match name {
        "allowWatchBookmarks" | "sendInitialEvents" | "watch" | "force" | "orphanDependents" => "boolean",
        "ignoreStoreReadErrorWithClusterBreakingPotential" => "boolean",
        "limit" | "timeoutSeconds" | "gracePeriodSeconds" => "integer",
        _ => "string",
    };
    let mut parameter = json!({ "name": name, "in": place, "schema": { "type": kind, "uniqueItems": true } });
    if place == "path" {
        parameter["required"] = true.into();
    }
    parameter
}
