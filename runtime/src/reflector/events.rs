//! The events of an open watch, decoded ahead and returned in order.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::decoder::{DecodedLines, Decoder, Decoding};
use crate::{error::Result, object::Decodable, wire::Watch};

/// How many batches of lines are decoded at the same time.
const AHEAD: usize = 2;

/// The events of an open watch.
///
/// While lines are decoded on other threads, the next ones are gathered. A few events pass at once and
/// without delay, and the busier the watch is, the larger are its batches.
pub(super) struct Events<K> {
    watch: Watch,
    decoder: Arc<Decoder<K>>,
    /// What is being decoded, in the order of the lines.
    decoding: VecDeque<Decoding<K>>,
    /// Events that were taken and put back.
    returned: Option<DecodedLines<K>>,
}

impl<K: Decodable> Events<K> {
    pub(super) fn new(watch: Watch, decoder: Arc<Decoder<K>>) -> Self {
        Self { watch, decoder, decoding: VecDeque::new(), returned: None }
    }

    /// The next events; `None` is the regular end. Events that came before a cut come before its error.
    pub(super) async fn next(&mut self) -> Option<Result<DecodedLines<K>>> {
        if let Some(lines) = self.returned.take() {
            return Some(Ok(lines));
        }
        let Self { watch, decoder, decoding, .. } = self;
        if decoding.is_empty() {
            match watch.next().await? {
                Ok(lines) => decoding.push_back(decoder.lines(lines, watch.is_fast())),
                Err(error) => return Some(Err(error)),
            }
        }
        loop {
            // Lines that are decoded in place need this task, and nothing is gained by gathering more.
            let in_place = decoding.back().is_some_and(Decoding::is_here);
            if decoding.len() < AHEAD
                && !in_place
                && let Some(lines) = watch.take_batch()
            {
                decoding.push_back(decoder.lines(lines, true));
            }
            tokio::select! {
                biased;
                lines = decoding.front_mut()?.join(decoder) => {
                    decoding.pop_front();
                    return Some(Ok(lines));
                }
                () = watch.fill(), if !in_place && !watch.is_full() => {}
            }
        }
    }

    /// Puts events back, which are returned again before all others.
    pub(super) fn put_back(&mut self, lines: DecodedLines<K>) {
        self.returned = Some(lines);
    }

    /// How long the server has kept the reader waiting, in all.
    pub(super) fn silent(&self) -> Duration {
        self.watch.silent()
    }

    /// Allows the server to stay silent for this long, from now on.
    pub(super) fn allow_silence(&mut self, silence: Duration) {
        self.watch.allow_silence(silence);
    }
}
