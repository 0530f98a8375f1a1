//! Where objects are kept: one counter of versions, and a table for each resource.
//!
//! * Every write has a version of its own, larger than all before it.
//! * A write and its event are one step: nobody sees one without the other.

mod event;
mod journal;
mod object;
mod table;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
    task::Waker,
};

use serde_json::Value;

pub(crate) use event::{Event, EventType, frame};
use journal::Journal;
pub(crate) use object::Object;
use object::Written;
pub(crate) use table::{Table, key};

use crate::kinds::{Kind, Registry, ResourceId};

/// The place of an object: its resource and its key there.
pub(crate) type Place = (ResourceId, String);

/// All that the server keeps.
#[derive(Debug)]
pub(crate) struct State {
    version: u64,
    tables: HashMap<ResourceId, Table>,
    /// How many events the log of a resource keeps.
    limit: usize,
    /// The version of the last compaction.
    compacted: u64,
    /// Where the object with a uid is.
    places: HashMap<String, Place>,
    /// The places of the objects that name a uid as their owner.
    dependents: HashMap<String, BTreeSet<Place>>,
    /// The objects that are gone, and whose dependents have not been looked at.
    pub(crate) gone: VecDeque<Arc<Object>>,
    /// Whether a call further up the stack looks at them.
    pub(crate) collecting: bool,
    /// The namespaces whose content is being deleted by a call further up the stack.
    pub(crate) emptying: BTreeSet<String>,
    /// How many addresses and ports services have got.
    addresses: u16,
    node_ports: i64,
    /// The kinds that are served.
    pub(crate) kinds: Registry,
    /// Where the state is kept beside the memory.
    journal: Option<Journal>,
}

impl State {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            version: 1,
            tables: HashMap::new(),
            limit,
            compacted: 0,
            places: HashMap::new(),
            dependents: HashMap::new(),
            gone: VecDeque::new(),
            collecting: false,
            emptying: BTreeSet::new(),
            addresses: 1,
            node_ports: 0,
            kinds: Registry::default(),
            journal: None,
        }
    }

    /// Returns an address for a service.
    pub(crate) fn next_address(&mut self) -> String {
        self.addresses = self.addresses.wrapping_add(1);
        let [high, low] = self.addresses.to_be_bytes();
        format!("10.0.{high}.{low}")
    }

    /// Returns a port for a service on all nodes.
    pub(crate) fn next_node_port(&mut self) -> i64 {
        self.node_ports = (self.node_ports + 1) % 2768;
        30000 + self.node_ports
    }

    /// Returns the version of the newest write.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the table of a resource, which is empty if nothing was ever written there.
    pub(crate) fn table(&mut self, resource: &ResourceId) -> &mut Table {
        if !self.tables.contains_key(resource) {
            self.tables.insert(resource.clone(), Table::since(self.compacted));
        }
        self.tables.get_mut(resource).expect("the table was inserted")
    }

    /// Returns the object with this name.
    pub(crate) fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.tables.get(&kind.resource)?.get(&key(namespace, name)).cloned()
    }

    /// Returns the object at this place.
    pub(crate) fn at(&self, (resource, key): &Place) -> Option<Arc<Object>> {
        self.tables.get(resource)?.get(key).cloned()
    }

    /// Returns the place of the object with this uid.
    pub(crate) fn place_of(&self, uid: &str) -> Option<&Place> {
        self.places.get(uid)
    }

    /// Returns the places of the objects that name this uid as their owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Returns the resources that have a table.
    pub(crate) fn resources(&self) -> Vec<ResourceId> {
        let mut resources: Vec<_> =
            self.tables.iter().filter(|(_, table)| !table.is_empty()).map(|(id, _)| id.clone()).collect();
        resources.sort();
        resources
    }

    /// Writes an object at the next version, and returns it.
    pub(crate) fn put(&mut self, kind: &Kind, value: Value) -> Arc<Object> {
        self.version += 1;
        let object = Arc::new(Object::new(value, kind, self.version));
        self.replace(kind, key(&object.namespace, &object.name), Some(object.clone()));
        object
    }

    /// Removes an object at the next version.
    pub(crate) fn remove(&mut self, kind: &Kind, object: &Object) {
        self.version += 1;
        self.replace(kind, key(&object.namespace, &object.name), None);
    }

    fn replace(&mut self, kind: &Kind, key: String, new: Option<Arc<Object>>) {
        let place = (kind.resource.clone(), key);
        self.note(&place, new.as_ref());
        self.write(place, new);
    }

    /// Replaces or removes what is at a place, with an event at the newest version.
    fn write(&mut self, place: Place, new: Option<Arc<Object>>) {
        let (version, limit) = (self.version, self.limit);
        let (old, wakers) = self.table(&place.0).put(place.1.clone(), new.clone(), version, limit);
        self.index(&place, old.as_deref(), new.as_deref());
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Notes the uid and the owners of what is at a place from now on.
    fn index(&mut self, place: &Place, old: Option<&Object>, new: Option<&Object>) {
        if let Some(old) = old {
            self.places.remove(&old.uid);
            for owner in &old.owners {
                if let Some(places) = self.dependents.get_mut(owner) {
                    places.remove(place);
                    if places.is_empty() {
                        self.dependents.remove(owner);
                    }
                }
            }
        }
        if let Some(new) = new {
            self.places.insert(new.uid.clone(), place.clone());
            for owner in &new.owners {
                self.dependents.entry(owner.clone()).or_default().insert(place.clone());
            }
        }
    }

    /// Forgets the events up to the newest version, as a compaction of etcd and a restart of the server do.
    pub(crate) fn compact(&mut self) {
        let version = self.version;
        self.compacted = version;
        for table in self.tables.values_mut() {
            table.compact(version).into_iter().for_each(Waker::wake);
        }
        self.forget_history();
    }

    /// Keeps the waker of a watch until the next event of a resource.
    pub(crate) fn wait(&mut self, resource: &ResourceId, watch: u64, waker: Waker) {
        self.table(resource).waiting.insert(watch, waker);
    }

    /// Wakes the watches of a resource, without an event.
    pub(crate) fn wake(&mut self, resource: &ResourceId) {
        std::mem::take(&mut self.table(resource).waiting).into_values().for_each(Waker::wake);
    }

    /// Forgets the waker of a watch.
    pub(crate) fn forget(&mut self, resource: &ResourceId, watch: u64) {
        self.table(resource).waiting.remove(&watch);
    }
}
