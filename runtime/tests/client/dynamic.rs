//! The client of a kind that is known only at run time.

use futures::{StreamExt as _, TryStreamExt as _};
use genclient_runtime::{
    ListParams, Patch,
    client::WatchEvent,
    dynamic::{DynamicClient, DynamicKind, DynamicList, DynamicMetadataClient},
    error::{Cause, InvalidRequest},
};
use serde_json::json;

use crate::support::*;

fn kind() -> DynamicKind {
    DynamicKind::namespaced("example.com", "v1", "Widget", "widgets")
}

fn served_by(handler: impl Handler) -> (DynamicClient, Log) {
    let (client, log) = in_process(handler);
    (DynamicClient::new(client, &kind()).in_namespace("default"), log)
}

/// Answers a list with a ConfigMap that does not say its kind, a watch with one that does, and everything
/// else with that one.
fn any(request: Received) -> Answer {
    let object = config_map("a", 6);
    let mut item = object.clone();
    item.as_object_mut().expect("an object").retain(|key, _| key != "apiVersion" && key != "kind");
    match request.path.ends_with("/widgets") && request.method == "GET" {
        true if request.is_watch() => Answer::watch([added(object)]),
        true => Answer::json(list(10, [item])),
        false => Answer::json(object),
    }
}

#[tokio::test]
async fn every_verb_has_the_path_and_the_options_of_a_typed_client() {
    let (widgets, log) = served_by(any);
    let object = kind().object("a").data(json!({"spec": {"size": 3}}));
    widgets.create(&object).dry_run().field_manager("test").await.unwrap();
    widgets.get("a").resource_version("0").await.unwrap();
    widgets.update(&object).await.unwrap();
    widgets.update_status(&object).await.unwrap();
    widgets.patch("a", &Patch::merge(&json!({"spec": {"size": 4}}))).await.unwrap();
    widgets.apply_untyped(&object).field_manager("test").force().await.unwrap();
    widgets.apply_status_untyped(&object).field_manager("test").await.unwrap();
    widgets.delete("a").precondition_uid("u").await.unwrap();
    widgets.delete_collection(&ListParams::default().labels("app=web")).await.unwrap();
    let _: serde_json::Value = widgets.get_subresource("a", "scale").await.unwrap();
    let requests: Vec<_> =
        log.all().into_iter().map(|request| format!("{} {}", request.method, request.path)).collect();
    let path = "/apis/example.com/v1/namespaces/default/widgets";
    assert_eq!(
        requests,
        [
            format!("POST {path}"),
            format!("GET {path}/a"),
            format!("PUT {path}/a"),
            format!("PUT {path}/a/status"),
            format!("PATCH {path}/a"),
            format!("PATCH {path}/a"),
            format!("PATCH {path}/a/status"),
            format!("DELETE {path}/a"),
            format!("DELETE {path}"),
            format!("GET {path}/a/scale"),
        ]
    );
    let created = &log.all()[0];
    assert_eq!((created.query("dryRun"), created.query("fieldManager")), (Some("All"), Some("test")));
    assert_eq!(
        created.json(),
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 3}})
    );
    assert_eq!(log.all()[5].query("force"), Some("true"));
}

#[tokio::test]
async fn the_objects_of_lists_and_pages_say_their_kind() {
    let (widgets, _log) = served_by(any);
    let found: DynamicList = widgets.list(&ListParams::default()).await.unwrap();
    assert_eq!(found.metadata.resource_version.as_deref(), Some("10"));
    assert_eq!(found.items[0].types.as_ref().unwrap().kind, "ConfigMap", "the list is a ConfigMapList");
    let all = widgets.pages(&ListParams::default()).all().await.unwrap();
    assert_eq!(all[0].types.as_ref().unwrap().kind, "Widget");
    let pages: Vec<_> = widgets.pages(&ListParams::default()).try_collect().await.unwrap();
    assert_eq!(pages[0][0].types.as_ref().unwrap().api_version, "example.com/v1");
    let empty: DynamicList = serde_json::from_value(
        json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "a"}}]}),
    )
    .unwrap();
    assert_eq!(empty.items[0].types, None, "a list of anything says nothing");
}

#[tokio::test]
async fn a_watch_delivers_objects() {
    let (widgets, log) = served_by(any);
    let Some(Ok(WatchEvent::Added(object))) = widgets.watch(&ListParams::default()).next().await else {
        panic!("the object exists")
    };
    assert_eq!(object.data, json!({"data": {"version": "6"}}));
    assert!(object.metadata.managed_fields.is_some(), "a client keeps them");
    assert_eq!(log.watches()[0].path, "/apis/example.com/v1/namespaces/default/widgets");
}

#[tokio::test]
async fn a_metadata_client_requests_only_metadata() {
    let (client, log) = in_process(any);
    let widgets = DynamicMetadataClient::new(client, &kind()).in_namespace("default");
    assert_eq!(widgets.get("a").await.unwrap().metadata.name.as_deref(), Some("a"));
    assert_eq!(widgets.pages(&ListParams::default()).all().await.unwrap().len(), 1);
    assert!(log.all().iter().all(|request| request.headers["accept"].contains("PartialObjectMetadata")));
}

#[tokio::test]
async fn errors_name_the_kind_and_what_cannot_succeed_is_not_sent() {
    let (widgets, log) = served_by(|_: Received| Answer::status(404, "NotFound", "widgets \"a\" not found"));
    let error = widgets.get("a").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot get Widget default/a: widgets \"a\" not found (NotFound)");
    assert_eq!(log.len(), 1);

    let other = DynamicKind::namespaced("example.com", "v2", "Widget", "widgets").object("a");
    let error = widgets.apply_untyped(&other).field_manager("test").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot apply Widget in namespace default: the apply configuration's apiVersion is \
         `example.com/v2`, not `example.com/v1`"
    );
    let unnamed = widgets.update(&kind().object("")).await.unwrap_err();
    assert!(unnamed.is_invalid_request(), "{unnamed}");

    let (client, _) = in_process(any);
    let cluster = DynamicKind::cluster("example.com", "v1", "Gadget", "gadgets");
    let error =
        DynamicClient::new(client.clone(), &cluster).in_namespace("default").get("a").await.unwrap_err();
    assert!(
        matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::NotNamespaced(kind)) if kind == "Gadget")
    );
    let changed = DynamicKind::cluster("", "v1", "Secret", "namespaces/kube-system/secrets");
    let error = DynamicClient::new(client, &changed).get("a").await.unwrap_err();
    assert!(matches!(error.cause(), Cause::InvalidRequest(InvalidRequest::Resource(_))), "{error}");
    assert_eq!(log.len(), 1);
}

#[tokio::test]
async fn a_client_knows_its_kind_and_namespace() {
    let (widgets, _log) = served_by(any);
    assert_eq!((widgets.kind(), widgets.namespace()), (&kind(), Some("default")));
    assert_eq!(widgets.api().resource_url(), "/apis/example.com/v1/namespaces/default/widgets");
    assert_eq!(widgets.in_namespace("other").namespace(), Some("other"));
    assert_eq!(format!("{widgets:?}"), r#"TypedClient { kind: "Widget", namespace: Some("default"), .. }"#);
}
