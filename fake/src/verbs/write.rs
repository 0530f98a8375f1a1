//! What all writes have in common: unknown fields, defaults, owners of fields, rules, and the write itself.

use std::sync::Arc;

use genclient_merge::{FieldPath, FieldSet, Writer};
use serde_json::Value;

use super::{Call, Reply, patch};
use crate::{
    Clock,
    decode::{self, Decoded},
    defaults, garbage,
    kinds::{Kind, Nulls},
    metadata, namespaces,
    request::{FieldValidation, WriteOptions},
    schema::quote,
    status::{Cause, Failure},
    storage::{Object, State},
};

/// Which part of an object a write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'p> {
    /// All but the status, if that is a subresource.
    Whole,
    /// The status.
    Status,
    /// Another subresource that is a part of the object.
    Other(&'p str),
}

impl<'p> Part<'p> {
    pub(crate) fn of(subresource: &'p str) -> Self {
        match subresource {
            "" => Part::Whole,
            "status" => Part::Status,
            other => Part::Other(other),
        }
    }

    pub(crate) fn subresource(self) -> &'p str {
        match self {
            Part::Whole => "",
            Part::Status => "status",
            Part::Other(name) => name,
        }
    }
}

fn fields(paths: &[&[&str]]) -> FieldSet {
    paths.iter().map(|path| FieldPath::of_fields(path.iter().copied())).collect()
}

/// The fields of a namespace that the server sets by itself.
pub(crate) fn status_and_spec() -> FieldSet {
    fields(&[&["status"], &["spec"]])
}

/// Returns the fields whose owners a write does not change.
fn reset_fields(kind: &Kind, part: Part<'_>) -> FieldSet {
    match part {
        Part::Whole if kind.has_status() => fields(&[&["status"]]),
        Part::Whole => FieldSet::new(),
        Part::Status if kind.is_custom() => fields(&[&["metadata"], &["spec"]]),
        Part::Status => fields(&[&["spec"]]),
        Part::Other(_) => fields(&[&["status"]]),
    }
}

/// Who writes an object, and how.
pub(crate) fn writer(call: &Call<'_>, part: Part<'_>) -> Writer {
    let writer = Writer::new(call.request.manager(), call.kind.api_version());
    // The server does not note when something was scaled.
    let writer = if part == Part::Other("scale") { writer } else { writer.at(call.server.clock.text()) };
    writer.subresource(part.subresource()).reset_fields(reset_fields(&call.kind, part))
}

/// Returns a new object of one of Kubernetes' own kinds: the parts that are always written.
fn blank(kind: &Kind) -> &Value {
    kind.blank(|| new_blank(kind))
}

fn new_blank(kind: &Kind) -> Value {
    let mut value = serde_json::json!({ "apiVersion": kind.api_version(), "kind": kind.kind });
    decode::complete(&mut value, kind);
    // These lists are written even if they are empty.
    for path in ["spec", "spec.template.spec", "template.spec", "spec.jobTemplate.spec.template.spec"] {
        let pod = value.pointer_mut(&format!("/{}", path.replace('.', "/")));
        if kind.schema().shape().at(path).is_some_and(|shape| shape.field("containers").is_some())
            && let Some(pod) = pod.and_then(Value::as_object_mut)
        {
            pod.insert("containers".to_owned(), Value::Null);
        }
    }
    value
}

/// Reads the object of a create or an update.
pub(crate) fn read(call: &mut Call<'_>, options: WriteOptions) -> Result<Value, Failure> {
    let kind = call.kind.clone();
    read_as(call, &kind, options)
}

/// Reads the body of a request as an object of this kind.
pub(crate) fn read_as(call: &mut Call<'_>, kind: &Kind, options: WriteOptions) -> Result<Value, Failure> {
    let Decoded { mut value, mut problems } =
        decode::object(&call.request.headers, &call.request.body, kind)?;
    decode::check_kind(&mut value, kind, &call.state.kinds)?;
    let unknown = decode::conform(&mut value, kind, Nulls::Pruned)
        .map_err(|why| Failure::bad_request(decode::cannot_be_handled(kind, &why)))?;
    problems.extend(unknown);
    decode::report_unknown(kind, &problems, options.validation, call.warnings)?;
    Ok(value)
}

/// Brings a patched object into the form that the server writes. `shown` is what errors show of it, and
/// `unknown` are fields of the patch that are gone already.
pub(crate) fn conform(
    call: &mut Call<'_>,
    value: &mut Value,
    options: WriteOptions,
    shown: &str,
    mut unknown: Vec<String>,
    nulls: Nulls,
) -> Result<(), Failure> {
    let problems =
        decode::conform(value, &call.kind, nulls).map_err(|why| patch::invalid_patch(shown, why))?;
    unknown.extend(problems);
    report_unknown(call, shown, &unknown, options)
}

/// Reports fields of a patched object that the kind does not have.
pub(crate) fn report_unknown(
    call: &mut Call<'_>,
    shown: &str,
    unknown: &[String],
    options: WriteOptions,
) -> Result<(), Failure> {
    if options.validation == FieldValidation::Strict && !unknown.is_empty() {
        return Err(patch::invalid_patch(shown, format!("strict decoding error: {}", unknown.join(", "))));
    }
    decode::report_unknown(&call.kind, unknown, options.validation, call.warnings)
}

/// Sets the defaults of the kind.
pub(crate) fn apply_defaults(kind: &Kind, value: &mut Value) {
    match &kind.custom {
        Some(custom) => custom.apply_defaults(value),
        None => defaults::apply(kind, value),
    }
}

/// The object of a write.
pub(crate) enum Written {
    /// As it is stored.
    Stored(Arc<Object>),
    /// As it would be stored, or as it was.
    Shown(Value),
}

impl Written {
    /// Returns the object in the version of `kind`.
    pub(crate) fn value(self, kind: &Kind) -> Value {
        match self {
            Self::Stored(object) => object.value(kind),
            Self::Shown(value) => value,
        }
    }

    /// Returns the answer with this code.
    pub(crate) fn reply(self, code: u16) -> Reply {
        match self {
            Self::Stored(object) => Reply::Stored(code, object),
            Self::Shown(value) => Reply::Object(code, value),
        }
    }
}

/// Writes a new object.
///
/// `managed` says whether the object has its managed fields already.
pub(crate) fn insert(
    call: &mut Call<'_>,
    mut value: Value,
    options: WriteOptions,
    managed: bool,
) -> Result<Written, Failure> {
    let kind = call.kind.clone();
    let clock = call.server.clock.clone();
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata::of(&mut value).remove(field);
    }
    if !managed {
        let mut writer = writer(call, Part::Whole);
        if !kind.is_custom() {
            writer = writer.blank(blank(&kind).clone());
        }
        value = writer.update(None, &value, kind.schema()).unwrap_or_else(|_| {
            let mut value = value;
            metadata::of(&mut value).remove("managedFields");
            value
        });
    }
    let name = metadata::text(&value, "name").to_owned();
    if kind.namespaced {
        namespaces::check(call.state, &kind, &name, &call.path.namespace)?;
    }
    if kind.is_custom() {
        crate::crds::check_create(call.state, &kind, &name)?;
    }
    let generate_name = metadata::text(&value, "generateName").to_owned();
    if name.is_empty() && !generate_name.is_empty() {
        let mut generated = metadata::generate_name(&generate_name);
        // The server tries again a few times, too.
        for _ in 0..8 {
            if call.state.get(&kind, &call.path.namespace, &generated).is_none() {
                break;
            }
            generated = metadata::generate_name(&generate_name);
        }
        metadata::set_text(&mut value, "name", &generated);
    }
    metadata::set_text(&mut value, "uid", &metadata::uid());
    metadata::set_text(&mut value, "creationTimestamp", &clock.text());
    if kind.has_status()
        && let Some(object) = value.as_object_mut()
    {
        object.remove("status");
    }
    if counts_generations(&kind) {
        metadata::of(&mut value).insert("generation".to_owned(), 1.into());
    }
    if !kind.is_custom() {
        // The parts that every object has, without what the status was.
        if let Some(status) = blank(&kind).get("status") {
            crate::json::set_default(&mut value, "status", status.clone());
        }
        defaults::prepare_create(call.state, &kind, &mut value, &clock.text());
    }
    prepare_create(&kind, &mut value);
    defaults::add_nulls(&kind, &mut value);
    if kind.is_custom() {
        for finalizer in metadata::finalizers(&value).iter().filter(|finalizer| !finalizer.contains('/')) {
            call.warnings.push(format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental \
                 conflicts with other finalizer writers"
            ));
        }
    }
    let name = metadata::text(&value, "name").to_owned();
    check_kind(&kind, &name, &value)?;
    let causes = validate(&kind, &value, None, Part::Whole);
    if !causes.is_empty() {
        return Err(Failure::invalid(&kind, &name, &causes));
    }
    let version = metadata::text(&value, "resourceVersion");
    if version.parse::<u64>().is_ok_and(|version| version > 0) {
        return Err(Failure::unknown("resourceVersion should not be set on objects to be created"));
    }
    if let Some(found) = call.state.get(&kind, &call.path.namespace, &name) {
        let failure = Failure::already_exists(&kind, &name);
        return Err(if found.deleting { failure.context("object is being deleted: ") } else { failure });
    }
    if options.dry_run {
        metadata::drop_empty(&mut value);
        return Ok(Written::Shown(value));
    }
    let object = call.state.put(&kind, value);
    after_write(call.state, &clock, &kind, &object);
    Ok(Written::Stored(object))
}

/// Sets what the server sets in new objects of a kind.
fn prepare_create(kind: &Kind, value: &mut Value) {
    if kind.is("", "Namespace") {
        namespaces::prepare(value);
    }
    if kind.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        crate::crds::prepare(value);
    }
}

/// Returns whether objects of the kind have a generation.
fn counts_generations(kind: &Kind) -> bool {
    kind.is_custom()
        || match kind.group.as_str() {
            "" => matches!(kind.kind.as_str(), "Pod" | "PodTemplate" | "ReplicationController"),
            "apps" => kind.kind != "ControllerRevision",
            "batch"
            | "networking.k8s.io"
            | "admissionregistration.k8s.io"
            | "flowcontrol.apiserver.k8s.io" => !matches!(kind.kind.as_str(), "IPAddress" | "ServiceCIDR"),
            "policy" | "apiextensions.k8s.io" | "discovery.k8s.io" => true,
            "scheduling.k8s.io" => true,
            "resource.k8s.io" => matches!(kind.kind.as_str(), "DeviceClass" | "ResourceSlice"),
            _ => false,
        }
}

/// Checks that a custom resource says to be of its kind.
fn check_kind(kind: &Kind, name: &str, value: &Value) -> Result<(), Failure> {
    let found = value["kind"].as_str().unwrap_or_default();
    if !kind.is_custom() || found == kind.kind {
        return Ok(());
    }
    let cause = Cause::invalid_printed("kind", quote(found), format!("must be {}", kind.kind));
    Err(Failure::invalid_named(&kind.group, found, name, &[cause]))
}

/// Returns what breaks the rules of a kind.
pub(crate) fn validate(kind: &Kind, new: &Value, old: Option<&Value>, part: Part<'_>) -> Vec<Cause> {
    let mut causes = metadata::validate(kind, new);
    if let Some(custom) = &kind.custom {
        causes = custom.validate(new, old, part == Part::Status, causes);
    } else if kind.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        causes.extend(crate::crds::validate(new, old));
    } else {
        causes.extend(crate::validate::validate(kind, new, old));
    }
    causes
}

/// Writes a new version of an object.
///
/// `new` is the whole object that the request wants; what the request may not change stays as it is. `managed`
/// says whether the object has its managed fields already.
pub(crate) fn replace(
    call: &mut Call<'_>,
    old: &Arc<Object>,
    mut new: Value,
    part: Part<'_>,
    options: WriteOptions,
    managed: bool,
) -> Result<Written, Failure> {
    let kind = call.kind.clone();
    let clock = call.server.clock.clone();
    let before = old.value(&kind);
    check_version(&kind, old, &new)?;
    restrict(&kind, part, &before, &mut new);
    if !managed {
        new = writer(call, part).update(Some(&before), &new, kind.schema()).unwrap_or_else(|_| {
            let mut new = new;
            metadata::of(&mut new).remove("managedFields");
            new
        });
    }
    metadata::set_text(&mut new, "resourceVersion", &old.version.to_string());
    match before["metadata"].get("generation") {
        Some(generation) => metadata::of(&mut new).insert("generation".to_owned(), generation.clone()),
        None => metadata::of(&mut new).remove("generation"),
    };
    if !kind.is_custom() {
        defaults::prepare_update(call.state, &kind, &before, &mut new);
        defaults::add_nulls(&kind, &mut new);
    }
    let causes = metadata::validate_update(&before, &mut new);
    if managed && kind.is_custom() {
        metadata::drop_unset(&mut new);
    } else {
        metadata::drop_empty(&mut new);
    }
    let annotated =
        kind.is("apps", "Deployment") && before["metadata"]["annotations"] != new["metadata"]["annotations"];
    if part != Part::Status && (annotated || content(&kind, &before) != content(&kind, &new)) {
        metadata::increment_generation(&mut new);
    }
    check_kind(&kind, &old.name, &new)?;
    // The server checks the metadata of an update several times, and reports each time.
    let mut causes = [causes.clone(), causes].concat();
    let repeated = metadata::validate(&kind, &new);
    for _ in 0..if kind.is_custom() { 2 } else { 3 } {
        causes.extend_from_slice(&repeated);
    }
    causes.extend(validate(&kind, &new, Some(&before), part));
    if part == Part::Whole && kind.is("", "Pod") {
        causes.extend(crate::validate::pod_update(&new, &before));
    }
    if !causes.is_empty() {
        return Err(Failure::invalid(&kind, &old.name, &causes));
    }
    // Metadata that is stored though it is empty is not seen, but makes the next write a change.
    if is_same(&before, &new) && is_same(&old.stored(&kind), &new) {
        return Ok(Written::Shown(before));
    }
    if options.dry_run {
        metadata::drop_empty(&mut new);
        return Ok(Written::Shown(new));
    }
    let done = is_done(&kind, &new);
    if done && old.deleting {
        // The last finalizer is gone. The answer has the object as it was written last.
        call.state.remove(&kind, old);
        after_removal(call.state, &clock, &kind, old);
        return Ok(Written::Shown(new));
    }
    let object = call.state.put(&kind, new);
    after_write(call.state, &clock, &kind, &object);
    Ok(Written::Stored(object))
}

/// Checks that the object is the one that the request means.
fn check_version(kind: &Kind, old: &Object, new: &Value) -> Result<(), Failure> {
    let version = metadata::text(new, "resourceVersion");
    if version.is_empty() || version == "0" {
        if kind.is_custom() || !allows_unconditional_update(kind) {
            let cause =
                Cause::invalid_printed("metadata.resourceVersion", "0", "must be specified for an update");
            return Err(Failure::invalid_resource(kind, &old.name, &[cause]));
        }
    } else {
        let number: u64 = version.parse().map_err(|_| {
            Failure::unknown(format!("strconv.ParseUint: parsing {version:?}: invalid syntax"))
        })?;
        if number != old.version {
            let why =
                "the object has been modified; please apply your changes to the latest version and try again";
            return Err(Failure::conflict(kind, &old.name, why));
        }
    }
    Ok(())
}

/// Checks that an update means the object that there is.
pub(crate) fn check_uid(kind: &Kind, old: &Object, new: &Value) -> Result<(), Failure> {
    let uid = metadata::text(new, "uid");
    let found = old.uid.as_str();
    if !uid.is_empty() && uid != found {
        let group = if kind.group.is_empty() || !kind.is_custom() {
            String::new()
        } else {
            format!("{}/", kind.group)
        };
        let namespace = if old.namespace.is_empty() { String::new() } else { format!("{}/", old.namespace) };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{namespace}{}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {found}",
            kind.plural, old.name
        );
        return Err(Failure::conflict(kind, &old.name, &why));
    }
    Ok(())
}

/// Returns whether an update need not say which version it replaces.
fn allows_unconditional_update(kind: &Kind) -> bool {
    match kind.group.as_str() {
        "" => !matches!(kind.kind.as_str(), ""),
        "coordination.k8s.io"
        | "apiextensions.k8s.io"
        | "apiregistration.k8s.io"
        | "admissionregistration.k8s.io"
        | "node.k8s.io" => false,
        "policy" | "scheduling.k8s.io" => kind.kind == "PriorityClass",
        _ => true,
    }
}

/// Takes from the old object what the request may not change.
fn restrict(kind: &Kind, part: Part<'_>, before: &Value, new: &mut Value) {
    let copy = |new: &mut Value, field: &str| {
        if let Some(object) = new.as_object_mut() {
            match before.get(field) {
                Some(value) => object.insert(field.to_owned(), value.clone()),
                None => object.remove(field),
            };
        }
    };
    match part {
        Part::Whole if kind.is("", "Namespace") => {
            copy(new, "spec");
            copy(new, "status");
        }
        Part::Whole if kind.has_status() => copy(new, "status"),
        Part::Whole => {}
        Part::Status if kind.is_custom() => {
            let (status, mut requested) = (new.get("status").cloned(), new["metadata"].clone());
            let metadata = before["metadata"].clone();
            *new = before.clone();
            if let Some(object) = new.as_object_mut() {
                match status {
                    Some(status) => object.insert("status".to_owned(), status),
                    None => object.remove("status"),
                };
                let mut metadata = metadata;
                // What a previous step assigned to the managers stays.
                if let (Some(kept), Some(requested)) = (metadata.as_object_mut(), requested.as_object_mut())
                    && let Some(managed) = requested.remove("managedFields")
                {
                    kept.insert("managedFields".to_owned(), managed);
                }
                object.insert("metadata".to_owned(), metadata);
            }
        }
        Part::Status => {
            copy(new, "spec");
        }
        Part::Other(_) => copy(new, "status"),
    }
}

/// Returns the part of an object whose changes its generation counts.
fn content(kind: &Kind, object: &Value) -> Value {
    let mut content = object.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("metadata");
        if kind.has_status() || !kind.is_custom() {
            fields.remove("status");
        }
    }
    content
}

/// Returns whether two versions are the same, whenever their managers wrote them.
fn is_same(left: &Value, right: &Value) -> bool {
    let without_times = |value: &Value| {
        let mut value = value.clone();
        if let Some(Value::Array(entries)) = value.pointer_mut("/metadata/managedFields") {
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                entry.remove("time");
            }
        }
        value
    };
    without_times(left) == without_times(right)
}

/// Returns whether nothing keeps a deleted object.
pub(crate) fn is_done(kind: &Kind, value: &Value) -> bool {
    let spec_finalizers = kind.is("", "Namespace")
        && value["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    metadata::finalizers(value).is_empty()
        && !spec_finalizers
        && value["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
}

/// Does what the control plane does after a write.
pub(crate) fn after_write(state: &mut State, clock: &Clock, kind: &Kind, object: &Arc<Object>) {
    if kind.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        crate::crds::sync(state, clock, kind, object);
    }
    if kind.is("", "Namespace") && object.deleting {
        namespaces::finalize(state, clock, &object.name);
    }
    garbage::after_write(state, clock, kind, object);
}

/// Does what the control plane does after an object is gone.
pub(crate) fn after_removal(state: &mut State, clock: &Clock, kind: &Kind, object: &Arc<Object>) {
    if kind.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        crate::crds::remove(state, kind, object);
    }
    if kind.is_custom() {
        crate::crds::after_removal(state, clock, kind);
    }
    garbage::after_removal(state, clock, object);
    if !object.namespace.is_empty() {
        namespaces::finalize(state, clock, &object.namespace);
    }
}
