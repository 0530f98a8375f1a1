use k8s_openapi::api::core::v1::ConfigMap;

use super::*;

fn object(value: Value) -> ConfigMap {
    serde_json::from_value(value).unwrap()
}

fn between(old: &Value, new: &Value) -> Option<Value> {
    let patch = Patch::between(old, new).unwrap()?;
    assert_eq!(patch.media_type(), "application/merge-patch+json");
    patch.body().cloned()
}

#[test]
fn a_patch_holds_nothing_but_the_difference() {
    let old = object(json!({ "metadata": { "name": "a", "labels": { "x": "1", "y": "2" } } }));
    let mut new = old.clone();
    assert_eq!(Patch::between(&old, &new).unwrap(), None);
    new.metadata.labels.as_mut().unwrap().remove("x");
    new.immutable = Some(true);
    let patch = Patch::between(&old, &new).unwrap().unwrap();
    assert_eq!(patch.body(), Some(&json!({ "metadata": { "labels": { "x": null } }, "immutable": true })));
}

#[test]
fn a_null_in_an_object_counts_as_an_absent_field() {
    for (old, new, patch) in [
        (json!({ "a": null }), json!({}), None),
        (json!({}), json!({ "a": null }), None),
        (json!({ "a": 1 }), json!({ "a": null }), Some(json!({ "a": null }))),
        (json!({ "a": 1 }), json!({ "a": { "b": null } }), Some(json!({ "a": {} }))),
        (json!({}), json!({ "a": [{ "b": null }] }), Some(json!({ "a": [{}] }))),
        (json!({ "a": [{}] }), json!({ "a": [{ "b": null }] }), None),
    ] {
        assert_eq!(between(&old, &new), patch, "{old} to {new}");
    }
}

#[test]
fn what_only_the_server_sets_is_no_change() {
    let cached = json!({ "metadata": { "name": "a", "resourceVersion": "5", "generation": 1 } });
    let read = json!({ "metadata": {
        "name": "a", "resourceVersion": "6", "generation": 2, "managedFields": [{ "manager": "x" }],
        "creationTimestamp": "2024-01-01T00:00:00Z",
    } });
    assert_eq!(between(&cached, &read), None);
    assert_eq!(between(&read, &cached), None);
}

#[test]
fn a_locked_patch_has_the_resource_version_of_the_object() {
    let old = object(json!({ "metadata": { "name": "a", "resourceVersion": "5" } }));
    let locked = |patch: Patch| patch.if_unchanged(&old).body().cloned().unwrap();
    let metadata = json!({ "metadata": { "resourceVersion": "5" } });
    assert_eq!(locked(Patch::merge(&json!({}))), metadata);
    assert_eq!(locked(Patch::merge(&json!({ "metadata": null }))), metadata);
    assert_eq!(
        locked(Patch::strategic(&json!({ "metadata": { "labels": {} } }))),
        json!({ "metadata": { "labels": {}, "resourceVersion": "5" } })
    );
    assert_eq!(
        locked(Patch::json(&json!([]))),
        json!([{ "op": "replace", "path": "/metadata/resourceVersion", "value": "5" }])
    );
}

#[test]
fn a_patch_that_cannot_be_sent_says_why() {
    let cause = |patch: &Patch| patch.to_call("/".to_owned()).err().unwrap().to_string();
    let unversioned = Patch::merge(&json!({})).if_unchanged(&ConfigMap::default());
    assert!(cause(&unversioned).contains("no metadata.resourceVersion"), "{}", cause(&unversioned));
    let invalid = Patch::merge(&std::collections::BTreeMap::from([((1, 2), 3)]));
    assert!(cause(&invalid).contains("does not serialize"), "{}", cause(&invalid));
    assert_eq!(invalid.body(), None);
    assert!(cause(&invalid.if_unchanged(&ConfigMap::default())).contains("does not serialize"));
}
