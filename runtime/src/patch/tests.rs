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

#[test]
fn a_strategic_patch_is_for_kubernetes_own_kinds() {
    let old = object(json!({ "metadata": { "name": "a", "finalizers": ["x", "y"] }, "data": { "a": "1" } }));
    let mut new = old.clone();
    assert_eq!(Patch::strategic_between(&old, &new).unwrap(), None);
    new.metadata.finalizers = Some(vec!["x".to_owned()]);
    let patch = Patch::strategic_between(&old, &new).unwrap().unwrap();
    assert_eq!(patch.media_type(), "application/strategic-merge-patch+json");
    assert_eq!(
        patch.body().unwrap()["metadata"]["$deleteFromPrimitiveList/finalizers"],
        json!(["y"]),
        "{patch:?}"
    );
}

#[test]
fn a_custom_kind_has_no_strategic_patches() {
    let error = Patch::strategic_between(&Widget::default(), &Widget::default()).unwrap_err();
    assert!(matches!(error, PatchError::NotStrategic { .. }));
    assert_eq!(
        error.to_string(),
        "Widget of example.com/v1 is not one of Kubernetes' own kinds; use `Patch::between`"
    );
}

#[derive(Default, Serialize)]
struct Widget {
    metadata: crate::ObjectMeta,
}

impl k8s_openapi::Resource for Widget {
    const API_VERSION: &'static str = "example.com/v1";
    const GROUP: &'static str = "example.com";
    const KIND: &'static str = "Widget";
    const URL_PATH_SEGMENT: &'static str = "widgets";
    const VERSION: &'static str = "v1";
    type Scope = k8s_openapi::NamespaceResourceScope;
}

impl k8s_openapi::Metadata for Widget {
    type Ty = crate::ObjectMeta;

    fn metadata(&self) -> &Self::Ty {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Self::Ty {
        &mut self.metadata
    }
}
