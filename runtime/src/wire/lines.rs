//! Splits the chunks of a body into lines.

use std::ops::Range;

/// The maximum length of a line. The objects of an API server have at most a few megabytes.
pub(crate) const LINE_LIMIT: usize = 64 << 20;

/// A line that is longer than [`LINE_LIMIT`].
#[derive(Debug, thiserror::Error)]
#[error("a line of the stream is longer than {LINE_LIMIT} bytes")]
pub(crate) struct LineTooLong;

/// Collects chunks and finds the lines in them.
///
/// Chunks end anywhere, so most lines of a busy stream span two chunks. All chunks are copied into one
/// buffer. This costs less than an allocation for each such line, and releases the buffer of the connection
/// at once.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    /// The complete lines in the buffer.
    complete: Vec<Range<usize>>,
    /// The start of the incomplete line, which extends to the end of the buffer.
    incomplete: usize,
}

/// Complete lines, without line ends. Empty lines are left out.
#[derive(Debug, Default)]
pub(crate) struct LineBatch {
    buffer: Vec<u8>,
    lines: Vec<Range<usize>>,
}

impl Lines {
    /// Adds a chunk.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), LineTooLong> {
        let begin = self.buffer.len();
        self.buffer.extend_from_slice(chunk);
        for end in memchr::memchr_iter(b'\n', chunk) {
            let line = self.incomplete..begin + end;
            if !self.buffer[line.clone()].trim_ascii().is_empty() {
                self.complete.push(line);
            }
            self.incomplete = begin + end + 1;
        }
        match self.buffer.len() - self.incomplete > LINE_LIMIT {
            true => Err(LineTooLong),
            false => Ok(()),
        }
    }

    /// Returns whether there is no complete line.
    pub(crate) fn is_empty(&self) -> bool {
        self.complete.is_empty()
    }

    /// Takes the complete lines. The start of an incomplete line is kept.
    pub(crate) fn take(&mut self) -> LineBatch {
        if self.complete.is_empty() {
            return LineBatch::default();
        }
        let rest = &self.buffer[self.incomplete..];
        // The next batch will probably need as much space as this one.
        let mut next = Vec::with_capacity(self.buffer.len());
        next.extend_from_slice(rest);
        self.incomplete = 0;
        let buffer = std::mem::replace(&mut self.buffer, next);
        LineBatch { buffer, lines: std::mem::take(&mut self.complete) }
    }
}

impl LineBatch {
    /// Returns the number of lines.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether there are no lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the number of bytes, including line ends.
    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the line with this index.
    pub(crate) fn get(&self, number: usize) -> Option<&[u8]> {
        self.lines.get(number).map(|line| &self.buffer[line.clone()])
    }

    /// Iterates over the lines.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().map(|line| &self.buffer[line.clone()])
    }
}

#[cfg(test)]
mod tests {
    use genclient_tally::Tally;
    use proptest::{prelude::*, test_runner::TestRunner};

    use super::*;

    /// Returns the lines of all chunks, taken after each chunk or at the end, and whether one is incomplete.
    fn lines_of(chunks: &[&[u8]], take_often: bool) -> (Vec<Vec<u8>>, bool) {
        let (mut lines, mut complete) = (Lines::default(), Vec::new());
        for (number, chunk) in chunks.iter().enumerate() {
            lines.push(chunk).unwrap();
            if take_often || number + 1 == chunks.len() {
                complete.extend(lines.take().iter().map(<[u8]>::to_vec));
                assert!(lines.is_empty());
            }
        }
        (complete, lines.buffer.len() > lines.incomplete)
    }

    #[test]
    fn a_line_can_span_chunks_and_an_incomplete_one_is_kept() {
        for take_often in [false, true] {
            let (lines, partial) = lines_of(&[b"on", b"e\ntwo\nth", b"re", b"e\n\r\nfour"], take_often);
            assert_eq!(lines, [&b"one"[..], b"two", b"three"]);
            assert!(partial);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; LINE_LIMIT / 2 + 1];
        assert!(lines.push(&chunk).is_ok());
        assert!(lines.push(&chunk).is_err());
    }

    #[test]
    fn lines_do_not_depend_on_how_the_body_is_split_into_chunks() {
        let tally = Tally::new();
        let bodies = (
            prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..60),
            prop::collection::vec(0usize..60, 0..8),
            any::<bool>(),
        );
        let config = ProptestConfig::with_source_file(file!());
        let tried = TestRunner::new(config).run(&bodies, |(text, cuts, take_often)| {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks: Vec<_> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            let expected = lines_of(&[&text], false);
            tally.add(if take_often { "line taken early" } else { "line" }, expected.0.len());
            tally.add("incomplete", usize::from(expected.1));
            let spans = |cut: &&usize| cut.checked_sub(1).is_some_and(|before| text[before] != b'\n');
            tally.add(
                "line in two chunks",
                cuts.iter().filter(|cut| **cut < text.len()).filter(spans).count(),
            );
            prop_assert_eq!(lines_of(&chunks, take_often), expected);
            Ok(())
        });
        tried.unwrap_or_else(|error| panic!("{error}"));
        tally.require(&[
            ("line", 200),
            ("line taken early", 200),
            ("line in two chunks", 80),
            ("incomplete", 50),
        ]);
    }
}
