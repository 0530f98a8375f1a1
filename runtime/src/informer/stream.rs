//! An informer's events as a stream.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::Stream;

use super::subscriber::Subscriber;
use crate::{informer::Event, object::CacheObject};

/// The events of an informer as a stream, for whoever is async.
///
/// It begins with the objects that are there, and ends when the informer does. Like a handler it
/// has a backlog of at most two events a key, which coalesces while nobody polls. Dropping the
/// stream ends it.
pub struct EventStream<K: CacheObject> {
    subscriber: Arc<Subscriber<K>>,
}

impl<K: CacheObject> EventStream<K> {
    pub(super) fn new(subscriber: Arc<Subscriber<K>>) -> Self {
        Self { subscriber }
    }

    /// How many objects wait.
    pub fn backlog(&self) -> usize {
        self.subscriber.waiting()
    }

    /// Whether every initial object was taken out of the stream and the next event asked for.
    pub fn has_synced(&self) -> bool {
        self.subscriber.synced().is_synced()
    }

    /// The objects that changed, without how: what kube's `Controller` takes as a shared stream.
    pub fn objects(self) -> impl Stream<Item = Arc<K>> + Send {
        futures::StreamExt::map(self, |event| event.object().clone())
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
        self.subscriber.heard();
        self.subscriber.poll_next(context)
    }
}

impl<K: CacheObject> Drop for EventStream<K> {
    fn drop(&mut self) {
        self.subscriber.close();
    }
}
