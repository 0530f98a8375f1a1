//! Deleting objects.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{
    Answer, Call, Reply, list,
    write::{after_removal, after_write},
};
use crate::{
    Clock, clock, decode,
    kinds::Kind,
    metadata, namespaces,
    request::{Input, Look, Query},
    schema::quote,
    status::{Cause, Failure},
    storage::{Object, State},
    view::Page,
};

/// What becomes of the objects that name the deleted one as their owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// The options of a deletion.
struct Options {
    dry_run: bool,
    grace_period: Option<i64>,
    /// `None` leaves it to the finalizers that the object has, or to the kind.
    propagation: Option<Propagation>,
    uid: Option<String>,
    version: Option<String>,
}

impl Options {
    /// Reads the options from the body or, if there is none, from the parameters: the server ignores
    /// the parameters of a deletion that has a body.
    fn read(call: &Call<'_>) -> Result<Self, Failure> {
        let request = call.request;
        let input = if request.body.is_empty() { Input::Json } else { Input::of(&request.headers)? };
        let body: Value = if request.body.is_empty() { json!({}) } else { read_body(&request.body, input)? };
        let none = Query::default();
        let query = if request.body.is_empty() { &request.query } else { &none };
        let mut causes = Vec::new();
        let mut dry_run: Vec<String> = body["dryRun"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|value| Some(value.as_str()?.to_owned()))
            .collect();
        if dry_run.is_empty() {
            dry_run.extend(query.all("dryRun").map(str::to_owned));
        }
        if dry_run.iter().any(|value| value != "All") {
            let given: Vec<_> = dry_run.iter().map(|value| quote(value)).collect();
            causes.push(Cause {
                reason: "FieldValueNotSupported",
                message: format!("Unsupported value: [{}]: supported values: \"All\"", given.join(",")),
                field: "dryRun".to_owned(),
            });
        }
        let orphan = match &body["orphanDependents"] {
            Value::Bool(orphan) => Some(*orphan),
            _ => query.tri("orphanDependents"),
        };
        let policy = body["propagationPolicy"].as_str().or_else(|| query.all("propagationPolicy").next());
        let propagation = match policy {
            Some(policy) if orphan.is_some() => {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                causes.push(Cause::invalid_printed("propagationPolicy", quote(policy), why));
                None
            }
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Background") => Some(Propagation::Background),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                causes.push(Cause::not_supported("propagationPolicy", other, supported));
                None
            }
            None => orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background }),
        };
        if !causes.is_empty() {
            return Err(Failure::invalid_named("meta.k8s.io", "DeleteOptions", "", &causes));
        }
        let grace_period = match body["gracePeriodSeconds"].as_i64() {
            Some(seconds) => Some(seconds),
            None => query.number("gracePeriodSeconds")?,
        };
        let precondition = |field: &str| {
            let given = body["preconditions"][field].as_str().or_else(|| query.get(field));
            given.map(str::to_owned)
        };
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            grace_period,
            propagation,
            uid: precondition("uid"),
            version: precondition("resourceVersion"),
        })
    }

    /// Checks that the object is the one that the preconditions mean.
    fn check(&self, kind: &Kind, object: &Object) -> Result<(), Failure> {
        if let Some(uid) = self.uid.as_deref().filter(|uid| *uid != object.uid) {
            let why = format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have \
                 been deleted and then recreated",
                object.uid
            );
            return Err(Failure::precondition(kind, &object.name, &why));
        }
        if let Some(version) =
            self.version.as_deref().filter(|version| *version != object.version.to_string())
        {
            let why = format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record \
                 ({}). The object might have been modified",
                object.version
            );
            return Err(Failure::precondition(kind, &object.name, &why));
        }
        Ok(())
    }
}

/// Reads the body of a deletion.
fn read_body(body: &[u8], input: Input) -> Result<Value, Failure> {
    let undecodable =
        |why: String| Failure::bad_request(format!("couldn't get version/kind; json parse error: {why}"));
    let value: Value = match input {
        Input::Json => {
            serde_json::from_slice(body).map_err(|error| undecodable(decode::go_error(&error, body)))?
        }
        Input::Yaml => decode::yaml(body).map_err(undecodable)?,
    };
    if value.is_null() {
        // Nothing is an object without fields.
        return Ok(Value::Object(serde_json::Map::new()));
    }
    if !value.is_object() {
        let what = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        let found = decode::type_name(&value);
        return Err(undecodable(format!("json: cannot unmarshal {found} into Go value of type {what}")));
    }
    let text = |field: &str| value[field].as_str().unwrap_or_default();
    if !text("kind").is_empty() && text("kind") != "DeleteOptions" {
        let why = format!(
            "no kind {:?} is registered for version {:?} in scheme \"pkg/runtime/scheme.go:111\"",
            text("kind"),
            text("apiVersion")
        );
        return Err(Failure::bad_request(why));
    }
    let seconds = &value["gracePeriodSeconds"];
    if !seconds.is_null() && !seconds.is_i64() {
        let found = decode::type_name(seconds);
        return Err(Failure::bad_request(format!(
            "json: cannot unmarshal {found} into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        )));
    }
    Ok(value)
}

pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let options = Options::read(call)?;
    let object = call.found()?;
    let kind = call.kind.clone();
    if kind.is("", "Namespace") {
        namespaces::check_delete(&kind, &object.name)?;
    }
    options.check(&kind, &object)?;
    let clock = call.server.clock.clone();
    let mut propagation = options.propagation;
    if propagation.is_none() && kind.is("batch", "Job") {
        propagation = Some(Propagation::Orphan);
        call.warnings.push(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
             them or set propagationPolicy=Orphan to suppress this warning"
                .to_owned(),
        );
    }
    let outcome = marked(&kind, &clock, &object, propagation, options.grace_period);
    if options.dry_run {
        return Ok(match outcome {
            Outcome::Kept(value) => Reply::Object(200, value),
            Outcome::Removed if !returns_object(&kind) => Reply::Plain(200, success(&kind, &object)),
            Outcome::Unchanged | Outcome::Removed => Reply::Object(200, object.value(&kind)),
        });
    }
    Ok(match carry_out(call.state, &clock, &kind, &object, outcome) {
        Some(value) => Reply::Object(200, value),
        None => Reply::Plain(200, success(&kind, &object)),
    })
}

/// Evicts a pod: deletes it.
pub(super) fn evict(call: &mut Call<'_>) -> Answer {
    let options = call.request.query.write_options("CreateOptions")?;
    let object = call.found()?;
    if !options.dry_run {
        let (kind, clock) = (call.kind.clone(), call.server.clock.clone());
        delete_now(call.state, &clock, &kind, &object, Propagation::Background);
    }
    let success =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(Reply::Plain(201, success))
}

pub(super) fn delete_collection(call: &mut Call<'_>) -> Answer {
    list::check(call)?;
    let options = Options::read(call)?;
    let page = list::page(call)?;
    let kind = call.kind.clone();
    let clock = call.server.clock.clone();
    let objects = page.objects;
    for object in &objects {
        // The deletion of one may have taken others with it.
        let Some(object) = call.state.get(&kind, &object.namespace, &object.name) else { continue };
        if options.dry_run || options.check(&kind, &object).is_err() {
            continue;
        }
        let outcome = marked(&kind, &clock, &object, options.propagation, options.grace_period);
        carry_out(call.state, &clock, &kind, &object, outcome);
    }
    let encoder = Page {
        kind: &kind,
        look: Look::PLAIN,
        now: clock.now(),
        version: page.version,
        token: page.token,
        remaining: page.remaining,
    };
    Ok(Reply::List(encoder.encode(objects.iter().map(|object| &**object))))
}

/// Deletes an object for the control plane.
pub(crate) fn delete_now(
    state: &mut State,
    clock: &Clock,
    kind: &Kind,
    object: &Arc<Object>,
    propagation: Propagation,
) {
    let Some(object) =
        state.get(kind, &object.namespace, &object.name).filter(|found| found.uid == object.uid)
    else {
        return;
    };
    let outcome = marked(kind, clock, &object, Some(propagation), None);
    carry_out(state, clock, kind, &object, outcome);
}

/// What a deletion does.
enum Outcome {
    /// The object goes.
    Removed,
    /// The object waits for its finalizers, or for the end of its grace period.
    Kept(Value),
    /// The object waited already.
    Unchanged,
}

/// Decides what a deletion does.
fn marked(
    kind: &Kind,
    clock: &Clock,
    object: &Object,
    propagation: Option<Propagation>,
    grace_period: Option<i64>,
) -> Outcome {
    let before = object.value(kind);
    let mut value = before.clone();
    let mut finalizers = metadata::finalizers(&value);
    if let Some(propagation) = propagation {
        let wanted = match propagation {
            Propagation::Background => None,
            Propagation::Foreground => Some("foregroundDeletion"),
            Propagation::Orphan => Some("orphan"),
        };
        finalizers.retain(|finalizer| {
            !matches!(finalizer.as_str(), "foregroundDeletion" | "orphan")
                || Some(finalizer.as_str()) == wanted
        });
        if let Some(wanted) = wanted.filter(|wanted| !finalizers.iter().any(|finalizer| finalizer == wanted))
        {
            finalizers.push(wanted.to_owned());
        }
    }
    let namespace = kind.is("", "Namespace");
    let crd = kind.is("apiextensions.k8s.io", "CustomResourceDefinition");
    if crd && !object.deleting {
        crate::crds::prepare_delete(&mut value, clock);
        finalizers.extend(metadata::finalizers(&value));
        finalizers.dedup();
    }
    let grace = grace_period_of(kind, &value, grace_period);
    if finalizers.is_empty() && grace == 0 && !namespace {
        return Outcome::Removed;
    }
    metadata::set_finalizers(&mut value, finalizers);
    if object.deleting {
        let shorter =
            value["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|left| grace < left);
        if shorter {
            set_deletion(&mut value, clock, grace);
        }
    } else {
        set_deletion(&mut value, clock, grace);
        if namespace {
            crate::json::set(&mut value, "status.phase", "Terminating");
        }
        if namespace || crd {
            metadata::of(&mut value).remove("deletionGracePeriodSeconds");
        } else {
            metadata::increment_generation(&mut value);
        }
    }
    if value == before { Outcome::Unchanged } else { Outcome::Kept(value) }
}

fn set_deletion(value: &mut Value, clock: &Clock, grace: i64) {
    let time = clock.now().saturating_add(SignedDuration::from_secs(grace)).unwrap_or(jiff::Timestamp::MAX);
    metadata::set_text(value, "deletionTimestamp", &clock::seconds(time));
    metadata::of(value).insert("deletionGracePeriodSeconds".to_owned(), grace.into());
}

/// Returns how long a pod may still run. All else goes at once.
fn grace_period_of(kind: &Kind, value: &Value, asked: Option<i64>) -> i64 {
    if !kind.is("", "Pod") {
        return 0;
    }
    let scheduled = value["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let ended = matches!(value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !scheduled || ended {
        return 0;
    }
    asked.or_else(|| value["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(30).max(0)
}

/// Does what was decided, and returns the object if it is still there, or was written on its way.
fn carry_out(
    state: &mut State,
    clock: &Clock,
    kind: &Kind,
    object: &Arc<Object>,
    outcome: Outcome,
) -> Option<Value> {
    match outcome {
        Outcome::Removed if kind.is("", "Pod") && !object.deleting => {
            // A pod is marked before it goes, even if nothing keeps it.
            let mut value = object.value(kind);
            set_deletion(&mut value, clock, 0);
            metadata::increment_generation(&mut value);
            let marked = state.put(kind, value);
            Some(gone(state, clock, kind, &marked))
        }
        Outcome::Removed if returns_object(kind) => Some(gone(state, clock, kind, object)),
        Outcome::Removed => {
            gone(state, clock, kind, object);
            None
        }
        Outcome::Kept(value) => {
            let object = state.put(kind, value);
            let value = object.value(kind);
            after_write(state, clock, kind, &object);
            Some(value)
        }
        Outcome::Unchanged => Some(object.value(kind)),
    }
}

/// Removes an object, and returns it at the version at which it goes.
fn gone(state: &mut State, clock: &Clock, kind: &Kind, object: &Arc<Object>) -> Value {
    state.remove(kind, object);
    let version = state.version();
    after_removal(state, clock, kind, object);
    let mut value = object.value(kind);
    metadata::set_text(&mut value, "resourceVersion", &version.to_string());
    value
}

/// Returns whether the answer to a deletion is the object.
fn returns_object(kind: &Kind) -> bool {
    match kind.group.as_str() {
        "" => matches!(
            kind.kind.as_str(),
            "LimitRange"
                | "PersistentVolume"
                | "PersistentVolumeClaim"
                | "Pod"
                | "PodTemplate"
                | "ResourceQuota"
                | "Service"
                | "ServiceAccount"
        ),
        "storage.k8s.io" => kind.kind != "CSIStorageCapacity",
        _ => false,
    }
}

/// Says that an object is gone.
fn success(kind: &Kind, object: &Object) -> Value {
    let mut details = json!({ "name": object.name, "kind": kind.plural, "uid": object.uid });
    if !kind.group.is_empty() {
        details["group"] = kind.group.as_str().into();
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
