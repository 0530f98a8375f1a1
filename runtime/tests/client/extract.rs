//! Extracting what a manager has applied.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use genclient_runtime::{
    Deserialize, GenClient, ObjectMeta, Serialize,
    apply::{ApiVersion, ApplyConfiguration, ExtractError, Kind, ObjectMetaApply, extract, extract_status},
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodTemplateSpec};
use serde_json::{Value, json};

use crate::apply::ConfigMapApply;

/// A ConfigMap whose entry for `me` owns these fields.
fn object(owned: Value) -> ConfigMap {
    serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "labels": { "app": "web", "other": "theirs" },
            "managedFields": [
                { "manager": "me", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": owned },
                { "manager": "me", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                  "fieldsV1": { "f:metadata": { "f:labels": { "f:other": {} } } } },
            ],
        },
        "data": { "x": "1", "y": "2" },
        "immutable": false,
    }))
    .unwrap()
}

fn extracted(owned: Value) -> Result<ConfigMapApply, ExtractError> {
    extract(&object(owned), "me")
}

#[test]
fn a_configuration_has_the_constants_of_its_kind_and_what_is_set() {
    let config = ConfigMapApply {
        api_version: ApiVersion::default(),
        kind: Kind::default(),
        metadata: ObjectMetaApply::new("a")
            .namespace("default")
            .labels([("app", "web")])
            .finalizers(["example.com/hold"]),
        data: None,
    };
    let value = serde_json::to_value(&config).unwrap();
    assert_eq!(
        value,
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "a",
                "namespace": "default",
                "labels": { "app": "web" },
                "finalizers": ["example.com/hold"],
            },
        })
    );
    assert_eq!(serde_json::from_value::<ConfigMapApply>(value).unwrap(), config);
    let without = json!({ "metadata": { "name": "a" } });
    assert_eq!(serde_json::from_value::<ConfigMapApply>(without).unwrap().metadata.name, "a");
}

#[test]
fn a_configuration_of_another_kind_does_not_decode() {
    let decoded = |value: Value| serde_json::from_value::<ConfigMapApply>(value).unwrap_err().to_string();
    let kind = decoded(json!({ "kind": "Secret", "metadata": { "name": "a" } }));
    assert_eq!(kind, "kind is `Secret`, not `ConfigMap`");
    let version = decoded(json!({ "apiVersion": "v2", "metadata": { "name": "a" } }));
    assert_eq!(version, "apiVersion is `v2`, not `v1`");
    let nameless = decoded(json!({ "metadata": {} }));
    assert!(nameless.contains("missing field `name`"), "{nameless}");
}

#[test]
fn extract_takes_what_the_manager_has_applied_and_nothing_of_others() {
    let config =
        extracted(json!({ "f:metadata": { "f:labels": { "f:app": {} } }, "f:data": { "f:x": {} } })).unwrap();
    assert_eq!(config.metadata, ObjectMetaApply::new("a").namespace("default").labels([("app", "web")]));
    assert_eq!(config.data, Some([("x".to_owned(), "1".to_owned())].into()));
    let nobody: ConfigMapApply = extract(&object(json!({})), "nobody").unwrap();
    assert_eq!(nobody.metadata, ObjectMetaApply::new("a").namespace("default"));
    assert_eq!(nobody.data, None);
}

#[test]
fn an_object_without_managed_fields_is_an_error_that_names_the_remedy() {
    let mut cached = object(json!({}));
    cached.metadata.managed_fields = None;
    let error = extract::<ConfigMapApply>(&cached, "me").unwrap_err();
    assert!(matches!(error, ExtractError::NoManagedFields));
    let text = error.to_string();
    assert!(
        text.contains("no metadata.managedFields") && text.contains("keep_managed_fields(true)"),
        "{text}"
    );
}

#[test]
fn malformed_managed_fields_are_an_error() {
    let error = extracted(json!({ "f:data": { "k:{": {} } })).unwrap_err();
    assert!(matches!(error, ExtractError::ManagedFields(_)), "{error}");
}

#[test]
fn extract_loses_nothing_that_the_configuration_lacks() {
    let error = extracted(json!({ "f:immutable": {}, "f:data": { "f:x": {} } })).unwrap_err();
    let ExtractError::Lost { fields } = &error else { panic!("{error}") };
    assert_eq!(fields, &[".immutable"]);
    assert!(error.to_string().contains(".immutable"), "{error}");
}

#[test]
fn extract_loses_nothing_that_the_object_type_dropped() {
    let error =
        extracted(json!({ "f:spec": { "f:size": {} }, "f:metadata": { "f:colour": {} } })).unwrap_err();
    let ExtractError::Lost { mut fields } = error else { panic!("{error}") };
    fields.sort();
    assert_eq!(fields, [".metadata.colour", ".spec"]);
}

#[test]
fn an_applied_zero_value_that_the_server_does_not_store_is_extracted() {
    // The server stores none of these fields, but the manager owns them.
    let container = json!({
        ".": {}, "f:name": {}, "f:args": {}, "f:stdin": {},
        "f:env": { "k:{\"name\":\"EMPTY\"}": { ".": {}, "f:name": {}, "f:value": {} } },
        "f:readinessProbe": { "f:initialDelaySeconds": {}, "f:httpGet": { "f:path": {}, "f:port": {} } },
    });
    let pod = pod(json!({
        "f:metadata": { "f:annotations": {}, "f:finalizers": {} },
        "f:spec": {
            "f:hostNetwork": {}, "f:nodeSelector": {}, "f:containers": { "k:{\"name\":\"a\"}": container },
        },
    }));
    let config: PodApply = extract(&pod, "me").unwrap();
    let metadata = ObjectMetaApply::new("a").namespace("default");
    let empty: [(&str, &str); 0] = [];
    assert_eq!(config.metadata, metadata.annotations(empty).finalizers(Vec::<String>::new()));
    let probe = json!({ "initialDelaySeconds": 0, "httpGet": { "path": "/", "port": 80 } });
    let container = json!({
        "name": "a", "args": [], "stdin": false, "env": [{ "name": "EMPTY", "value": "" }], "readinessProbe": probe,
    });
    assert_eq!(
        config.spec,
        Some(json!({ "hostNetwork": false, "nodeSelector": {}, "containers": [container] }))
    );
}

#[test]
fn an_absent_field_of_a_custom_resource_is_not_guessed() {
    // A custom resource is stored as it was applied, so this field was null.
    let spec = gate::extracted(json!({ "f:colour": {} }), json!({ "colour": null })).unwrap();
    assert_eq!(spec, gate::GateSpecApply::default());
}

/// A pod whose entry for `me` owns these fields.
fn pod(owned: Value) -> Pod {
    let entry = json!({
        "manager": "me", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": owned,
    });
    let probe = json!({ "httpGet": { "path": "/", "port": 80 } });
    let container = json!({ "name": "a", "env": [{ "name": "EMPTY" }], "readinessProbe": probe });
    serde_json::from_value(json!({
        "metadata": { "name": "a", "namespace": "default", "managedFields": [entry] },
        "spec": { "containers": [{ "name": "other" }, container] },
    }))
    .unwrap()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PodApply {
    #[serde(rename = "apiVersion", default)]
    api_version: ApiVersion<Pod>,
    #[serde(default)]
    kind: Kind<Pod>,
    metadata: ObjectMetaApply,
    spec: Option<Value>,
}

impl ApplyConfiguration for PodApply {
    type Object = Pod;

    fn metadata(&self) -> &ObjectMetaApply {
        &self.metadata
    }
}

#[test]
fn the_status_is_extracted_from_its_own_entry() {
    let mut object = object(json!({ "f:data": { "f:x": {} } }));
    let mut entry = object.metadata.managed_fields.as_ref().unwrap()[0].clone();
    entry.subresource = Some("status".to_owned());
    entry.fields_v1 = serde_json::from_value(json!({ "f:data": { "f:y": {} } })).unwrap();
    object.metadata.managed_fields.as_mut().unwrap().push(entry);
    let main: ConfigMapApply = extract(&object, "me").unwrap();
    let status: ConfigMapApply = extract_status(&object, "me").unwrap();
    assert_eq!(
        (main.data, status.data),
        (Some([("x".to_owned(), "1".to_owned())].into()), Some([("y".to_owned(), "2".to_owned())].into()),)
    );
}

/// A kind that leaves out empty values, and holds a type that cannot leave out its fields.
mod gate {
    use super::*;

    genclient_runtime::group_version!("example.com/v1");

    #[derive(Clone, Debug, PartialEq, GenClient)]
    #[genclient(no_crd)]
    pub struct Gate {
        pub metadata: ObjectMeta,
        pub spec: GateSpec,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct GateSpec {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub open: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub keys: Vec<String>,
        #[serde(default, skip_serializing_if = "Bell::is_quiet")]
        pub bell: Bell,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub colour: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub bars: Vec<Bar>,
        pub template: Option<PodTemplateSpec>,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(from = "AnyBar")]
    pub struct Bar {
        pub name: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pub bent: bool,
    }

    /// The number of bars that were decoded.
    pub static DECODED_BARS: AtomicUsize = AtomicUsize::new(0);

    #[derive(Deserialize)]
    struct AnyBar {
        name: String,
        #[serde(default)]
        bent: bool,
    }

    impl From<AnyBar> for Bar {
        fn from(AnyBar { name, bent }: AnyBar) -> Self {
            DECODED_BARS.fetch_add(1, SeqCst);
            Self { name, bent }
        }
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct Bell {
        #[serde(default)]
        pub rings: bool,
    }

    impl Bell {
        fn is_quiet(&self) -> bool {
            !self.rings
        }
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct GateApply {
        #[serde(rename = "apiVersion", default)]
        pub api_version: ApiVersion<Gate>,
        #[serde(default)]
        pub kind: Kind<Gate>,
        pub metadata: ObjectMetaApply,
        pub spec: Option<GateSpecApply>,
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct GateSpecApply {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub open: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub keys: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub bell: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub colour: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub bars: Option<Vec<Value>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub template: Option<PodTemplateSpec>,
    }

    impl ApplyConfiguration for GateApply {
        type Object = Gate;

        fn metadata(&self) -> &ObjectMetaApply {
            &self.metadata
        }
    }

    /// What `me` has applied if it owns these fields of the spec.
    pub fn extracted(owned: Value, spec: Value) -> Result<GateSpecApply, ExtractError> {
        let entry = json!({
            "manager": "me", "operation": "Apply", "apiVersion": "example.com/v1", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:spec": owned },
        });
        let metadata = json!({ "name": "a", "managedFields": [entry] });
        let object: Gate = serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap();
        extract::<GateApply>(&object, "me").map(|config| config.spec.unwrap_or_default())
    }
}

#[test]
fn an_empty_value_that_the_type_does_not_write_is_extracted() {
    let owned = json!({ "f:open": {}, "f:keys": {}, "f:bell": { "f:rings": {} } });
    let spec = json!({ "open": false, "keys": [], "bell": { "rings": false } });
    let spec = gate::extracted(owned, spec).unwrap();
    assert_eq!(
        (spec.open, spec.keys, spec.bell),
        (Some(false), Some(vec![]), Some(json!({ "rings": false })))
    );
}

#[test]
fn extracting_takes_time_in_proportion_to_the_number_of_items() {
    let decoded = |count: usize| {
        let names = (0..count).map(|number| format!("bar-{number}"));
        let key = |name: &str| format!("k:{}", json!({ "name": name }));
        let owned = names.clone().map(|name| (key(&name), json!({ ".": {}, "f:name": {}, "f:bent": {} })));
        let owned = json!({ "f:bars": owned.collect::<serde_json::Map<_, _>>() });
        let before = gate::DECODED_BARS.load(SeqCst);
        let spec = json!({ "bars": names.map(|name| json!({ "name": name })).collect::<Vec<_>>() });
        let bars = gate::extracted(owned, spec).unwrap().bars.unwrap();
        assert_eq!(bars.len(), count);
        assert!(bars.iter().all(|bar| bar["bent"] == false));
        gate::DECODED_BARS.load(SeqCst) - before
    };
    let (few, many) = (decoded(100), decoded(400));
    assert!(many <= 4 * few, "{few} items were decoded for 100, and {many} for 400");
}

#[test]
fn a_field_that_the_types_cannot_leave_out_is_an_error() {
    let spec = json!({ "template": { "spec": { "nodeName": "a", "containers": [{ "name": "theirs" }] } } });
    let owned = json!({ "f:template": { "f:spec": { "f:nodeName": {} } } });
    let error = gate::extracted(owned, spec).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the Rust types add fields that were not applied: .spec.template.spec.containers"
    );
}
