//! Ending watches that are open.

use std::{
    sync::{Arc, Weak},
    task::Waker,
};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::{kinds::ResourceId, status::Failure, view};

/// How a watch ends before its time.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// The connection breaks.
    Cut,
    /// The server closes it.
    End,
    /// The server sends a last event and closes it.
    Last(Bytes),
}

impl Ending {
    /// The version of the watch has expired.
    pub(crate) fn expired() -> Self {
        let failure = Failure::expired("The resourceVersion for the provided watch is too old.");
        Self::Last(view::line("ERROR", &failure.to_value()))
    }
}

/// Ends one watch.
#[derive(Debug, Default)]
pub(crate) struct Switch(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    ending: Option<Ending>,
    /// How many events are still shown before the ending.
    left: usize,
    waker: Option<Waker>,
}

impl Switch {
    /// Ends the watch after so many events.
    pub(crate) fn end_after(&self, events: usize, ending: Ending) {
        let mut inner = self.0.lock();
        (inner.ending, inner.left) = (Some(ending), events);
        if let Some(waker) = inner.waker.take() {
            waker.wake();
        }
    }

    /// Returns how the watch ends, if it ends here. Otherwise the waker is kept for the time when it does.
    pub(crate) fn poll(&self, waker: &Waker) -> Option<Ending> {
        let mut inner = self.0.lock();
        if inner.left == 0
            && let Some(ending) = &mut inner.ending
        {
            // Whoever polls again finds the end.
            return Some(std::mem::replace(ending, Ending::End));
        }
        inner.waker = Some(waker.clone());
        None
    }

    fn has_ended(&self) -> bool {
        let inner = self.0.lock();
        inner.left == 0 && inner.ending.is_some()
    }

    /// Counts an event that was shown.
    pub(crate) fn count(&self) {
        let mut inner = self.0.lock();
        inner.left = inner.left.saturating_sub(1);
    }
}

/// The switches of the watches that are open.
#[derive(Debug, Default)]
pub(crate) struct Switches(Mutex<Vec<(ResourceId, Weak<Switch>)>>);

impl Switches {
    pub(crate) fn add(&self, resource: &ResourceId, switch: &Arc<Switch>) {
        let mut switches = self.0.lock();
        switches.retain(|(_, switch)| switch.strong_count() > 0);
        switches.push((resource.clone(), Arc::downgrade(switch)));
    }

    /// Ends the watches of a resource.
    pub(crate) fn end(&self, resource: &str, ending: &Ending) -> usize {
        let found = self.of(resource);
        found.iter().for_each(|switch| switch.end_after(0, ending.clone()));
        found.len()
    }

    /// Returns how many watches of a resource are open.
    pub(crate) fn count(&self, resource: &str) -> usize {
        self.of(resource).len()
    }

    fn of(&self, resource: &str) -> Vec<Arc<Switch>> {
        let names = |id: &ResourceId| {
            let plural = id.as_str().split('.').next().unwrap_or_default();
            resource == "*" || resource == id.as_str() || resource == plural
        };
        let switches = self.0.lock();
        let open = switches.iter().filter(|(id, _)| names(id)).filter_map(|(_, switch)| switch.upgrade());
        open.filter(|switch| !switch.has_ended()).collect()
    }
}
