//! Namespaces: they must exist, and they take their content with them.

use std::{collections::BTreeMap, sync::Arc};

use genclient_merge::Writer;
use serde_json::{Value, json};

use crate::{
    Clock,
    json::{at, object, set},
    kinds::Kind,
    metadata,
    status::{Cause, Failure},
    storage::{Object, State},
    verbs,
};

/// The namespaces of a new cluster.
const INITIAL: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// The namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

fn kind(state: &State) -> Option<Arc<Kind>> {
    state.kinds.get("", "v1", "namespaces")
}

/// Creates the namespaces of a new cluster.
pub(crate) fn create_initial(state: &mut State, clock: &Clock) {
    let Some(kind) = kind(state) else { return };
    for name in INITIAL {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "uid": metadata::uid(),
                "creationTimestamp": clock.text(),
                "labels": { "kubernetes.io/metadata.name": name },
            },
            "spec": { "finalizers": ["kubernetes"] },
            "status": { "phase": "Active" },
        });
        let writer =
            Writer::new("kube-apiserver", "v1").at(clock.text()).reset_fields(verbs::status_and_spec());
        let namespace = writer.update(None, &namespace, kind.schema()).unwrap_or(namespace);
        state.put(&kind, namespace);
    }
}

/// Completes a namespace that is created.
pub(crate) fn prepare(namespace: &mut Value) {
    let name = metadata::text(namespace, "name").to_owned();
    label(namespace, &name);
    set(namespace, "spec.finalizers", json!(["kubernetes"]));
    set(namespace, "status", json!({ "phase": "Active" }));
}

/// Sets the label that every namespace has.
pub(crate) fn label(namespace: &mut Value, name: &str) {
    object(at(namespace, "metadata.labels")).insert("kubernetes.io/metadata.name".to_owned(), name.into());
}

/// Checks that objects can be created in a namespace.
pub(crate) fn check(state: &State, created: &Kind, name: &str, namespace: &str) -> Result<(), Failure> {
    let Some(kind) = kind(state) else { return Ok(()) };
    let Some(found) = state.get(&kind, "", namespace) else {
        return Err(Failure::not_found(&kind, namespace));
    };
    if found.deleting {
        let cause = Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        return Err(Failure::forbidden(created, name, &why, &[cause]));
    }
    Ok(())
}

/// Refuses to delete a namespace that every cluster needs.
pub(crate) fn check_delete(kind: &Kind, name: &str) -> Result<(), Failure> {
    if IMMORTAL.contains(&name) {
        return Err(Failure::forbidden(kind, name, "this namespace may not be deleted", &[]));
    }
    Ok(())
}

/// Deletes the content of a namespace that is deleted, and the namespace when nothing is left in it.
pub(crate) fn finalize(state: &mut State, clock: &Clock, name: &str) {
    let Some(kind) = kind(state) else { return };
    let Some(namespace) = state.get(&kind, "", name).filter(|namespace| namespace.deleting) else { return };
    // The deletion of an object comes here again, however many objects there are.
    if !state.emptying.insert(name.to_owned()) {
        return;
    }
    for (of, object) in content(state, name).into_iter().filter(|(_, object)| !object.deleting) {
        verbs::delete_now(state, clock, &of, &object, verbs::Propagation::Background);
    }
    state.emptying.remove(name);
    let left = content(state, name);
    // A finalizer that was removed meanwhile may have changed the namespace.
    let Some(namespace) = state.get(&kind, "", &namespace.name).filter(|found| found.uid == namespace.uid)
    else {
        return;
    };
    if !left.is_empty() {
        report(state, clock, &kind, &namespace, &left);
        return;
    }
    let mut value = namespace.value(&kind);
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("finalizers");
    }
    if metadata::finalizers(&value).is_empty() {
        state.remove(&kind, &namespace);
    } else if value != namespace.value(&kind) {
        state.put(&kind, value);
    }
}

/// Returns the objects in a namespace.
fn content(state: &mut State, name: &str) -> Vec<(Arc<Kind>, Arc<Object>)> {
    let prefix = format!("{name}/");
    let mut content = Vec::new();
    for resource in state.resources() {
        let Some(of) = state.kinds.of_resource(&resource).filter(|kind| kind.namespaced) else { continue };
        let objects = state.table(&resource).range(&prefix, "");
        content.extend(objects.map(|(_, object)| (of.clone(), object.clone())));
    }
    content
}

/// Says in the conditions of a namespace what it waits for.
fn report(
    state: &mut State,
    clock: &Clock,
    kind: &Kind,
    namespace: &Object,
    left: &[(Arc<Kind>, Arc<Object>)],
) {
    let (mut resources, mut finalizers) = (BTreeMap::new(), BTreeMap::new());
    for (of, object) in left {
        *resources.entry(format!("{}.{}", of.plural, of.group)).or_insert(0) += 1;
        for finalizer in &object.finalizers {
            *finalizers.entry(finalizer.clone()).or_insert(0) += 1;
        }
    }
    let listed = |counts: &BTreeMap<String, usize>, verb: &str| {
        let all = counts.iter().map(|(name, count)| format!("{name} {verb} {count} resource instances"));
        all.collect::<Vec<_>>().join(", ")
    };
    let waits = |kind, reason, message| (kind, "True", reason, message);
    let fine = |kind, reason, message: &str| (kind, "False", reason, message.to_owned());
    let conditions = [
        fine(
            "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        fine(
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        fine(
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        waits(
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            format!("Some resources are remaining: {}", listed(&resources, "has")),
        ),
        if finalizers.is_empty() {
            fine(
                "NamespaceFinalizersRemaining",
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            )
        } else {
            let message = format!(
                "Some content in the namespace has finalizers remaining: {}",
                listed(&finalizers, "in")
            );
            waits("NamespaceFinalizersRemaining", "SomeFinalizersRemain", message)
        },
    ];
    let before = namespace.value(kind);
    let old = |kind: &str| {
        let conditions = before["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().find(|condition| condition["type"] == kind)
    };
    let conditions = conditions.into_iter().map(|(kind, status, reason, message)| {
        let time = match old(kind).filter(|old| old["status"] == status) {
            Some(old) => old["lastTransitionTime"].clone(),
            None => clock.text().into(),
        };
        json!({ "type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message })
    });
    let mut value = before.clone();
    set(&mut value, "status.conditions", conditions.collect::<Value>());
    if value != before {
        let writer =
            Writer::new("kube-controller-manager", kind.api_version()).at(clock.text()).subresource("status");
        let value = writer.update(Some(&before), &value, kind.schema()).unwrap_or(value);
        state.put(kind, value);
    }
}
