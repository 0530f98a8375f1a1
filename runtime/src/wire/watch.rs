//! An open watch, read line by line.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http_body::Body as _;
use kube::client::Body;
use tokio::time::Instant;

use super::lines::{LineBatch, Lines};
use crate::{
    bucket::later,
    error::{Cause, Error, Operation, Result},
};

/// The most bytes that are gathered into one batch.
const BATCH_BYTES: usize = 256 << 10;

/// A stream that brings more bytes than this within [`BUSY_WINDOW`] is busy.
const BUSY_BYTES: usize = 16 << 10;

/// See [`BUSY_BYTES`].
const BUSY_WINDOW: Duration = Duration::from_millis(10);

/// How long a reader lets the bytes of a busy stream gather. A server sends a busy stream in chunks of two
/// kilobytes, and waking up for each of them costs several times as much as reading it.
const BUSY_PAUSE: Duration = Duration::from_millis(3);

/// A wait for the server that is shorter is not counted as silence.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// How long a reader listens at least before it takes the server for silent.
const LISTEN: Duration = Duration::from_secs(5);

/// An open watch.
pub(crate) struct Watch {
    body: Body,
    /// What was not returned yet.
    lines: Lines,
    /// How many bytes came since lines were returned.
    gathered_bytes: usize,
    pace: Pace,
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
            gathered_bytes: 0,
            pace: Pace::new(),
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

    /// The next lines: all that have arrived, and at least one. On a busy stream they are gathered for a
    /// moment. `None` is the regular end, and the only answer after an error. Lines that were complete before a cut come before its error.
    pub(crate) async fn next(&mut self) -> Option<Result<LineBatch>> {
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
        self.end.is_some() || !self.lines.is_empty() && self.gathered_bytes >= BATCH_BYTES
    }

    /// A whole batch of lines, or the last ones, if they have been gathered.
    pub(crate) fn take_batch(&mut self) -> Option<LineBatch> {
        (self.is_full() && !self.lines.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> LineBatch {
        self.gathered_bytes = 0;
        self.lines.take()
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
                let mut paused = false;
                loop {
                    let before = self.gathered_bytes;
                    poll_fn(|context| self.poll_gather(fills, context)).await;
                    if fills || self.is_full() {
                        return;
                    }
                    if self.gathered_bytes == before {
                        if paused || !self.pace.is_busy() {
                            return;
                        }
                        // While nobody asks for the next chunk, the connection does not read, and the
                        // kernel gathers what comes.
                        tokio::time::sleep(BUSY_PAUSE).await;
                        paused = true;
                        continue;
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
                Poll::Pending if fills || self.lines.is_empty() => return Poll::Pending,
                Poll::Pending => break,
                Poll::Ready(None) => self.end = Some(End::Regular),
                Poll::Ready(Some(Err(error))) => self.end = Some(End::cut(error)),
                Poll::Ready(Some(Ok(frame))) => {
                    self.heard = Instant::now();
                    // Trailers say nothing about objects.
                    let Ok(chunk) = frame.into_data() else { continue };
                    self.gathered_bytes += chunk.len();
                    self.pace.add(chunk.len(), self.heard);
                    if let Err(error) = self.lines.push(&chunk) {
                        let error = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
                        self.end = Some(End::cut(kube::Error::ReadEvents(error)));
                    }
                }
            }
        }
        Poll::Ready(())
    }
}

/// How many bytes came lately.
struct Pace {
    /// The beginning of the present window.
    window: Instant,
    bytes: usize,
    /// The bytes of the window before it.
    before: usize,
}

impl Pace {
    fn new() -> Self {
        Self { window: Instant::now(), bytes: 0, before: 0 }
    }

    fn add(&mut self, bytes: usize, now: Instant) {
        let passed = now.saturating_duration_since(self.window);
        if passed >= BUSY_WINDOW {
            self.before = if passed < 2 * BUSY_WINDOW { self.bytes } else { 0 };
            (self.window, self.bytes) = (now, 0);
        }
        self.bytes += bytes;
    }

    /// Whether the stream was busy when the last bytes came.
    fn is_busy(&self) -> bool {
        self.bytes.max(self.before) > BUSY_BYTES
    }
}

impl End {
    fn cut(error: kube::Error) -> Self {
        Self::Cut(Box::new(Cause::Kube(error)))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use futures::{StreamExt as _, stream};
    use http::{Request, Response};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tower::service_fn;

    use super::*;

    /// A watch to which lines of a kilobyte come at once, and nothing after them.
    async fn watch_of(lines: usize) -> Watch {
        let service = service_fn(move |_: Request<Body>| async move {
            let line = Bytes::from([vec![b'x'; 1023], vec![b'\n']].concat());
            let frames = (0..lines).map(move |_| Ok::<_, Infallible>(Frame::data(line.clone())));
            let body = StreamBody::new(stream::iter(frames).chain(stream::pending()));
            Ok::<_, Infallible>(Response::new(body))
        });
        let response = kube::Client::new(service, "").send(Request::new(Body::empty())).await.unwrap();
        let operation = Operation {
            verb: "watch",
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: None,
            subresource: None,
        };
        let later = Instant::now() + Duration::from_secs(60);
        Watch::new(response.into_body(), operation, later, Duration::from_secs(60))
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_events_pass_at_once_and_those_of_a_busy_stream_gather_for_a_moment() {
        for (lines, pause) in [(1, Duration::ZERO), (10, Duration::ZERO), (40, BUSY_PAUSE)] {
            let mut watch = watch_of(lines).await;
            let begin = Instant::now();
            assert_eq!(watch.next().await.unwrap().unwrap().len(), lines);
            assert_eq!(begin.elapsed(), pause, "{lines} lines");
        }
    }

    #[test]
    fn a_stream_is_busy_while_more_than_16_kilobytes_come_in_10_milliseconds() {
        let begin = Instant::now();
        let mut pace = Pace::new();
        let at = |milliseconds| begin + Duration::from_millis(milliseconds);
        for millisecond in 0..5 {
            pace.add(2 << 10, at(millisecond));
        }
        assert!(!pace.is_busy(), "a short burst is passed on at once");
        for millisecond in 5..40 {
            pace.add(8 << 10, at(millisecond));
        }
        assert!(pace.is_busy());
        pace.add(1 << 10, at(41));
        assert!(pace.is_busy(), "the window before this one counts");
        pace.add(1 << 10, at(70));
        assert!(!pace.is_busy());
    }
}
