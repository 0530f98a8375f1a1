//! The factory and its informers, over a client with a scripted server.

mod support;

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use genclient_runtime::{
    Event, InformerFactory, ObjectKey, Selector,
    factory::{CacheSyncError, FactoryError, InformerFactoryBuilder},
    object::{CacheObject, Watched},
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use kube::core::{ApiResource, GroupVersionResource, PartialObjectMeta};
use support::*;

const DEADLINE: Duration = Duration::from_secs(10);

/// Every collection has one object, `a`, with metadata only, which decodes as any kind.
fn one_of_each(request: Received) -> Answer {
    let mut object = config_map("a", 5);
    for field in ["apiVersion", "kind", "data"] {
        object.as_object_mut().expect("an object").remove(field);
    }
    if request.is_watch() { Answer::watch([]) } else { Answer::json(list(10, [object])) }
}

/// A factory over a server without streamed lists.
fn factory_over(handler: impl Handler) -> (InformerFactory, Log) {
    let (client, log) = in_process(without_streaming(handler));
    (
        InformerFactory::builder(client)
            .tweak_list_options(|options| options.streaming_lists = false)
            .build(),
        log,
    )
}

async fn quiet() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

#[tokio::test(start_paused = true)]
async fn the_same_type_requested_a_hundred_times_and_started_five_times_has_one_list_and_one_watch() {
    let (factory, log) = factory_over(one_of_each);
    for _ in 0..5 {
        for _ in 0..20 {
            factory.informer::<ConfigMap>();
        }
        factory.start();
        quiet().await;
    }
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    quiet().await;
    assert_eq!((log.lists().len(), log.watches().len()), (1, 1));
    assert_eq!(factory.informer::<ConfigMap>().store().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_gets_the_events_of_the_list_and_of_the_watch() {
    let (factory, _log) = factory_over(script([
        Answer::json(list(10, [config_map("a", 5), config_map("b", 6)])),
        Answer::watch([
            modified(config_map("a", 11)),
            deleted(config_map("b", 12)),
            added(config_map("c", 13)),
        ]),
    ]));
    let informer = factory.informer::<ConfigMap>();
    let events = Arc::new(AtomicUsize::new(0));
    informer.add_event_handler({
        let events = events.clone();
        move |_: &Event<ConfigMap>| {
            events.fetch_add(1, Ordering::Relaxed);
        }
    });
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    informer.caught_up_to_version("13", DEADLINE).await.expect("it catches up");
    let configs = informer.lister();
    assert_eq!(configs.list(&Selector::everything()).len(), 2);
    let a = configs.namespace("default").require("a").expect("a is there");
    assert_eq!(a.data.as_ref().map(|data| data["version"].as_str()), Some("11"));
    assert_eq!(a.metadata.managed_fields, None);
    quiet().await;
    assert!(events.load(Ordering::Relaxed) >= 2);
}

#[tokio::test(start_paused = true)]
async fn a_lister_sends_no_request_and_returns_shared_objects() {
    let (factory, log) = factory_over(one_of_each);
    let lister = factory.informer::<ConfigMap>().lister();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    quiet().await;
    let requests = log.len();
    let found = lister.namespace("default").require("a").expect("a is there");
    assert!(Arc::ptr_eq(&found, &lister.list(&Selector::everything())[0]));
    assert!(lister.namespace("default").get("b").is_none());
    quiet().await;
    assert_eq!(log.len(), requests);
}

#[tokio::test(start_paused = true)]
async fn an_informer_can_be_stopped_without_the_others_and_does_not_start_again() {
    let (secrets, answer) = Answer::stream();
    let answer = std::sync::Mutex::new(Some(answer));
    let (writer, events) = Answer::stream();
    let events = std::sync::Mutex::new(Some(events));
    let (factory, _log) = factory_over(move |request: Received| match request.path.ends_with("/secrets") {
        true if request.is_watch() => answer.lock().unwrap().take().unwrap_or(Answer::Refuse),
        false if request.is_watch() => events.lock().unwrap().take().unwrap_or(Answer::Refuse),
        _ => one_of_each(request),
    });
    let (stopped, kept) = (factory.informer::<Secret>(), factory.informer::<ConfigMap>());
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("both sync");
    quiet().await;
    stopped.stop();
    secrets.closed().await;
    writer.event(modified(config_map("a", 20)));
    kept.caught_up_to_version("20", DEADLINE).await.expect("the other one still runs");
    assert_eq!(stopped.store().len(), 1, "its cache can still be read");
    factory.start();
    assert!(factory.informer::<Secret>().is_stopped(), "it does not start again");
}

#[tokio::test(start_paused = true)]
async fn the_error_names_each_type_that_did_not_sync_and_why() {
    let (factory, _log) = factory_over(|request: Received| match request.path.rsplit('/').next() {
        Some("pods") => Answer::Silence,
        Some("secrets") => Answer::status(403, "Forbidden", "secrets is forbidden: User \"x\" cannot list"),
        _ => one_of_each(request),
    });
    factory.informer::<Pod>();
    factory.informer::<Secret>();
    factory.informer::<ConfigMap>();
    factory.start();
    factory.informer::<Namespace>();
    let Err(CacheSyncError::NotSynced(late)) = factory.wait_for_cache_sync(DEADLINE).await else {
        panic!("it cannot sync")
    };
    let named: Vec<_> = late.iter().map(|late| late.resource.as_str()).collect();
    assert_eq!(named, ["namespaces/v1", "pods/v1", "secrets/v1"]);
    assert!(late[0].reason.contains("not started"), "{}", late[0]);
    assert!(late[1].reason.contains("list"), "{}", late[1]);
    assert!(late[2].reason.contains("forbidden") || late[2].reason.contains("allow"), "{}", late[2]);
    assert!(CacheSyncError::NotSynced(late).to_string().contains("pods/v1: "));
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_at_once_when_an_informer_was_stopped() {
    let (factory, _log) = factory_over(|_: Received| Answer::Silence);
    factory.informer::<Pod>().stop();
    let Err(CacheSyncError::NotSynced(late)) = factory.wait_for_cache_sync(Duration::MAX).await else {
        panic!("it cannot sync")
    };
    assert!(late[0].reason.contains("stopped"), "{}", late[0]);
}

#[tokio::test(start_paused = true)]
async fn a_factory_without_informers_is_synced() {
    let (factory, log) = factory_over(one_of_each);
    factory.start();
    factory.wait_for_cache_sync(Duration::ZERO).await.expect("there is nothing to wait for");
    assert_eq!(log.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn each_namespace_has_its_own_watch_and_a_cluster_scoped_kind_is_watched_as_a_whole() {
    let (client, log) = in_process(without_streaming(|request: Received| {
        let namespace = request.path.split('/').nth(4).unwrap_or("default").to_owned();
        let mut object = config_map("a", 5);
        object["metadata"]["namespace"] = namespace.into();
        if request.is_watch() { Answer::watch([]) } else { Answer::json(list(10, [object])) }
    }));
    let factory = InformerFactory::builder(client).namespace("x").namespace("y").namespace("x").build();
    let configs = factory.informer::<ConfigMap>();
    factory.informer::<Namespace>();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("they sync");
    let mut paths: Vec<_> = log.all().into_iter().map(|request| request.path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(
        paths,
        ["/api/v1/namespaces", "/api/v1/namespaces/x/configmaps", "/api/v1/namespaces/y/configmaps"],
    );
    let mut keys = configs.store().keys();
    keys.sort();
    assert_eq!(keys, [ObjectKey::namespaced("x", "a"), ObjectKey::namespaced("y", "a")]);
}

#[tokio::test(start_paused = true)]
async fn shutdown_closes_the_watches_and_waits_for_the_handlers() {
    let (writer, events) = Answer::stream();
    let events = std::sync::Mutex::new(Some(events));
    let (factory, log) = factory_over(move |request: Received| match request.is_watch() {
        true => events.lock().unwrap().take().unwrap_or(Answer::Refuse),
        false => one_of_each(request),
    });
    let informer = factory.informer::<ConfigMap>();
    let dropped = Arc::new(());
    let registration = informer.add_event_handler({
        let dropped = dropped.clone();
        move |_: &Event<ConfigMap>| {
            let _kept = &dropped;
        }
    });
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    quiet().await;
    factory.shutdown().await;
    factory.shutdown().await;
    writer.closed().await;
    assert_eq!(Arc::strong_count(&dropped), 1, "the handler is dropped");
    assert!(registration.is_removed());
    let requests = log.len();
    factory.start();
    factory.informer::<Pod>();
    factory.start();
    quiet().await;
    assert_eq!(log.len(), requests, "nothing starts after the shutdown");
    assert_eq!(informer.store().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_metadata_informer_requests_only_metadata() {
    let (factory, log) = factory_over(one_of_each);
    let metadata = factory.metadata_informer::<Secret>();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    assert!(log.all().iter().all(|request| {
        request.path == "/api/v1/secrets" && request.headers["accept"].contains("PartialObjectMetadata")
    }));
    assert_eq!(metadata.store().len(), 1);
    assert!(metadata.generic().downcast::<PartialObjectMeta<Secret>>().is_some());
}

#[tokio::test(start_paused = true)]
async fn options_transform_and_hook_reach_the_reflector() {
    let failures = Arc::new(AtomicUsize::new(0));
    let (client, log) = in_process(without_streaming(script([
        Answer::status(500, "InternalError", "not now"),
        Answer::json(list(10, [config_map("a", 5)])),
    ])));
    let factory = InformerFactory::builder(client)
        .tweak_list_options(|options| {
            options.label_selector = Some("app=web".to_owned());
            options.field_selector = Some("metadata.name=a".to_owned());
            options.page_size = 7;
            options.streaming_lists = false;
        })
        .transform::<ConfigMap>(|object| object.data = None)
        .keep_managed_fields(true)
        .on_error({
            let failures = failures.clone();
            move |_| {
                failures.fetch_add(1, Ordering::Relaxed);
            }
        })
        .build();
    let configs = factory.informer::<ConfigMap>();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    let asked = &log.lists()[0];
    assert_eq!(asked.query("labelSelector"), Some("app=web"));
    assert_eq!(asked.query("fieldSelector"), Some("metadata.name=a"));
    assert_eq!(asked.query("limit"), Some("7"));
    let a = configs.lister().namespace("default").get("a").expect("a is there");
    assert_eq!(a.data, None);
    assert!(a.metadata.managed_fields.is_some());
    assert_eq!(failures.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn each_type_has_its_resync() {
    let (client, _log) = in_process(without_streaming(one_of_each));
    let factory = InformerFactory::builder(client)
        .resync(Duration::from_secs(10))
        .resync_for::<Secret>(Duration::ZERO)
        .build();
    let resyncs: [Arc<AtomicUsize>; 2] = Default::default();
    let count = |place: usize| {
        let counter = resyncs[place].clone();
        move |is_resync: bool| {
            counter.fetch_add(usize::from(is_resync), Ordering::Relaxed);
        }
    };
    let (configs, secrets) = (count(0), count(1));
    factory
        .informer::<ConfigMap>()
        .add_event_handler(move |event: &Event<ConfigMap>| configs(event.is_resync()));
    factory.informer::<Secret>().add_event_handler(move |event: &Event<Secret>| secrets(event.is_resync()));
    factory.start();
    tokio::time::sleep(Duration::from_secs(35)).await;
    assert_eq!(resyncs.each_ref().map(|counter| counter.load(Ordering::Relaxed)), [3, 0]);
}

#[tokio::test]
async fn an_informer_is_found_by_its_resource() {
    let (factory, _log) = factory_over(one_of_each);
    factory.informer::<ConfigMap>();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    let resource = GroupVersionResource::gvr("", "v1", "configmaps");
    let generic = factory.for_resource(&resource).expect("it was requested");
    assert_eq!(generic.resource(), resource);
    assert!(generic.has_synced());
    assert_eq!((generic.len(), generic.is_empty()), (1, false));
    assert_eq!(generic.resource_version().as_deref(), Some("10"));
    let key = ObjectKey::namespaced("default", "a");
    assert_eq!(generic.keys(), std::slice::from_ref(&key));
    let object: Arc<dyn Any + Send + Sync> = generic.get(&key).expect("it is there");
    let object = object.downcast::<ConfigMap>().expect("its type");
    assert_eq!(object.metadata.name.as_deref(), Some("a"));
    assert!(generic.downcast::<ConfigMap>().is_some());
    assert!(generic.downcast::<Secret>().is_none());
    assert!(factory.for_resource(&GroupVersionResource::gvr("", "v1", "secrets")).is_none());
}

/// A slim form of a ConfigMap.
#[derive(serde::Deserialize)]
struct Slim {
    metadata: SlimMeta,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimMeta {
    name: String,
    namespace: String,
    resource_version: String,
}

impl CacheObject for Slim {
    fn name(&self) -> &str {
        &self.metadata.name
    }

    fn namespace(&self) -> Option<&str> {
        Some(&self.metadata.namespace)
    }

    fn uid(&self) -> &str {
        ""
    }

    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }

    fn label(&self, _: &str) -> Option<&str> {
        None
    }
}

impl Watched for Slim {
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn api_resource() -> ApiResource {
        ApiResource::erase::<ConfigMap>(&())
    }
}

#[tokio::test(start_paused = true)]
async fn a_slim_type_works_like_any_other_type() {
    let (factory, log) = factory_over(script([
        Answer::json(list(10, [config_map("a", 5), config_map("b", 6)])),
        Answer::watch([modified(config_map("a", 11)), deleted(config_map("b", 12))]),
    ]));
    let slim = factory.informer::<Slim>();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    slim.caught_up_to_version("12", DEADLINE).await.expect("it catches up");
    assert_eq!(log.all()[0].path, "/api/v1/configmaps");
    assert_eq!(slim.store().keys(), [ObjectKey::namespaced("default", "a")]);
    assert_eq!(slim.lister().namespace("default").get("a").expect("it is there").resource_version(), "11");
}

/// A generated wrapper around the factory.
struct Generated(InformerFactory);

impl From<InformerFactory> for Generated {
    fn from(factory: InformerFactory) -> Self {
        Self(factory)
    }
}

#[tokio::test]
async fn invalid_values_are_typed_errors_and_start_nothing() {
    let (client, log) = in_process(one_of_each);
    let builder = || InformerFactoryBuilder::<Generated>::new(client.clone());
    let too_short = Duration::from_millis(10);
    let bad_selector = |options: &mut genclient_runtime::factory::ListOptions| {
        options.label_selector = Some("a=b=c".to_owned());
    };
    assert!(matches!(
        builder().namespace("No_Namespace").try_build().err(),
        Some(FactoryError::Namespace(_))
    ));
    assert!(matches!(
        builder().resync(too_short).try_build().err(),
        Some(FactoryError::Resync { of: None, .. })
    ));
    let error = builder().resync_for::<Pod>(too_short).try_build().err().expect("too short");
    assert!(error.to_string().contains("Pod"), "{error}");
    assert!(matches!(
        builder().tweak_list_options(bad_selector).try_build().err(),
        Some(FactoryError::Selector(error)) if error.position() == 3
    ));
    assert!(builder().resync(Duration::from_secs(1)).namespace("good").try_build().is_ok());

    let Generated(factory) = builder().namespace("").build();
    factory.informer::<Pod>();
    factory.start();
    assert_eq!(
        factory.wait_for_cache_sync(DEADLINE).await,
        Err(CacheSyncError::Factory(FactoryError::Namespace(String::new()))),
    );
    assert_eq!(factory.synced().await, Err(FactoryError::Namespace(String::new())));
    quiet().await;
    assert_eq!(log.len(), 0);
    factory.shutdown().await;
}

#[test]
fn a_start_outside_of_a_runtime_is_an_error_and_can_be_repeated_inside() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let factory = {
        let _entered = runtime.enter();
        factory_over(one_of_each).0
    };
    factory.informer::<ConfigMap>();
    factory.start();
    runtime.block_on(async {
        assert_eq!(
            factory.wait_for_cache_sync(DEADLINE).await,
            Err(CacheSyncError::Factory(FactoryError::NoRuntime)),
        );
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.expect("now it does");
        factory.shutdown().await;
    });
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_appears_later_syncs_then_and_is_reported_as_absent_before() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (factory, _log) = factory_over({
        let asked = asked.clone();
        move |request: Received| match asked.fetch_add(1, Ordering::Relaxed) {
            0..6 => Answer::text(404, "404 page not found"),
            _ => one_of_each(request),
        }
    });
    factory.informer::<ConfigMap>();
    factory.start();
    let error = factory.wait_for_cache_sync(Duration::from_millis(500)).await.expect_err("it is absent");
    assert!(error.to_string().contains("configmaps"), "{error}");
    factory.wait_for_cache_sync(Duration::from_secs(600)).await.expect("it has appeared");
}

#[tokio::test(start_paused = true)]
async fn informers_end_when_the_last_handle_is_dropped() {
    let (factory, log) = factory_over(one_of_each);
    factory.informer::<ConfigMap>();
    let held = Arc::new(());
    factory.informer::<Pod>().add_event_handler({
        let held = held.clone();
        move |_: &Event<Pod>| drop(held.clone())
    });
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    drop(factory);
    quiet().await;
    let (requests, tasks) = (log.len(), tokio::runtime::Handle::current().metrics().num_alive_tasks());
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(log.len(), requests, "no request in an hour");
    assert_eq!(Arc::strong_count(&held), 1, "the handler is dropped");
    assert!(tasks <= 2, "{tasks} tasks are left; the scripted server has at most two");
}

#[tokio::test(start_paused = true)]
async fn an_informer_runs_while_any_handle_to_it_exists() {
    type Keep = fn(&InformerFactory) -> Box<dyn Any + Send>;
    let keeps: [(&str, Keep); 6] = [
        ("factory", |factory| Box::new(factory.clone())),
        ("informer", |factory| Box::new(factory.informer::<ConfigMap>())),
        ("store", |factory| Box::new(factory.informer::<ConfigMap>().store())),
        ("lister", |factory| Box::new(factory.informer::<ConfigMap>().lister().namespace("default"))),
        ("index", |factory| {
            let by_name = |map: &ConfigMap| map.metadata.name.clone();
            Box::new(factory.informer::<ConfigMap>().add_index("name", by_name).expect("a new index"))
        }),
        ("stream", |factory| Box::new(factory.informer::<ConfigMap>().events())),
    ];
    for (name, keep) in keeps {
        let (writer, events) = Answer::stream();
        let events = std::sync::Mutex::new(Some(events));
        let (factory, _log) = factory_over(move |request: Received| match request.is_watch() {
            true => events.lock().unwrap().take().unwrap_or(Answer::Refuse),
            false => one_of_each(request),
        });
        factory.informer::<ConfigMap>();
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
        let kept = keep(&factory);
        drop(factory);
        quiet().await;
        let open = tokio::time::timeout(Duration::from_secs(60), writer.closed()).await;
        assert!(open.is_err(), "the {name} keeps the informer running");
        drop(kept);
        tokio::time::timeout(Duration::from_secs(1), writer.closed()).await.expect("the watch is closed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_caller_of_shutdown_waits_for_the_handlers() {
    let (factory, _log) = factory_over(one_of_each);
    let (entered, has_entered) = std::sync::mpsc::channel::<()>();
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    factory.informer::<ConfigMap>().add_event_handler(move |_: &Event<ConfigMap>| {
        let _ = entered.send(());
        let _ = blocked.recv();
    });
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    tokio::task::spawn_blocking(move || has_entered.recv()).await.unwrap().expect("the handler runs");
    let short = Duration::from_millis(100);
    assert!(tokio::time::timeout(short, factory.shutdown()).await.is_err());
    let after_a_timeout = tokio::time::timeout(short, factory.shutdown()).await;
    assert!(after_a_timeout.is_err(), "the handler still runs");
    let both = async { tokio::join!(factory.shutdown(), factory.shutdown()) };
    assert!(tokio::time::timeout(short, both).await.is_err());
    drop(release);
    tokio::time::timeout(DEADLINE, factory.shutdown()).await.expect("the handler has returned");
}

/// A list of this many objects of about 200 bytes.
fn many(objects: usize) -> String {
    written(&list(10, (0..objects).map(|number| config_map(&format!("o{number}"), 5))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_transform_runs_after_a_shutdown() {
    let (client, _log) = in_process({
        let body = many(2_000);
        move |request: Received| match request.is_watch() {
            true => Answer::watch([]),
            false => Answer::text(200, body.clone()),
        }
    });
    let runs = Arc::new(AtomicUsize::new(0));
    let counting = runs.clone();
    let factory: InformerFactory = InformerFactory::builder(client)
        .tweak_list_options(|options| options.streaming_lists = false)
        .transform(move |_: &mut ConfigMap| {
            counting.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1));
        })
        .build();
    factory.informer::<ConfigMap>();
    factory.start();
    while runs.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    factory.shutdown().await;
    let at_shutdown = runs.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(runs.load(Ordering::SeqCst), at_shutdown);
}

#[test]
fn a_shutdown_does_not_wait_for_decoding_that_no_thread_has_begun() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    runtime.spawn_blocking(move || blocked.recv());
    runtime.block_on(async {
        let (client, log) = in_process(|_: Received| Answer::text(200, many(2_000)));
        let factory: InformerFactory = InformerFactory::builder(client).build();
        factory.informer::<ConfigMap>();
        factory.start();
        while log.len() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        tokio::time::timeout(DEADLINE, factory.shutdown()).await.expect("nothing of the informer runs");
    });
    drop(release);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_shuts_its_own_factory_down_waits_for_itself_and_for_nobody_else() {
    let (factory, _log) = factory_over(one_of_each);
    let informer = factory.informer::<ConfigMap>();
    let (sender, timed_out) = std::sync::mpsc::channel();
    informer.add_event_handler({
        let (factory, runtime) = (factory.clone(), tokio::runtime::Handle::current());
        move |_: &Event<ConfigMap>| {
            let shutdown =
                async { tokio::time::timeout(Duration::from_millis(100), factory.shutdown()).await };
            sender.send(runtime.block_on(shutdown).is_err()).expect("the test still runs");
        }
    });
    factory.start();
    informer.stopped().await;
    tokio::time::timeout(DEADLINE, factory.shutdown()).await.expect("the handler has returned");
    assert_eq!(timed_out.try_recv(), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn a_type_that_panics_on_an_object_syncs_without_it() {
    #[derive(Debug)]
    struct Panics;

    impl<'de> serde::Deserialize<'de> for Panics {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("never decodes")
        }
    }

    impl CacheObject for Panics {
        fn name(&self) -> &str {
            ""
        }
        fn namespace(&self) -> Option<&str> {
            None
        }
        fn uid(&self) -> &str {
            ""
        }
        fn resource_version(&self) -> &str {
            ""
        }
        fn label(&self, _: &str) -> Option<&str> {
            None
        }
    }

    impl Watched for Panics {
        type Scope = k8s_openapi::NamespaceResourceScope;

        fn api_resource() -> ApiResource {
            ApiResource::erase::<ConfigMap>(&())
        }
    }

    let (factory, _log) = factory_over(one_of_each);
    let informer = factory.informer::<Panics>();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    let invalid = informer.invalid();
    assert_eq!(invalid[0].key, ObjectKey::namespaced("default", "a"));
    assert_eq!(invalid[0].error, "decoding the object panicked: never decodes");
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_failed_is_named_with_its_panic() {
    /// A value that cannot be compared with another one.
    #[derive(Clone)]
    struct Incomparable;

    impl std::hash::Hash for Incomparable {
        fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
    }

    impl PartialEq for Incomparable {
        fn eq(&self, _: &Self) -> bool {
            panic!("never equal, never different")
        }
    }

    impl Eq for Incomparable {}

    let (factory, _log) = factory_over(|request: Received| match request.is_watch() {
        true => Answer::watch([]),
        false => Answer::json(list(10, [config_map("a", 5), config_map("b", 6)])),
    });
    let informer = factory.informer::<ConfigMap>();
    informer.add_index("incomparable", |_: &ConfigMap| [Incomparable]).expect("a new index");
    factory.start();
    let error = factory.wait_for_cache_sync(DEADLINE).await.expect_err("it cannot sync").to_string();
    assert_eq!(error, "not synced: configmaps/v1: applying a change panicked: never equal, never different");
    assert!(informer.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn each_type_can_have_its_own_list_options_and_a_transform_that_fails() {
    let (client, log) = in_process(without_streaming(one_of_each));
    let factory: InformerFactory = InformerFactory::builder(client)
        .tweak_list_options_for::<Pod>(|options| options.field_selector = Some("spec.nodeName=n1".into()))
        .tweak_list_options(|options| {
            options.streaming_lists = false;
            options.label_selector = Some("team=a".into());
        })
        .try_transform(|_: &mut Secret| Err("secrets are not for caches"))
        .build();
    factory.informer::<ConfigMap>();
    factory.informer::<Pod>();
    let secrets = factory.informer::<Secret>();
    factory.start();
    factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
    for request in log.all() {
        let selector = request.path.ends_with("pods").then_some("spec.nodeName=n1");
        assert_eq!(request.query("fieldSelector"), selector, "{}", request.path);
        assert_eq!(request.query("labelSelector"), Some("team=a"));
    }
    assert!(secrets.store().is_empty());
    assert_eq!(secrets.invalid()[0].error, "the transform failed: secrets are not for caches");
    let bad = InformerFactory::builder(factory.client().clone())
        .tweak_list_options_for::<Pod>(|options| options.label_selector = Some("not a selector".into()))
        .try_build();
    assert!(matches!(bad, Err(FactoryError::Selector(_))));
}

#[tokio::test(start_paused = true)]
async fn a_generic_informer_lists_objects_and_calls_handlers() {
    let (factory, _log) = factory_over(one_of_each);
    factory.informer::<ConfigMap>();
    let generic =
        factory.for_resource(&GroupVersionResource::gvr("", "v1", "configmaps")).expect("it was requested");
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let recorded = seen.clone();
    let handler = generic.add_event_handler(move |event| {
        recorded.lock().unwrap().push((event.key().to_string(), event.object().uid().to_owned()));
    });
    factory.start();
    assert!(generic.wait_for_sync().await && handler.wait_for_sync().await);
    assert_eq!(*seen.lock().unwrap(), [("default/a".to_owned(), "a".to_owned())]);
    let listed = generic.list(&Selector::everything());
    assert_eq!((listed.len(), listed[0].name()), (1, "a"));
}

#[tokio::test(start_paused = true)]
async fn for_resource_prefers_the_informer_with_whole_objects() {
    for _ in 0..20 {
        let (factory, _log) = factory_over(one_of_each);
        factory.metadata_informer::<ConfigMap>();
        factory.informer::<ConfigMap>();
        let found = factory.for_resource(&GroupVersionResource::gvr("", "v1", "configmaps"));
        assert!(found.is_some_and(|found| found.downcast::<ConfigMap>().is_some()));
    }
}

#[tokio::test(start_paused = true)]
async fn for_resource_returns_the_static_type_that_was_requested_first() {
    let configmaps = GroupVersionResource::gvr("", "v1", "configmaps");
    for _ in 0..20 {
        let (factory, _log) = factory_over(one_of_each);
        factory.informer::<Slim>();
        factory.informer::<ConfigMap>();
        assert!(factory.for_resource(&configmaps).is_some_and(|found| found.downcast::<Slim>().is_some()));
        let (factory, _log) = factory_over(one_of_each);
        factory.informer::<ConfigMap>();
        factory.informer::<Slim>();
        assert!(
            factory.for_resource(&configmaps).is_some_and(|found| found.downcast::<ConfigMap>().is_some())
        );
    }
}
