//! The store: reads of a hundred thousand objects, and batches of changes.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use divan::Bencher;
use genclient_runtime::{
    Event, ObjectMeta, Selector, SharedInformer,
    informer::InformerConfig,
    object::CacheObject,
    reflector::{Delta, DeltaSender, Scope, delta_queue},
    store::Index,
};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::{runtime::Runtime, sync::Notify};

const OBJECTS: usize = 100_000;

fn main() {
    divan::main();
}

fn object(number: usize, version: usize) -> Arc<ConfigMap> {
    Arc::new(ConfigMap {
        metadata: ObjectMeta {
            name: Some(name(number)),
            namespace: Some(namespace(number)),
            uid: Some(format!("uid-{number}")),
            resource_version: Some(version.to_string()),
            labels: Some(BTreeMap::from([
                ("app".to_owned(), app(number)),
                ("tier".to_owned(), "one".to_owned()),
            ])),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    })
}

fn name(number: usize) -> String {
    format!("object-{number:07}")
}

fn namespace(number: usize) -> String {
    format!("namespace-{:03}", number % 100)
}

fn app(number: usize) -> String {
    format!("app-{:05}", number % 1000)
}

/// An informer with a full cache and an index over one label.
struct Cache {
    runtime: Runtime,
    informer: SharedInformer<ConfigMap>,
    sender: DeltaSender<ConfigMap>,
    by_app: Index<ConfigMap, String>,
}

impl Cache {
    fn filled() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime needs no resources");
        let config = InformerConfig::new("configmaps");
        let informer = SharedInformer::new(config);
        let by_app = informer
            .add_index("app", |object: &ConfigMap| object.label("app").map(str::to_owned))
            .expect("the name is free");
        let (sender, receiver) = delta_queue(1024);
        let running = informer.clone();
        runtime.spawn(async move { running.run(receiver).await });
        let replace = Delta::Replace {
            scope: Scope::All,
            objects: (0..OBJECTS).map(|number| object(number, number + 1)).collect(),
            invalid: Vec::new(),
            resource_version: OBJECTS.to_string(),
        };
        runtime.block_on(async {
            sender.send_all([replace]).await.expect("the informer runs");
            assert!(informer.wait_for_sync().await);
        });
        Self { runtime, informer, sender, by_app }
    }
}

#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let store = Cache::filled().informer.store();
    let keys: Vec<_> = (0..OBJECTS).map(|number| (namespace(number), name(number))).collect();
    let mut turn = 0;
    bencher.bench_local(|| {
        turn = (turn + 7919) % OBJECTS;
        store.find(Some(&keys[turn].0), &keys[turn].1)
    });
}

#[divan::bench]
fn list_a_namespace_of_a_thousand(bencher: Bencher<'_, '_>) {
    let store = Cache::filled().informer.store();
    bencher.bench_local(|| store.list_namespace("namespace-042", &Selector::everything()));
}

#[divan::bench]
fn select_a_hundred_without_an_index(bencher: Bencher<'_, '_>) {
    let store = Cache::filled().informer.store();
    let selector: Selector = "app=app-00042".parse().expect("the selector parses");
    bencher.bench_local(|| store.list(&selector));
}

#[divan::bench]
fn look_a_hundred_up_in_an_index(bencher: Bencher<'_, '_>) {
    let cache = Cache::filled();
    bencher.bench_local(|| cache.by_app.get("app-00042"));
}

/// Applies a batch of updates from the delta queue to both generations of the cache.
#[divan::bench]
fn apply_five_hundred_updates(bencher: Bencher<'_, '_>) {
    const BATCH: usize = 500;
    let cache = Cache::filled();
    let mut version = OBJECTS;
    bencher
        .counter(BATCH)
        .with_inputs(|| {
            version += BATCH;
            (version - BATCH + 1..=version)
                .map(|version| object(version % OBJECTS, version))
                .collect::<Vec<_>>()
        })
        .bench_local_values(|objects| {
            let wanted = objects.last().map(|object| object.resource_version().to_owned());
            cache.runtime.block_on(async {
                cache
                    .sender
                    .send_all(objects.into_iter().map(Delta::Upsert))
                    .await
                    .expect("the informer runs");
                while cache.informer.resource_version() != wanted {
                    tokio::task::yield_now().await;
                }
            });
        });
}

/// From the delta queue to a handler and back: an event on its own, and many at once. Handlers run on
/// blocking threads, which costs a switch of threads for each burst of events and not for each event.
#[divan::bench(args = [1, 500])]
fn events_reach_a_handler(bencher: Bencher<'_, '_>, events: usize) {
    let cache = Cache::filled();
    let (handled, waiting) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (counter, waker) = (handled.clone(), waiting.clone());
    let handler = cache.informer.add_event_handler(move |_: &Event<ConfigMap>| {
        counter.fetch_add(1, Ordering::AcqRel);
        waker.notify_one();
    });
    cache.runtime.block_on(handler.wait_for_sync());
    let mut version = OBJECTS;
    bencher
        .counter(events)
        .with_inputs(|| {
            version += events;
            handled.store(0, Ordering::Release);
            (version - events + 1..=version)
                .map(|version| object(version % OBJECTS, version))
                .collect::<Vec<_>>()
        })
        .bench_local_values(|objects| {
            cache.runtime.block_on(async {
                let deltas = objects.into_iter().map(Delta::Upsert);
                cache.sender.send_all(deltas).await.expect("the informer runs");
                while handled.load(Ordering::Acquire) < events {
                    waiting.notified().await;
                }
            });
        });
}
