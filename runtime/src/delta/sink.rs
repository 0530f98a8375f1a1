//! Where a reflector's deltas go.

use std::future::Future;

use crate::delta::Delta;

/// What a reflector feeds. Waiting in `send` holds the reflector back, and with it the server's
/// stream: a sink is the place where back-pressure begins.
pub trait DeltaSink<K>: Send {
    /// Takes a batch, in order. A batch is never empty.
    fn send(&mut self, batch: Vec<Delta<K>>) -> impl Future<Output = Result<(), SinkClosed>> + Send;
}

/// Nobody takes deltas any more: the reflector ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the sink is closed")]
pub struct SinkClosed;
