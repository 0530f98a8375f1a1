//! The typed client and the reflector against a real API server.

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::StreamExt as _;
use genclient_runtime::{
    Error, InformerFactory, ListParams, Patch, PropagationPolicy, TypedClient, ValidationDirective,
    client::{self, Deleted, WatchEvent},
    object::{CacheObject, Watched},
    reflector::{Problem, Reflector, ReflectorConfig, ReflectorState, Scope},
    retry::retry_on_conflict,
};
use genclient_testenv::{TestEnv, require_servers};
use k8s_openapi::{
    List,
    api::{
        authentication::v1::TokenRequest,
        core::v1::{ConfigMap, Namespace, ServiceAccount},
    },
};
use kube::{CustomResource, CustomResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use support::{View, recorder};
use tokio::sync::watch;

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(
        json!({"metadata": {"name": name, "labels": {"app": "test"}}, "data": {"x": value}}),
    )
    .expect("it is accepted")
}

/// Creates a namespace for one test on the shared server.
async fn namespace(client: &kube::Client, name: &str) -> TypedClient<ConfigMap> {
    let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).expect("it is a Namespace");
    TypedClient::<Namespace>::cluster(client.clone()).create(&namespace).await.expect("it is accepted");
    TypedClient::namespaced(client.clone(), name)
}

fn in_namespace<K>(name: &str) -> ReflectorConfig<K> {
    let mut config = ReflectorConfig::new(Scope::Namespace(name.into()));
    // Every namespace has a ConfigMap with the server's certificates.
    config.list.label_selector = Some("app=test".into());
    config
}

#[tokio::test]
async fn a_connection_uses_the_certificates_of_the_configuration() {
    require_servers!();
    let client = client::connect(TestEnv::shared().await.unwrap().config()).unwrap();
    let maps = namespace(&client, "connect").await;
    maps.create(&map("a", "1")).await.unwrap();
    let mut events = maps.watch(&ListParams::default().labels("app=test"));
    let Some(Ok(WatchEvent::Added(added))) = events.next().await else { panic!("the object exists") };
    assert_eq!(added.metadata.name.as_deref(), Some("a"));
}

fn follow<K: Watched>(
    client: kube::Client,
    config: ReflectorConfig<K>,
) -> (View<K>, watch::Receiver<ReflectorState>) {
    let reflector = Reflector::new(client, config);
    let (state, (sink, view)) = (reflector.state(), recorder());
    tokio::spawn(reflector.run(sink));
    (view, state)
}

/// Applies batches until the view shows these names.
async fn until<K: CacheObject + std::fmt::Debug>(view: &mut View<K>, names: &[&str]) {
    while view.objects.keys().map(String::as_str).ne(names.iter().copied()) {
        view.next().await;
    }
}

#[tokio::test]
async fn every_verb_does_what_its_name_says() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let maps = namespace(&client, "verbs").await;

    let dry = maps.create(&map("a", "1")).dry_run().await.unwrap();
    assert!(dry.metadata.uid.is_some() && maps.get("a").await.unwrap_err().is_not_found());
    let created = maps.create(&map("a", "1")).field_manager("test").await.unwrap();
    assert!(maps.create(&map("a", "1")).await.unwrap_err().is_already_exists());
    assert!(maps.create(&map("Not A Name", "1")).await.unwrap_err().is_invalid());

    let mut changed = created.clone();
    changed.data.as_mut().unwrap().insert("x".into(), "2".into());
    let updated = maps.update(&changed).await.unwrap();
    let conflict = maps.update(&changed).await.unwrap_err();
    assert!(conflict.is_conflict() && !conflict.is_already_exists(), "{conflict}");
    let retried = retry_on_conflict(|| async {
        let fresh = maps.get("a").await?;
        maps.update(&fresh).await
    });
    retried.await.unwrap();

    let patch = Patch::Merge(json!({"data": {"x": "3"}}));
    let patched = maps.patch("a", &patch).field_manager("patcher").await.unwrap();
    assert_eq!(patched.data.unwrap()["x"], "3");
    let unknown = Patch::Merge(json!({"unknown": true}));
    let strict = maps.patch("a", &unknown).field_validation(ValidationDirective::Strict).await.unwrap_err();
    assert!(strict.to_string().contains("unknown field"), "{strict}");

    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "4"}});
    assert!(maps.apply(&config, "applier").await.unwrap_err().is_conflict(), "`x` belongs to another");
    let applied = maps.apply(&config, "applier").force().await.unwrap();
    assert_eq!(applied.data.unwrap()["x"], "4");

    let found: List<ConfigMap> = maps.list(&ListParams::default().labels("app=test")).await.unwrap();
    assert_eq!(found.items.len(), 1);

    let stale = maps.delete("a").precondition_resource_version(updated.metadata.resource_version.unwrap());
    assert!(stale.await.unwrap_err().is_conflict());
    let gone = maps.delete("a").precondition_uid(created.metadata.uid.unwrap()).await.unwrap();
    assert!(matches!(gone, Deleted::Status(status) if status.is_success()));

    for name in ["b", "c"] {
        maps.create(&map(name, "1")).await.unwrap();
    }
    let ours = ListParams::default().labels("app=test");
    maps.delete_collection(&ours).propagation(PropagationPolicy::Background).await.unwrap();
    let left: List<ConfigMap> = maps.list(&ours).await.unwrap();
    assert!(left.items.is_empty());

    let namespaces = TypedClient::<Namespace>::cluster(client.clone());
    let deleting = namespaces.delete("verbs").await.unwrap();
    assert!(deleting.object().is_some(), "a namespace is deleted after its contents");

    let accounts = TypedClient::<ServiceAccount>::namespaced(client, "default");
    let token: TokenRequest = accounts
        .create_subresource(
            "default",
            "token",
            &json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}),
        )
        .await
        .unwrap();
    assert!(!token.status.unwrap().token.unwrap_or_default().is_empty());
}

#[tokio::test]
async fn a_typed_watch_delivers_every_change() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let maps = namespace(&client, "watching").await;
    let ours = ListParams::default().labels("app=test");
    let before: List<ConfigMap> = maps.list(&ours).await.unwrap();
    let mut events = maps.watch(&ours.at(before.metadata.resource_version.as_deref().unwrap()));
    let created = maps.create(&map("a", "1")).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap(), WatchEvent::Added(created));
    maps.patch("a", &Patch::Merge(json!({"metadata": {"labels": {"app": null}}}))).await.unwrap();
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Deleted(_)))), "no longer under the selector");
}

#[tokio::test]
async fn a_reflector_reads_a_namespace_by_a_streamed_list() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let maps = namespace(&client, "following").await;
    for name in ["a", "b"] {
        maps.create(&map(name, "1")).await.unwrap();
    }
    let (mut view, mut state) = follow::<ConfigMap>(client, in_namespace("following"));
    until(&mut view, &["a", "b"]).await;
    state.wait_for(|state| *state == ReflectorState::Watching).await.unwrap();
    assert!(view.objects.values().all(|object| object.metadata.managed_fields.is_none()));
    maps.create(&map("c", "1")).await.unwrap();
    maps.delete("a").await.unwrap();
    until(&mut view, &["b", "c"]).await;
    assert_eq!(view.replaced, 1);
}

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "reflector.example.com", version = "v1", kind = "Widget", namespaced)]
struct WidgetSpec {
    size: u32,
}

#[tokio::test]
async fn a_missing_definition_is_waited_for_and_then_watched() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&errors);
    let on_error =
        move |error: &Error| told.lock().unwrap().push((error.is_not_found(), error.is_too_many_requests()));
    let mut config = ReflectorConfig::<Widget>::default();
    config.on_error = Some(Arc::new(on_error));
    let (mut view, mut state) = follow(client.clone(), config);
    let waiting =
        |state: &ReflectorState| matches!(state, ReflectorState::Waiting { problem: Problem::Absent, .. });
    state.wait_for(waiting).await.unwrap();

    TypedClient::cluster(client.clone()).create(&Widget::crd()).await.unwrap();
    view.next().await;
    assert!(view.objects.is_empty());
    // While the server sets up the storage of the new kind, it answers with `Retry-After`.
    let errors = errors.lock().unwrap().clone();
    assert!(errors.iter().all(|&(absent, busy)| absent || busy) && errors[0].0, "{errors:?}");
    let widgets = TypedClient::<Widget>::namespaced(client, "default");
    widgets.create(&Widget::new("first", WidgetSpec { size: 1 })).await.unwrap();
    until(&mut view, &["first"]).await;
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().limited_client().unwrap();
    let error = TypedClient::<ConfigMap>::namespaced(client.clone(), "default").get("a").await.unwrap_err();
    assert!(error.is_forbidden(), "{error}");
    let (_view, mut state) = follow::<ConfigMap>(client, in_namespace("default"));
    let state =
        state.wait_for(|state| matches!(state, ReflectorState::Waiting { .. })).await.unwrap().clone();
    let ReflectorState::Waiting { problem: Problem::Forbidden, reason, .. } = state else {
        panic!("{state:?}")
    };
    assert!(reason.contains("not allowed to watch configmaps in namespace default"), "{reason}");
}

#[tokio::test]
async fn an_api_server_that_dies_loses_its_history_and_returns_is_watched_again() {
    require_servers!();
    let env = TestEnv::builder().own_servers().without_controller_manager().start().await.unwrap();
    let client = env.client().unwrap();
    let maps = TypedClient::<ConfigMap>::namespaced(client.clone(), "default");
    let old = maps.create(&map("a", "1")).await.unwrap();
    maps.create(&map("b", "1")).await.unwrap();
    let (mut view, _state) = follow::<ConfigMap>(client.clone(), in_namespace("default"));
    until(&mut view, &["a", "b"]).await;

    env.apiserver().kill9().await.unwrap();
    env.apiserver().restart().await.unwrap();
    maps.create(&map("c", "1")).await.unwrap();
    until(&mut view, &["a", "b", "c"]).await;
    assert_eq!(view.replaced, 1, "the watch resumed from its version");

    // One object is recreated under its name, the server dies, and its earlier history is gone.
    maps.delete("a").await.unwrap();
    maps.create(&map("a", "2")).await.unwrap();
    env.apiserver().kill9().await.unwrap();
    env.compact_etcd().await.unwrap();
    env.apiserver().restart().await.unwrap();
    maps.delete("b").await.unwrap();
    until(&mut view, &["a", "c"]).await;
    while view.objects["a"].uid() == old.metadata.uid.as_deref().unwrap() {
        view.next().await;
    }
    assert_eq!(view.reset, 0);
}

#[tokio::test]
async fn a_server_without_streamed_lists_is_listed_in_pages() {
    require_servers!();
    let builder = TestEnv::builder().own_servers().without_controller_manager();
    let env = builder.apiserver_arg("--feature-gates=WatchList=false").start().await.unwrap();
    let client = env.client().unwrap();
    let maps = TypedClient::<ConfigMap>::namespaced(client.clone(), "default");
    for number in 0..25 {
        maps.create(&map(&format!("map-{number:02}"), "1")).await.unwrap();
    }
    let mut paged_by_ten = in_namespace("default");
    paged_by_ten.list.page_size = 10;
    let (mut view, _state) = follow::<ConfigMap>(client, paged_by_ten);
    tokio::time::timeout(Duration::from_secs(10), view.next()).await.expect("the request is refused at once");
    assert_eq!((view.objects.len(), view.replaced), (25, 1));
    maps.delete("map-00").await.unwrap();
    while view.objects.len() != 24 {
        view.next().await;
    }
}

/// A type that keeps unknown fields, as many do.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Anything", plural = "anythings", namespaced)]
struct AnythingSpec {
    #[schemars(schema_with = "anything")]
    template: serde_json::Value,
}

fn anything(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

#[tokio::test]
async fn a_deeply_nested_object_that_the_server_accepts_is_invalid_and_disturbs_nothing_else() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    TypedClient::cluster(client.clone()).create(&Anything::crd()).await.unwrap();
    let factory: InformerFactory = InformerFactory::builder(client.clone()).build();
    let informer = factory.informer::<Anything>();
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(30)).await.unwrap();

    let anythings = TypedClient::<Anything>::namespaced(client.clone(), "default");
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    let object = |name: &str, levels| Anything::new(name, AnythingSpec { template: nested(levels) });
    // The response does not decode either, so the typed client returns an error. The object exists.
    let deep = anythings.create(&object("deep", 150)).await;
    assert!(deep.is_err_and(|error| error.to_string().contains("recursion limit")));
    let flat = anythings.create(&object("flat", 10)).await.unwrap();
    informer.caught_up_to(&flat, Duration::from_secs(30)).await.unwrap();
    let invalid: Vec<_> = informer.invalid().iter().map(|invalid| invalid.key.to_string()).collect();
    assert_eq!(invalid, ["default/deep"]);

    let later: InformerFactory = InformerFactory::builder(client.clone()).build();
    let second = later.informer::<Anything>();
    later.start();
    later.wait_for_cache_sync(Duration::from_secs(30)).await.unwrap();
    assert_eq!((second.store().len(), second.invalid().len()), (1, 1));

    anythings.delete("flat").await.unwrap();
    while !informer.store().is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The response to a delete is the object, which does not decode. A status does.
    let api: kube::Api<kube::core::PartialObjectMeta<Anything>> = kube::Api::namespaced(client, "default");
    api.delete("deep", &Default::default()).await.ok();
    while !informer.invalid().is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
