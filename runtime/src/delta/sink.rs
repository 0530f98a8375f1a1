//! The receiver of a reflector's deltas.

use std::future::{Future, pending};

use super::Delta;

/// Receives the deltas of a reflector.
///
/// While `send` waits, the reflector stops reading from the server: this is the source of back-pressure.
pub trait DeltaSink<K>: Send {
    /// Receives a batch of deltas in order. A batch is never empty.
    fn send(&mut self, batch: Vec<Delta<K>>) -> impl Future<Output = Result<(), SinkClosed>> + Send;

    /// Resolves when the sink is closed, so that an idle reflector ends at once. The default never
    /// resolves; the reflector then ends when its next `send` fails.
    fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        pending()
    }
}

/// The sink is closed, and the reflector ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the sink is closed")]
pub struct SinkClosed;
