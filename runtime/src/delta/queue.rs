//! The bounded queue between the reflectors of an informer and its cache.
//!
//! - Deltas are received in the order in which they were sent, whatever their keys.
//! - The queue is bounded. A sender waits while it is full, so a slow cache slows down the watch instead
//!   of growing the queue.
//! - A relist is one delta.
//! - When one side is dropped, the other side is notified at once.

use std::fmt;

use tokio::sync::mpsc;

use super::Delta;
use crate::delta::{DeltaSink, SinkClosed};

/// Creates a queue of at most `capacity` deltas. A capacity of zero counts as one.
pub fn delta_queue<K>(capacity: usize) -> (DeltaSender<K>, DeltaReceiver<K>) {
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    (DeltaSender { sender }, DeltaReceiver { receiver })
}

/// The sending side of a delta queue. Each reflector of an informer has its own clone.
pub struct DeltaSender<K> {
    sender: mpsc::Sender<Delta<K>>,
}

impl<K> DeltaSender<K> {
    /// Sends deltas in order, and waits while the queue is full.
    pub async fn send_all(&self, deltas: impl IntoIterator<Item = Delta<K>>) -> Result<(), SinkClosed> {
        let mut deltas = deltas.into_iter().peekable();
        // Reserving capacity costs more than sending, so reserve it for many deltas at once.
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

/// The receiving side of a delta queue.
pub struct DeltaReceiver<K> {
    receiver: mpsc::Receiver<Delta<K>>,
}

impl<K> DeltaReceiver<K> {
    /// Waits for deltas, moves up to `limit` of them to the end of `batch`, and returns their number.
    ///
    /// Zero means that every sender was dropped and the queue is empty.
    pub async fn receive(&mut self, batch: &mut Vec<Delta<K>>, limit: usize) -> usize {
        self.receiver.recv_many(batch, limit).await
    }

    /// Returns the number of deltas in the queue.
    pub fn len(&self) -> usize {
        self.receiver.len()
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.receiver.is_empty()
    }
}

impl<K> fmt::Debug for DeltaReceiver<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaReceiver").field("waiting", &self.len()).finish_non_exhaustive()
    }
}
