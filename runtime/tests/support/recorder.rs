//! A sink that records deltas, for tests of the reflector alone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use genclient_runtime::{
    ObjectKey,
    object::CacheObject,
    reflector::{Delta, DeltaSink, InvalidObject, SinkClosed},
};
use tokio::sync::mpsc;

/// A sink, and the view of the deltas that it got.
pub fn recorder<K: CacheObject>() -> (Recorder<K>, View<K>) {
    let (sender, receiver) = mpsc::channel(1);
    let view = View {
        receiver,
        objects: BTreeMap::new(),
        invalid: vec![],
        version: String::new(),
        replaced: 0,
        reset: 0,
    };
    (Recorder(sender), view)
}

/// The sink.
pub struct Recorder<K>(mpsc::Sender<Vec<Delta<K>>>);

impl<K: CacheObject> DeltaSink<K> for Recorder<K> {
    async fn send(&mut self, batch: Vec<Delta<K>>) -> Result<(), SinkClosed> {
        assert!(!batch.is_empty(), "a batch is never empty");
        self.0.send(batch).await.map_err(|_| SinkClosed)
    }
}

/// The state that follows from the deltas.
pub struct View<K> {
    receiver: mpsc::Receiver<Vec<Delta<K>>>,
    pub objects: BTreeMap<String, Arc<K>>,
    pub invalid: Vec<InvalidObject>,
    pub version: String,
    /// The number of lists.
    pub replaced: usize,
    /// How often the server's history was set back.
    pub reset: usize,
}

impl<K: CacheObject + std::fmt::Debug> View<K> {
    /// Waits for a batch and applies it.
    pub async fn next(&mut self) {
        // On a paused clock this takes no time. It turns a missing batch into a failure.
        let batch = tokio::time::timeout(Duration::from_secs(1200), self.receiver.recv()).await;
        let batch = batch.expect("a batch comes").expect("the reflector is at work");
        for delta in batch {
            self.apply(delta);
        }
    }

    /// Applies batches until this version is reached.
    pub async fn reach(&mut self, version: u64) {
        while self.version != version.to_string() {
            self.next().await;
        }
    }

    /// The name and version of each object.
    pub fn names(&self) -> Vec<String> {
        self.objects.iter().map(|(name, object)| format!("{name}@{}", object.resource_version())).collect()
    }

    fn apply(&mut self, delta: Delta<K>) {
        match delta {
            Delta::Replace { objects, invalid, resource_version, .. } => {
                self.replaced += 1;
                self.objects = objects.into_iter().map(|object| (object.name().to_owned(), object)).collect();
                self.invalid = invalid;
                self.version = resource_version;
            }
            Delta::Upsert(object) => {
                self.version = object.resource_version().to_owned();
                self.objects.insert(object.name().to_owned(), object);
            }
            Delta::Delete(object) => {
                self.version = object.resource_version().to_owned();
                assert!(
                    self.objects.remove(object.name()).is_some(),
                    "{} is not there",
                    ObjectKey::of(&*object)
                );
            }
            Delta::Invalid(object) => {
                self.version = object.resource_version.clone();
                self.invalid.push(object);
            }
            Delta::DeleteInvalid(object) => {
                self.version = object.resource_version.clone();
                self.objects.remove(&object.key.name);
                self.invalid.retain(|invalid| invalid.key != object.key);
            }
            Delta::Bookmark { resource_version, .. } => self.version = resource_version,
            Delta::Reset { .. } => self.reset += 1,
            other => panic!("a delta that this view does not know: {other:?}"),
        }
    }
}
