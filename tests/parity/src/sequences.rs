//! Random sequences of requests over a few names and kinds, in which versions are fresh or stale, runs are dry,
//! several managers write, and objects have finalizers. Three watches see all of it.
//!
//! A [`Sequence`] is plain data, so that proptest can make it smaller; [`Sequence::scenario`] turns it into
//! requests. What happens at no certain time on the real server (garbage collection) is left out.

use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    sample::select,
    strategy::Union,
};
use serde_json::{Value, json};

use crate::{
    Scenario,
    kinds::{CONFIG_MAPS, GADGETS, WIDGETS},
    scenario::*,
};

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Built in, without a spec.
    ConfigMap,
    /// Custom, with status and scale.
    Widget,
    /// Custom, without subresources and without a schema.
    Gadget,
}

/// One object of a kind. There are two.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    kind: Kind,
    second: bool,
}

/// What a write changes.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Nothing.
    Nothing,
    /// A field, to one of three values.
    Field(u8),
    /// Another field, to one of three values.
    Other(u8),
    /// The first field is removed.
    Unset,
    /// A label, to one of three values.
    Label(u8),
    /// A finalizer is set.
    Finalizer,
    /// There are no finalizers.
    NoFinalizers,
    /// The status, which only the subresource may change.
    Status(u8),
    /// A list, with one of three contents.
    List(u8),
    /// A value that is refused, except for kinds without a schema.
    Invalid,
}

/// The version that a write names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version {
    /// None.
    Absent,
    /// That of the last answer.
    Latest,
    /// That of an answer from before.
    Old,
}

/// One request.
#[derive(Clone, Debug)]
pub enum Op {
    /// Creates an object, perhaps with a finalizer.
    Create(Object, Change, Write),
    /// Reads an object.
    Get(Object),
    /// Reads an object and remembers it as the old one.
    Remember(Object),
    /// Lists a kind.
    List(Kind, Option<u8>, bool),
    /// Replaces an object with the last or the old answer, changed.
    Put(Object, Change, Version, Write),
    /// Replaces the status in the same way.
    PutStatus(Object, u8, Version, Write),
    /// A merge patch.
    Merge(Object, Change, Version, Write),
    /// A merge patch of the status.
    MergeStatus(Object, Change, Write),
    /// A strategic merge patch.
    Strategic(Object, Change, Write),
    /// A JSON patch that first tests a field for a value.
    Json(Object, Change, Option<u8>, Write),
    /// An apply of some of the fields by a manager.
    Apply(Object, Vec<Change>, bool, Write),
    /// An apply of the status.
    ApplyStatus(Object, u8, bool, Write),
    /// Sets the replicas of a widget.
    Scale(Object, u8, Write),
    /// A deletion, perhaps with preconditions.
    Delete(Object, Version, bool),
    /// A deletion of all objects of a kind, perhaps of those with a label.
    DeleteCollection(Kind, Option<u8>, bool),
}

/// What is common to all writes.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    dry: bool,
    manager: u8,
}

/// A sequence of requests.
#[derive(Clone, Debug)]
pub struct Sequence(pub Vec<Op>);

/// Sequences of 5 to 30 requests.
pub fn sequences() -> impl Strategy<Value = Sequence> {
    vec(op(), 5..=30).prop_map(Sequence)
}

fn kind() -> impl Strategy<Value = Kind> {
    select(vec![Kind::Widget, Kind::ConfigMap, Kind::Gadget])
}

fn object() -> impl Strategy<Value = Object> {
    (kind(), proptest::bool::weighted(0.2)).prop_map(|(kind, second)| Object { kind, second })
}

fn change() -> impl Strategy<Value = Change> {
    let value = 0..3_u8;
    Union::new_weighted(vec![
        (1, Just(Change::Nothing).boxed()),
        (6, value.clone().prop_map(Change::Field).boxed()),
        (3, value.clone().prop_map(Change::Other).boxed()),
        (2, Just(Change::Unset).boxed()),
        (3, value.clone().prop_map(Change::Label).boxed()),
        (2, Just(Change::Finalizer).boxed()),
        (2, Just(Change::NoFinalizers).boxed()),
        (1, value.clone().prop_map(Change::Status).boxed()),
        (2, value.prop_map(Change::List).boxed()),
        (1, Just(Change::Invalid).boxed()),
    ])
}

fn version() -> impl Strategy<Value = Version> {
    select(vec![Version::Latest, Version::Latest, Version::Absent, Version::Old])
}

fn write() -> impl Strategy<Value = Write> {
    (proptest::bool::weighted(0.1), 0..3_u8).prop_map(|(dry, manager)| Write { dry, manager })
}

fn op() -> impl Strategy<Value = Op> {
    let label = || proptest::option::of(0..3_u8);
    prop_oneof![
        5 => (object(), change(), write()).prop_map(|(o, c, w)| Op::Create(o, c, w)),
        1 => object().prop_map(Op::Get),
        1 => object().prop_map(Op::Remember),
        1 => (kind(), label(), any::<bool>()).prop_map(|(k, l, p)| Op::List(k, l, p)),
        4 => (object(), change(), version(), write()).prop_map(|(o, c, v, w)| Op::Put(o, c, v, w)),
        2 => (object(), 0..3_u8, version(), write()).prop_map(|(o, s, v, w)| Op::PutStatus(o, s, v, w)),
        4 => (object(), change(), version(), write()).prop_map(|(o, c, v, w)| Op::Merge(o, c, v, w)),
        2 => (object(), change(), write()).prop_map(|(o, c, w)| Op::MergeStatus(o, c, w)),
        1 => (object(), change(), write()).prop_map(|(o, c, w)| Op::Strategic(o, c, w)),
        2 => (object(), change(), label(), write()).prop_map(|(o, c, t, w)| Op::Json(o, c, t, w)),
        6 => (object(), vec(change(), 0..4), any::<bool>(), write()).prop_map(|(o, c, f, w)| Op::Apply(o, c, f, w)),
        1 => (object(), 0..3_u8, any::<bool>(), write()).prop_map(|(o, s, f, w)| Op::ApplyStatus(o, s, f, w)),
        1 => (object(), 0..3_u8, write()).prop_map(|(o, r, w)| Op::Scale(o, r, w)),
        3 => (object(), version(), proptest::bool::weighted(0.1)).prop_map(|(o, v, d)| Op::Delete(o, v, d)),
        1 => (kind(), label(), proptest::bool::weighted(0.1)).prop_map(|(k, l, d)| Op::DeleteCollection(k, l, d)),
    ]
}

impl Kind {
    fn collection(self) -> &'static str {
        match self {
            Kind::ConfigMap => CONFIG_MAPS,
            Kind::Widget => WIDGETS,
            Kind::Gadget => GADGETS,
        }
    }

    /// An object of this kind with nothing in it.
    fn empty(self, name: &str) -> Value {
        match self {
            Kind::ConfigMap => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}),
            Kind::Widget => crate::kinds::widget(name, json!({})),
            Kind::Gadget => crate::kinds::gadget(name, json!({})),
        }
    }

    /// What a change is as a merge patch.
    fn patch(self, change: Change) -> Value {
        let data = self == Kind::ConfigMap;
        let labels = |value: u8| json!({"metadata": {"labels": {"app": format!("v{value}")}}});
        match change {
            Change::Nothing => json!({}),
            Change::Field(value) if data => json!({"data": {"k": value.to_string()}}),
            Change::Field(value) => json!({"spec": {"size": value}}),
            Change::Other(value) if data => json!({"data": {"l": value.to_string()}}),
            Change::Other(value) => json!({"spec": {"nested": {"key": value.to_string()}}}),
            Change::Unset if data => json!({"data": {"k": null}}),
            Change::Unset => json!({"spec": {"size": null}}),
            Change::Label(value) => labels(value),
            Change::Finalizer => json!({"metadata": {"finalizers": ["example.com/f"]}}),
            Change::NoFinalizers => json!({"metadata": {"finalizers": []}}),
            Change::Status(value) => json!({"status": {"phase": value.to_string()}}),
            Change::List(value) if data => json!({"data": {format!("m{value}"): "x"}}),
            Change::List(0) => json!({"spec": {"tags": ["a"], "ports": [{"name": "a", "number": 1}]}}),
            Change::List(1) => json!({"spec": {"tags": ["a", "b"], "args": ["x"]}}),
            Change::List(_) => {
                json!({"spec": {"ports": [{"name": "b"}, {"name": "a", "number": 2}], "args": ["x", "y"]}})
            }
            Change::Invalid if data => json!({"data": {"not a key": "x"}}),
            Change::Invalid => json!({"spec": {"size": 500}}),
        }
    }

    /// What a change is as a JSON patch.
    fn operations(self, change: Change) -> Value {
        let path = if self == Kind::ConfigMap { "/data/k" } else { "/spec/size" };
        match change {
            Change::Field(value) if self == Kind::ConfigMap => {
                json!([{"op": "replace", "path": path, "value": value.to_string()}])
            }
            Change::Field(value) => json!([{"op": "replace", "path": path, "value": value}]),
            Change::Unset => json!([{"op": "remove", "path": path}]),
            Change::Finalizer => {
                json!([{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/f"]}])
            }
            Change::NoFinalizers => json!([{"op": "remove", "path": "/metadata/finalizers"}]),
            Change::Label(value) => {
                json!([{"op": "add", "path": "/metadata/labels", "value": {"app": format!("v{value}")}}])
            }
            other => {
                let patch = self.patch(other);
                let fields = patch.as_object().into_iter().flatten();
                fields
                    .map(|(key, value)| json!({"op": "add", "path": format!("/{key}"), "value": value}))
                    .collect()
            }
        }
    }
}

fn merged(mut value: Value, patch: &Value) -> Value {
    crate::run::merge(&mut value, patch);
    value
}

impl Object {
    fn name(self) -> &'static str {
        if self.second { "b" } else { "a" }
    }

    fn path(self) -> String {
        format!("{}/{}", self.kind.collection(), self.name())
    }

    /// The names under which the last answer and the old one are kept.
    fn names(self) -> [&'static str; 2] {
        match (self.kind, self.second) {
            (Kind::ConfigMap, false) => ["ca", "caold"],
            (Kind::ConfigMap, true) => ["cb", "cbold"],
            (Kind::Widget, false) => ["wa", "waold"],
            (Kind::Widget, true) => ["wb", "wbold"],
            (Kind::Gadget, false) => ["ga", "gaold"],
            (Kind::Gadget, true) => ["gb", "gbold"],
        }
    }

    /// The name of the answer that has this version.
    fn answer(self, version: Version) -> &'static str {
        self.names()[usize::from(version == Version::Old)]
    }

    /// A placeholder of a field of the metadata of that answer.
    fn metadata(self, version: Version, field: &str) -> String {
        format!("{{{}.metadata.{field}}}", self.answer(version))
    }
}

impl Write {
    fn on(self, step: Step) -> Step {
        let step = if self.dry { step.query("dryRun=All") } else { step };
        match self.manager {
            0 => step,
            1 => step.query("fieldManager=one"),
            _ => step.query("fieldManager=two"),
        }
    }

    /// An apply names its manager in any case.
    fn on_apply(self, step: Step) -> Step {
        if self.dry { step.query("dryRun=All") } else { step }
    }

    fn manager(self) -> &'static str {
        ["zero", "one", "two"][usize::from(self.manager % 3)]
    }
}

fn selected(step: Step, label: Option<u8>) -> Step {
    match label {
        Some(value) => step.query(&format!("labelSelector=app%3Dv{value}")),
        None => step,
    }
}

impl Op {
    fn step(&self) -> Step {
        match *self {
            Op::Create(object, change, write) => {
                let body = merged(object.kind.empty(object.name()), &object.kind.patch(change));
                write.on(create(object.kind.collection(), body)).saved(object.names()[0])
            }
            Op::Get(object) => get(object.path()).saved(object.names()[0]),
            Op::Remember(object) => get(object.path()).saved(object.names()[1]),
            Op::List(kind, label, pages) => {
                let step = selected(get(kind.collection()), label);
                if pages { step.query("limit=1") } else { step }
            }
            Op::Put(object, change, version, write) => {
                let mut changes = object.kind.patch(change);
                if version == Version::Absent {
                    changes = merged(changes, &json!({"metadata": {"resourceVersion": null}}));
                }
                // Complete even if nothing was answered so far.
                changes = merged(object.kind.empty(object.name()), &changes);
                write.on(put_edited(object.path(), object.answer(version), changes)).saved(object.names()[0])
            }
            Op::PutStatus(object, value, version, write) => {
                let path = format!("{}/status", object.path());
                let changes = json!({"status": {"phase": value.to_string()}});
                write.on(put_edited(path, object.answer(version), changes)).saved(object.names()[0])
            }
            Op::Merge(object, change, version, write) => {
                let mut patch = object.kind.patch(change);
                if version != Version::Absent {
                    patch["metadata"]["resourceVersion"] = object.metadata(version, "resourceVersion").into();
                }
                write.on(merge_patch(object.path(), patch)).saved(object.names()[0])
            }
            Op::MergeStatus(object, change, write) => {
                let path = format!("{}/status", object.path());
                let patch = merged(object.kind.patch(change), &json!({"status": {"phase": "patched"}}));
                write.on(merge_patch(path, patch)).saved(object.names()[0])
            }
            Op::Strategic(object, change, write) => {
                write.on(strategic_patch(object.path(), object.kind.patch(change))).saved(object.names()[0])
            }
            Op::Json(object, change, test, write) => {
                let mut operations = object.kind.operations(change);
                if let (Some(value), Some(operations)) = (test, operations.as_array_mut()) {
                    let test = match object.kind {
                        Kind::ConfigMap => {
                            json!({"op": "test", "path": "/data/k", "value": value.to_string()})
                        }
                        _ => json!({"op": "test", "path": "/spec/size", "value": value}),
                    };
                    operations.insert(0, test);
                }
                write.on(json_patch(object.path(), operations)).saved(object.names()[0])
            }
            Op::Apply(object, ref changes, force, write) => {
                let empty = object.kind.empty(object.name());
                let body =
                    changes.iter().fold(empty, |body, change| merged(body, &object.kind.patch(*change)));
                let step =
                    write.on_apply(apply(object.path(), write.manager(), body)).saved(object.names()[0]);
                if force { step.query("force=true") } else { step }
            }
            Op::ApplyStatus(object, value, force, write) => {
                let path = format!("{}/status", object.path());
                let body = merged(
                    object.kind.empty(object.name()),
                    &json!({"status": {"phase": value.to_string()}}),
                );
                let step = write.on_apply(apply(path, write.manager(), body)).saved(object.names()[0]);
                if force { step.query("force=true") } else { step }
            }
            Op::Scale(object, replicas, write) => write
                .on(merge_patch(format!("{}/scale", object.path()), json!({"spec": {"replicas": replicas}}))),
            Op::Delete(object, version, dry) => {
                let step = match version {
                    Version::Absent => delete(object.path()),
                    Version::Latest => {
                        let preconditions = json!({"uid": object.metadata(version, "uid")});
                        delete_with(object.path(), json!({"preconditions": preconditions}))
                    }
                    Version::Old => {
                        let preconditions =
                            json!({"resourceVersion": object.metadata(version, "resourceVersion")});
                        delete_with(object.path(), json!({"preconditions": preconditions}))
                    }
                };
                if dry { step.query("dryRun=All") } else { step }
            }
            Op::DeleteCollection(kind, label, dry) => {
                let step = selected(delete(kind.collection()), label);
                if dry { step.query("dryRun=All") } else { step }
            }
        }
    }
}

impl Sequence {
    /// The requests, between the opening of three watches and the reading of all their events.
    pub fn scenario(&self) -> Scenario {
        let kinds = [(Kind::ConfigMap, "config maps"), (Kind::Widget, "widgets"), (Kind::Gadget, "gadgets")];
        let open = kinds.map(|(kind, name)| watch(name, kind.collection()));
        // A watch has shown everything when it shows this.
        let last = kinds.map(|(kind, _)| create(kind.collection(), kind.empty("last")));
        let read = kinds.map(|(_, name)| events_until_named(name, "last"));
        let lists = kinds.map(|(kind, _)| get(kind.collection()));
        let ops = self.0.iter().map(Op::step);
        scenario("a random sequence", open.into_iter().chain(ops).chain(lists).chain(last).chain(read))
    }
}
