//! Properties of random values.

use std::collections::BTreeSet;

use genclient_merge::{
    ApplyError, FieldPath, FieldSet, ManagedFields, PathElement, Schema, Writer, extract, merge_patch,
    strategic::{self, StrategicProblem},
};
use genclient_tally::Tally;
use proptest::{
    prelude::*,
    test_runner::{TestCaseResult, TestRunner},
};
use serde_json::{Map, Value, json};

const VERSION: &str = "example.com/v1";

fn schema() -> Schema {
    let document = serde_json::from_str(include_str!("oracle/schema.json")).expect("the document is JSON");
    Schema::from_open_api(&document, "Example").expect("the schema is valid")
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-4000..4000).prop_map(|quarters: i32| json!(f64::from(quarters) / 4.0)),
        ".*".prop_map(Value::from),
    ]
}

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        "[a-z./:<&]{0,6}".prop_map(PathElement::field),
        prop::collection::btree_map("[a-z\"<]{1,4}", scalar(), 1..3).prop_map(PathElement::key),
        scalar().prop_map(PathElement::value),
        any::<usize>().prop_map(PathElement::Index),
    ]
}

fn field_set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(prop::collection::vec(element(), 1..5), 0..12)
        .prop_map(|paths| paths.into_iter().map(FieldPath::from_iter).collect())
}

/// A set of few elements, so that two of them have paths in common, or below each other.
fn overlapping_set() -> impl Strategy<Value = FieldSet> {
    let elements = [
        PathElement::field("a"),
        PathElement::field("b"),
        PathElement::key([("name", json!("x"))]),
        PathElement::value(1),
        PathElement::Index(0),
    ];
    let path = prop::collection::vec(prop::sample::select(elements.to_vec()), 1..4);
    prop::collection::vec(path, 0..12).prop_map(|paths| paths.into_iter().map(FieldPath::from_iter).collect())
}

/// Objects with keys that are path elements, or nearly.
fn like_fields() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        4 => "f:[a-c]{0,2}",
        2 => r#"k:\{"a":[0-9]{0,2}\}"#,
        2 => r#"v:("[a-c]"|[0-9]{1,3}|true|null|\[1\])"#,
        2 => "i:[0-9]{1,3}",
        1 => Just(".".to_owned()),
        1 => "[fkvix]?:?.{0,3}",
    ];
    let leaf = prop_oneof![9 => Just(json!({})), 1 => scalar(), 1 => Just(json!(null))];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop::collection::btree_map(key.clone(), inner, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    })
}

/// Any JSON value. Merge patches have no nulls in objects, so nulls can be left out.
fn value(nulls: bool) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        2 => (0..3).prop_map(Value::from),
        2 => "[ab]".prop_map(Value::from),
        1 => Just(if nulls { Value::Null } else { json!("c") }),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn subset(of: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(of, 0..=of.len()).prop_shuffle()
}

/// Returns an object with some of the fields.
fn fields<const N: usize>(fields: [(&'static str, BoxedStrategy<Value>); N]) -> impl Strategy<Value = Value> {
    let fields = fields.map(|(name, value)| prop::option::of(value).prop_map(move |value| (name, value)));
    Vec::from(fields).prop_map(|fields| {
        let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(present.collect())
    })
}

fn structure() -> BoxedStrategy<Value> {
    let entries = subset(&["p", "q", "r"]).prop_map(|names| {
        Value::Object(names.into_iter().map(|name| (name.to_owned(), json!("x"))).collect::<Map<_, _>>())
    });
    fields([
        ("a", "[xy]".prop_map(Value::from).boxed()),
        ("b", (0..2).prop_map(Value::from).boxed()),
        ("set", subset(&["a", "b", "c"]).prop_map(Value::from).boxed()),
        ("map", entries.boxed()),
    ])
    .boxed()
}

/// Returns a list of objects that have `key`, each time with other fields. Keys may occur twice.
fn list(
    key: &'static str,
    keys: BoxedStrategy<Vec<Value>>,
    rest: BoxedStrategy<Value>,
) -> BoxedStrategy<Value> {
    keys.prop_flat_map(move |keys| {
        let items = keys.into_iter().map(|value| {
            rest.clone().prop_map(move |mut item| {
                item[key] = value.clone();
                item
            })
        });
        items.collect::<Vec<_>>().prop_map(Value::from)
    })
    .boxed()
}

fn ports(duplicates: bool) -> BoxedStrategy<Value> {
    let keys = if duplicates {
        prop::collection::vec((1..4).prop_map(Value::from), 0..6).boxed()
    } else {
        prop::sample::subsequence(vec![json!(1), json!(2), json!(3)], 0..=3).prop_shuffle().boxed()
    };
    let rest = fields([
        ("protocol", prop_oneof!["TCP", "UDP"].prop_map(Value::from).boxed()),
        ("text", "[xy]".prop_map(Value::from).boxed()),
    ]);
    list("port", keys, rest.boxed())
}

fn spec(duplicates: bool) -> BoxedStrategy<Value> {
    let names = subset(&["k", "l", "m"]).prop_map(|names| names.into_iter().map(Value::from).collect());
    let item = fields([
        ("value", "[xy]".prop_map(Value::from).boxed()),
        ("struct", structure()),
        ("ports", ports(false)),
    ]);
    fields([
        ("number", (0..3).prop_map(Value::from).boxed()),
        ("either", prop_oneof![Just(json!(1)), Just(json!("1"))].boxed()),
        ("struct", structure()),
        ("whole", structure()),
        ("retained", structure()),
        ("plain", subset(&["1", "2", "3"]).prop_map(Value::from).boxed()),
        ("set", subset(&["a", "b", "c", "d"]).prop_map(Value::from).boxed()),
        ("items", list("name", names.boxed(), item.boxed())),
        ("ports", ports(duplicates)),
    ])
    .boxed()
}

fn example(spec: Value) -> Value {
    json!({ "apiVersion": VERSION, "kind": "Example", "metadata": { "name": "example" }, "spec": spec })
}

fn entries(object: &Value) -> BTreeSet<String> {
    let managed = ManagedFields::of(object).expect("the entries are valid");
    managed.entries().iter().map(|entry| serde_json::to_string(entry).expect("an entry is JSON")).collect()
}

fn applied_fields(object: &Value, manager: &str) -> FieldSet {
    let managed = ManagedFields::of(object).expect("the entries are valid");
    managed.applied(manager, "").map(|entry| entry.fields.clone()).unwrap_or_default()
}

/// Returns the part of a spec whose fields `mine` chooses, and the rest of it.
fn split(spec: &Value, mine: &[bool]) -> (Value, Value) {
    let (left, right): (Vec<_>, Vec<_>) =
        spec.as_object().expect("an object").iter().zip(mine.iter().cycle()).partition(|(_, mine)| **mine);
    let part = |members: Vec<((&String, &Value), &bool)>| {
        Value::Object(members.into_iter().map(|((name, value), _)| (name.clone(), value.clone())).collect())
    };
    (part(left), part(right))
}

/// Returns whether an object has a field. An item may lack a key field that has a default.
fn exists(value: &Value, path: &[PathElement]) -> bool {
    let Some((element, rest)) = path.split_first() else { return true };
    match (element, value) {
        (PathElement::Field(name), _) => value.get(name).is_some_and(|member| exists(member, rest)),
        (PathElement::Key(key), Value::Array(items)) => items.iter().any(|item| {
            key.fields().all(|(name, value)| item.get(name).is_none_or(|field| field == value))
                && exists(item, rest)
        }),
        (PathElement::Value(value), Value::Array(items)) => items.contains(value.get()),
        _ => false,
    }
}

/// Removes empty lists. Nobody owns a list that is shared item by item and has no items.
fn without_empty_lists(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| member.as_array().is_none_or(|list| !list.is_empty()));
            members.values_mut().for_each(without_empty_lists);
        }
        Value::Array(items) => items.iter_mut().for_each(without_empty_lists),
        _ => {}
    }
}

/// Tries a property of random values.
fn check<S: Strategy>(strategy: S, property: impl Fn(S::Value) -> TestCaseResult) {
    let tried = TestRunner::new(ProptestConfig::with_source_file(file!())).run(&strategy, property);
    tried.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_set_survives_a_round_trip_through_its_format() {
    let tally = Tally::new();
    check(field_set(), |set| {
        for element in set.iter().flat_map(|path| path.elements().to_vec()) {
            tally.count(match element {
                PathElement::Field(_) => "field",
                PathElement::Key(_) => "key",
                PathElement::Value(_) => "value",
                PathElement::Index(_) => "index",
                _ => "other element",
            });
        }
        let text = serde_json::to_string(&set).expect("a set serializes");
        let read: FieldSet = serde_json::from_str(&text).expect("what is written can be read");
        prop_assert_eq!(&read, &set);
        prop_assert_eq!(serde_json::to_string(&read).expect("a set serializes"), text);
        prop_assert_eq!(FieldSet::from_json(&set.to_json()), Ok(set));
        Ok(())
    });
    tally.require(&[("field", 250), ("key", 250), ("value", 250), ("index", 250)]);
}

#[test]
fn sets_obey_the_laws_of_sets() {
    let tally = Tally::new();
    check((overlapping_set(), overlapping_set()), |(left, right)| {
        let paths = |set: &FieldSet| set.iter().collect::<BTreeSet<_>>();
        let (l, r) = (paths(&left), paths(&right));
        prop_assert_eq!(paths(&left.union(&right)), &l | &r);
        prop_assert_eq!(paths(&left.intersection(&right)), &l & &r);
        prop_assert_eq!(paths(&left.difference(&right)), &l - &r);
        prop_assert_eq!(left.len(), l.len());
        prop_assert!(l.iter().all(|path| left.contains(path)));
        let is_below = |path: &FieldPath| r.iter().any(|above| path.elements().starts_with(above.elements()));
        let expected: BTreeSet<_> = l.iter().filter(|path| !is_below(path)).cloned().collect();
        tally.add("common path", (&l & &r).len());
        tally.add("path of one set", (&l ^ &r).len());
        tally.add("path below one of the other set", l.difference(&r).filter(|path| is_below(path)).count());
        prop_assert_eq!(paths(&left.difference_below(&right)), expected);
        let is_leaf = |path: &&FieldPath| {
            !l.iter().any(|other| other != *path && other.elements().starts_with(path.elements()))
        };
        let leaves: BTreeSet<_> = l.iter().filter(is_leaf).cloned().collect();
        tally.add("inner path", l.len() - leaves.len());
        prop_assert_eq!(paths(&left.leaves()), leaves);
        Ok(())
    });
    tally.require(&[
        ("common path", 40),
        ("path of one set", 700),
        ("path below one of the other set", 70),
        ("inner path", 70),
    ]);
}

#[test]
fn what_looks_like_fields_is_refused_or_read_for_good() {
    let tally = Tally::new();
    check(like_fields(), |fields| {
        match FieldSet::from_json(&fields) {
            Ok(set) => {
                tally.count(if set.is_empty() { "read as empty" } else { "read" });
                prop_assert_eq!(FieldSet::from_json(&set.to_json()), Ok(set));
            }
            Err(_) => tally.count("refused"),
        }
        Ok(())
    });
    tally.require(&[("read", 25), ("refused", 20)]);
}

#[test]
fn a_merge_patch_leads_from_old_to_new() {
    let tally = Tally::new();
    check((value(true), value(false)), |(old, new)| {
        match merge_patch::diff(&old, &new) {
            Some(patch) => {
                tally.count(if old.is_object() && new.is_object() {
                    "change of an object"
                } else {
                    "other value"
                });
                tally.add("removal", usize::from(patch.to_string().contains(":null")));
                prop_assert_eq!(merge_patch::apply(&old, &patch), new);
            }
            None => {
                tally.count("no difference");
                prop_assert_eq!(old, new);
            }
        }
        Ok(())
    });
    tally.require(&[("change of an object", 15), ("removal", 10), ("other value", 50)]);
}

#[test]
fn a_merge_patch_is_the_smallest() {
    let tally = Tally::new();
    check((value(false), value(false)), |(old, new)| {
        // Without any one of its members, the patch does not lead to the new value.
        if let (Some(Value::Object(patch)), Value::Object(_)) = (merge_patch::diff(&old, &new), &old) {
            for (name, member) in &patch {
                tally.count(if member.is_null() { "removed member" } else { "member" });
                let mut smaller = patch.clone();
                smaller.remove(name);
                prop_assert_ne!(merge_patch::apply(&old, &Value::Object(smaller)), new.clone());
            }
        }
        Ok(())
    });
    tally.require(&[("member", 15), ("removed member", 12)]);
}

#[test]
fn a_strategic_patch_leads_from_old_to_new() {
    let tally = Tally::new();
    let schema = schema();
    // Some pairs are equal.
    check((spec(true), prop::option::weighted(0.9, spec(true))), |(old, new)| {
        let (new, old) = (example(new.unwrap_or_else(|| old.clone())), example(old));
        match strategic::diff(&old, &new, &schema) {
            Ok(Some(patch)) => {
                tally.count("patch");
                let text = patch.to_string();
                for directive in
                    ["$patch", "$setElementOrder", "$deleteFromPrimitiveList", "$retainKeys", ":null"]
                {
                    tally.add(directive, usize::from(text.contains(directive)));
                }
                prop_assert_eq!(strategic::apply(&old, &patch, &schema).expect("the patch is valid"), new);
            }
            Ok(None) => {
                tally.count("no difference");
                prop_assert_eq!(old, new);
            }
            Err(error) => {
                tally.count("refused");
                prop_assert!(
                    matches!(error.problem(), StrategicProblem::ScatteredKey(key) if key == "port"),
                    "{error}"
                );
            }
        }
        Ok(())
    });
    tally.require(&[
        ("patch", 70),
        ("$patch", 18),
        ("$setElementOrder", 22),
        ("$deleteFromPrimitiveList", 12),
        ("$retainKeys", 22),
        (":null", 60),
        ("no difference", 6),
    ]);
}

#[test]
fn what_is_extracted_can_be_applied_and_changes_nothing() {
    let tally = Tally::new();
    let schema = schema();
    let managers = ["a", "b", "c"];
    let applies = prop::collection::vec((0..3usize, spec(false)), 1..5);
    check((applies, 0..3usize), |(specs, applier)| {
        let mut live: Option<Value> = None;
        for (manager, mut spec) in specs {
            without_empty_lists(&mut spec);
            let writer = Writer::new(managers[manager], VERSION);
            let unforced = writer.apply(live.as_ref(), &example(spec.clone()), &schema);
            tally.count(match unforced {
                Ok(_) => "apply without a conflict",
                Err(ApplyError::Conflict(_)) => "conflict",
                Err(error) => panic!("{error}"),
            });
            let forced = writer.force(true).apply(live.as_ref(), &example(spec), &schema);
            live = Some(forced.expect("it is forced"));
        }
        let live = live.expect("it has been applied");
        let manager = managers[applier];
        let extracted = extract::applied(&live, manager, "").expect("the object has managed fields");
        let again = Writer::new(manager, VERSION).apply(Some(&live), &extracted, &schema);
        let again = again.expect("a manager does not conflict with what it owns");
        // An object that was applied empty and has lost its last field is owned but not there.
        let owned = applied_fields(&live, manager);
        let present: FieldSet = owned.iter().filter(|path| exists(&live, path.elements())).collect();
        prop_assert_eq!(applied_fields(&again, manager), present.clone());
        if present == owned {
            tally.count(match (owned.is_empty(), entries(&live).len()) {
                (true, _) => "extracted nothing",
                (false, 1) => "extracted everything",
                (false, _) => "extracted a part",
            });
            prop_assert_eq!(&again["spec"], &live["spec"]);
            prop_assert_eq!(entries(&again), entries(&live));
        } else {
            tally.count("owned but absent");
        }
        Ok(())
    });
    tally.require(&[
        ("apply without a conflict", 120),
        ("conflict", 50),
        ("extracted nothing", 30),
        ("extracted everything", 10),
        ("extracted a part", 30),
    ]);
}

#[test]
fn appliers_of_different_fields_do_not_conflict_and_lose_nothing() {
    let tally = Tally::new();
    let schema = schema();
    check((spec(false), prop::collection::vec(any::<bool>(), 1..8)), |(mut whole, mine)| {
        without_empty_lists(&mut whole);
        let (left, right) = split(&whole, &mine);
        let is_empty = |part: &Value| part.as_object().is_none_or(Map::is_empty);
        tally.count(if is_empty(&left) || is_empty(&right) { "one applier" } else { "two appliers" });
        let apply = |manager: &str, live: Option<&Value>, spec: &Value| {
            Writer::new(manager, VERSION).apply(live, &example(spec.clone()), &schema)
        };
        let first = apply("left", None, &left).expect("there is nothing yet");
        let both = apply("right", Some(&first), &right).expect("the fields are different");
        prop_assert_eq!(&both["spec"], &whole);
        prop_assert_eq!(applied_fields(&both, "left"), applied_fields(&first, "left"));
        // Each of them can take back what it has applied, and the other one keeps its own.
        let back = apply("left", Some(&both), &json!({})).expect("the fields are its own");
        let expected = apply("right", None, &right).expect("there is nothing yet");
        prop_assert_eq!(applied_fields(&back, "right"), applied_fields(&expected, "right"));
        for (name, value) in right.as_object().expect("an object") {
            prop_assert_eq!(&back["spec"][name], value);
        }
        tally.add("field taken back", usize::from(back["spec"] != both["spec"]));
        Ok(())
    });
    tally.require(&[("two appliers", 45), ("one applier", 25), ("field taken back", 60)]);
}

#[test]
fn an_update_and_an_apply_of_one_object_own_the_same_leaves() {
    let tally = Tally::new();
    let schema = schema();
    check(spec(false), |spec| {
        let applied = Writer::new("m", VERSION).apply(None, &example(spec.clone()), &schema);
        let applied =
            ManagedFields::of(&applied.expect("there is nothing yet")).expect("the entries are valid");
        let updated = Writer::new("m", VERSION).update(None, &example(spec), &schema);
        let updated =
            ManagedFields::of(&updated.expect("the object is valid")).expect("the entries are valid");
        let fields =
            |managed: &ManagedFields| managed.entries().iter().map(|entry| entry.fields.clone()).next();
        let (applied, updated) = (fields(&applied).unwrap_or_default(), fields(&updated).unwrap_or_default());
        tally.add("field owned by both", applied.intersection(&updated).len());
        // An update also owns the objects and lists that it creates.
        tally.add("field owned by the update only", updated.difference(&applied).len());
        prop_assert_eq!(applied.difference(&updated), FieldSet::new());
        Ok(())
    });
    tally.require(&[("field owned by both", 1000), ("field owned by the update only", 400)]);
}
