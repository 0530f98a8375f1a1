//! The method, path, query, headers and body of each request.

use std::{collections::BTreeMap, time::Duration};

use futures::StreamExt as _;
use genclient_runtime::{
    ListParams, Patch, PropagationPolicy, TypedClient, ValidationDirective,
    client::Deleted,
    error::{Cause, InvalidRequest},
};
use k8s_openapi::{
    List,
    api::{
        authentication::v1::TokenRequest,
        autoscaling::v1::Scale,
        core::v1::{ConfigMap, Namespace, Pod, ServiceAccount},
    },
};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};

use crate::{answering, object, support::*};

fn target(log: &Log) -> String {
    let request = log.all().pop().expect("a request was sent");
    let query: Vec<_> = request.query.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{} {}?{}", request.method, request.path, query.join("&"))
}

const PATH: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn a_request_is_sent_when_it_is_awaited() {
    let (client, log) = answering(config_map("a", 6));
    let request = client.get("a");
    tokio::task::yield_now().await;
    assert_eq!(log.len(), 0);
    request.await.unwrap();
    drop(client.delete("a"));
    assert_eq!(log.len(), 1);
}

#[tokio::test]
async fn create_posts_the_object_with_its_options() {
    let (client, log) = answering(config_map("a", 6));
    let created = client
        .create(&object("a"))
        .dry_run()
        .field_manager("me")
        .field_validation(ValidationDirective::Strict)
        .await
        .unwrap();
    assert_eq!(created.metadata.resource_version.as_deref(), Some("6"));
    assert_eq!(target(&log), format!("POST {PATH}?dryRun=All&fieldManager=me&fieldValidation=Strict"));
    let request = &log.all()[0];
    assert_eq!(
        (&*request.json()["kind"].to_string(), &*request.headers["content-type"]),
        ("\"ConfigMap\"", "application/json")
    );
}

#[tokio::test]
async fn update_and_update_status_put_to_the_object_and_to_its_status() {
    let (client, log) = answering(config_map("a", 6));
    client.update(&object("a")).await.unwrap();
    assert_eq!(target(&log), format!("PUT {PATH}/a?"));
    client.update_status(&object("a")).field_manager("me").await.unwrap();
    assert_eq!(target(&log), format!("PUT {PATH}/a/status?fieldManager=me"));
    let nameless = client.update(&ConfigMap::default()).await.unwrap_err();
    assert!(matches!(nameless.cause(), Cause::InvalidRequest(InvalidRequest::NameMissing)));
    assert_eq!(log.len(), 2);
}

#[tokio::test]
async fn get_reads_one_object_and_list_the_kinds_own_list() {
    let (client, log) = answering(config_map("a", 6));
    client.get("a").await.unwrap();
    assert_eq!(target(&log), format!("GET {PATH}/a?"));
    client.get("a").resource_version("0").await.unwrap();
    assert_eq!(target(&log), format!("GET {PATH}/a?resourceVersion=0"));

    let (client, log) = answering(list(10, [config_map("a", 5)]));
    let params = ListParams::default().labels("a=b").fields("metadata.name=a").limit(5).match_any();
    let found: List<ConfigMap> = client.list(&params).await.unwrap();
    assert_eq!((found.items.len(), found.metadata.resource_version.as_deref()), (1, Some("10")));
    assert_eq!(
        target(&log),
        format!(
            "GET {PATH}?fieldSelector=metadata.name=a&labelSelector=a=b&limit=5&resourceVersion=0&resourceVersionMatch=NotOlderThan"
        )
    );
}

#[tokio::test]
async fn delete_has_its_options_in_the_body_and_distinguishes_an_object_from_a_status() {
    let (client, log) = answering(config_map("a", 6));
    let outcome = client
        .delete("a")
        .propagation(PropagationPolicy::Foreground)
        .grace_period(Duration::from_secs(3))
        .precondition_uid("u")
        .precondition_resource_version("5")
        .dry_run()
        .await
        .unwrap();
    assert_eq!(outcome.object().unwrap().metadata.name.as_deref(), Some("a"));
    assert_eq!(target(&log), format!("DELETE {PATH}/a?"));
    assert_eq!(
        log.all()[0].json(),
        json!({"dryRun": ["All"], "gracePeriodSeconds": 3, "propagationPolicy": "Foreground",
               "preconditions": {"uid": "u", "resourceVersion": "5"}})
    );
    let (client, _log) = answering(json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}));
    assert!(matches!(client.delete("a").await.unwrap(), Deleted::Status(status) if status.is_success()));
}

#[tokio::test]
async fn delete_collection_has_the_selectors_in_its_query() {
    let (client, log) = answering(list(10, []));
    let params = ListParams::default().labels("a=b");
    client.delete_collection(&params).propagation(PropagationPolicy::Background).await.unwrap();
    assert_eq!(target(&log), format!("DELETE {PATH}?labelSelector=a=b"));
    assert_eq!(log.all()[0].json(), json!({"propagationPolicy": "Background"}));
}

#[tokio::test]
async fn each_patch_has_its_media_type() {
    let (client, log) = answering(config_map("a", 6));
    let change = json!({"data": {"x": "y"}});
    let operations = json!([{"op": "remove", "path": "/data/x"}]);
    for (patch, media_type, body) in [
        (Patch::merge(&change), "application/merge-patch+json", &change),
        (Patch::strategic(&change), "application/strategic-merge-patch+json", &change),
        (Patch::json(&operations), "application/json-patch+json", &operations),
    ] {
        client.patch("a", &patch).field_manager("me").await.unwrap();
        assert_eq!(target(&log), format!("PATCH {PATH}/a?fieldManager=me"));
        let request = log.all().pop().unwrap();
        assert_eq!((&*request.headers["content-type"], &request.json()), (media_type, body));
    }
}

#[tokio::test]
async fn a_patch_that_cannot_be_sent_is_not_sent() {
    let (client, log) = answering(config_map("a", 6));
    let invalid = Patch::merge(&BTreeMap::from([((1, 2), 3)]));
    let error = client.patch("a", &invalid).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::Body(_))), "{error}");
    let unversioned = Patch::merge(&json!({})).if_unchanged(&ConfigMap::default());
    let error = client.patch("a", &unversioned).await.unwrap_err();
    assert!(
        matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::ResourceVersionMissing)),
        "{error}"
    );
    assert_eq!(log.len(), 0);
}

#[tokio::test]
async fn a_subresource_has_its_own_input_and_result() {
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}});
    let (client, log) = answering(scale.clone());
    let found: Scale = client.get_subresource("a", "scale").await.unwrap();
    assert_eq!(found.spec.as_ref().unwrap().replicas, Some(3));
    assert_eq!(target(&log), format!("GET {PATH}/a/scale?"));
    let _: Scale = client.update_subresource("a", "scale", &found).field_manager("me").await.unwrap();
    assert_eq!(target(&log), format!("PUT {PATH}/a/scale?fieldManager=me"));
    let _: Scale = client.patch_subresource("a", "scale", &Patch::merge(&json!({}))).await.unwrap();
    assert_eq!(target(&log), format!("PATCH {PATH}/a/scale?"));
    let _: Scale = client.apply_subresource("a", "scale", &scale).field_manager("me").force().await.unwrap();
    assert_eq!(target(&log), format!("PATCH {PATH}/a/scale?fieldManager=me&force=true"));
    let _: Value = client.list_subresource("a", "things", &ListParams::default().limit(1)).await.unwrap();
    assert_eq!(target(&log), format!("GET {PATH}/a/things?limit=1"));
    let other =
        client.apply_subresource::<_, Scale>("b", "scale", &scale).field_manager("me").await.unwrap_err();
    assert!(other.to_string().contains("metadata.name is `a`, not `b`"), "{other}");
    let nowhere = client.get_subresource::<Scale>("a", "").await.unwrap_err();
    assert!(nowhere.is_invalid_request());

    let request = TokenRequest::default();
    let (client, log) = in_process(|request: Received| Answer::json(request.json()));
    let accounts = TypedClient::<ServiceAccount>::namespaced(client, "default");
    let _: TokenRequest = accounts.create_subresource("robot", "token", &request).await.unwrap();
    assert_eq!(target(&log), "POST /api/v1/namespaces/default/serviceaccounts/robot/token?");
}

#[tokio::test]
async fn a_verb_without_a_subresource_can_have_another_input_and_result_too() {
    let (client, log) = answering(config_map("a", 6));
    let _: PartialObjectMeta<ConfigMap> = client.get_as("a").await.unwrap();
    assert_eq!(target(&log), format!("GET {PATH}/a?"));
    let _: Value = client.create_as(&json!({})).await.unwrap();
    assert_eq!(target(&log), format!("POST {PATH}?"));
    let _: Value = client.update_as("a", &json!({})).await.unwrap();
    assert_eq!(target(&log), format!("PUT {PATH}/a?"));
    let _: Value = client.patch_as("a", &Patch::merge(&json!({}))).await.unwrap();
    assert_eq!(target(&log), format!("PATCH {PATH}/a?"));
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let _: Value = client.apply_as("a", &config).field_manager("me").await.unwrap();
    assert_eq!(target(&log), format!("PATCH {PATH}/a?fieldManager=me"));
}

#[tokio::test]
async fn cluster_scoped_kinds_and_all_namespaces_have_no_namespace_in_their_path() {
    let (client, log) = in_process(|_: Received| Answer::json(json!({"metadata": {"name": "a"}})));
    TypedClient::<Namespace>::cluster(client.clone()).get("a").await.unwrap();
    assert_eq!(target(&log), "GET /api/v1/namespaces/a?");
    let pods = TypedClient::<Pod>::cluster(client);
    let _: Value = pods.list(&ListParams::default()).await.unwrap();
    assert_eq!(target(&log), "GET /api/v1/pods?");
    assert_eq!(pods.api().resource_url(), "/api/v1/pods");
}

#[tokio::test]
async fn a_metadata_only_kind_requests_only_metadata() {
    let (client, log) = in_process(|_: Received| Answer::json(json!({"metadata": {"name": "a"}})));
    TypedClient::<PartialObjectMeta<Namespace>>::cluster(client).get("a").await.unwrap();
    assert_eq!(
        log.all()[0].headers["accept"],
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    );
}

#[tokio::test]
async fn a_request_that_cannot_succeed_is_not_sent() {
    let (client, log) = in_process(script([]));
    for namespace in ["", "Upper", "a/b", "../kube-system"] {
        let client = TypedClient::<ConfigMap>::namespaced(client.clone(), namespace);
        let error = client.get("a").await.unwrap_err();
        assert!(matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::Namespace(_))), "{error}");
        let error = client.watch(&ListParams::default()).next().await.unwrap().unwrap_err();
        assert!(error.is_invalid_request(), "{error}");
    }
    let client = TypedClient::<ConfigMap>::namespaced(client, "default");
    for name in ["", "..", "a/status", "a%2fstatus"] {
        assert!(client.get(name).await.unwrap_err().is_invalid_request());
        assert!(client.delete(name).await.unwrap_err().is_invalid_request(), "never the whole collection");
    }
    assert_eq!(log.len(), 0);
}
