//! The requests that reached the server, as a test sees and expects them.
//!
//! * Actions are recorded in the order in which their requests arrived, whatever the server answered: also those
//!   that a reactor failed.
//! * Two actions are equal if they ask for the same: the verb, the resource, the place, the selectors and the body.
//!   Who asks, versions, pages and timeouts do not count.
//! * At most 10,000 actions are kept. [`Actions`] that are not complete equal no expectation.

mod action;
mod list;
mod read;
mod show;

pub use action::{Action, Content, PatchType, Verb};
pub use list::Actions;
pub(crate) use list::Recorder;

use crate::Server;

/// How many actions are kept. Of more, the oldest go.
const LIMIT: usize = 10_000;

impl Server {
    /// Returns the requests for resources that reached the server, in their order.
    ///
    /// # Panics
    /// If the server does not record them; see [`Builder::record_actions`](crate::Builder::record_actions).
    #[track_caller]
    pub fn actions(&self) -> Actions {
        let actions = self.shared().hooks.recorder.actions();
        actions.expect("the server records no actions; `record_actions` makes it do so")
    }

    /// Forgets the actions that were recorded.
    pub fn clear_actions(&self) {
        self.shared().hooks.recorder.clear();
    }

    /// Begins to record actions, or ceases to and forgets those that were recorded.
    pub fn record_actions(&self, on: bool) {
        self.shared().hooks.recorder.switch(on);
    }
}
