//! The bounded queue between the reflectors of an informer and its cache.
//!
//! * Order is strict: what was sent first is received first, whatever its key.
//! * It is bounded in deltas. A full queue makes the sender wait, so a slow cache slows the watch down
//!   instead of growing the queue.
//! * A relist is one delta.
//! * When either side is dropped, the other one learns it at once.

use std::fmt;

use tokio::sync::mpsc;

use super::Delta;
use crate::delta::{DeltaSink, SinkClosed};

/// A queue that holds at most `capacity` deltas (at least one).
pub fn delta_queue<K>(capacity: usize) -> (DeltaSender<K>, DeltaReceiver<K>) {
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    (DeltaSender { sender }, DeltaReceiver { receiver })
}

/// Where a reflector puts its deltas. Each reflector of an informer has a clone of its own.
pub struct DeltaSender<K> {
    sender: mpsc::Sender<Delta<K>>,
}

impl<K> DeltaSender<K> {
    /// Puts deltas into the queue in this order, and waits wherever it is full.
    pub async fn send_all(&self, deltas: impl IntoIterator<Item = Delta<K>>) -> Result<(), SinkClosed> {
        let mut deltas = deltas.into_iter().peekable();
        // Reserving capacity costs more than sending, so it is reserved for many deltas at once.
        let at_once = self.sender.max_capacity().div_ceil(2);
        while deltas.peek().is_some() {
            let wanted = deltas.size_hint().0.clamp(1, at_once);
            let room = self.sender.reserve_many(wanted).await.map_err(|_| SinkClosed)?;
            room.zip(&mut deltas).for_each(|(permit, delta)| permit.send(delta));
        }
        Ok(())
    }
}

impl<K: Send + Sync + 'static> DeltaSink<K> for DeltaSender<K> {
    async fn send(&mut self, batch: Vec<Delta<K>>) -> Result<(), SinkClosed> {
        self.send_all(batch).await
    }

    fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        let sender = self.sender.clone();
        async move { sender.closed().await }
    }
}

impl<K> Clone for DeltaSender<K> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone() }
    }
}

impl<K> fmt::Debug for DeltaSender<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaSender").field("free", &self.sender.capacity()).finish_non_exhaustive()
    }
}

/// Where an informer takes its deltas from.
pub struct DeltaReceiver<K> {
    receiver: mpsc::Receiver<Delta<K>>,
}

impl<K> DeltaReceiver<K> {
    /// Waits for deltas, moves up to `limit` of them to the end of `batch` and returns how many.
    ///
    /// None means that every sender is dropped and the queue is empty.
    pub async fn receive(&mut self, batch: &mut Vec<Delta<K>>, limit: usize) -> usize {
        self.receiver.recv_many(batch, limit).await
    }

    /// How many deltas wait.
    pub fn len(&self) -> usize {
        self.receiver.len()
    }

    /// Whether no delta waits.
    pub fn is_empty(&self) -> bool {
        self.receiver.is_empty()
    }
}

impl<K> fmt::Debug for DeltaReceiver<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaReceiver").field("waiting", &self.len()).finish_non_exhaustive()
    }
}
