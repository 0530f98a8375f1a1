//! An open watch, read line by line.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::Body as _;
use kube::client::Body;
use tokio::time::Instant;

use super::lines::Lines;
use crate::{
    bucket::later,
    error::{Cause, Error, Operation, Result},
};

/// The most bytes that are gathered into one batch.
const BATCH_BYTES: usize = 256 << 10;

/// A wait for the server that is shorter is not counted as silence.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// How long a reader listens at least before it takes the server for silent.
const LISTEN: Duration = Duration::from_secs(5);

/// An open watch.
pub(crate) struct Watch {
    body: Body,
    lines: Lines,
    /// Complete lines that were not returned yet.
    gathered: Vec<Bytes>,
    /// How many bytes came since lines were returned.
    gathered_bytes: usize,
    /// When the watch ends even if the server does not end it.
    deadline: Instant,
    /// How long the server may stay silent.
    silence: Duration,
    /// When the last bytes came.
    heard: Instant,
    /// How long the server was silent, in all.
    silent: Duration,
    operation: Operation,
    /// How the body ended, once it has.
    end: Option<End>,
}

enum End {
    Regular,
    Cut(Box<Cause>),
}

impl Watch {
    pub(super) fn new(body: Body, operation: Operation, deadline: Instant, silence: Duration) -> Self {
        Self {
            body,
            lines: Lines::default(),
            gathered: Vec::new(),
            gathered_bytes: 0,
            deadline,
            silence,
            heard: Instant::now(),
            silent: Duration::ZERO,
            operation,
            end: None,
        }
    }

    /// Allows the server to stay silent for this long, from now on.
    pub(crate) fn allow_silence(&mut self, silence: Duration) {
        self.silence = silence;
        self.heard = Instant::now();
    }

    /// How long the server has kept the reader waiting, in all.
    pub(crate) fn silent(&self) -> Duration {
        self.silent
    }

    /// The next lines: all that have arrived, and at least one. `None` is the regular end, and the
    /// only answer after an error. Lines that were complete before a cut come before its error.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<Bytes>>> {
        let begin = Instant::now();
        self.gather(false).await;
        let waited = begin.elapsed();
        if waited >= SHORT_WAIT {
            self.silent += waited;
        }
        let lines = self.take();
        if !lines.is_empty() {
            return Some(Ok(lines));
        }
        match self.end.replace(End::Regular) {
            Some(End::Cut(cause)) => Some(Err(Error::new(self.operation.clone(), *cause, None))),
            Some(End::Regular) | None => None,
        }
    }

    /// Gathers lines until a whole batch is there, or the watch has ended.
    pub(crate) async fn fill(&mut self) {
        self.gather(true).await;
    }

    /// Whether [`fill`](Self::fill) has nothing to do.
    pub(crate) fn is_full(&self) -> bool {
        self.end.is_some() || !self.gathered.is_empty() && self.gathered_bytes >= BATCH_BYTES
    }

    /// A whole batch of lines, or the last ones, if they have been gathered.
    pub(crate) fn take_batch(&mut self) -> Option<Vec<Bytes>> {
        (self.is_full() && !self.gathered.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> Vec<Bytes> {
        self.gathered_bytes = 0;
        std::mem::take(&mut self.gathered)
    }

    /// Waits for at least one line and takes what else has arrived or, if it `fills`, what comes until
    /// there is a whole batch. Dropping the future loses nothing.
    async fn gather(&mut self, fills: bool) {
        let begin = Instant::now();
        loop {
            // After a long pause in reading, wait briefly for data before reporting silence.
            let listened = begin + self.silence.min(LISTEN);
            let (deadline, silent_at) = (self.deadline, later(self.heard, self.silence).max(listened));
            let gathering = async {
                loop {
                    let before = self.gathered_bytes;
                    poll_fn(|context| self.poll_gather(fills, context)).await;
                    if fills || self.is_full() || self.gathered_bytes == before {
                        return;
                    }
                    // The connection hands over one chunk at a time, and reads on when its task runs
                    // again. Let it run before deciding that nothing more has arrived: decoding and
                    // applying many lines at once is several times faster than line by line.
                    tokio::task::yield_now().await;
                }
            };
            if tokio::time::timeout_at(deadline.min(silent_at), gathering).await.is_ok() {
                return;
            }
            if Instant::now() >= deadline {
                // The server had its time to end the watch, and the connection may be dead.
                self.end = Some(End::Regular);
                return;
            }
            // Bytes that came meanwhile may have postponed the limit.
            if Instant::now() >= later(self.heard, self.silence) {
                self.end = Some(End::Cut(Box::new(Cause::Timeout(self.silence))));
                return;
            }
        }
    }

    fn poll_gather(&mut self, fills: bool, context: &mut Context<'_>) -> Poll<()> {
        while !self.is_full() {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending if fills || self.gathered.is_empty() => return Poll::Pending,
                Poll::Pending => break,
                Poll::Ready(None) => self.end = Some(End::Regular),
                Poll::Ready(Some(Err(error))) => self.end = Some(End::cut(error)),
                Poll::Ready(Some(Ok(frame))) => {
                    self.heard = Instant::now();
                    // Trailers say nothing about objects.
                    let Ok(chunk) = frame.into_data() else { continue };
                    self.gathered_bytes += chunk.len();
                    if let Err(error) = self.lines.push(&chunk, &mut self.gathered) {
                        let error = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
                        self.end = Some(End::cut(kube::Error::ReadEvents(error)));
                    }
                }
            }
        }
        Poll::Ready(())
    }
}

impl End {
    fn cut(error: kube::Error) -> Self {
        Self::Cut(Box::new(Cause::Kube(error)))
    }
}
