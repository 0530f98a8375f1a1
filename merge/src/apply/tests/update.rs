//! Other writes, and what they have in common with apply.

use super::*;

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
