//! A handler that writes down what it is told, and checks that the story has no gap.

use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc},
};

use genclient_runtime::{
    Event, FinalState, ObjectKey, SharedInformer, informer::HandlerRegistration, object::CacheObject,
};
use parking_lot::Mutex;

use crate::support::eventually;

/// What a handler was told, in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The name and uid of what was added.
    Added(String, String),
    /// The name and uid of what was updated.
    Updated(String, String),
    /// The name and uid of what was deleted, and what is known of its end.
    Deleted(String, String, FinalState),
}

/// What a handler knows of the world.
pub struct View<K> {
    told: Vec<Told>,
    objects: BTreeMap<ObjectKey, Arc<K>>,
    broken: Vec<String>,
}

/// Reads what a handler has written down.
pub struct Record<K> {
    view: Arc<Mutex<View<K>>>,
    registration: HandlerRegistration,
}

/// Adds a handler that writes down what it is told.
pub fn record<K: CacheObject>(informer: &SharedInformer<K>) -> Record<K> {
    record_with(informer, |_| {})
}

/// Adds a handler that falls asleep when it is told of an object of this name, until the returned
/// sender is used or dropped. It holds one of the runtime's threads meanwhile.
pub fn record_asleep_at<K: CacheObject>(
    informer: &SharedInformer<K>,
    name: &'static str,
) -> (Record<K>, mpsc::Sender<()>) {
    let (wake, woken) = mpsc::channel();
    let record = record_with(informer, move |event| {
        if event.object().name() == name {
            // Either way of waking is fine.
            let _ = woken.recv();
        }
    });
    (record, wake)
}

fn record_with<K: CacheObject>(
    informer: &SharedInformer<K>,
    mut before: impl FnMut(&Event<K>) + Send + 'static,
) -> Record<K> {
    let view = Arc::new(Mutex::new(View { told: Vec::new(), objects: BTreeMap::new(), broken: Vec::new() }));
    let written = view.clone();
    let registration = informer.add_event_handler(move |event: &Event<K>| {
        before(event);
        written.lock().hear(event);
    });
    Record { view, registration }
}

impl<K: CacheObject> View<K> {
    fn hear(&mut self, event: &Event<K>) {
        let object = event.object();
        let (key, name, uid) = (event.key(), object.name().to_owned(), object.uid().to_owned());
        let (told, before) = match event {
            Event::Added { object, .. } => {
                let before = self.objects.insert(key.clone(), object.clone());
                if before.is_some() {
                    self.broken.push(format!("{key} was added twice"));
                }
                (Told::Added(name, uid), None)
            }
            Event::Updated { old, new, .. } => {
                (Told::Updated(name, uid), Some((old, self.objects.insert(key.clone(), new.clone()))))
            }
            Event::Deleted { final_state, .. } => {
                if self.objects.remove(&key).is_none() {
                    self.broken.push(format!("{key} was deleted and had not been there"));
                }
                (Told::Deleted(name, uid, *final_state), None)
            }
        };
        if let Some((old, given)) = before
            && !given.is_some_and(|given| Arc::ptr_eq(old, &given))
        {
            self.broken.push(format!("the old state of {key} is not the one that was given last"));
        }
        self.told.push(told);
    }
}

impl<K: CacheObject> Record<K> {
    /// What the handler was told so far.
    pub fn told(&self) -> Vec<Told> {
        self.view.lock().told.clone()
    }

    /// What there is, as far as the handler knows: the uid and version of each object.
    pub fn view(&self) -> BTreeMap<ObjectKey, (String, String)> {
        let view = self.view.lock();
        assert!(view.broken.is_empty(), "{:?}", view.broken);
        view.objects.values().map(|object| state_of(&**object)).collect()
    }

    /// Waits until the handler was told of so many changes, and gives them.
    pub async fn wait_for(&self, count: usize) -> Vec<Told> {
        eventually(&format!("a handler is told of {count} changes"), async || self.told().len() >= count)
            .await;
        assert!(self.view().len() <= count);
        self.told()
    }

    /// The handler's place in the informer.
    pub fn registration(&self) -> &HandlerRegistration {
        &self.registration
    }
}

/// The key of an object, its uid and its version.
pub fn state_of<K: CacheObject>(object: &K) -> (ObjectKey, (String, String)) {
    (ObjectKey::of(object), (object.uid().to_owned(), object.resource_version().to_owned()))
}

/// Whether three accounts of the world agree: the server's, the cache's and a handler's.
pub fn agree<K: CacheObject>(listed: &[K], informer: &SharedInformer<K>, record: &Record<K>) -> bool {
    let listed: BTreeMap<_, _> = listed.iter().map(state_of).collect();
    let cached: BTreeMap<_, _> =
        informer.store().snapshot().iter().map(|object| state_of(&**object)).collect();
    listed == cached && listed == record.view()
}
