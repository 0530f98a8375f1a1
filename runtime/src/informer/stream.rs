//! The events of an informer as a stream.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::Stream;

use super::{Event, subscriber::Subscriber};
use crate::{object::CacheObject, store::Store};

/// The events of an informer as a stream, for async code.
///
/// It begins with the objects in the cache, as `Added { initial: true }`, and ends with the informer. Like
/// a handler, it has a backlog of at most two events per key. While the stream is not polled, events are
/// merged in the backlog. Dropping the stream removes it from the informer.
pub struct EventStream<K: CacheObject> {
    subscriber: Arc<Subscriber<K>>,
    /// Keeps the informer running.
    _store: Store<K>,
}

impl<K: CacheObject> EventStream<K> {
    pub(super) fn new(subscriber: Arc<Subscriber<K>>, store: Store<K>) -> Self {
        Self { subscriber, _store: store }
    }

    /// Returns the number of objects in the backlog.
    pub fn backlog(&self) -> usize {
        self.subscriber.waiting()
    }

    /// Returns whether every initial event was taken from the stream and the stream was polled again.
    pub fn has_synced(&self) -> bool {
        self.subscriber.synced().is_synced()
    }
}

impl<K: CacheObject> fmt::Debug for EventStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("backlog", &self.backlog()).finish_non_exhaustive()
    }
}

impl<K: CacheObject> Stream for EventStream<K> {
    type Item = Event<K>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        self.subscriber.handled();
        self.subscriber.poll_next(context)
    }
}

impl<K: CacheObject> Drop for EventStream<K> {
    fn drop(&mut self) {
        self.subscriber.close();
    }
}
