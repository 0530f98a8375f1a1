//! The queue between the recorders and the sender.

use std::{collections::VecDeque, pin::pin};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Duration, timeout},
};

use super::occurrence::Occurrence;

/// How many events the queue holds.
pub(super) const CAPACITY: usize = 1000;

/// A bounded queue that drops its oldest event when it is full.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    state: Mutex<State>,
    /// Wakes the sender.
    pushed: Notify,
    /// Wakes the callers of `flush`.
    settled: Notify,
}

/// Events are numbered in the order in which they were recorded.
#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Occurrence>,
    /// The number of the first waiting event, or of the next event if the queue is empty.
    first: u64,
    /// The number of the event that is being sent.
    sending: Option<u64>,
    /// All recorders are dropped.
    closed: bool,
    /// The sender has ended.
    abandoned: bool,
}

impl State {
    /// Returns how many events with numbers below `end` are neither sent nor dropped.
    fn pending(&self, end: u64) -> u64 {
        u64::from(self.sending.is_some_and(|sending| sending < end)) + end.saturating_sub(self.first)
    }

    fn end(&self) -> u64 {
        self.first + self.waiting.len() as u64
    }
}

/// The queue's answer to a new event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Accepted,
    /// It was accepted, and the oldest event was dropped for it.
    InPlaceOfOldest,
    /// It was dropped because there is no sender.
    Dropped,
}

impl EventQueue {
    pub fn push(&self, occurrence: Occurrence) -> Pushed {
        let mut state = self.state.lock();
        if state.abandoned {
            return Pushed::Dropped;
        }
        let full = state.waiting.len() >= CAPACITY;
        if full {
            state.waiting.pop_front();
            state.first += 1;
        }
        state.waiting.push_back(occurrence);
        drop(state);
        self.pushed.notify_one();
        if full { Pushed::InPlaceOfOldest } else { Pushed::Accepted }
    }

    /// Waits for the next event, which is being sent until `settle` is called. Returns `None` once the
    /// queue is closed and empty.
    pub async fn next(&self) -> Option<Occurrence> {
        loop {
            {
                let mut state = self.state.lock();
                if let Some(occurrence) = state.waiting.pop_front() {
                    state.sending = Some(state.first);
                    state.first += 1;
                    return Some(occurrence);
                }
                if state.closed {
                    return None;
                }
            }
            self.pushed.notified().await;
        }
    }

    /// Ends the sending of an event.
    pub fn settle(&self) {
        self.state.lock().sending = None;
        self.settled.notify_waiters();
    }

    /// Ends the sender when the queue is empty.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.pushed.notify_one();
    }

    /// Drops all events because the sender has ended. Returns how many.
    pub fn abandon(&self) -> u64 {
        let mut state = self.state.lock();
        let dropped = state.pending(state.end());
        *state = State { first: state.end(), closed: state.closed, abandoned: true, ..State::default() };
        drop(state);
        self.settled.notify_waiters();
        dropped
    }

    /// Waits until all events that are in the queue now are sent or dropped, or `deadline` has passed.
    /// Returns how many are left.
    pub async fn flush(&self, deadline: Duration) -> u64 {
        let end = self.state.lock().end();
        let flushed = async {
            loop {
                let mut settled = pin!(self.settled.notified());
                settled.as_mut().enable();
                if self.state.lock().pending(end) == 0 {
                    return;
                }
                settled.await;
            }
        };
        // The count shows whether the deadline has passed.
        let _ = timeout(deadline, flushed).await;
        self.state.lock().pending(end)
    }
}
