//! Where a reflector's deltas go.

use std::future::{Future, pending};

use super::Delta;

/// What a reflector feeds.
///
/// A `send` that waits holds the reflector back, and with it the server's stream: this is where
/// back-pressure begins.
pub trait DeltaSink<K>: Send {
    /// Takes a batch, in order. A batch is never empty.
    fn send(&mut self, batch: Vec<Delta<K>>) -> impl Future<Output = Result<(), SinkClosed>> + Send;

    /// Resolves when the sink takes no more deltas, so that an idle reflector ends at once. The
    /// default never resolves: the reflector then ends when its next `send` fails.
    fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        pending()
    }
}

/// The sink takes no more deltas: the reflector ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the sink is closed")]
pub struct SinkClosed;
