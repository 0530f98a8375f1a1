//! The events of an open watch, decoded ahead and given in order.

use std::{collections::VecDeque, sync::Arc};

use tokio::task::JoinHandle;

use super::decoder::{DecodedLines, Decoder, are_few, joined};
use crate::{error::Result, object::Watched, wire::Watch};

/// So many batches of lines are decoded at the same time.
const AHEAD: usize = 2;

/// The events of an open watch.
///
/// While lines are decoded on other threads the next ones are gathered. So few events pass at once and
/// without delay, and the busier the watch is, the larger are the batches in which it is worked on.
pub(super) struct Events<K> {
    watch: Watch,
    decoder: Arc<Decoder<K>>,
    /// What is being decoded, in the order of the lines.
    decoding: VecDeque<JoinHandle<DecodedLines<K>>>,
    /// What was taken and given back.
    returned: Option<DecodedLines<K>>,
}

impl<K: Watched> Events<K> {
    pub(super) fn new(watch: Watch, decoder: Arc<Decoder<K>>) -> Self {
        Self { watch, decoder, decoding: VecDeque::new(), returned: None }
    }

    /// The next events; `None` is the regular end. What came whole before a cut is given before the
    /// cut is told.
    pub(super) async fn next(&mut self) -> Option<Result<DecodedLines<K>>> {
        if let Some(lines) = self.returned.take() {
            return Some(Ok(lines));
        }
        let Self { watch, decoder, decoding, .. } = self;
        if decoding.is_empty() {
            match watch.next().await? {
                Ok(lines) if are_few(&lines) => return Some(Ok(decoder.lines(&lines))),
                Ok(lines) => decoding.push_back(decoder.lines_aside(lines)),
                Err(error) => return Some(Err(error)),
            }
        }
        loop {
            if decoding.len() < AHEAD
                && let Some(lines) = watch.take_batch()
            {
                decoding.push_back(decoder.lines_aside(lines));
            }
            tokio::select! {
                biased;
                lines = joined(decoding.front_mut()?) => {
                    decoding.pop_front();
                    return Some(Ok(lines));
                }
                () = watch.fill(), if !watch.is_full() => {}
            }
        }
    }

    /// Takes events back, which are then given again before all others.
    pub(super) fn give_back(&mut self, lines: DecodedLines<K>) {
        self.returned = Some(lines);
    }
}
