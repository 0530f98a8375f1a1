//! The state beyond the memory: what a request changed is kept in a file before it is answered.
//!
//! * All changes of a request are kept together, or none of them.
//! * Changes that cannot be kept are undone. Nobody has seen them.
//! * What is read from a file is what was kept, byte for byte: objects, versions, and the events after the snapshot.

use std::{path::Path, sync::Arc};

use serde_json::value::RawValue;

use super::{Object, Place, State, Written, key};
use crate::{
    data::{Change, Commit, Data, DataError, Snapshot},
    kinds::{Registry, ResourceId, crd},
    status::Failure,
};

/// The resource of CRDs, whose writes change what is served.
const CRDS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The file, and what is to be written there.
#[derive(Debug)]
pub(super) struct Journal {
    data: Data,
    /// What the present request has changed.
    changes: Vec<Noted>,
    /// What was served before it.
    kinds: Registry,
}

/// A change that is not kept yet.
#[derive(Debug)]
struct Noted {
    version: u64,
    place: Place,
    old: Option<Arc<Object>>,
    new: Option<Arc<Object>>,
}

impl State {
    /// Opens a file and continues with the state in it, or with a new one if it is empty.
    pub(crate) fn open(path: &Path, limit: usize, new: impl FnOnce() -> State) -> Result<Self, DataError> {
        let (mut data, contents) = Data::open(path)?;
        let state = match contents {
            None => {
                let state = new();
                data.replace(&state.snapshot())?;
                state
            }
            Some(contents) => {
                let restore = |snapshot: Snapshot<'_>| Self::restore(snapshot, limit);
                let (state, read) = contents.read(restore, Self::replay)?;
                data.resume(&read)?;
                state
            }
        };
        let journal = Journal { data, changes: Vec::new(), kinds: Registry::default() };
        Ok(Self { journal: Some(journal), ..state })
    }

    /// Notes a change that is about to be made at the newest version.
    pub(super) fn note(&mut self, place: &Place, new: Option<&Arc<Object>>) {
        let old = self.at(place);
        let version = self.version;
        let Some(journal) = &mut self.journal else { return };
        if journal.changes.is_empty() {
            journal.kinds = self.kinds.clone();
        }
        journal.changes.push(Noted { version, place: place.clone(), old, new: new.cloned() });
    }

    /// Keeps what the present request has changed. If that is not possible, nothing has changed.
    pub(crate) fn commit(&mut self) -> Result<(), Failure> {
        let Some(mut journal) = self.journal.take_if(|journal| !journal.changes.is_empty()) else {
            return Ok(());
        };
        let changes = std::mem::take(&mut journal.changes);
        let commit = Commit {
            addresses: self.addresses,
            node_ports: self.node_ports,
            changes: changes
                .iter()
                .map(|change| self.change(&change.place, change.version, change.new.as_deref()))
                .collect(),
        };
        let kept = journal.data.append(&commit);
        if kept.is_err() {
            self.undo(changes);
            self.kinds = std::mem::take(&mut journal.kinds);
        }
        let long = kept.is_ok() && journal.data.is_long();
        self.journal = Some(journal);
        if long {
            self.write_snapshot();
        }
        kept.map_err(Failure::internal)
    }

    /// Forgets the events in the file, too.
    pub(super) fn forget_history(&mut self) {
        if self.journal.is_some() {
            self.write_snapshot();
        }
    }

    /// Replaces the file by a shorter one. If that fails, it grows until the next attempt.
    fn write_snapshot(&mut self) {
        let Some(mut journal) = self.journal.take() else { return };
        if let Err(error) = journal.data.replace(&self.snapshot()) {
            tracing::warn!(%error, "the data file could not be shortened");
        }
        self.journal = Some(journal);
    }

    /// Takes back changes that were not kept, the last one first.
    fn undo(&mut self, changes: Vec<Noted>) {
        for Noted { version, place, old, new } in changes.into_iter().rev() {
            let table = self.table(&place.0);
            table.take_back(version);
            table.set(place.1.clone(), old.clone());
            self.index(&place, new.as_deref(), old.as_deref());
            self.version = version - 1;
        }
    }

    fn snapshot(&self) -> Snapshot<'static> {
        let mut tables: Vec<_> = self.tables.iter().collect();
        tables.sort_by_key(|(resource, _)| *resource);
        let objects = tables.into_iter().flat_map(|(resource, table)| {
            table.all().map(|(key, object)| {
                self.change(&(resource.clone(), key.to_owned()), object.version, Some(object))
            })
        });
        Snapshot {
            version: self.version,
            addresses: self.addresses,
            node_ports: self.node_ports,
            objects: objects.collect(),
        }
    }

    /// Describes one version of an object.
    fn change(&self, (resource, key): &Place, version: u64, object: Option<&Object>) -> Change<'static> {
        let crd = object.filter(|_| resource.as_str() == CRDS);
        let custom = self.kinds.builtin_of_resource(resource).is_none();
        Change {
            version,
            resource: resource.as_str().to_owned().into(),
            key: key.clone().into(),
            schema: object.map_or(0, |object| object.written().schema),
            stored_version: object.map(|object| object.stored_version.to_string().into()),
            fields: object.filter(|_| custom).map(|object| object.fields.clone()).unwrap_or_default(),
            serves: crd
                .and_then(|crd| crd.name.split_once('.'))
                .is_some_and(|(plural, group)| self.kinds.serves(group, plural)),
            object: object.and_then(|object| RawValue::from_string(object.encoded()).ok()),
        }
    }

    /// Returns the state of a snapshot, without events.
    fn restore(snapshot: Snapshot<'_>, limit: usize) -> Result<Self, String> {
        let mut state = Self::new(limit);
        state.version = snapshot.version;
        state.compacted = snapshot.version;
        state.addresses = snapshot.addresses;
        state.node_ports = snapshot.node_ports;
        for change in snapshot.objects {
            if change.version > state.version {
                return Err(format!("`{}` has a version from the future", change.key));
            }
            let (place, object) = state.read_change(&change)?;
            let object = object.ok_or_else(|| format!("the object `{}` is missing", change.key))?;
            state.serve(&change, &place, Some(&object));
            let replaced = state.table(&place.0).set(place.1.clone(), Some(object.clone()));
            if replaced.is_some() {
                return Err(format!("`{}` is there twice", change.key));
            }
            state.index(&place, None, Some(&object));
        }
        Ok(state)
    }

    /// Repeats what a request changed.
    fn replay(&mut self, commit: Commit<'_>) -> Result<(), String> {
        self.addresses = commit.addresses;
        self.node_ports = commit.node_ports;
        for change in commit.changes {
            if change.version <= self.version {
                return Err(format!("version {} comes after version {}", change.version, self.version));
            }
            self.version = change.version;
            let (place, object) = self.read_change(&change)?;
            if object.is_none() && self.at(&place).is_none() {
                return Err(format!("`{}` is deleted, but does not exist", change.key));
            }
            self.serve(&change, &place, object.as_deref());
            self.write(place, object);
        }
        Ok(())
    }

    fn read_change(&self, change: &Change<'_>) -> Result<(Place, Option<Arc<Object>>), String> {
        let resource = ResourceId::named(&change.resource);
        let kind = self.kinds.builtin_of_resource(&resource);
        let restore = |encoded: &RawValue| {
            let stored_version = change.stored_version.as_deref().unwrap_or_default().into();
            let written = Written { schema: change.schema, stored_version };
            let fields = |value: &_| match &kind {
                Some(kind) => kind.field_values(value),
                None => change.fields.clone(),
            };
            Object::restore(encoded.get(), change.version, written, fields)
                .filter(|object| key(&object.namespace, &object.name) == change.key)
                .map(Arc::new)
                .ok_or_else(|| format!("`{}` is not the object that its record names", change.key))
        };
        let object = change.object.as_deref().map(restore).transpose()?;
        Ok(((resource, change.key.clone().into_owned()), object))
    }

    /// Serves what a CRD served after the change, or no longer.
    fn serve(&mut self, change: &Change<'_>, place: &Place, crd: Option<&Object>) {
        if place.0.as_str() != CRDS {
            return;
        }
        let Some((plural, group)) = place.1.split_once('.') else { return };
        match crd.filter(|_| change.serves) {
            // One that is being deleted serves what it served before.
            Some(crd) if crd.deleting && self.kinds.serves(group, plural) => {}
            Some(crd) => {
                if let Some(kind) = self.kinds.builtin_of_resource(&place.0) {
                    let kinds = crd::kinds(&crd.value(&kind));
                    self.kinds.serve(group, plural, kinds);
                }
            }
            None => self.kinds.serve(group, plural, Vec::new()),
        }
    }
}

#[cfg(test)]
impl State {
    /// Replaces the file.
    pub(crate) fn with_data(&mut self, change: impl FnOnce(Data) -> Data) {
        self.journal = self.journal.take().map(|journal| Journal { data: change(journal.data), ..journal });
    }
}
