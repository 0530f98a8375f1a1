//! An open watch, read line by line.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::Response;
use http_body::Body as _;
use kube::client::Body;
use tokio::time::Instant;

use super::{
    connection::{Borrowed, ConnectionHandle, Rest},
    lines::{LineBatch, Lines},
};
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

/// A stream that brings more bytes than this within [`BUSY_WINDOW`] is as fast as its reader, which never
/// waits for it.
const FAST_BYTES: usize = 512 << 10;

/// How long the bytes of a busy stream gather before they are read. A server sends a busy stream in chunks of
/// two kilobytes, and waking up for each of them costs several times as much as reading it.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

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
    /// `None` if the client's connections cannot be borrowed.
    connection: Option<Borrowed>,
    pause: Option<Pause>,
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

/// While it lasts, nothing is read.
struct Pause {
    end: Instant,
    _rest: Option<Rest>,
}

enum End {
    Regular,
    Cut(Box<Cause>),
}

impl Watch {
    pub(super) fn new(
        response: Response<Body>,
        operation: Operation,
        deadline: Instant,
        silence: Duration,
    ) -> Self {
        Self {
            connection: response.extensions().get().and_then(ConnectionHandle::borrow),
            body: response.into_body(),
            lines: Lines::default(),
            gathered_bytes: 0,
            pace: Pace::new(),
            pause: None,
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

    /// The next lines: all that have arrived, and at least one. After those of a busy stream the next ones
    /// gather for a moment. `None` is the regular end, and the only answer after an error. Lines that were
    /// complete before a cut come before its error.
    pub(crate) async fn next(&mut self) -> Option<Result<LineBatch>> {
        let begin = Instant::now();
        self.gather(false).await;
        let waited = begin.elapsed();
        if waited >= SHORT_WAIT {
            self.silent += waited;
        }
        if !self.is_full() && self.pace.is_busy() && !self.pace.is_fast() {
            let rest = self.connection.as_ref().map(Borrowed::rest);
            self.pause = Some(Pause { end: Instant::now() + BUSY_PAUSE, _rest: rest });
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

    /// Whether the server sends as fast as it can be read.
    pub(crate) fn is_fast(&self) -> bool {
        self.pace.is_fast()
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
                if let Some(pause) = &self.pause {
                    tokio::time::sleep_until(pause.end).await;
                }
                loop {
                    let before = self.gathered_bytes;
                    poll_fn(|context| self.poll_gather(fills, context)).await;
                    let is_driven = self.connection.is_some();
                    if fills || is_driven || self.is_full() || self.gathered_bytes == before {
                        return;
                    }
                    // A connection that is a task of its own hands over one chunk at a time, and reads on
                    // when it runs again. Let it run before deciding that nothing more has arrived: decoding
                    // and applying many lines at once is several times faster than line by line.
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
        let waits = |watch: &Self| fills || watch.lines.is_empty();
        let result = match self.connection.take() {
            None => self.poll_frames(context),
            Some(connection) => {
                let result = connection.poll(context, self, Self::poll_frames, waits);
                self.connection = Some(connection);
                result
            }
        };
        match result {
            Poll::Pending if waits(self) => Poll::Pending,
            Poll::Pending | Poll::Ready(()) => Poll::Ready(()),
        }
    }

    /// Takes chunks until there is a whole batch.
    fn poll_frames(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.pause = None;
        while !self.is_full() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None => self.end = Some(End::Regular),
                Some(Err(error)) => self.end = Some(End::cut(error)),
                Some(Ok(frame)) => {
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

    /// Whether the stream was fast when the last bytes came.
    fn is_fast(&self) -> bool {
        self.bytes.max(self.before) > FAST_BYTES
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
    use http::Request;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };
    use tower::service_fn;

    use super::*;

    /// A watch to which lines of a kilobyte come at once, one more after a millisecond, and then nothing.
    async fn watch_of(lines: usize) -> Watch {
        let service = service_fn(move |_: Request<Body>| async move {
            let line = Bytes::from([vec![b'x'; 1023], vec![b'\n']].concat());
            let frame = move || Ok::<_, Infallible>(Frame::data(line.clone()));
            let last = frame.clone();
            let last = async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                last()
            };
            let body = StreamBody::new(
                stream::iter((0..lines).map(move |_| frame()))
                    .chain(stream::once(Box::pin(last)))
                    .chain(stream::pending()),
            );
            Ok::<_, Infallible>(Response::new(body))
        });
        watch(kube::Client::new(service, "").send(Request::new(Body::empty())).await.unwrap())
    }

    fn watch(response: Response<Body>) -> Watch {
        let operation = Operation {
            verb: "watch",
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: None,
            subresource: None,
        };
        let later = Instant::now() + Duration::from_secs(60);
        Watch::new(response, operation, later, Duration::from_secs(60))
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_events_pass_at_once_and_those_of_a_busy_stream_gather_for_a_moment() {
        let millisecond = Duration::from_millis(1);
        for (lines, next) in [(1, millisecond), (10, millisecond), (40, BUSY_PAUSE)] {
            let mut watch = watch_of(lines).await;
            let begin = Instant::now();
            assert_eq!(watch.next().await.unwrap().unwrap().len(), lines);
            assert_eq!(begin.elapsed(), Duration::ZERO, "{lines} lines");
            assert_eq!(watch.next().await.unwrap().unwrap().len(), 1);
            assert_eq!(begin.elapsed(), next, "after {lines} lines");
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
        pace.add(FAST_BYTES, at(90));
        assert!(!pace.is_fast(), "it can be read much faster");
        pace.add(1, at(99));
        assert!(pace.is_fast());
    }

    #[tokio::test]
    async fn all_lines_that_have_arrived_are_read_at_once_without_waking_another_task() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", server.local_addr().unwrap()).parse().unwrap();
        let client = crate::client::connect(kube::Config::new(url)).unwrap();
        let (response, mut connection) = tokio::join!(client.send(Request::new(Body::empty())), async {
            let mut connection = server.accept().await.unwrap().0;
            let _ = connection.read(&mut [0; 1024]).await.unwrap();
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            connection.write_all(head.as_bytes()).await.unwrap();
            connection
        });
        let mut watch = watch(response.unwrap());
        for lines in [1, 30, 40, 1] {
            for _ in 0..lines {
                let chunk = format!("400\r\n{}\n\r\n", "x".repeat(1023));
                connection.write_all(chunk.as_bytes()).await.unwrap();
            }
            // The reader borrowed the connection, so nothing is read meanwhile.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let mut read = 0;
            let mut turns = 0;
            while read < lines {
                turns += 1;
                read += watch.next().await.unwrap().unwrap().len();
            }
            assert_eq!((read, turns), (lines, 1));
        }
        connection.write_all(b"0\r\n\r\n").await.unwrap();
        assert!(watch.next().await.is_none());
    }
}
