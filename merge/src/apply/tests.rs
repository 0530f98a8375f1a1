use serde_json::json;

use super::*;

const VERSION: &str = "samplecrd.k8s.io/v1";

fn schema() -> Schema {
    let port = json!({
        "type": "object",
        "properties": {
            "port": { "type": "integer" },
            "protocol": { "type": "string", "default": "TCP" },
            "name": { "type": "string" },
        },
    });
    Schema::from_crd(&json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "cidr": { "type": "string" },
                    "gateway": { "type": "string" },
                    "routes": { "type": "array", "items": { "type": "string" } },
                    "zones": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
                    "ports": {
                        "type": "array",
                        "items": port,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "protocol"],
                    },
                    "selector": {
                        "type": "object",
                        "additionalProperties": { "type": "string" },
                        "x-kubernetes-map-type": "atomic",
                    },
                    "options": { "type": "object", "properties": { "a": { "type": "string" } } },
                },
            },
            "status": { "type": "object", "properties": { "phase": { "type": "string" } } },
        },
    }))
    .expect("the schema is valid")
}

fn network(spec: Value) -> Value {
    json!({ "apiVersion": VERSION, "kind": "Network", "metadata": { "name": "n" }, "spec": spec })
}

fn writer(manager: &str) -> Writer {
    Writer::new(manager, VERSION)
}

#[track_caller]
fn apply(manager: &str, live: Option<&Value>, spec: Value) -> Value {
    writer(manager).apply(live, &network(spec), &schema()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn update(manager: &str, live: Option<&Value>, spec: Value) -> Value {
    writer(manager).update(live, &network(spec), &schema()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn conflict(manager: &str, live: &Value, spec: Value) -> String {
    writer(manager).apply(Some(live), &network(spec), &schema()).unwrap_err().to_string()
}

/// The fields of each manager, below `.spec`.
fn owners(object: &Value) -> Value {
    let managed = ManagedFields::of(object).expect("the entries are valid");
    let fields = |entry: &ManagedFieldsEntry| entry.fields.to_json()["f:spec"].clone();
    managed.entries().iter().map(|entry| (entry.manager.clone(), fields(entry))).collect::<Map<_, _>>().into()
}

#[test]
fn what_is_applied_is_owned() {
    let object = writer("a").at("2026-01-02T03:04:05Z").apply(
        None,
        &network(json!({ "cidr": "x", "routes": ["r"], "selector": { "k": "v" }, "options": {} })),
        &schema(),
    );
    let object = object.expect("there is no conflict");
    assert_eq!(
        object["metadata"]["managedFields"],
        json!([{
            "manager": "a",
            "operation": "Apply",
            "apiVersion": VERSION,
            "time": "2026-01-02T03:04:05Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": { "f:spec": { "f:cidr": {}, "f:routes": {}, "f:selector": {}, "f:options": {} } },
        }])
    );
    assert_eq!(object["spec"]["cidr"], "x");
}

#[test]
fn what_names_an_object_is_not_owned() {
    let config = json!({
        "apiVersion": VERSION,
        "kind": "Network",
        "metadata": { "name": "n", "namespace": "d", "labels": { "l": "1" }, "finalizers": ["f"] },
    });
    let object = writer("a").apply(None, &config, &schema()).expect("there is no conflict");
    assert_eq!(
        object["metadata"]["managedFields"][0]["fieldsV1"],
        json!({ "f:metadata": { "f:labels": { "f:l": {} }, "f:finalizers": { "v:\"f\"": {} } } })
    );
    let bare = writer("a").apply(None, &network(json!(null)), &schema()).expect("there is no conflict");
    assert_eq!(bare["metadata"]["managedFields"][0]["fieldsV1"], json!({ "f:spec": {} }));
}

#[test]
fn another_value_for_a_field_of_somebody_else_is_a_conflict() {
    let live = apply("a", None, json!({ "cidr": "x", "gateway": "g" }));
    assert_eq!(
        conflict("b", &live, json!({ "cidr": "y" })),
        r#"Apply failed with 1 conflict: conflict with "a": .spec.cidr"#
    );
    let live = update("u", None, json!({ "cidr": "x" }));
    assert_eq!(
        conflict("b", &live, json!({ "cidr": "y" })),
        r#"Apply failed with 1 conflict: conflict with "u" using samplecrd.k8s.io/v1: .spec.cidr"#
    );
}

#[test]
fn several_conflicts_are_listed_by_manager() {
    let live = apply("b", None, json!({ "cidr": "x", "ports": [{ "port": 80, "name": "http" }] }));
    let live = writer("a")
        .subresource("scale")
        .update(
            Some(&live),
            &network(json!({ "cidr": "x", "ports": live["spec"]["ports"], "gateway": "g" })),
            &schema(),
        )
        .expect("the object is valid");
    let error = writer("c")
        .apply(
            Some(&live),
            &network(json!({ "cidr": "y", "gateway": "h", "ports": [{ "port": 80, "name": "web" }] })),
            &schema(),
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"a\" with subresource \"scale\" using samplecrd.k8s.io/v1:\n\
         - .spec.gateway\n\
         conflicts with \"b\":\n\
         - .spec.cidr\n\
         - .spec.ports[port=80,protocol=\"TCP\"].name"
    );
    let ApplyError::Conflict(conflicts) = error else { panic!("{error}") };
    let first = &conflicts.as_slice()[0];
    assert_eq!((first.manager(), first.operation(), first.subresource()), ("a", Operation::Update, "scale"));
    assert_eq!((first.api_version(), first.path().to_string().as_str()), (VERSION, ".spec.gateway"));
}

#[test]
fn force_takes_the_field() {
    let live = apply("a", None, json!({ "cidr": "x", "gateway": "g" }));
    let forced = writer("b").force(true).apply(Some(&live), &network(json!({ "cidr": "y" })), &schema());
    let forced = forced.expect("it is forced");
    assert_eq!(forced["spec"], json!({ "cidr": "y", "gateway": "g" }));
    assert_eq!(owners(&forced), json!({ "a": { "f:gateway": {} }, "b": { "f:cidr": {} } }));
}

#[test]
fn the_same_value_is_shared() {
    let live = apply("a", None, json!({ "cidr": "x" }));
    let shared = apply("b", Some(&live), json!({ "cidr": "x" }));
    assert_eq!(owners(&shared), json!({ "a": { "f:cidr": {} }, "b": { "f:cidr": {} } }));
    // Neither of them can change it now, and each of them can give it up.
    assert!(conflict("a", &shared, json!({ "cidr": "y" })).contains("conflict with \"b\""));
    let given_up = apply("a", Some(&shared), json!({}));
    assert_eq!(given_up["spec"], json!({ "cidr": "x" }));
    assert_eq!(owners(&given_up), json!({ "a": {}, "b": { "f:cidr": {} } }));
}

#[test]
fn what_is_no_longer_applied_is_removed_unless_somebody_else_owns_it() {
    let live = apply(
        "a",
        None,
        json!({
            "cidr": "x",
            "gateway": "g",
            "zones": ["1", "2"],
            "ports": [{ "port": 80, "name": "http" }, { "port": 443 }],
            "options": { "a": "1" },
        }),
    );
    let live = apply("b", Some(&live), json!({ "zones": ["2", "3"], "ports": [{ "port": 80 }] }));
    assert_eq!(live["spec"]["zones"], json!(["1", "2", "3"]));
    let next = apply("a", Some(&live), json!({ "cidr": "x" }));
    assert_eq!(next["spec"], json!({ "cidr": "x", "zones": ["2", "3"], "ports": [{ "port": 80 }] }));
    let port = "k:{\"port\":80,\"protocol\":\"TCP\"}";
    assert_eq!(
        owners(&next),
        json!({
            "a": { "f:cidr": {} },
            "b": { "f:zones": { "v:\"2\"": {}, "v:\"3\"": {} }, "f:ports": { port: { ".": {}, "f:port": {} } } },
        })
    );
}

#[test]
fn a_field_that_an_update_has_taken_stays_when_the_applier_gives_it_up() {
    let live = apply("a", None, json!({ "cidr": "x", "gateway": "g" }));
    let live = update("u", Some(&live), json!({ "cidr": "y", "gateway": "g" }));
    assert_eq!(owners(&live), json!({ "a": { "f:gateway": {} }, "u": { "f:cidr": {} } }));
    let next = apply("a", Some(&live), json!({}));
    assert_eq!(next["spec"], json!({ "cidr": "y" }));
}

#[test]
fn a_field_that_nobody_owns_stays_in_an_object_that_is_given_up() {
    let mut live = apply("a", None, json!({ "options": { "a": "1" } }));
    live["spec"]["gateway"] = json!("defaulted");
    let next = apply("a", Some(&live), json!({}));
    assert_eq!(next["spec"], json!({ "gateway": "defaulted" }));
}

#[test]
fn an_update_owns_what_it_changes_and_removes_what_is_gone() {
    let live = update("u", None, json!({ "cidr": "x", "zones": ["1"], "ports": [{ "port": 80 }] }));
    let port = "k:{\"port\":80,\"protocol\":\"TCP\"}";
    assert_eq!(
        owners(&live),
        json!({ "u": {
            ".": {},
            "f:cidr": {},
            "f:zones": { ".": {}, "v:\"1\"": {} },
            "f:ports": { ".": {}, port: { ".": {}, "f:port": {} } },
        } })
    );
    let next = update("v", Some(&live), json!({ "cidr": "y", "zones": ["1"] }));
    assert_eq!(
        owners(&next),
        json!({ "u": { ".": {}, "f:zones": { ".": {}, "v:\"1\"": {} } }, "v": { "f:cidr": {} } })
    );
    // The same manager again: its entry grows.
    let last = update("u", Some(&next), json!({ "cidr": "z", "zones": ["1"] }));
    assert_eq!(
        owners(&last),
        json!({ "u": { ".": {}, "f:cidr": {}, "f:zones": { ".": {}, "v:\"1\"": {} } } })
    );
}

#[test]
fn what_was_there_before_the_first_apply_belongs_to_nobody_in_particular() {
    let live = network(json!({ "cidr": "x", "gateway": "g" }));
    assert_eq!(
        conflict("a", &live, json!({ "cidr": "y" })),
        r#"Apply failed with 1 conflict: conflict with "before-first-apply" using samplecrd.k8s.io/v1: .spec.cidr"#
    );
    let next = apply("a", Some(&live), json!({ "cidr": "x" }));
    assert_eq!(
        owners(&next),
        json!({ "a": { "f:cidr": {} }, "before-first-apply": { ".": {}, "f:cidr": {}, "f:gateway": {} } })
    );
}

#[test]
fn an_object_without_managed_fields_is_not_tracked_by_an_update() {
    let live = network(json!({ "cidr": "x" }));
    let next = update("u", Some(&live), json!({ "cidr": "y" }));
    assert_eq!(next, network(json!({ "cidr": "y" })));
}

#[test]
fn an_update_may_edit_or_reset_the_managed_fields() {
    let live = apply("a", None, json!({ "cidr": "x" }));
    let mut new = network(json!({ "cidr": "x" }));
    new["metadata"]["managedFields"] = json!([]);
    let reset = writer("u").update(Some(&live), &new, &schema()).expect("the object is valid");
    assert_eq!(reset["metadata"], json!({ "name": "n" }));

    new["metadata"]["managedFields"] = json!([{}]);
    assert_eq!(writer("u").update(Some(&live), &new, &schema()).expect("the object is valid"), reset);

    new["metadata"]["managedFields"] = json!(null);
    let kept = writer("u").update(Some(&live), &new, &schema()).expect("the object is valid");
    assert_eq!(owners(&kept), owners(&live));

    new["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
    new["metadata"]["managedFields"][0]["manager"] = json!("renamed");
    let edited = writer("u").update(Some(&live), &new, &schema()).expect("the object is valid");
    assert_eq!(owners(&edited), json!({ "renamed": { "f:cidr": {} } }));

    let edited = writer("u").subresource("status").update(Some(&live), &new, &schema());
    assert_eq!(owners(&edited.expect("the object is valid")), owners(&live));
}

#[test]
fn the_time_changes_only_with_the_object() {
    let at = |time: &str, live: Option<&Value>, spec: Value| {
        writer("a").at(time).apply(live, &network(spec), &schema()).expect("there is no conflict")
    };
    let first = at("2026-01-01T00:00:00Z", None, json!({ "cidr": "x" }));
    let same = at("2026-01-02T00:00:00Z", Some(&first), json!({ "cidr": "x" }));
    assert_eq!(same, first);
    let changed = at("2026-01-03T00:00:00Z", Some(&first), json!({ "cidr": "y" }));
    assert_eq!(changed["metadata"]["managedFields"][0]["time"], "2026-01-03T00:00:00Z");

    let new = network(json!({ "cidr": "y" }));
    let same = writer("u").at("2026-01-04T00:00:00Z").update(Some(&changed), &new, &schema());
    assert_eq!(same.expect("the object is valid"), changed);
}

#[test]
fn subresources_have_owners_of_their_own() {
    let live = apply("a", None, json!({ "cidr": "x" }));
    let mut status = network(json!(null));
    status.as_object_mut().expect("an object").remove("spec");
    status["status"] = json!({ "phase": "Ready" });
    let spec = FieldSet::from_iter([FieldPath::of_fields(["spec"])]);
    let applied =
        writer("a").subresource("status").reset_fields(spec.clone()).apply(Some(&live), &status, &schema());
    let applied = applied.expect("there is no conflict");
    let managed = ManagedFields::of(&applied).expect("the entries are valid");
    assert_eq!(
        managed.applied("a", "status").map(|entry| entry.fields.to_json()),
        Some(json!({ "f:status": { "f:phase": {} } }))
    );
    assert_eq!(
        managed.applied("a", "").map(|entry| entry.fields.to_json()),
        Some(json!({ "f:spec": { "f:cidr": {} } }))
    );

    // A reset field is neither won nor lost.
    let mut new = applied.clone();
    new["spec"]["cidr"] = json!("ignored");
    new["status"]["phase"] = json!("Failed");
    let updated =
        writer("u").subresource("status").reset_fields(spec).update(Some(&applied), &new, &schema());
    let updated = ManagedFields::of(&updated.expect("the object is valid")).expect("the entries are valid");
    let fields: Vec<_> = updated.entries().iter().map(|entry| entry.fields.to_json()).collect();
    assert_eq!(fields, [json!({ "f:spec": { "f:cidr": {} } }), json!({ "f:status": { "f:phase": {} } })]);
}

#[test]
fn the_order_of_a_list_is_that_of_the_last_applier() {
    let live = apply("a", None, json!({ "zones": ["1", "2", "3"] }));
    let next = apply("b", Some(&live), json!({ "zones": ["3", "1"] }));
    assert_eq!(next["spec"]["zones"], json!(["2", "3", "1"]));
}

#[test]
fn an_object_that_loses_all_its_fields_is_dropped_unless_it_is_applied_empty() {
    let live = apply("a", None, json!({ "cidr": "x", "options": { "a": "1" } }));
    let next = apply("a", Some(&live), json!({ "cidr": "x" }));
    assert_eq!(next["spec"], json!({ "cidr": "x" }));
}

#[test]
fn a_configuration_must_be_one_of_the_writer() {
    let live = apply("a", None, json!({ "cidr": "x" }));
    assert_eq!(
        writer("a").apply(None, &live, &schema()).unwrap_err().to_string(),
        "metadata.managedFields must be nil"
    );
    let mut config = network(json!({}));
    config["apiVersion"] = json!("samplecrd.k8s.io/v2");
    assert_eq!(
        writer("a").apply(None, &config, &schema()).unwrap_err().to_string(),
        "Incorrect version specified in apply patch. Specified patch version: samplecrd.k8s.io/v2, \
         expected: samplecrd.k8s.io/v1"
    );
    assert_eq!(
        conflict("a", &live, json!({ "cird": "x", "zones": ["1", "1"] })),
        ".spec.cird: field not declared in schema\n.spec.zones: duplicate entries for key [=\"1\"]"
    );
    let mut broken = live.clone();
    broken["spec"]["cidr"] = json!(1);
    assert_eq!(
        conflict("a", &broken, json!({})),
        "the live object does not fit the schema: .spec.cidr: expected a string, got a number"
    );
    broken["metadata"]["managedFields"] = json!({});
    assert_eq!(
        conflict("a", &broken, json!({})),
        "failed to decode managed fields: metadata.managedFields must be a list"
    );
}

#[test]
fn a_manager_without_a_name_is_unknown() {
    assert_eq!(owners(&apply("", None, json!({ "cidr": "x" }))), json!({ "unknown": { "f:cidr": {} } }));
}

#[test]
fn the_oldest_updaters_are_merged_when_there_are_more_than_ten() {
    let mut live = apply("applier", None, json!({ "cidr": "x", "zones": [] }));
    let mut zones = Vec::new();
    for index in 0..12 {
        zones.push(format!("{index}"));
        live = writer(&format!("u{index}"))
            .at(format!("2026-01-01T00:00:{index:02}Z"))
            .update(Some(&live), &network(json!({ "cidr": "x", "zones": zones })), &schema())
            .expect("the object is valid");
    }
    let managed = ManagedFields::of(&live).expect("the entries are valid");
    let names: Vec<_> = managed.entries().iter().map(|entry| entry.manager.as_str()).collect();
    let expected = ["applier", "ancient-changes", "u3", "u4", "u5", "u6", "u7", "u8", "u9", "u10", "u11"];
    assert_eq!(names, expected);
    let ancient = &managed.entries()[1];
    assert_eq!(ancient.time.as_deref(), Some("2026-01-01T00:00:02Z"));
    assert_eq!(
        ancient.fields.to_json(),
        json!({ "f:spec": { "f:zones": { "v:\"0\"": {}, "v:\"1\"": {}, "v:\"2\"": {} } } })
    );
}
