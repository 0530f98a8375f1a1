//! The text of a compressed stream, chunk by chunk.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::{Response, header};

/// Decompresses a body.
pub(super) struct Gunzip(MultiGzDecoder<Vec<u8>>);

impl Gunzip {
    /// Returns a decoder if the body of a response is compressed.
    pub(super) fn of<B>(response: &Response<B>) -> Option<Self> {
        let is_compressed =
            response.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding == "gzip");
        is_compressed.then(|| Self(MultiGzDecoder::new(Vec::new())))
    }

    /// Returns all text that the server had written when it sent this chunk.
    pub(super) fn push(&mut self, chunk: &[u8]) -> io::Result<Bytes> {
        self.0.write_all(chunk)?;
        self.0.flush()?;
        Ok(std::mem::take(self.0.get_mut()).into())
    }
}
