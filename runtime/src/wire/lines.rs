//! Splits the chunks of a body into lines.

use bytes::Bytes;

/// The longest line that is accepted. The objects of an API server have a few megabytes at most.
pub(crate) const LINE_LIMIT: usize = 64 << 20;

/// A line that is longer than [`LINE_LIMIT`].
#[derive(Debug, thiserror::Error)]
#[error("a line of the stream is longer than {LINE_LIMIT} bytes")]
pub(crate) struct LineTooLong;

/// Splits chunks into lines. A line within one chunk is not copied. The beginning of an incomplete line is
/// kept until the rest arrives.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    /// Adds a chunk, and appends the lines that it completes to `complete`, without their line ends and
    /// without empty lines.
    pub(crate) fn push(&mut self, chunk: &Bytes, complete: &mut Vec<Bytes>) -> Result<(), LineTooLong> {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            if self.partial.is_empty() {
                give(chunk.slice(start..end), complete);
            } else {
                let mut line = std::mem::take(&mut self.partial);
                line.extend_from_slice(&chunk[start..end]);
                give(Bytes::from(line), complete);
            }
            start = end + 1;
        }
        let rest = &chunk[start..];
        if self.partial.len() + rest.len() > LINE_LIMIT {
            return Err(LineTooLong);
        }
        self.partial.extend_from_slice(rest);
        Ok(())
    }
}

fn give(line: Bytes, complete: &mut Vec<Bytes>) {
    if !line.trim_ascii().is_empty() {
        complete.push(line);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines_of(chunks: &[&[u8]]) -> (Vec<Vec<u8>>, bool) {
        let (mut lines, mut complete) = (Lines::default(), Vec::new());
        for chunk in chunks {
            lines.push(&Bytes::copy_from_slice(chunk), &mut complete).unwrap();
        }
        (complete.iter().map(|line| line.to_vec()).collect(), !lines.partial.is_empty())
    }

    #[test]
    fn a_line_can_span_chunks_and_an_incomplete_one_is_kept() {
        let (lines, partial) = lines_of(&[b"on", b"e\ntwo\nth", b"re", b"e\n\r\nfour"]);
        assert_eq!(lines, [&b"one"[..], b"two", b"three"]);
        assert!(partial);
    }

    #[test]
    fn a_line_within_a_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"one\ntwo\n");
        let (mut lines, mut complete) = (Lines::default(), Vec::new());
        lines.push(&chunk, &mut complete).unwrap();
        assert_eq!(complete[1].as_ptr(), chunk[4..].as_ptr());
    }

    #[test]
    fn a_line_that_is_too_long_is_refused() {
        let (mut lines, mut complete) = (Lines::default(), Vec::new());
        let chunk = Bytes::from(vec![b'x'; LINE_LIMIT / 2 + 1]);
        assert!(lines.push(&chunk, &mut complete).is_ok());
        assert!(lines.push(&chunk, &mut complete).is_err());
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_body_is_split_into_chunks(
            text in prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..60),
            cuts in prop::collection::vec(0usize..60, 0..8),
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks: Vec<_> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            prop_assert_eq!(lines_of(&chunks), lines_of(&[&text]));
        }
    }
}
