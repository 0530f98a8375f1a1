//! The life of a CRD: its names are accepted, its kinds are served, and its objects go with it.

use std::sync::Arc;

use genclient_merge::Writer;
use serde_json::{Value, json};

use crate::{
    Clock,
    json::{at, set},
    kinds::{Kind, ResourceId, crd, text_at},
    metadata, names,
    schema::{StructuralSchema, quote},
    status::{Cause, Failure},
    storage::{Object, State},
    verbs::{self, Propagation},
};

/// The finalizer of a CRD, which waits for its objects.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The annotation that a CRD in a group of Kubernetes needs.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// Completes a CRD that is created.
pub(crate) fn prepare(crd: &mut Value) {
    let storage = crd["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true)
        .map(|version| version["name"].clone());
    let status = json!({
        "acceptedNames": { "kind": "", "plural": "" },
        "conditions": null,
        "storedVersions": storage.into_iter().collect::<Vec<_>>(),
    });
    set(crd, "status", status);
}

/// Returns what is wrong with a CRD.
pub(crate) fn validate(crd: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(old) = old {
        for field in ["spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"] {
            let after = text_at(crd, field);
            if text_at(old, field) != after {
                causes.push(Cause::invalid_printed(field, quote(&after), "field is immutable"));
            }
        }
        if !causes.is_empty() {
            return causes;
        }
    }
    let (group, plural) = (text_at(crd, "spec.group"), text_at(crd, "spec.names.plural"));
    let name = metadata::text(crd, "name");
    if name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid_printed("metadata.name", quote(name), why));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !group.contains('.') {
        let why = "should be a domain with at least one dot";
        causes.push(Cause::invalid_printed("spec.group", quote(&group), why));
    }
    match text_at(crd, "spec.scope").as_str() {
        "Namespaced" | "Cluster" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        other => causes.push(Cause::not_supported("spec.scope", other, ["Cluster", "Namespaced"])),
    }
    let versions: Vec<&Value> = crd["spec"]["versions"].as_array().into_iter().flatten().collect();
    let schemas: Vec<&Value> = versions.iter().map(|version| &version["schema"]["openAPIV3Schema"]).collect();
    let same = schemas.windows(2).all(|pair| pair[0] == pair[1]);
    for (index, schema) in schemas.iter().enumerate() {
        let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
        if schema.is_null() {
            causes.push(Cause::required(field, ""));
        } else if !same || index == 0 {
            let checked =
                if same { StructuralSchema::new(schema) } else { StructuralSchema::at(schema, &field) };
            causes.extend(checked.err().into_iter().flat_map(|errors| errors.causes));
        }
    }
    let names: std::collections::BTreeSet<_> =
        versions.iter().filter_map(|version| version["name"].as_str()).collect();
    if names.len() < versions.len() {
        let why = "must contain unique version names";
        causes.push(Cause::invalid_printed("spec.versions", versions_text(&versions), why));
    }
    for (index, version) in versions.iter().enumerate() {
        // What is the same in all versions, the server knows as one for all.
        if index == 0 || versions.len() > 1 {
            let path =
                if versions.len() == 1 { "spec".to_owned() } else { format!("spec.versions[{index}]") };
            version_parts(version, &path, &mut causes);
        }
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        let shown =
            if crd["spec"]["versions"].is_null() { "null".to_owned() } else { versions_text(&versions) };
        causes.push(Cause::invalid_printed("spec.versions", shown, why));
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        if text_at(crd, &format!("spec.names.{field}")).is_empty() {
            causes.push(Cause::required(format!("spec.names.{field}"), ""));
        }
    }
    names_are_labels(crd, &mut causes);
    match text_at(crd, "spec.conversion.strategy").as_str() {
        "None" | "" => {}
        "Webhook" => {
            if crd["spec"]["conversion"]["webhook"]["conversionReviewVersions"].is_null() {
                causes.push(Cause::required("spec.conversion.conversionReviewVersions", ""));
            }
            if crd["spec"]["conversion"]["webhook"]["clientConfig"].is_null() {
                let why = "required when strategy is set to Webhook";
                causes.push(Cause::required("spec.conversion.webhookClientConfig", why));
            }
        }
        other => causes.push(Cause::not_supported("spec.conversion.strategy", other, ["None", "Webhook"])),
    }
    if crd["spec"]["preserveUnknownFields"] == true {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                   instead";
        causes.push(Cause::invalid_printed("spec.preserveUnknownFields", "true", why));
    }
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.ends_with(&format!(".{domain}")));
    let approval = &crd["metadata"]["annotations"][APPROVAL];
    if protected && approval.as_str().is_none_or(str::is_empty) {
        let why = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
                   https://github.com/kubernetes/enhancements/pull/1111";
        causes.push(Cause::required(format!("metadata.annotations[{APPROVAL}]"), why));
    }
    if crd["status"]["storedVersions"].as_array().is_none_or(Vec::is_empty) {
        let why = "must have at least one stored version";
        causes.push(Cause::invalid_printed("status.storedVersions", "null", why));
    }
    let list = crd["status"]["storedVersions"].as_array().filter(|list| !list.is_empty());
    for version in versions.iter().filter(|version| version["storage"] == true) {
        if let Some(list) = list.filter(|list| !list.contains(&version["name"])) {
            let why =
                format!("must have the storage version {}", version["name"].as_str().unwrap_or_default());
            let shown = Value::from(list.clone());
            causes.push(Cause::invalid_printed("status.storedVersions", shown, why));
        }
    }
    let stored = crd["status"]["storedVersions"].as_array().into_iter().flatten().enumerate();
    for (index, stored) in
        stored.filter(|(_, stored)| !versions.iter().any(|version| version["name"] == **stored))
    {
        let why = format!(
            "missing from spec.versions; {} was previously a storage version, and must remain in spec.versions until \
             a storage migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions",
            stored.as_str().unwrap_or_default()
        );
        causes.push(Cause::invalid_printed(format!("status.storedVersions[{index}]"), stored, why));
    }
    causes
}

/// Checks the subresources, columns and selectable fields of a version.
fn version_parts(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(scale) = version["subresources"].get("scale").filter(|scale| !scale.is_null()) {
        for (field, under) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
            let at = format!("{path}.subresources.scale.{field}");
            let given = scale[field].as_str().unwrap_or_default();
            if given.is_empty() {
                causes.push(Cause::required(at, ""));
            } else if !given.starts_with('.') {
                let why = "must be a simple json path starting with .";
                causes.push(Cause::invalid_printed(at, quote(given), why));
            } else if !given.starts_with(&format!("{under}.")) {
                let why = format!("should be a json path under {under}");
                causes.push(Cause::invalid_printed(at, quote(given), why));
            }
        }
    }
    for (index, column) in version["additionalPrinterColumns"].as_array().into_iter().flatten().enumerate() {
        let at = |field: &str| format!("{path}.additionalPrinterColumns[{index}].{field}");
        let text = |field: &str| column[field].as_str().unwrap_or_default();
        if text("name").is_empty() {
            causes.push(Cause::required(at("name"), ""));
        }
        let types = ["boolean", "date", "integer", "number", "string"];
        if text("type").is_empty() {
            causes.push(Cause::required(at("type"), ""));
        } else if !types.contains(&text("type")) {
            let why = format!("must be one of {}", types.join(","));
            causes.push(Cause::invalid_printed(at("type"), format!("{:?}", text("type")), why));
        }
        if text("jsonPath").is_empty() {
            causes.push(Cause::required(at("JSONPath"), ""));
        }
    }
    for (index, field) in version["selectableFields"].as_array().into_iter().flatten().enumerate() {
        let given = field["jsonPath"].as_str().unwrap_or_default();
        let at = format!("{path}.selectableFields[{index}].jsonPath");
        let schema = &version["schema"]["openAPIV3Schema"];
        let found = given
            .split('.')
            .filter(|part| !part.is_empty())
            .try_fold(schema, |schema, part| schema["properties"].get(part));
        let why = if given.is_empty() {
            causes.push(Cause::required(at, ""));
            continue;
        } else if !given.starts_with('.') {
            let word: String = given.chars().take_while(char::is_ascii_alphanumeric).collect();
            format!("is an invalid path: expected [ or . but got: {word}")
        } else if found.is_none() {
            "is an invalid path: does not refer to a valid field".to_owned()
        } else {
            continue;
        };
        causes.push(Cause::invalid_printed(at, quote(given), why));
    }
}

/// The names of a CRD, which are parts of paths, are DNS labels.
fn names_are_labels(crd: &Value, causes: &mut Vec<Cause>) {
    let names = &crd["spec"]["names"];
    let mut check = |field: &str, name: &Value, mixed: bool| {
        let Some(name) = name.as_str().filter(|name| !name.is_empty()) else { return };
        let problems = names::label_1035(&if mixed { name.to_lowercase() } else { name.to_owned() });
        if !problems.is_empty() {
            let mixed = if mixed { "may have mixed case, but should otherwise match: " } else { "" };
            let why = format!("{mixed}{}", problems.join(","));
            causes.push(Cause::invalid_printed(format!("spec.names.{field}"), quote(name), why));
        }
    };
    for (field, mixed) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        check(field, &names[field], mixed);
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in names[field].as_array().into_iter().flatten().enumerate() {
            check(&format!("{field}[{index}]"), name, false);
        }
    }
    if !names["kind"].is_null() && names["kind"] == names["listKind"] {
        let why = "kind and listKind may not be the same";
        causes.push(Cause::invalid_printed("spec.names.listKind", &names["listKind"], why));
    }
}

/// Prints the versions of a CRD whose parts are the same in all of them, as the server does.
fn versions_text(versions: &[&Value]) -> String {
    let version = |version: &&Value| {
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":null,\
             \"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
            version["name"],
            version["served"] == true,
            version["storage"] == true,
            version["deprecated"] == true,
            version["deprecationWarning"]
        )
    };
    format!("[{}]", versions.iter().map(version).collect::<Vec<_>>().join(","))
}

/// Refuses new objects of a CRD that is deleted.
pub(crate) fn check_create(state: &State, created: &Kind, name: &str) -> Result<(), Failure> {
    let Some(kind) = state.kinds.get("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
        return Ok(());
    };
    match state.get(&kind, "", created.resource.as_str()) {
        Some(crd) if crd.deleting => {
            let why = "create not allowed while custom resource definition is terminating";
            Err(Failure::forbidden(created, name, why, &[]))
        }
        _ => Ok(()),
    }
}

/// Remembers the version in which objects are stored from now on.
pub(crate) fn add_stored_version(crd: &mut Value) {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let Some(name) = versions
        .into_iter()
        .find(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
    else {
        return;
    };
    if let Some(stored) = at(crd, "status.storedVersions").as_array_mut()
        && !stored.contains(&name)
    {
        stored.push(name);
    }
}

/// Makes a CRD wait for its objects when it is deleted.
pub(crate) fn prepare_delete(crd: &mut Value, clock: &Clock) {
    let conditions = at(crd, "status.conditions");
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.push(json!({
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": clock.text(),
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }));
    }
    let mut finalizers = metadata::finalizers(crd);
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
        metadata::set_finalizers(crd, finalizers);
    }
}

/// Serves the kinds of a CRD that was written, or ends its deletion.
pub(crate) fn sync(state: &mut State, clock: &Clock, kind: &Kind, object: &Arc<Object>) {
    if object.deleting {
        finish_deletion(state, clock, kind, object);
        return;
    }
    let mut value = object.value(kind);
    let (group, plural) = (text_at(&value, "spec.group"), text_at(&value, "spec.names.plural"));
    let taken = taken_names(state, &value);
    let kinds = if taken.is_empty() { crd::kinds(&value) } else { Vec::new() };
    state.kinds.serve(&group, &plural, kinds);
    if establish(&mut value, clock, &taken) {
        let before = object.value(kind);
        let writer = Writer::new("kube-apiserver", kind.api_version()).at(clock.text()).subresource("status");
        let value = writer.update(Some(&before), &value, kind.schema()).unwrap_or(value);
        state.put(kind, value);
    }
}

/// Returns the names of a CRD that another one of its group has: the field, the reason of the condition and the name.
fn taken_names(state: &State, crd: &Value) -> Vec<(&'static str, &'static str, String)> {
    let (group, plural) = (text_at(crd, "spec.group"), text_at(crd, "spec.names.plural"));
    let others: Vec<_> =
        state.kinds.custom().filter(|kind| kind.group == group && kind.plural != plural).cloned().collect();
    let names = [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
        ("kind", "KindConflict"),
        ("listKind", "ListKindConflict"),
    ];
    let taken = names.into_iter().filter_map(|(field, reason)| {
        let name = text_at(crd, &format!("spec.names.{field}"));
        let used = others.iter().any(|other| match field {
            "plural" | "singular" => {
                other.plural == name || other.singular == name || other.short_names.contains(&name)
            }
            _ => other.kind == name || other.list_kind == name,
        });
        used.then_some((field, reason, name))
    });
    taken.collect()
}

/// Accepts the names of a CRD, and says that its kinds are served. Returns whether anything changed.
fn establish(value: &mut Value, clock: &Clock, taken: &[(&'static str, &'static str, String)]) -> bool {
    let mut changed = false;
    let mut names = value["spec"]["names"].clone();
    for (field, ..) in taken {
        if *field == "kind" || *field == "plural" {
            set(&mut names, field, "");
        } else {
            crate::json::object(&mut names).remove(*field);
        }
    }
    if value["status"]["acceptedNames"] != names {
        set(value, "status.acceptedNames", names);
        changed = true;
    }
    let conditions = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
    if conditions.is_empty() {
        let condition = |kind: &str, reason: &str, message: &str| {
            json!({
                "type": kind,
                "status": "True",
                "lastTransitionTime": clock.text(),
                "reason": reason,
                "message": message,
            })
        };
        let refused = |kind: &str, reason: &str, message: &str| {
            let mut refused = condition(kind, reason, message);
            set(&mut refused, "status", "False");
            refused
        };
        let conditions = match taken.last() {
            Some((_, reason, name)) => json!([
                refused("NamesAccepted", reason, &format!("{name:?} is already in use")),
                refused("Established", "NotAccepted", "not all names are accepted"),
            ]),
            None => json!([
                condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            ]),
        };
        set(value, "status.conditions", conditions);
        changed = true;
    }
    changed
}

/// Deletes the objects of a CRD that is being deleted, and the CRD once none is left.
fn finish_deletion(state: &mut State, clock: &Clock, kind: &Kind, crd: &Object) {
    let waits = |crd: &Object| crd.finalizers.iter().any(|finalizer| finalizer == CLEANUP);
    if !waits(crd) || !clean_up(state, clock, &ResourceId::named(&crd.name)) {
        return;
    }
    // Deleting the last object calls this function for the same CRD, which has changed or is gone then.
    let found = state.get(kind, "", &crd.name).filter(|found| found.uid == crd.uid && waits(found));
    let Some(crd) = found else { return };
    let mut value = crd.value(kind);
    let mut finalizers = metadata::finalizers(&value);
    finalizers.retain(|finalizer| finalizer != CLEANUP);
    if finalizers.is_empty() {
        state.remove(kind, &crd);
        verbs::after_removal(state, clock, kind, &crd);
    } else {
        metadata::set_finalizers(&mut value, finalizers);
        state.put(kind, value);
    }
}

/// Deletes the objects of a custom resource, and returns whether none is left.
fn clean_up(state: &mut State, clock: &Clock, resource: &ResourceId) -> bool {
    let Some(kind) = state.kinds.of_resource(resource) else { return true };
    let objects: Vec<_> = state.table(resource).range("", "").map(|(_, object)| object.clone()).collect();
    for object in objects {
        verbs::delete_now(state, clock, &kind, &object, Propagation::Background);
    }
    state.table(resource).is_empty()
}

/// Ends the deletion of a CRD whose last object is gone.
pub(crate) fn after_removal(state: &mut State, clock: &Clock, removed: &Kind) {
    let Some(kind) = state.kinds.get("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
        return;
    };
    if !state.table(&removed.resource).is_empty() {
        return;
    }
    if let Some(crd) = state.get(&kind, "", removed.resource.as_str()).filter(|crd| crd.deleting) {
        sync(state, clock, &kind, &crd);
    }
}

/// Stops serving the kinds of a CRD that is gone.
pub(crate) fn remove(state: &mut State, kind: &Kind, object: &Object) {
    let value = object.value(kind);
    let (group, plural) = (text_at(&value, "spec.group"), text_at(&value, "spec.names.plural"));
    state.kinds.serve(&group, &plural, Vec::new());
    state.wake(&ResourceId::new(&group, &plural));
}
