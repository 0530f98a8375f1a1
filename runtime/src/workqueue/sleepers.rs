//! The callers of `next` that wait for a key.

use super::{
    Key,
    queue::{Inner, Locked},
};

/// Counts sleeping callers, so that a key wakes one of them only if none is awake to take it.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    asleep: usize,
    /// How many of them were woken and have not run since. It can be too low, which costs a
    /// needless wake-up, but never too high, which would lose one.
    woken: usize,
}

impl Sleepers {
    /// Returns how many sleepers to wake for this many new keys.
    #[inline]
    pub fn wake(&mut self, keys: usize) -> usize {
        let wake = keys.min(self.asleep.saturating_sub(self.woken));
        self.woken += wake;
        wake
    }

    #[cfg(test)]
    pub fn asleep(&self) -> usize {
        self.asleep
    }
}

/// A caller that sleeps, until it is dropped.
pub(super) struct Sleeper<'a, T: Key>(&'a Inner<T>);

impl<'a, T: Key> Sleeper<'a, T> {
    pub fn new(inner: &'a Inner<T>, locked: &mut Locked<T>) -> Self {
        locked.sleepers.asleep += 1;
        Self(inner)
    }
}

impl<T: Key> Drop for Sleeper<'_, T> {
    fn drop(&mut self) {
        let sleepers = &mut self.0.lock().sleepers;
        sleepers.asleep -= 1;
        sleepers.woken = sleepers.woken.saturating_sub(1);
    }
}
