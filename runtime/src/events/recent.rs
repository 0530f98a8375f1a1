//! A bounded map of values that expire.

use std::hash::Hash;

use hashbrown::HashMap;
use tokio::time::Instant;

/// How many entries a map keeps.
pub(super) const CAPACITY: usize = 4096;

/// A value that is ignored after a certain time.
pub(super) trait Expires {
    fn expires_at(&self) -> Instant;
}

/// A bounded map of values that expire. A full map removes the expired values, or the half that
/// expires first if there are none.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    entries: HashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new() }
    }
}

impl<K: Eq + Hash, V: Expires> Recent<K, V> {
    /// Returns the value of a key, unless it has expired.
    pub fn get(&self, key: &K, now: Instant) -> Option<&V> {
        self.entries.get(key).filter(|value| value.expires_at() > now)
    }

    pub fn insert(&mut self, key: K, value: V, now: Instant) {
        if self.entries.len() >= CAPACITY && !self.entries.contains_key(&key) {
            self.make_room(now);
        }
        self.entries.insert(key, value);
    }

    pub fn remove(&mut self, key: &K) {
        self.entries.remove(key);
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn make_room(&mut self, now: Instant) {
        self.entries.retain(|_, value| value.expires_at() > now);
        if self.entries.len() >= CAPACITY {
            let mut times: Vec<_> = self.entries.values().map(Expires::expires_at).collect();
            let (_, &mut middle, _) = times.select_nth_unstable(CAPACITY / 2);
            self.entries.retain(|_, value| value.expires_at() > middle);
        }
    }
}
