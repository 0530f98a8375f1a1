//! The typed client and the reflector against a real API server.

mod support;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::StreamExt as _;
use genclient_runtime::{
    Error, GroupVersionResource, InformerFactory, ListParams, ObjectKey, Patch, PropagationPolicy,
    TypedClient, ValidationDirective,
    client::{self, Deleted, WatchEvent},
    dynamic::{DiscoverError, DynamicClient, DynamicKind, DynamicList, DynamicMetadataClient},
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
use kube::{
    CustomResource, CustomResourceExt as _,
    core::{DynamicObject, GroupVersionKind},
};
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

    let patch = Patch::merge(&json!({"data": {"x": "3"}}));
    let patched = maps.patch("a", &patch).field_manager("patcher").await.unwrap();
    assert_eq!(patched.data.unwrap()["x"], "3");
    let unknown = Patch::merge(&json!({"unknown": true}));
    let strict = maps.patch("a", &unknown).field_validation(ValidationDirective::Strict).await.unwrap_err();
    assert!(strict.to_string().contains("unknown field"), "{strict}");

    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "4"}});
    assert!(
        maps.apply_untyped(&config).field_manager("applier").await.unwrap_err().is_conflict(),
        "`x` belongs to another"
    );
    let applied = maps.apply_untyped(&config).field_manager("applier").force().await.unwrap();
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
    maps.patch("a", &Patch::merge(&json!({"metadata": {"labels": {"app": null}}}))).await.unwrap();
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
    let expired = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&expired);
    let mut config = in_namespace("default");
    config.on_error = Some(Arc::new(move |error: &Error| {
        told.fetch_add(usize::from(error.is_gone()), Ordering::Relaxed);
    }));
    let (mut view, _state) = follow::<ConfigMap>(client.clone(), config);
    until(&mut view, &["a", "b"]).await;

    env.apiserver().kill9().await.unwrap();
    env.apiserver().restart().await.unwrap();
    maps.create(&map("c", "1")).await.unwrap();
    until(&mut view, &["a", "b", "c"]).await;
    // A restarted server knows only what it reads from etcd. If that is later than the version of the watch,
    // which is a matter of moments, the version has expired.
    let lists = 1 + expired.load(Ordering::Relaxed);
    assert!(
        view.replaced <= lists,
        "{} lists: only an expired version makes a new one necessary",
        view.replaced
    );

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

/// Defines a namespaced kind that no Rust type describes, and waits until it is served.
async fn define(client: &kube::Client, kind: &str, plural: &str) -> DynamicKind {
    let definitions = DynamicKind::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    let definition = definitions.object(&format!("{plural}.dynamic.example.com")).data(json!({"spec": {
        "group": "dynamic.example.com", "scope": "Namespaced",
        "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
        "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}},
                "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
            }}},
        }],
    }}));
    DynamicClient::new(client.clone(), &definitions).create(&definition).await.expect("it is accepted");
    let resource = GroupVersionResource::gvr("dynamic.example.com", "v1", plural);
    loop {
        match DynamicKind::discover(client.clone(), &resource).await {
            Ok(kind) => return kind,
            Err(DiscoverError::NotServed { .. }) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Creates an object, also while the server still sets up the storage of its kind.
async fn create(client: &DynamicClient, object: &DynamicObject) -> DynamicObject {
    loop {
        match client.create(object).await {
            Ok(created) => return created,
            Err(error) if error.is_not_found() || error.is_too_many_requests() => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_kind_that_is_defined_at_run_time_is_discovered_and_followed() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let deadline = Duration::from_secs(30);
    // The informers are requested before the kind exists.
    let claimed = DynamicKind::namespaced("dynamic.example.com", "v1", "Gizmo", "gizmos");
    let factory: InformerFactory = InformerFactory::builder(client.clone()).build();
    let (whole, metadata) = (factory.dynamic_informer(&claimed), factory.dynamic_metadata_informer(&claimed));
    factory.start();
    let absent = factory.wait_for_cache_sync(Duration::from_secs(1)).await.unwrap_err();
    assert!(absent.to_string().contains("gizmos.dynamic.example.com/v1: "), "{absent}");

    let kind = define(&client, "Gizmo", "gizmos").await;
    assert_eq!(kind, claimed);
    factory.wait_for_cache_sync(deadline).await.unwrap();
    let gizmos = DynamicClient::new(client.clone(), &kind).in_namespace("default");
    let created = create(&gizmos, &kind.object("a").data(json!({"spec": {"size": 1}}))).await;
    whole.caught_up_to(&created, deadline).await.unwrap();
    let version = created.metadata.resource_version.as_deref().unwrap();
    metadata.caught_up_to_version(version, deadline).await.unwrap();
    let key = ObjectKey::namespaced("default", "a");
    let cached = whole.dynamic_lister().require(&key).unwrap();
    assert_eq!(cached.data, json!({"spec": {"size": 1}}));
    assert_eq!(cached.types.as_ref().unwrap().kind, "Gizmo");
    assert!(created.metadata.managed_fields.is_some() && cached.metadata.managed_fields.is_none());
    let cached = metadata.dynamic_lister().require(&key).unwrap();
    assert_eq!(cached.types.as_ref().unwrap().kind, "PartialObjectMetadata");
    assert_eq!(cached.metadata.uid, created.metadata.uid);

    let patch = Patch::merge(&json!({"spec": {"size": 2}}));
    let patched = gizmos.patch("a", &patch).await.unwrap();
    whole.caught_up_to(&patched, deadline).await.unwrap();
    assert_eq!(whole.dynamic_lister().get(&key).unwrap().data["spec"]["size"], 2);

    // The objects go with their definition.
    let definitions = DynamicKind::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    let definitions = DynamicClient::new(client.clone(), &definitions);
    definitions.delete("gizmos.dynamic.example.com").await.unwrap();
    while !whole.store().is_empty() || !metadata.store().is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(factory.remove_dynamic(&kind) && whole.is_stopped() && metadata.is_stopped());
    tokio::time::timeout(deadline, factory.shutdown()).await.unwrap();
}

#[tokio::test]
async fn a_built_in_kind_can_be_followed_without_its_type() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let maps = namespace(&client, "untyped").await;
    maps.create(&map("a", "1")).await.unwrap();
    let named = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let kind = DynamicKind::discover_kind(client.clone(), &named).await.unwrap();
    assert_eq!(kind, DynamicKind::of::<ConfigMap>());
    // The objects of a streamed list say their kind, those of a paged one do not.
    for streaming in [true, false] {
        let factory: InformerFactory = InformerFactory::builder(client.clone())
            .namespace("untyped")
            .tweak_list_options(|options| {
                options.streaming_lists = streaming;
                options.label_selector = Some("app=test".to_owned());
            })
            .build();
        let untyped = factory.dynamic_informer(&kind);
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(30)).await.unwrap();
        let object = untyped.dynamic_lister().namespace("untyped").require("a").unwrap();
        let types = object.types.clone().unwrap();
        assert_eq!((types.api_version.as_str(), types.kind.as_str()), ("v1", "ConfigMap"));
        assert_eq!(DynamicObject::clone(&object).try_parse::<ConfigMap>().unwrap().data.unwrap()["x"], "1");
        factory.shutdown().await;
    }
    let client = DynamicClient::new(client, &kind);
    let found: DynamicList = client.list(&ListParams::default().labels("app=test")).await.unwrap();
    assert!(found.items.iter().all(|object| object.types.as_ref().unwrap().kind == "ConfigMap"));
}

#[tokio::test]
async fn the_verbs_of_a_dynamic_client_do_what_their_names_say() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let kind = define(&client, "Doodad", "doodads").await;
    namespace(&client, "doodads").await;
    let doodads = DynamicClient::new(client.clone(), &kind).in_namespace("doodads");
    let object = |name: &str, size: i64| {
        let mut object = kind.object(name).data(json!({"spec": {"size": size}}));
        object.metadata.labels = Some([("app".to_owned(), "test".to_owned())].into());
        object
    };
    let mut created = create(&doodads, &object("a", 1)).await;
    assert!(doodads.create(&object("a", 1)).await.unwrap_err().is_already_exists());
    let invalid = doodads.create(&object("b", 0)).await.unwrap_err();
    assert!(invalid.is_invalid() && invalid.to_string().contains("spec.size"), "{invalid}");
    let dry = doodads.create(&object("b", 1)).dry_run().await.unwrap();
    assert!(dry.metadata.uid.is_some());
    let missing = doodads.get("b").await.unwrap_err();
    assert!(missing.is_not_found());
    assert!(missing.to_string().starts_with("cannot get Doodad doodads/b: "), "{missing}");

    created.data["spec"]["size"] = json!(2);
    let updated = doodads.update(&created).await.unwrap();
    assert!(doodads.update(&created).await.unwrap_err().is_conflict());
    let mut with_status = updated.clone();
    with_status.data = json!({"spec": {"size": 9}, "status": {"ready": true}});
    let with_status = doodads.update_status(&with_status).await.unwrap();
    assert_eq!(with_status.data, json!({"spec": {"size": 2}, "status": {"ready": true}}));

    let config = kind.object("a").data(json!({"spec": {"size": 3}}));
    assert!(
        doodads.apply_untyped(&config).field_manager("applier").await.unwrap_err().is_conflict(),
        "`size` belongs to another"
    );
    let applied = doodads.apply_untyped(&config).field_manager("applier").force().await.unwrap();
    assert_eq!(applied.data["spec"]["size"], 3);
    let status = kind.object("a").data(json!({"status": {"ready": false}}));
    let applied = doodads.apply_status_untyped(&status).field_manager("applier").force().await.unwrap();
    assert_eq!(applied.data["status"]["ready"], false);

    let mut events = doodads.watch(&ListParams::default());
    let Some(Ok(WatchEvent::Added(added))) = events.next().await else { panic!("it exists") };
    assert_eq!(added.metadata.name.as_deref(), Some("a"));
    for name in ["b", "c"] {
        doodads.create(&object(name, 1)).await.unwrap();
    }
    let pages = doodads.pages(&ListParams::default().limit(2)).all().await.unwrap();
    assert_eq!(pages.len(), 3);
    let metadata = DynamicMetadataClient::new(client.clone(), &kind).in_namespace("doodads");
    assert_eq!(metadata.pages(&ListParams::default()).all().await.unwrap().len(), 3);
    assert!(metadata.get("a").await.unwrap().metadata.uid.is_some());

    let stale = doodads.delete("a").precondition_resource_version(updated.metadata.resource_version.unwrap());
    assert!(stale.await.unwrap_err().is_conflict());
    doodads.delete("a").await.unwrap();
    doodads.delete_collection(&ListParams::default().labels("app=test")).await.unwrap();
    let left: DynamicList = DynamicClient::new(client, &kind).list(&ListParams::default()).await.unwrap();
    assert!(left.items.is_empty());
    assert_eq!((left.kind.as_str(), left.api_version.as_str()), ("DoodadList", "dynamic.example.com/v1"));
}

#[tokio::test]
async fn discovery_says_what_the_server_offers() {
    require_servers!();
    let client = TestEnv::shared().await.unwrap().client().unwrap();
    let discover = async |group: &str, version: &str, resource: &str| {
        let resource = GroupVersionResource::gvr(group, version, resource);
        DynamicKind::discover(client.clone(), &resource).await
    };
    let error = discover("apps", "v1", "deployment").await.unwrap_err();
    assert_eq!(error.to_string(), "the server does not serve deployment.apps/v1; did you mean deployments?");
    let error = discover("apps", "v1beta1", "deployments").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server does not serve deployments.apps/v1beta1; did you mean apps/v1?"
    );
    let error = discover("nowhere.example.com", "v1", "things").await.unwrap_err();
    assert_eq!(error.to_string(), "the server does not serve things.nowhere.example.com/v1");
    let nodes = discover("", "v1", "nodes").await.unwrap();
    assert_eq!((nodes.kind(), nodes.is_namespaced()), ("Node", false));

    // A kind that can only be created has a client and no informer.
    let error = discover("authorization.k8s.io", "v1", "selfsubjectaccessreviews").await.unwrap_err();
    let DiscoverError::NotFollowable { kind, verbs } = error else { panic!("{error}") };
    assert_eq!(verbs, ["create"]);
    let mut review = kind.object("").data(json!({"spec": {"resourceAttributes": {"verb": "list"}}}));
    review.metadata.name = None;
    let review = DynamicClient::new(client.clone(), &kind).create(&review).await.unwrap();
    assert_eq!(review.data["status"]["allowed"], true);
}
