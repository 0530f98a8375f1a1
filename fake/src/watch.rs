//! The events of a watch.
//!
//! * A watch shows every event after its version that its filter shows, once and in order.
//! * An object that begins or ceases to match a selector is an `ADDED` or a `DELETED`.
//! * A watch reads the log at its own pace. If the log has dropped events that it has not read, it ends, and
//!   the client has to list again.
//! * Watches share the encoded events.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{
    kinds::{Kind, ResourceId},
    request::{Form, Look},
    selector::Filter,
    server::Shared,
    storage::{Event, EventType, Object, frame},
    view,
};

/// How many events a watch takes from the log at once.
const BATCH: usize = 128;

/// How long the server waits between two bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

/// How long before its end a watch gets its last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// An open watch.
pub(crate) struct Watch {
    server: Arc<Shared>,
    kind: Arc<Kind>,
    filter: Filter,
    look: Look,
    number: u64,
    /// The version up to which events were taken from the log.
    version: u64,
    /// What was there before the first event.
    initial: VecDeque<Arc<Object>>,
    /// What follows the initial objects, or the only frame of a watch that failed.
    next: Option<Bytes>,
    /// Events that were taken from the log.
    events: VecDeque<Arc<Event>>,
    bookmarks: bool,
    timeout: Duration,
    /// The end, and the time of the next bookmark. They count from the first poll.
    timers: Option<Timers>,
    /// Whether a table with columns was shown.
    has_columns: bool,
    ended: bool,
}

struct Timers {
    end: Pin<Box<Sleep>>,
    bookmark: Pin<Box<Sleep>>,
}

/// How a watch begins.
pub(crate) struct Opening {
    pub(crate) kind: Arc<Kind>,
    pub(crate) filter: Filter,
    pub(crate) look: Look,
    pub(crate) number: u64,
    /// The version after which the events begin.
    pub(crate) version: u64,
    /// The objects that are shown first.
    pub(crate) initial: Vec<Arc<Object>>,
    /// Whether a bookmark tells the end of the initial objects.
    pub(crate) initial_end: bool,
    pub(crate) bookmarks: bool,
    pub(crate) timeout: Duration,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("resource", &self.kind.resource)
            .field("version", &self.version)
            .finish()
    }
}

impl Watch {
    /// Opens a watch.
    pub(crate) fn open(server: Arc<Shared>, opening: Opening) -> Self {
        let Opening { kind, filter, look, number, version, initial, initial_end, bookmarks, timeout } =
            opening;
        let next = initial_end.then(|| view::bookmark(&kind, look, version, true, server.clock.now()));
        Self {
            server,
            kind,
            filter,
            look,
            number,
            version,
            initial: initial.into(),
            next,
            events: VecDeque::new(),
            bookmarks,
            timeout,
            timers: None,
            has_columns: false,
            ended: false,
        }
    }

    /// Opens a watch that shows one frame and ends.
    pub(crate) fn failed(server: Arc<Shared>, kind: Arc<Kind>, filter: Filter, frame: Bytes) -> Self {
        let opening = Opening {
            kind,
            filter,
            look: Look::PLAIN,
            number: 0,
            version: 0,
            initial: Vec::new(),
            initial_end: false,
            bookmarks: false,
            timeout: Duration::ZERO,
        };
        let mut watch = Self::open(server, opening);
        watch.next = Some(frame);
        watch.ended = true;
        watch
    }

    /// Returns what is watched.
    pub(crate) fn resource(&self) -> &ResourceId {
        &self.kind.resource
    }

    /// Returns the next frame, or `None` at the end.
    pub(crate) fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(object) = self.initial.pop_front() {
                return Poll::Ready(Some(match self.look.form {
                    Form::Object => frame(EventType::Added.as_str(), &object, &self.kind),
                    _ => self.transformed(EventType::Added, &object),
                }));
            }
            if let Some(next) = self.next.take() {
                return Poll::Ready(Some(next));
            }
            while let Some(event) = self.events.pop_front() {
                if let Some(frame) = self.show(&event) {
                    return Poll::Ready(Some(frame));
                }
            }
            if self.ended {
                return Poll::Ready(None);
            }
            if self.take(context) {
                continue;
            }
            return self.poll_timers(context);
        }
    }

    fn show(&mut self, event: &Event) -> Option<Bytes> {
        let seen = event.seen(|object| self.filter.matches(object))?;
        match self.look.form {
            Form::Object => Some(event.frame(seen, &self.kind)),
            _ => Some(self.transformed(seen, &*event.carried(seen, &self.kind)?)),
        }
    }

    /// Encodes an event in a form other than the object itself. Only the first table has columns.
    fn transformed(&mut self, event: EventType, object: &Object) -> Bytes {
        let look = Look { columns: !std::mem::replace(&mut self.has_columns, true), ..self.look };
        view::event(event.as_str(), object, &self.kind, look, self.server.clock.now())
    }

    /// Takes events from the log. If there are none, the watch is woken by the next one.
    fn take(&mut self, context: &Context<'_>) -> bool {
        let mut state = self.server.state.lock();
        let newest = state.version();
        if self.kind.is_custom() && state.kinds.of_resource(&self.kind.resource).is_none() {
            // The CRD is gone. What it took with it is still shown.
            self.ended = true;
            self.events.extend(state.table(&self.kind.resource).after(self.version).cloned());
            return true;
        }
        let table = state.table(&self.kind.resource);
        if !table.reaches(self.version) {
            self.ended = true;
            return true;
        }
        self.events.extend(table.after(self.version).take(BATCH).cloned());
        match self.events.back() {
            Some(event) => {
                // A full batch may not be all.
                self.version = if self.events.len() < BATCH { newest } else { event.version };
                true
            }
            None => {
                self.version = self.version.max(newest);
                state.wait(&self.kind.resource, self.number, context.waker().clone());
                false
            }
        }
    }

    fn poll_timers(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let timeout = self.timeout;
        let timers = self.timers.get_or_insert_with(|| {
            let now = Instant::now();
            let first = timeout.checked_sub(LAST_BOOKMARK).unwrap_or(timeout).min(BOOKMARK_INTERVAL);
            Timers { end: Box::pin(sleep_until(now + timeout)), bookmark: Box::pin(sleep_until(now + first)) }
        });
        if timers.end.as_mut().poll(context).is_ready() {
            self.ended = true;
            return Poll::Ready(None);
        }
        if self.bookmarks && timers.bookmark.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            let last = timers.end.deadline().checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
            let next = now + BOOKMARK_INTERVAL;
            timers.bookmark.as_mut().reset(last.map_or(next, |last| last.min(next)));
            // The timer has to be polled to wake the watch again.
            let _ = timers.bookmark.as_mut().poll(context);
            return Poll::Ready(Some(view::bookmark(
                &self.kind,
                self.look,
                self.version,
                false,
                self.server.clock.now(),
            )));
        }
        Poll::Pending
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.server.state.lock().forget(&self.kind.resource, self.number);
    }
}
