//! A compact type to cache, and helpers that feed and observe an informer.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use genclient_runtime::{
    Event, ObjectKey, SharedInformer,
    informer::InformerConfig,
    kube::core::{ApiResource, GroupVersionKind},
    object::{CacheObject, Watched},
    reflector::{Delta, DeltaSender, InvalidObject, Scope, delta_queue},
};
use parking_lot::{Condvar, Mutex};

/// Longer than any test takes on a loaded machine.
pub const LONG: Duration = Duration::from_secs(120);

/// The type that the tests cache. It is not a `kube::Resource`: the cache does not need one.
#[derive(Debug, Default, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Item {
    pub namespace: Option<String>,
    pub name: String,
    pub uid: String,
    pub version: String,
    pub labels: BTreeMap<String, String>,
}

impl Watched for Item {
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn api_resource() -> ApiResource {
        ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Item"))
    }
}

impl CacheObject for Item {
    fn name(&self) -> &str {
        &self.name
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn uid(&self) -> &str {
        &self.uid
    }

    fn resource_version(&self) -> &str {
        &self.version
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

/// An item in namespace `ns`. The number in its uid distinguishes objects with the same name.
pub fn item(name: &str, life: u64, version: u64) -> Arc<Item> {
    item_in("ns", name, life, version)
}

pub fn item_in(namespace: &str, name: &str, life: u64, version: u64) -> Arc<Item> {
    Arc::new(Item {
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
        uid: format!("{name}-{life}"),
        version: version.to_string(),
        labels: BTreeMap::new(),
    })
}

pub fn labelled(name: &str, version: u64, labels: &[(&str, &str)]) -> Arc<Item> {
    let mut item = Item::clone(&item(name, 1, version));
    item.labels = labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Arc::new(item)
}

pub fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("ns", name)
}

pub fn list(version: u64, objects: Vec<Arc<Item>>) -> Delta<Item> {
    list_of(Scope::All, version, objects)
}

pub fn list_of(scope: Scope, version: u64, objects: Vec<Arc<Item>>) -> Delta<Item> {
    Delta::Replace { scope, objects, invalid: Vec::new(), resource_version: version.to_string() }
}

pub fn bookmark(version: u64) -> Delta<Item> {
    Delta::Bookmark { scope: Scope::All, resource_version: version.to_string() }
}

pub fn invalid(name: &str, uid: &str, version: u64) -> InvalidObject {
    let mut invalid = InvalidObject::new(key(name), "spec.cidr: invalid type");
    invalid.uid = uid.to_owned();
    invalid.resource_version = version.to_string();
    invalid
}

/// An informer that does not run.
pub fn idle(scopes: Vec<Scope>) -> SharedInformer<Item> {
    SharedInformer::new(InformerConfig::new("items.example.com").scopes(scopes))
}

/// The resync period of [`resyncing`].
pub const RESYNC: Duration = Duration::from_secs(1);

/// An informer of all namespaces with a resync. It does not run.
pub fn resyncing() -> SharedInformer<Item> {
    SharedInformer::new(InformerConfig::new("items.example.com").resync(RESYNC))
}

/// A running informer of all namespaces, and the feed of its deltas.
pub fn running() -> (SharedInformer<Item>, Feed) {
    let informer = idle(vec![Scope::All]);
    let feed = run(&informer);
    (informer, feed)
}

/// Runs an informer.
pub fn run(informer: &SharedInformer<Item>) -> Feed {
    let (sender, receiver) = delta_queue(64);
    let running = informer.clone();
    tokio::spawn(async move { running.run(receiver).await });
    Feed(sender)
}

/// Sends deltas to an informer.
#[derive(Clone)]
pub struct Feed(pub DeltaSender<Item>);

impl Feed {
    pub async fn send(&self, deltas: impl IntoIterator<Item = Delta<Item>>) {
        self.0.send_all(deltas).await.expect("the informer receives");
    }
}

/// Waits until a condition holds that other tasks bring about.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < LONG, "waited in vain until {what}");
        tokio::task::yield_now().await;
    }
}

/// Holds up threads until it is open.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn wait(&self) {
        self.0.1.wait_while(&mut self.0.0.lock(), |is_open| !*is_open);
    }

    pub fn open(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_all();
    }
}

/// Waits until the cache has reached a version.
pub async fn reached(informer: &SharedInformer<Item>, version: u64) {
    informer.caught_up_to_version(&version.to_string(), LONG).await.expect("the cache catches up");
}

/// Lets every other task and handler run until it waits. It needs a paused clock, which does not advance
/// while a task runs.
pub async fn quiet() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// The events that a handler got, in short, such as `+a1 ~a1>a2 -a2`.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Event<Item>>>>);

impl Recorder {
    pub fn handler(&self) -> impl FnMut(&Event<Item>) + Send + 'static {
        let recorder = self.clone();
        move |event| recorder.0.lock().push(event.clone())
    }

    pub fn events(&self) -> Vec<Event<Item>> {
        self.0.lock().clone()
    }

    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub fn texts(&self) -> Vec<String> {
        self.0.lock().iter().map(text).collect()
    }

    pub async fn has(&self, texts: &[&str]) {
        eventually(&format!("the handler is told {texts:?}; it was told {:?}", self.texts()), || {
            self.texts() == texts
        })
        .await;
    }
}

/// An event in short.
pub fn text(event: &Event<Item>) -> String {
    let state = |item: &Item| format!("{}{}", item.name, item.version);
    match event {
        Event::Added { object, initial: true } => format!("+{} initial", state(object)),
        Event::Added { object, initial: false } => format!("+{}", state(object)),
        Event::Updated { old, new, cause } => format!("~{}>{} {cause:?}", state(old), state(new)),
        Event::Deleted { last, final_state } => format!("-{} {final_state:?}", state(last)),
    }
}

/// The state that follows from the events of one handler. It fails on events that do not fit together.
#[derive(Default)]
pub struct View(pub HashMap<ObjectKey, Arc<Item>>);

impl View {
    pub fn hear(&mut self, event: &Event<Item>) {
        let key = event.key();
        match event {
            Event::Added { object, .. } => {
                let before = self.0.insert(key, object.clone());
                assert!(before.is_none(), "added, and was there: {} over {before:?}", text(event));
            }
            Event::Updated { old, new, .. } => {
                let before = self.0.insert(key, new.clone()).expect("an updated object exists");
                assert!(Arc::ptr_eq(&before, old), "`old` is not what was given last: {}", text(event));
                assert_eq!(old.uid, new.uid, "an update has one uid: {}", text(event));
            }
            Event::Deleted { last, .. } => {
                let before = self.0.remove(&key).expect("a deleted object exists");
                assert_eq!(before.uid, last.uid, "what is deleted is what was there: {}", text(event));
            }
        }
    }

    /// Whether the view is the cache, down to the very `Arc`s.
    pub fn is(&self, informer: &SharedInformer<Item>) -> bool {
        let snapshot = informer.store().snapshot();
        self.0.len() == snapshot.len()
            && snapshot.iter().all(|object| {
                self.0.get(&ObjectKey::of(object.as_ref())).is_some_and(|seen| Arc::ptr_eq(seen, object))
            })
    }

    /// Fails unless the view has the same `Arc`s as the cache.
    pub fn assert_is(&self, informer: &SharedInformer<Item>) {
        let snapshot = informer.store().snapshot();
        assert_eq!(self.0.len(), snapshot.len());
        for object in snapshot.iter() {
            let seen = self.0.get(&ObjectKey::of(object.as_ref()));
            assert!(seen.is_some_and(|seen| Arc::ptr_eq(seen, object)), "{object:?}, seen as {seen:?}");
        }
    }
}
