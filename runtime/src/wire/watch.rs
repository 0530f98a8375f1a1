//! An open watch, read line by line.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::Response;
use http_body::Body as _;
use kube::client::Body;
use tokio::time::Instant;

use super::{
    SelfPolled,
    gunzip::Gunzip,
    lines::{LineBatch, Lines},
};
use crate::{
    bucket::later,
    error::{Cause, Error, Operation, Result},
};

/// A batch is complete when it has this many bytes.
const BATCH_BYTES: usize = 256 << 10;

/// The minimum time for which a reader listens before it reports the server as silent.
const LISTEN: Duration = Duration::from_secs(5);

/// An open watch.
pub(crate) struct Watch {
    body: Body,
    is_self_polled: bool,
    /// Decompresses the body, if it is compressed.
    gunzip: Option<Gunzip>,
    /// The data that was not returned yet.
    lines: Lines,
    /// The number of bytes that arrived since lines were last returned.
    gathered_bytes: usize,
    /// The time at which the watch ends if the server does not end it before.
    deadline: Instant,
    /// The maximum time without data from the server.
    silence: Duration,
    /// The time at which the last bytes arrived, or at which the limit of silence was last set.
    heard: Instant,
    operation: Operation,
    /// The end of the body, once it is known.
    end: Option<End>,
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
            gunzip: Gunzip::of(&response),
            is_self_polled: response.extensions().get::<SelfPolled>().is_some(),
            body: response.into_body(),
            lines: Lines::default(),
            gathered_bytes: 0,
            deadline,
            silence,
            heard: Instant::now(),
            operation,
            end: None,
        }
    }

    /// Allows the server to stay silent for this long, from now on.
    pub(crate) fn allow_silence(&mut self, silence: Duration) {
        self.silence = silence;
        self.heard = Instant::now();
    }

    /// Waits for at least one line and returns all that have arrived, up to a batch. Returns `None` at the
    /// regular end and after an error. Lines that were complete before a cut are returned before its error.
    pub(crate) async fn next(&mut self) -> Option<Result<LineBatch>> {
        self.gather().await;
        self.gathered_bytes = 0;
        let lines = self.lines.take();
        if !lines.is_empty() {
            return Some(Ok(lines));
        }
        match self.end.replace(End::Regular) {
            Some(End::Cut(cause)) => Some(Err(Error::new(self.operation.clone(), *cause, None))),
            Some(End::Regular) | None => None,
        }
    }

    /// Waits for lines or for the end, within the limits of the watch.
    async fn gather(&mut self) {
        let begin = Instant::now();
        loop {
            // After a long pause in reading, listen briefly before reporting silence.
            let listened = begin + self.silence.min(LISTEN);
            let (deadline, silent_at) = (self.deadline, later(self.heard, self.silence).max(listened));
            if tokio::time::timeout_at(deadline.min(silent_at), self.read()).await.is_ok() {
                return;
            }
            if Instant::now() >= deadline {
                // The server should have ended the watch by now. The connection may be dead.
                self.end = Some(End::Regular);
                return;
            }
            // Bytes that arrived in the meantime extend the limit.
            if Instant::now() >= later(self.heard, self.silence) {
                self.end = Some(End::Cut(Box::new(Cause::Timeout(self.silence))));
                return;
            }
        }
    }

    /// Waits for at least one line or the end, and takes all other data that has arrived, up to a batch.
    async fn read(&mut self) {
        loop {
            let before = self.gathered_bytes;
            poll_fn(|context| self.poll_frames(context)).await;
            if self.is_self_polled || self.is_full() || self.gathered_bytes == before {
                return;
            }
            // Another task polls the connection and passes on one chunk at a time. Let it run: decoding and
            // applying many lines at once is several times faster than line by line.
            tokio::task::yield_now().await;
        }
    }

    fn is_full(&self) -> bool {
        self.end.is_some() || !self.lines.is_empty() && self.gathered_bytes >= BATCH_BYTES
    }

    fn push(&mut self, mut chunk: Bytes) -> io::Result<()> {
        if let Some(gunzip) = &mut self.gunzip {
            chunk = gunzip.push(&chunk)?;
        }
        self.gathered_bytes += chunk.len();
        self.lines.push(&chunk).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Takes chunks until the batch is complete, or until it has a line and no more data has arrived.
    fn poll_frames(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while !self.is_full() {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending if self.lines.is_empty() => return Poll::Pending,
                Poll::Pending => break,
                Poll::Ready(None) => self.end = Some(End::Regular),
                Poll::Ready(Some(Err(error))) => self.end = Some(End::cut(error)),
                Poll::Ready(Some(Ok(frame))) => {
                    self.heard = Instant::now();
                    // Trailers contain no objects.
                    let Ok(chunk) = frame.into_data() else { continue };
                    if let Err(error) = self.push(chunk) {
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

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    #[tokio::test]
    async fn all_lines_that_have_arrived_are_returned_at_once() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", server.local_addr().unwrap()).parse().unwrap();
        let client = crate::client::connect(kube::Config::new(url)).unwrap();
        let (response, mut connection) =
            tokio::join!(client.send(http::Request::new(Body::empty())), async {
                let mut connection = server.accept().await.unwrap().0;
                let _ = connection.read(&mut [0; 1024]).await.unwrap();
                let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                connection.write_all(head.as_bytes()).await.unwrap();
                connection
            });
        let operation = Operation {
            verb: "watch",
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: None,
            subresource: None,
        };
        let (later, silence) = (Instant::now() + Duration::from_secs(60), Duration::from_secs(60));
        let mut watch = Watch::new(response.unwrap(), operation, later, silence);
        for lines in [1, 30, 40, 1] {
            for _ in 0..lines {
                let chunk = format!("400\r\n{}\n\r\n", "x".repeat(1023));
                connection.write_all(chunk.as_bytes()).await.unwrap();
            }
            let (mut read, mut turns) = (0, 0);
            while read < lines {
                turns += 1;
                read += watch.next().await.unwrap().unwrap().len();
            }
            assert_eq!(read, lines);
            assert!(turns <= lines.div_ceil(10), "{lines} lines came in {turns} turns");
        }
        connection.write_all(b"0\r\n\r\n").await.unwrap();
        assert!(watch.next().await.is_none());
    }
}
