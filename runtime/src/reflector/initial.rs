//! The objects of a streamed list.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::{
    delta::InvalidObject,
    object::{Decodable, ObjectKey},
};

/// The objects of a streamed list, until its closing bookmark.
///
/// Usually every object arrives exactly once, as added, and no lookup is needed. The first event of another
/// type moves the objects into a map.
pub(super) struct Initial<K> {
    added: Vec<Arc<K>>,
    changed: Option<Changed<K>>,
}

struct Changed<K> {
    objects: HashMap<ObjectKey, Arc<K>>,
    invalid: HashMap<ObjectKey, InvalidObject>,
}

impl<K: Decodable> Initial<K> {
    pub(super) fn new() -> Self {
        Self { added: Vec::new(), changed: None }
    }

    pub(super) fn add(&mut self, object: Arc<K>) {
        match self.changed {
            None => self.added.push(object),
            Some(_) => self.modify(object),
        }
    }

    pub(super) fn modify(&mut self, object: Arc<K>) {
        let key = ObjectKey::of(&*object);
        let changed = self.changed();
        changed.invalid.remove(&key);
        changed.objects.insert(key, object);
    }

    pub(super) fn delete(&mut self, key: &ObjectKey) {
        let changed = self.changed();
        changed.objects.remove(key);
        changed.invalid.remove(key);
    }

    /// Records that an object exists in a state that does not decode, and drops its earlier state.
    pub(super) fn invalidate(&mut self, object: InvalidObject) {
        let changed = self.changed();
        changed.objects.remove(&object.key);
        changed.invalid.insert(object.key.clone(), object);
    }

    pub(super) fn into_parts(self) -> (Vec<Arc<K>>, Vec<InvalidObject>) {
        match self.changed {
            None => (self.added, Vec::new()),
            Some(Changed { objects, invalid }) => {
                (objects.into_values().collect(), invalid.into_values().collect())
            }
        }
    }

    fn changed(&mut self) -> &mut Changed<K> {
        self.changed.get_or_insert_with(|| {
            let added = std::mem::take(&mut self.added);
            let objects = added.into_iter().map(|object| (ObjectKey::of(&*object), object)).collect();
            Changed { objects, invalid: HashMap::new() }
        })
    }
}
