//! The kinds of CRDs.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, OnceLock},
};

use genclient_merge::Schema;
use serde_json::{Value, json};

use crate::{
    json::set_default,
    schema::{StructuralSchema, quote},
    status::Cause,
};

use super::{Kind, ResourceId, Subresource, prefix, text_at};

/// What a CRD says of one version of its kind.
#[derive(Debug)]
pub(crate) struct Custom {
    /// The schema as far as it prunes, defaults and validates.
    structural: Option<StructuralSchema>,
    /// `schema.openAPIV3Schema`
    pub(crate) schema: Value,
    /// The versions of the CRD, even those that are not served.
    pub(super) versions: Vec<String>,
    /// Whether unknown fields are kept everywhere.
    pub(crate) preserve_unknown_fields: bool,
    /// The paths of the scale subresource.
    pub(crate) scale: Option<Scale>,
    /// `additionalPrinterColumns`
    pub(crate) columns: Vec<Value>,
    /// The warning for those who use the version.
    pub(crate) deprecation: Option<String>,
}

/// What becomes of nulls that the schema does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    Pruned,
    /// They stay, and validation refuses them.
    Kept,
}

/// Where a custom resource keeps what its scale subresource shows.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) label_selector: Option<String>,
}

impl Custom {
    /// Removes the fields that the schema does not know, and returns the warnings for them.
    pub(crate) fn prune(&self, value: &mut Value, nulls: Nulls) -> Vec<String> {
        let Some(structural) = self.structural.as_ref().filter(|_| !self.preserve_unknown_fields) else {
            return Vec::new();
        };
        let paths = match nulls {
            Nulls::Pruned => structural.prune(value),
            Nulls::Kept => structural.prune_unknown(value),
        };
        paths.iter().map(|path| format!("unknown field {}", quote(path))).collect()
    }

    /// Sets the defaults of the schema.
    pub(crate) fn apply_defaults(&self, value: &mut Value) {
        if let Some(structural) = &self.structural {
            structural.apply_defaults(value);
        }
    }

    /// Returns what is wrong with an object, or with its status alone: what was found already, and what is by the
    /// schema and by its rules.
    pub(crate) fn validate(
        &self,
        new: &Value,
        old: Option<&Value>,
        status: bool,
        mut causes: Vec<Cause>,
    ) -> Vec<Cause> {
        if let Some(scale) = &self.scale {
            self::scale(scale, new, status, &mut causes);
        }
        match &self.structural {
            Some(structural) => structural.validate_part(new, old, status, causes),
            None => causes,
        }
    }

    pub(super) fn merge_schema(&self) -> Schema {
        if self.schema.is_null() || self.preserve_unknown_fields {
            return Schema::deduced();
        }
        Schema::from_crd(&self.schema).unwrap_or_else(|_| Schema::deduced())
    }
}

/// Finds numbers of replicas that are none.
fn scale(scale: &Scale, new: &Value, status: bool, causes: &mut Vec<Cause>) {
    let spec = Some(&scale.spec_replicas).filter(|_| !status);
    for path in spec.into_iter().chain([&scale.status_replicas]) {
        let replicas = match whole_number(new, path) {
            Ok(Some(replicas)) => replicas,
            Ok(None) => continue,
            Err(why) => {
                causes.push(Cause::invalid_printed(path, 0, format!("{path} accessor error: {why}")));
                continue;
            }
        };
        if replicas < 0 {
            causes.push(Cause::invalid_printed(path, replicas, "should be a non-negative integer"));
        } else if replicas > i64::from(i32::MAX) {
            causes.push(Cause::invalid_printed(path, replicas, "should be less than or equal to 2147483647"));
        }
    }
}

/// Returns the kinds that a CRD serves, one for each served version.
pub(crate) fn kinds(crd: &Value) -> Vec<Kind> {
    let spec = &crd["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let names = &spec["names"];
    let (group, plural, kind) = (text(&spec["group"]), text(&names["plural"]), text(&names["kind"]));
    let versions: Vec<&Value> = spec["versions"].as_array().into_iter().flatten().collect();

    // All versions are stored in one form, so a selector of any of them finds its field there.
    let mut selectable: Vec<String> = Vec::new();
    for field in
        versions.iter().flat_map(|version| version["selectableFields"].as_array().into_iter().flatten())
    {
        let path = text(&field["jsonPath"]).trim_start_matches('.').to_owned();
        if !selectable.contains(&path) {
            selectable.push(path);
        }
    }
    let stored = versions.iter().find(|version| version["storage"] == true);
    let storage_version: Arc<str> = stored.map(|version| text(&version["name"])).unwrap_or_default().into();
    let names_of_versions: Vec<String> = versions.iter().map(|version| text(&version["name"])).collect();
    let served = versions.into_iter().filter(|version| version["served"] == true);
    let kind_of = |definition: &Value| {
        let version = text(&definition["name"]);
        let scale = definition["subresources"].get("scale").map(|scale| Scale {
            spec_replicas: text(&scale["specReplicasPath"]),
            status_replicas: text(&scale["statusReplicasPath"]),
            label_selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
        });
        let deprecation = (definition["deprecated"] == true).then(|| {
            definition["deprecationWarning"]
                .as_str()
                .map_or_else(|| format!("{group}/{version} {kind} is deprecated"), str::to_owned)
        });
        let verbs = ["get", "patch", "update"].map(str::to_owned).to_vec();
        let mut subresources = Vec::new();
        if definition["subresources"].get("status").is_some() {
            subresources.push(Subresource { name: "status".to_owned(), body: None, verbs: verbs.clone() });
        }
        if scale.is_some() {
            let body = Some(("autoscaling".to_owned(), "v1".to_owned(), "Scale".to_owned()));
            subresources.push(Subresource { name: "scale".to_owned(), body, verbs });
        }
        Kind {
            resource: ResourceId::new(&group, &plural),
            qualified_plural: format!("{plural}.{group}"),
            group: group.clone(),
            kind: kind.clone(),
            list_kind: text(&names["listKind"]),
            plural: plural.clone(),
            singular: text(&names["singular"]),
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
            namespaced: spec["scope"] == "Namespaced",
            verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
                .map(str::to_owned)
                .to_vec(),
            subresources,
            prefix: prefix(&group, &version, &kind),
            version,
            selectable: selectable.clone(),
            storage_version: storage_version.clone(),
            fingerprint: fingerprint(&definition["schema"]),
            custom: Some(Custom {
                structural: StructuralSchema::new(&definition["schema"]["openAPIV3Schema"]).ok(),
                schema: definition["schema"]["openAPIV3Schema"].clone(),
                versions: names_of_versions.clone(),
                preserve_unknown_fields: spec["preserveUnknownFields"] == true,
                scale,
                columns: definition["additionalPrinterColumns"].as_array().cloned().unwrap_or_default(),
                deprecation,
            }),
            schema: OnceLock::new(),
            blank: OnceLock::new(),
        }
    };
    served.map(kind_of).collect()
}

/// Returns the whole number at a path, if there is anything.
fn whole_number(value: &Value, path: &str) -> Result<Option<i64>, String> {
    let wrong = |found: &Value, expected: &str| {
        let (shown, kind) = match found {
            Value::String(text) => (text.clone(), "string"),
            Value::Array(_) => ("[]".to_owned(), "[]interface {}"),
            Value::Object(_) => ("map[]".to_owned(), "map[string]interface {}"),
            Value::Bool(flag) => (flag.to_string(), "bool"),
            other => (other.to_string(), "float64"),
        };
        format!("{shown} is of the type {kind}, expected {expected}")
    };
    let mut at = value;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let Value::Object(fields) = at else { return Err(wrong(at, "map[string]interface{}")) };
        match fields.get(part) {
            Some(found) => at = found,
            None => return Ok(None),
        }
    }
    match at {
        Value::Null => Ok(None),
        at => at.as_i64().map(Some).ok_or_else(|| wrong(at, "int64")),
    }
}

/// Returns a number that two schemas hardly share. Kubernetes' own kinds have zero.
fn fingerprint(schema: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    schema.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Completes the names of a CRD as the server does.
pub(crate) fn apply_defaults(crd: &mut Value) {
    let kind = text_at(crd, "spec.names.kind");
    set_default(crd, "spec.names.singular", kind.to_lowercase());
    if !kind.is_empty() {
        set_default(crd, "spec.names.listKind", format!("{kind}List"));
    }
    set_default(crd, "spec.conversion", json!({ "strategy": "None" }));
}
