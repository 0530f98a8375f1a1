//! Server-side apply.

use super::*;

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
fn a_null_goes_unless_it_is_to_stay() {
    let config = network(json!({ "cidr": "x", "gateway": null }));
    let object = writer("a").apply(None, &config, &schema()).expect("there is no conflict");
    assert_eq!(object["spec"], json!({ "cidr": "x" }));
    let object = writer("a").keep_nulls().apply(None, &config, &schema()).expect("there is no conflict");
    assert_eq!(object["spec"], json!({ "cidr": "x", "gateway": null }));
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
        "failed to create typed patch object (/n; samplecrd.k8s.io/v1, Kind=Network): errors:\n  \
         .spec.cird: field not declared in schema\n  .spec.zones: duplicate entries for key [=\"1\"]"
    );
    let mut broken = live.clone();
    broken["spec"]["cidr"] = json!(1);
    assert_eq!(
        conflict("a", &broken, json!({})),
        "failed to create typed live object (/n; samplecrd.k8s.io/v1, Kind=Network): .spec.cidr: \
         expected string, got &value.valueUnstructured{Value:1}"
    );
    broken["metadata"]["managedFields"] = json!({});
    assert_eq!(
        conflict("a", &broken, json!({})),
        "failed to decode managed fields: metadata.managedFields must be a list"
    );
}

#[test]
fn an_object_may_be_as_deep_as_serde_json_allows() {
    let nested = |depth: usize, leaf: Value| {
        let mut object = (1..depth).fold(leaf, |inner, _| json!({ "a": inner }));
        object["apiVersion"] = json!("v1");
        object
    };
    let (schema, depth) = (Schema::deduced(), crate::MAX_DEPTH);
    let live = Writer::new("a", "v1").apply(None, &nested(depth, json!({ "x": 1 })), &schema);
    let live = live.expect("it is at the limit");
    let other = Writer::new("b", "v1").apply(Some(&live), &nested(depth, json!({ "y": 1 })), &schema);
    let other = other.expect("the fields are different");
    let back = Writer::new("a", "v1").apply(Some(&other), &nested(2, json!({})), &schema);
    let back = back.expect("the fields are its own");
    assert_eq!(back.pointer(&"/a".repeat(depth - 1)), Some(&json!({ "y": 1 })));

    let too_deep = Writer::new("a", "v1").apply(None, &nested(depth + 1, json!({ "x": 1 })), &schema);
    assert_eq!(
        too_deep.unwrap_err().to_string(),
        "failed to create typed patch object (/; /v1, Kind=): the value is nested more than 128 levels deep"
    );
}

#[test]
fn a_manager_without_a_name_is_unknown() {
    assert_eq!(owners(&apply("", None, json!({ "cidr": "x" }))), json!({ "unknown": { "f:cidr": {} } }));
}
