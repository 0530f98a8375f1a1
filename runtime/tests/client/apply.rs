//! Typed and untyped applies: what is sent, what is not, and conflicts.

use std::collections::BTreeMap;

use genclient_runtime::{
    Deserialize, RestClient, Serialize, TypedClient,
    apply::{ApiVersion, ApplyConfiguration, Kind, ObjectMetaApply},
    error::{Cause, InvalidRequest},
};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::{answering, served_by, support::*};

const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// A pair of the form that the generator writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(crate = "genclient_runtime::serde")]
pub struct ConfigMapApply {
    #[serde(rename = "apiVersion", default)]
    pub api_version: ApiVersion<ConfigMap>,
    #[serde(default)]
    pub kind: Kind<ConfigMap>,
    pub metadata: ObjectMetaApply,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<BTreeMap<String, String>>,
}

impl ApplyConfiguration for ConfigMapApply {
    type Object = ConfigMap;

    fn metadata(&self) -> &ObjectMetaApply {
        &self.metadata
    }
}

fn configuration(metadata: ObjectMetaApply) -> ConfigMapApply {
    let data = Some([("x".to_owned(), "y".to_owned())].into());
    ConfigMapApply { api_version: ApiVersion::default(), kind: Kind::default(), metadata, data }
}

fn target(request: &Received) -> String {
    let query: Vec<_> = request.query.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{} {}?{}", request.method, request.path, query.join("&"))
}

#[tokio::test]
async fn apply_sends_the_configuration_to_the_object_that_it_names() {
    let (client, log) = answering(config_map("a", 6));
    let config = configuration(ObjectMetaApply::new("a").namespace("default").labels([("app", "web")]));
    client.apply(&config).field_manager("me").force().await.unwrap();
    client.apply_status(&config).field_manager("me").dry_run().await.unwrap();
    let value = serde_json::to_value(&config).unwrap();
    client.apply_untyped(&value).field_manager("me").await.unwrap();
    client.apply_status_untyped(&value).field_manager("me").await.unwrap();
    let requests = log.all();
    assert_eq!(
        requests.iter().map(target).collect::<Vec<_>>(),
        [
            format!("PATCH {PATH}/a?fieldManager=me&force=true"),
            format!("PATCH {PATH}/a/status?dryRun=All&fieldManager=me"),
            format!("PATCH {PATH}/a?fieldManager=me"),
            format!("PATCH {PATH}/a/status?fieldManager=me"),
        ]
    );
    for request in requests {
        assert_eq!(request.headers["content-type"], "application/apply-patch+yaml");
        assert_eq!(
            request.json(),
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "name": "a", "namespace": "default", "labels": { "app": "web" } },
                "data": { "x": "y" },
            })
        );
    }
}

#[tokio::test]
async fn the_field_manager_is_the_clients_or_the_requests_and_never_nobody() {
    let (client, log) = in_process(|_: Received| Answer::json(config_map("a", 6)));
    let config = configuration(ObjectMetaApply::new("a"));
    let named = RestClient::from(client.clone()).field_manager("client");
    let named = TypedClient::<ConfigMap>::namespaced(named, "default");
    named.apply(&config).await.unwrap();
    named.apply(&config).field_manager("request").await.unwrap();
    let managers: Vec<_> =
        log.all().iter().map(|request| request.query("fieldManager").map(str::to_owned)).collect();
    assert_eq!(managers, [Some("client".to_owned()), Some("request".to_owned())]);

    let nameless = TypedClient::<ConfigMap>::namespaced(client, "default");
    let errors = [
        nameless.apply(&config).await.unwrap_err(),
        nameless.apply_status(&config).await.unwrap_err(),
        nameless.apply_untyped(&config).await.unwrap_err(),
        nameless.apply_as::<_, ConfigMap>("a", &config).await.unwrap_err(),
        nameless.apply_subresource::<_, ConfigMap>("a", "scale", &config).await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::FieldManagerMissing)),
            "{error}"
        );
        assert!(error.to_string().contains("RestClient::field_manager"), "{error}");
    }
    let empty = nameless.apply(&config).field_manager("").await.unwrap_err();
    assert!(matches!(empty.cause(), Cause::InvalidRequest(InvalidRequest::FieldManager(_))), "{empty}");
    assert_eq!(log.len(), 2);
}

#[tokio::test]
async fn a_configuration_of_another_namespace_is_not_sent() {
    let (client, log) = answering(config_map("a", 6));
    let config = configuration(ObjectMetaApply::new("a").namespace("other"));
    for error in [
        client.apply(&config).field_manager("me").await.unwrap_err(),
        client.apply_status(&config).field_manager("me").await.unwrap_err(),
        client.apply_untyped(&config).field_manager("me").await.unwrap_err(),
    ] {
        let Cause::InvalidRequest(InvalidRequest::FieldMismatch { field, expected, found }) = error.cause()
        else {
            panic!("{error}")
        };
        assert_eq!((*field, &**expected, &**found), ("metadata.namespace", "default", "other"));
    }
    let error = client.apply(&config).field_manager("me").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot apply ConfigMap default/a: the apply configuration's metadata.namespace is `other`, not `default`"
    );
    assert_eq!(log.len(), 0);
}

#[tokio::test]
async fn an_untyped_apply_of_something_else_is_not_sent() {
    let (client, log) = answering(config_map("a", 6));
    for (config, message) in [
        (json!({"kind": "ConfigMap", "metadata": {"name": "a"}}), "has no apiVersion"),
        (json!({"apiVersion": "v1", "metadata": {"name": "a"}}), "has no kind"),
        (json!({"apiVersion": "v1", "kind": "ConfigMap"}), "has no metadata.name"),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}),
            "kind is `Pod`, not `ConfigMap`",
        ),
    ] {
        let error = client.apply_untyped(&config).field_manager("me").await.unwrap_err();
        assert!(error.is_invalid_request() && error.to_string().contains(message), "{error}");
    }
    assert_eq!(log.len(), 0);
}

#[tokio::test]
async fn a_conflict_names_each_field_and_its_owner() {
    let (client, _log) = served_by(|_: Received| {
        let mut status = status(409, "Conflict", "Apply failed with 2 conflicts: …");
        let cause = |message: &str, field: &str| json!({"reason": "FieldManagerConflict", "message": message, "field": field});
        status["details"] = json!({ "causes": [
            cause("conflict with \"one\"", ".data.x"),
            cause("conflict with \"the \\\"other\\\"\" with subresource \"status\" using v1 at 2024-01-01T00:00:00Z", ".data.y"),
            { "reason": "Something", "message": "else", "field": ".data.z" },
        ] });
        Answer::text(409, status.to_string())
    });
    let config = configuration(ObjectMetaApply::new("a"));
    let error = client.apply(&config).field_manager("me").await.unwrap_err();
    assert!(error.is_conflict());
    let conflicts: Vec<_> =
        error.conflicts().into_iter().map(|conflict| (conflict.field, conflict.manager)).collect();
    assert_eq!(
        conflicts,
        [(".data.x".to_owned(), "one".to_owned()), (".data.y".to_owned(), "the \"other\"".to_owned()),]
    );
    assert_eq!(
        error.to_string(),
        "cannot apply ConfigMap default/a: .data.x belongs to \"one\", .data.y belongs to \"the \"other\"\" (Conflict)"
    );
}
