//! Garbage collection: objects whose owners are gone.
//!
//! * An object goes when all its owners are gone. One whose owners never existed stays. If some are left, the references to the others go.
//! * An owner that is deleted in the foreground goes after the objects that block its deletion.
//! * The dependents of an owner that is deleted with `orphan` lose their reference to it.

use std::sync::Arc;

use genclient_merge::Writer;
use serde_json::Value;

use crate::{
    Clock,
    kinds::Kind,
    metadata,
    storage::{Object, Place, State},
    verbs::{self, Propagation},
};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Returns the kind and the object at a place.
fn at(state: &State, place: &Place) -> Option<(Arc<Kind>, Arc<Object>)> {
    Some((state.kinds.of_resource(&place.0)?, state.at(place)?))
}

/// Collects what depends on an object that is gone.
///
/// What goes with it is collected in turn, however long the chain of owners is.
pub(crate) fn after_removal(state: &mut State, clock: &Clock, object: &Arc<Object>) {
    state.gone.push_back(object.clone());
    if std::mem::replace(&mut state.collecting, true) {
        return;
    }
    while let Some(object) = state.gone.pop_front() {
        collect(state, clock, &object);
    }
    state.collecting = false;
}

fn collect(state: &mut State, clock: &Clock, object: &Object) {
    if state.place_of(&object.uid).is_some() {
        return;
    }
    for place in state.dependents(&object.uid) {
        let Some((kind, dependent)) = at(state, &place) else { continue };
        let left = dependent.owners.iter().any(|owner| state.place_of(owner).is_some());
        if left {
            release(state, clock, &kind, &dependent, &object.uid);
        } else {
            verbs::delete_now(state, clock, &kind, &dependent, Propagation::Background);
        }
    }
    // An owner may have waited for this object.
    for owner in &object.owners {
        finish(state, clock, owner);
    }
}

/// Does what the finalizers of the garbage collector ask for.
pub(crate) fn after_write(state: &mut State, clock: &Clock, kind: &Kind, object: &Arc<Object>) {
    if !object.deleting {
        return;
    }
    let finalizers = &object.finalizers;
    if finalizers.iter().any(|finalizer| finalizer == ORPHAN) {
        for place in state.dependents(&object.uid) {
            if let Some((kind, dependent)) = at(state, &place) {
                release(state, clock, &kind, &dependent, &object.uid);
            }
        }
        remove_finalizer(state, clock, kind, object, ORPHAN);
    } else if finalizers.iter().any(|finalizer| finalizer == FOREGROUND) {
        for place in state.dependents(&object.uid) {
            let Some((kind, dependent)) = at(state, &place).filter(|(_, dependent)| !dependent.deleting)
            else {
                continue;
            };
            let others = dependent.owners.iter().any(|owner| {
                *owner != object.uid
                    && state
                        .place_of(owner)
                        .and_then(|place| state.at(place))
                        .is_some_and(|owner| !owner.deleting)
            });
            if others {
                release(state, clock, &kind, &dependent, &object.uid);
            } else {
                verbs::delete_now(state, clock, &kind, &dependent, Propagation::Foreground);
            }
        }
        finish(state, clock, &object.uid);
    }
}

/// Ends the deletion of an owner in the foreground, if no dependent blocks it.
fn finish(state: &mut State, clock: &Clock, uid: &str) {
    let Some(place) = state.place_of(uid).cloned() else { return };
    let Some((kind, owner)) = at(state, &place).filter(|(_, owner)| owner.deleting) else { return };
    let blocked =
        state.dependents(uid).iter().filter_map(|place| at(state, place)).any(|(kind, dependent)| {
            let value = dependent.value(&kind);
            let references = value["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
            references.iter().any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
        });
    if !blocked {
        remove_finalizer(state, clock, &kind, &owner, FOREGROUND);
    }
}

fn remove_finalizer(state: &mut State, clock: &Clock, kind: &Kind, object: &Object, finalizer: &str) {
    let Some(object) =
        state.get(kind, &object.namespace, &object.name).filter(|found| found.uid == object.uid)
    else {
        return;
    };
    let mut value = object.value(kind);
    let mut finalizers = metadata::finalizers(&value);
    let before = finalizers.len();
    finalizers.retain(|found| found != finalizer);
    if finalizers.len() == before {
        return;
    }
    metadata::set_finalizers(&mut value, finalizers);
    write(state, clock, kind, value);
}

/// Removes the reference to an owner.
fn release(state: &mut State, clock: &Clock, kind: &Kind, object: &Object, owner: &str) {
    let mut value = object.value(kind);
    if let Some(Value::Array(references)) = value.pointer_mut("/metadata/ownerReferences") {
        references.retain(|reference| reference["uid"] != owner);
    }
    metadata::drop_empty(&mut value);
    write(state, clock, kind, value);
}

fn write(state: &mut State, clock: &Clock, kind: &Kind, value: Value) {
    let name = |field: &str| metadata::text(&value, field).to_owned();
    let found = state.get(kind, &name("namespace"), &name("name"));
    let done = metadata::finalizers(&value).is_empty() && found.as_ref().is_some_and(|found| found.deleting);
    match found {
        Some(found) if done => {
            // The version without the finalizer is never seen: the object goes.
            state.remove(kind, &found);
            verbs::after_removal(state, clock, kind, &found);
        }
        _ => {
            let writer = Writer::new("kube-controller-manager", kind.api_version()).at(clock.text());
            let before = found.map(|found| found.value(kind));
            let value = writer.update(before.as_ref(), &value, kind.schema()).unwrap_or(value);
            let object = state.put(kind, value);
            verbs::after_write(state, clock, kind, &object);
        }
    }
}
