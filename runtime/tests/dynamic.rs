//! Informers and discovery of dynamic kinds, over a scripted server.

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use genclient_runtime::{
    Event, GroupVersionResource, InformerFactory, ObjectKey, Selector,
    dynamic::{DiscoverError, DynamicKind},
    factory::CacheSyncError,
    informer::GenericInformer,
    object::CacheObject,
    reflector::Problem,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{DynamicObject, GroupVersionKind, PartialObjectMeta};
use serde_json::{Value, json};
use support::*;

const DEADLINE: Duration = Duration::from_secs(10);

fn widgets() -> DynamicKind {
    DynamicKind::namespaced("example.com", "v1", "Widget", "widgets")
}

fn gadgets() -> DynamicKind {
    DynamicKind::cluster("example.com", "v1", "Gadget", "gadgets")
}

/// A Widget as the server lists it. Items of a list need not say their kind.
fn widget(name: &str, version: u64) -> Value {
    let mut object = config_map(name, version);
    let fields = object.as_object_mut().expect("an object");
    for field in ["apiVersion", "kind", "data"] {
        fields.remove(field);
    }
    fields.insert("spec".to_owned(), json!({"size": version}));
    object
}

/// Every collection has one object, whose name is the last part of the path.
fn one_of_each(request: Received) -> Answer {
    let name = request.path.rsplit('/').next().unwrap_or_default();
    if request.is_watch() { Answer::watch([]) } else { Answer::json(list(10, [widget(name, 5)])) }
}

/// A factory over a server without streamed lists.
fn factory_over(handler: impl Handler) -> (InformerFactory, Log) {
    let (client, log) = in_process(without_streaming(handler));
    let builder = InformerFactory::builder(client);
    (builder.tweak_list_options(|options| options.streaming_lists = false).build(), log)
}

async fn quiet() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

#[tokio::test(start_paused = true)]
async fn the_same_kind_requested_a_hundred_times_and_started_five_times_has_one_list_and_one_watch() {
    let (factory, log) = factory_over(one_of_each);
    for _ in 0..5 {
        for _ in 0..20 {
            factory.dynamic_informer(&widgets());
        }
        factory.start();
        quiet().await;
    }
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    quiet().await;
    assert_eq!((log.lists().len(), log.watches().len()), (1, 1));
    assert_eq!(log.all()[0].path, "/apis/example.com/v1/widgets");
    let informer = factory.dynamic_informer(&widgets());
    assert_eq!(informer.config().kind, Some(widgets()));
    let key = ObjectKey::namespaced("default", "widgets");
    let lister = informer.dynamic_lister();
    assert_eq!(lister.require(&key).expect("it is there").data, json!({"spec": {"size": 5}}));
    assert!(lister.namespace("default").get("widgets").is_some());
    assert!(lister.namespace("other").list(&Selector::everything()).is_empty());
    assert_eq!(lister.list(&Selector::everything()).len(), 1);
    let missing = lister.require(&ObjectKey::cluster("widgets")).expect_err("it is in a namespace");
    assert_eq!(missing.to_string(), "there is no `widgets` in the cache");
}

#[tokio::test(start_paused = true)]
async fn two_kinds_of_one_type_are_two_informers() {
    let (factory, log) = factory_over(one_of_each);
    let (widgets, gadgets) = (factory.dynamic_informer(&widgets()), factory.dynamic_informer(&gadgets()));
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("they sync");
    assert_eq!(log.lists().len(), 2);
    assert_eq!(widgets.store().keys(), [ObjectKey::namespaced("default", "widgets")]);
    assert_eq!(gadgets.store().keys(), [ObjectKey::namespaced("default", "gadgets")]);
    let debug = format!("{factory:?}");
    assert!(debug.contains(r#"["gadgets.example.com/v1", "widgets.example.com/v1"]"#), "{debug}");
    widgets.stop();
    assert!(!gadgets.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_found_typed_then_dynamic_then_as_metadata() {
    let (factory, _log) = factory_over(one_of_each);
    let config_maps = DynamicKind::of::<ConfigMap>();
    let resource = GroupVersionResource::gvr("", "v1", "configmaps");
    let found = || factory.for_resource(&resource);
    fn is<K: CacheObject>(found: Option<GenericInformer>) -> bool {
        found.is_some_and(|informer| informer.downcast::<K>().is_some())
    }
    assert!(found().is_none());
    factory.dynamic_metadata_informer(&config_maps);
    assert!(is::<PartialObjectMeta<DynamicObject>>(found()));
    factory.metadata_informer::<ConfigMap>();
    assert!(is::<PartialObjectMeta<ConfigMap>>(found()));
    factory.dynamic_informer(&config_maps);
    assert!(is::<DynamicObject>(found()));
    assert_eq!(found().expect("it was requested").resource(), resource);
    factory.informer::<ConfigMap>();
    assert!(is::<ConfigMap>(found()));
    assert!(factory.for_resource(&widgets().resource()).is_none());
    factory.dynamic_informer(&widgets());
    let generic = factory.for_resource(&widgets().resource()).expect("it was requested");
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("all sync");
    assert_eq!(generic.keys(), [ObjectKey::namespaced("default", "widgets")]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_appears_later_syncs_then_and_is_named_before() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (factory, _log) =
        factory_over(move |request: Received| match asked.fetch_add(1, Ordering::Relaxed) {
            0..6 => Answer::text(404, "404 page not found"),
            _ => one_of_each(request),
        });
    factory.dynamic_informer(&widgets());
    factory.start();
    let error = factory.wait_for_cache_sync(Duration::from_millis(500)).await.expect_err("it is absent");
    let CacheSyncError::NotSynced(late) = &error else { panic!("{error}") };
    assert_eq!(late[0].resource, "widgets.example.com/v1");
    assert!(late[0].reason.contains("does not serve widgets.example.com in version v1"), "{error}");
    factory.wait_for_cache_sync(Duration::from_secs(600)).await.expect("it has appeared");
}

#[tokio::test(start_paused = true)]
async fn a_metadata_informer_requests_only_metadata_and_has_its_own_watch() {
    let (factory, log) = factory_over(one_of_each);
    let metadata = factory.dynamic_metadata_informer(&widgets());
    factory.dynamic_metadata_informer(&widgets());
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    quiet().await;
    assert_eq!((log.lists().len(), log.watches().len()), (1, 1));
    let accept = |request: &Received| request.headers["accept"].clone();
    assert!(accept(&log.lists()[0]).contains("as=PartialObjectMetadataList"));
    assert!(accept(&log.watches()[0]).contains("as=PartialObjectMetadata;"));
    let key = ObjectKey::namespaced("default", "widgets");
    assert_eq!(metadata.dynamic_lister().get(&key).expect("it is there").metadata.managed_fields, None);

    factory.dynamic_informer(&widgets());
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("both sync");
    assert_eq!(log.lists().len(), 2);
    assert_eq!(accept(&log.lists()[1]), "application/json;drop=metadata.managedFields");
}

#[tokio::test(start_paused = true)]
async fn the_settings_of_the_factory_apply_to_dynamic_kinds() {
    let (client, log) = in_process(without_streaming(|request: Received| {
        let mut object = widget("a", 5);
        match request.path.split("/namespaces/").nth(1).and_then(|path| path.split('/').next()) {
            Some(namespace) => object["metadata"]["namespace"] = namespace.into(),
            None => drop(object["metadata"].as_object_mut().expect("metadata").remove("namespace")),
        }
        if request.is_watch() { Answer::watch([]) } else { Answer::json(list(10, [object])) }
    }));
    let factory: InformerFactory = InformerFactory::builder(client)
        .namespace("x")
        .namespace("y")
        .resync(Duration::from_secs(10))
        .resync_for::<PartialObjectMeta<DynamicObject>>(Duration::ZERO)
        .tweak_list_options(|options| {
            options.label_selector = Some("app=web".to_owned());
            options.streaming_lists = false;
        })
        .tweak_list_options_for::<DynamicObject>(|options| options.page_size = 7)
        .transform::<DynamicObject>(|object| {
            object.data = json!({"kind": object.types.as_ref().map(|t| &t.kind)})
        })
        .build();
    let resyncs: [Arc<AtomicUsize>; 2] = Default::default();
    let (whole, metadata) = (resyncs[0].clone(), resyncs[1].clone());
    let namespaced = factory.dynamic_informer(&widgets());
    namespaced.add_event_handler(move |event: &Event<DynamicObject>| {
        whole.fetch_add(usize::from(event.is_resync()), Ordering::Relaxed);
    });
    let cluster = factory.dynamic_metadata_informer(&gadgets());
    cluster.add_event_handler(move |event: &Event<PartialObjectMeta<DynamicObject>>| {
        metadata.fetch_add(usize::from(event.is_resync()), Ordering::Relaxed);
    });
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("they sync");
    let mut asked: Vec<_> = log
        .lists()
        .iter()
        .map(|request| (request.path.clone(), request.query("limit").map(str::to_owned)))
        .collect();
    asked.sort();
    let limit = |limit: &str| Some(limit.to_owned());
    assert_eq!(
        asked,
        [
            ("/apis/example.com/v1/gadgets".to_owned(), limit("500")),
            ("/apis/example.com/v1/namespaces/x/widgets".to_owned(), limit("7")),
            ("/apis/example.com/v1/namespaces/y/widgets".to_owned(), limit("7")),
        ]
    );
    assert!(log.lists().iter().all(|request| request.query("labelSelector") == Some("app=web")));
    let found = namespaced.dynamic_lister().get(&ObjectKey::namespaced("y", "a")).expect("it is there");
    assert_eq!(found.data, json!({"kind": "Widget"}), "the transform sees the completed object");
    assert!(cluster.dynamic_lister().get(&ObjectKey::cluster("a")).is_some());
    tokio::time::sleep(Duration::from_secs(35)).await;
    assert_eq!(resyncs.each_ref().map(|counter| counter.load(Ordering::Relaxed)), [6, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_object_has_its_kind_and_no_managed_fields() {
    let (factory, _log) = factory_over(script([
        Answer::json(list(10, [widget("a", 5), config_map("b", 6)])),
        Answer::watch([modified(config_map("a", 11))]),
    ]));
    let informer = factory.dynamic_informer(&widgets());
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    let lister = informer.dynamic_lister().namespace("default");
    let kind_of = |name: &str| {
        let object = lister.require(name).expect("it is there");
        assert_eq!(object.metadata.managed_fields, None);
        let types = object.types.clone().expect("it says its kind");
        format!("{} {}", types.api_version, types.kind)
    };
    assert_eq!(kind_of("b"), "v1 ConfigMap", "the kind from the server is kept");
    informer.caught_up_to_version("11", DEADLINE).await.expect("it catches up");
    assert_eq!(kind_of("a"), "v1 ConfigMap");
    let (factory, _log) = factory_over(script([Answer::json(list(10, [widget("a", 5)]))]));
    let informer = factory.dynamic_informer(&widgets());
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    let object = informer.dynamic_lister().list(&Selector::everything()).remove(0);
    let types = object.types.as_ref().expect("it was completed");
    assert_eq!((types.api_version.as_str(), types.kind.as_str()), ("example.com/v1", "Widget"));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_is_invalid_and_disturbs_nothing_else() {
    let nested = (0..150).fold(json!({}), |inner, _| json!({"a": inner}));
    let mut deep = widget("deep", 6);
    deep["spec"] = nested;
    let mut odd = widget("odd", 6);
    odd["metadata"]["labels"] = json!("none");
    let (client, _log) = in_process(without_streaming(script([
        Answer::json(list(10, [widget("a", 5), deep, odd, widget("refused", 7), json!({"spec": {}})])),
        Answer::watch([modified(widget("a", 11))]),
    ])));
    let factory: InformerFactory = InformerFactory::builder(client)
        .tweak_list_options(|options| options.streaming_lists = false)
        .try_transform(|object: &mut DynamicObject| match object.data["spec"]["size"] == json!(7) {
            true => Err("seven is too large"),
            false => Ok(()),
        })
        .build();
    let informer = factory.dynamic_informer(&widgets());
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    informer.caught_up_to_version("11", DEADLINE).await.expect("it catches up");
    assert_eq!(informer.store().keys(), [ObjectKey::namespaced("default", "a")]);
    let mut invalid: Vec<_> =
        informer.invalid().iter().map(|invalid| (invalid.key.to_string(), invalid.error.clone())).collect();
    invalid.sort();
    let names: Vec<_> = invalid.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(names, ["", "default/deep", "default/odd", "default/refused"]);
    assert_eq!(invalid[0].1, "the object has no name");
    assert!(invalid[1].1.contains("recursion limit"), "{}", invalid[1].1);
    assert!(invalid[2].1.contains("metadata.labels"), "{}", invalid[2].1);
    assert_eq!(invalid[3].1, "the transform failed: seven is too large");
}

/// The part that many kinds have in common.
#[derive(serde::Deserialize)]
struct Sized {
    metadata: kube::core::ObjectMeta,
    spec: Size,
}

#[derive(serde::Deserialize)]
struct Size {
    size: u64,
}

impl CacheObject for Sized {
    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> Option<&str> {
        self.metadata.namespace.as_deref()
    }

    fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    fn resource_version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    fn label(&self, _: &str) -> Option<&str> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn one_type_can_be_used_for_several_kinds() {
    let (factory, log) = factory_over(one_of_each);
    let informers = [widgets(), gadgets()].map(|kind| factory.informer_as::<Sized>(&kind));
    factory.informer_as::<Sized>(&widgets());
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("they sync");
    assert_eq!(log.lists().len(), 2);
    for (informer, name) in informers.iter().zip(["widgets", "gadgets"]) {
        let found = informer.dynamic_lister().get(&ObjectKey::namespaced("default", name));
        assert_eq!(found.expect("it is there").spec.size, 5);
    }
}

#[tokio::test(start_paused = true)]
async fn a_removed_kind_closes_its_watches_and_can_be_requested_anew() {
    let (writer, events) = Answer::stream();
    let events = std::sync::Mutex::new(Some(events));
    let (factory, log) = factory_over(move |request: Received| match request.is_watch() {
        true if request.path.ends_with("/widgets") => {
            events.lock().unwrap().take().unwrap_or_else(|| Answer::watch([]))
        }
        _ => one_of_each(request),
    });
    let (removed, kept) = (factory.dynamic_informer(&widgets()), factory.dynamic_informer(&gadgets()));
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("they sync");
    quiet().await;
    assert!(factory.remove_dynamic(&widgets()));
    assert!(!factory.remove_dynamic(&widgets()));
    writer.closed().await;
    assert!(removed.is_stopped() && !kept.is_stopped());
    assert!(factory.for_resource(&widgets().resource()).is_none());
    let again = factory.dynamic_informer(&widgets());
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("they sync");
    assert_eq!((again.store().len(), log.lists().len()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_does_not_come_back_shows_in_the_status() {
    let serves = Arc::new(AtomicBool::new(true));
    let (writer, events) = Answer::stream();
    let events = std::sync::Mutex::new(Some(events));
    let (factory, _log) = factory_over({
        let serves = serves.clone();
        move |request: Received| match serves.load(Ordering::Relaxed) {
            false => Answer::text(404, "404 page not found"),
            true if request.is_watch() => events.lock().unwrap().take().unwrap_or_else(|| Answer::watch([])),
            true => one_of_each(request),
        }
    });
    let informer = factory.dynamic_informer(&widgets());
    let status = || factory.status().pop().expect("one informer");
    assert_eq!(
        status().reason.as_deref(),
        Some("the informer was not started: call `start` after requesting it")
    );
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    let synced = status();
    assert_eq!((&*synced.resource, synced.synced, synced.problem), ("widgets.example.com/v1", true, None));
    assert_eq!((synced.reason, synced.failing_for), (None, None));

    quiet().await;
    serves.store(false, Ordering::Relaxed);
    drop(writer);
    tokio::time::sleep(Duration::from_secs(1200)).await;
    let absent = status();
    assert_eq!((absent.synced, absent.problem), (true, Some(Problem::Absent)));
    assert!(absent.reason.is_some_and(|reason| reason.contains("does not serve widgets.example.com")));
    let minutes = Duration::from_secs(1000)..Duration::from_secs(1300);
    assert!(absent.failing_for.is_some_and(|failing| minutes.contains(&failing)), "{:?}", absent.failing_for);
    assert!(absent.age.is_some_and(|age| minutes.contains(&age)), "{:?}", absent.age);
    assert_eq!(informer.store().len(), 1, "the last objects can still be read");

    serves.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((status().problem, status().reason), (None, None));
    factory.shutdown().await;
    assert_eq!(status().reason.as_deref(), Some("the informer was stopped"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_for_the_handlers_of_removed_kinds() {
    let (factory, _log) = factory_over(one_of_each);
    let (entered, has_entered) = std::sync::mpsc::channel::<()>();
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    factory.dynamic_informer(&widgets()).add_event_handler(move |_: &Event<DynamicObject>| {
        let _ = entered.send(());
        let _ = blocked.recv();
    });
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    tokio::task::spawn_blocking(move || has_entered.recv()).await.unwrap().expect("the handler runs");
    assert!(factory.remove_dynamic(&widgets()));
    let early = tokio::time::timeout(Duration::from_millis(100), factory.shutdown()).await;
    assert!(early.is_err(), "the handler still runs");
    drop(release);
    tokio::time::timeout(DEADLINE, factory.shutdown()).await.expect("the handler has returned");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_would_change_the_path_is_not_requested() {
    let (factory, log) = factory_over(one_of_each);
    factory.dynamic_informer(&DynamicKind::cluster("", "v1", "Secret", "namespaces/kube-system/secrets"));
    factory.start();
    let error = factory.wait_for_cache_sync(DEADLINE).await.expect_err("it cannot sync");
    assert!(error.to_string().contains("`v1/namespaces/kube-system/secrets` is not a resource"), "{error}");
    assert_eq!(log.len(), 0);
}

/// The resources of `example.com/v1`.
fn resources() -> Value {
    let all = ["create", "delete", "get", "list", "patch", "update", "watch"];
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1",
        "resources": [
            {"name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget",
             "shortNames": ["wdg"], "verbs": all},
            {"name": "widgets/status", "singularName": "", "namespaced": true, "kind": "Widget",
             "verbs": ["get", "patch", "update"]},
            {"name": "gadgets", "singularName": "gadget", "namespaced": false, "kind": "Gadget", "verbs": all},
            {"name": "reviews", "singularName": "review", "namespaced": false, "kind": "Review",
             "verbs": ["create"]},
            {"name": "samples", "singularName": "", "namespaced": true, "kind": "Sample",
             "verbs": ["get", "list"]},
        ],
    })
}

fn discovery(request: Received) -> Answer {
    match request.path.as_str() {
        "/apis/example.com/v1" => Answer::json(resources()),
        "/apis/example.com" => Answer::json(json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": "example.com",
            "versions": [{"groupVersion": "example.com/v1", "version": "v1"}],
        })),
        "/api/v1" => Answer::json(json!({
            "kind": "APIResourceList", "groupVersion": "v1", "resources": [
                {"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
                 "shortNames": ["po"], "verbs": ["list", "watch"]}]})),
        "/apis/broken.example.com/v1" => Answer::status(403, "Forbidden", "not for you"),
        _ => Answer::text(404, "404 page not found"),
    }
}

async fn discover(group: &str, version: &str, resource: &str) -> Result<DynamicKind, DiscoverError> {
    let (client, _log) = in_process(discovery);
    DynamicKind::discover(client, &GroupVersionResource::gvr(group, version, resource)).await
}

#[tokio::test]
async fn a_kind_is_discovered_by_its_resource_and_by_its_name() {
    assert_eq!(discover("example.com", "v1", "widgets").await.expect("it is served"), widgets());
    assert_eq!(discover("example.com", "v1", "gadgets").await.expect("it is served"), gadgets());
    let pods = discover("", "v1", "pods").await.expect("it is served");
    assert_eq!(pods, DynamicKind::of::<k8s_openapi::api::core::v1::Pod>());
    let (client, log) = in_process(discovery);
    let kind = GroupVersionKind::gvk("example.com", "v1", "Widget");
    assert_eq!(DynamicKind::discover_kind(client, &kind).await.expect("it is served"), widgets());
    assert_eq!(log.len(), 1);
}

#[tokio::test]
async fn the_error_of_a_kind_that_is_not_served_says_what_is() {
    let message = async |group: &str, version: &str, resource: &str| {
        let error = discover(group, version, resource).await.expect_err("it is not served");
        assert!(matches!(error, DiscoverError::NotServed { .. }), "{error}");
        error.to_string()
    };
    for typo in ["widget", "Widgets", "wigdets", "wdg"] {
        assert_eq!(
            message("example.com", "v1", typo).await,
            format!("the server does not serve {typo}.example.com/v1; did you mean widgets?")
        );
    }
    assert_eq!(
        message("example.com", "v1", "unrelated").await,
        "the server does not serve unrelated.example.com/v1"
    );
    assert_eq!(message("", "v1", "po").await, "the server does not serve po/v1; did you mean pods?");
    assert_eq!(
        message("example.com", "v2", "widgets").await,
        "the server does not serve widgets.example.com/v2; did you mean example.com/v1?"
    );
    assert_eq!(
        message("absent.example.com", "v1", "widgets").await,
        "the server does not serve widgets.absent.example.com/v1"
    );
    assert_eq!(
        message("example.com", "v1", "widgets/status").await,
        "the server does not serve widgets/status.example.com/v1",
        "a subresource is not a resource"
    );
    let (client, _log) = in_process(discovery);
    let kind = GroupVersionKind::gvk("example.com", "v1", "Gadgt");
    let error = DynamicKind::discover_kind(client, &kind).await.expect_err("it is not served");
    assert_eq!(error.to_string(), "the server does not serve Gadgt of example.com/v1; did you mean gadgets?");
}

#[tokio::test]
async fn a_kind_that_cannot_be_followed_is_an_error_that_has_the_kind() {
    let error = discover("example.com", "v1", "reviews").await.expect_err("it cannot be listed");
    assert_eq!(
        error.to_string(),
        "reviews.example.com/v1 cannot be followed: the server offers create but not list and watch"
    );
    let DiscoverError::NotFollowable { kind, .. } = error else { panic!("{error}") };
    assert_eq!(kind, DynamicKind::cluster("example.com", "v1", "Review", "reviews"));
    let error = discover("example.com", "v1", "samples").await.expect_err("it cannot be watched");
    assert!(error.to_string().ends_with("the server offers get, list but not watch"), "{error}");
}

#[tokio::test]
async fn a_discovery_that_fails_has_the_error_of_the_request() {
    let error = discover("broken.example.com", "v1", "widgets").await.expect_err("it is forbidden");
    assert_eq!(error.to_string(), "cannot discover widgets.broken.example.com/v1: not for you (Forbidden)");
    let DiscoverError::Request(error) = error else { panic!("{error}") };
    assert!(error.is_forbidden());
    let (client, log) = in_process(discovery);
    let resource = GroupVersionResource::gvr("example.com/v1", "..", "widgets");
    let error = DynamicKind::discover(client, &resource).await.expect_err("it is no group");
    assert!(matches!(&error, DiscoverError::Request(error) if error.is_invalid_request()), "{error}");
    assert_eq!(log.len(), 0);
}
