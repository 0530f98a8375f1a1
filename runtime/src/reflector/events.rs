//! The events of an open watch, decoded.

use std::{sync::Arc, time::Duration};

use super::decoder::{DecodedLines, Decoder};
use crate::{error::Result, object::Decodable, wire::Watch};

/// The events of an open watch.
pub(super) struct Events<K> {
    watch: Watch,
    decoder: Arc<Decoder<K>>,
    /// Events that were taken and put back.
    returned: Option<DecodedLines<K>>,
}

impl<K: Decodable> Events<K> {
    pub(super) fn new(watch: Watch, decoder: Arc<Decoder<K>>) -> Self {
        Self { watch, decoder, returned: None }
    }

    /// Returns the next events: all that have arrived, and at least one. `None` is the regular end. Events
    /// that arrived before a cut are returned before its error.
    pub(super) async fn next(&mut self) -> Option<Result<DecodedLines<K>>> {
        if let Some(lines) = self.returned.take() {
            return Some(Ok(lines));
        }
        match self.watch.next().await? {
            Ok(lines) => Some(Ok(self.decoder.lines(lines).await)),
            Err(error) => Some(Err(error)),
        }
    }

    /// Puts events back, which are returned again before all others.
    pub(super) fn put_back(&mut self, lines: DecodedLines<K>) {
        self.returned = Some(lines);
    }

    /// Allows the server to stay silent for this long, from now on.
    pub(super) fn allow_silence(&mut self, silence: Duration) {
        self.watch.allow_silence(silence);
    }
}
