//! A connection whose peer has to read what it is sent.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// How long a client may leave unread what it was sent.
const STALL: Duration = Duration::from_secs(60);

/// A stream whose writes fail if nothing could be written for a while. Otherwise a client that stops reading would
/// hold its watch, and the objects in it, for as long as it likes.
pub(super) struct Stalling<S> {
    stream: S,
    /// When the write that waits fails.
    deadline: Pin<Box<Sleep>>,
    waiting: bool,
}

impl<S> Stalling<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, deadline: Box::pin(sleep(STALL)), waiting: false }
    }

    /// Fails if a write waits for too long.
    fn check<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = false;
            return written;
        }
        if !self.waiting {
            self.waiting = true;
            self.deadline.as_mut().reset(Instant::now() + STALL);
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answers")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_given_up() {
        let (mut client, server) = tokio::io::duplex(16);
        let mut server = Stalling::new(server);
        let start = Instant::now();
        let error = server.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), STALL.as_secs());
        let mut some = [0; 16];
        client.read_exact(&mut some).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_is_not() {
        let (mut client, server) = tokio::io::duplex(16);
        let mut server = Stalling::new(server);
        let writer = tokio::spawn(async move { server.write_all(&[0; 160]).await });
        let mut some = [0; 16];
        for _ in 0..10 {
            tokio::time::sleep(STALL - Duration::from_secs(1)).await;
            client.read_exact(&mut some).await.unwrap();
        }
        writer.await.unwrap().unwrap();
    }
}
