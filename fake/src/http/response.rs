//! The body of an answer while it is sent.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{Dropped, body::ResponseBody};

/// The body of an answer, which ends with the server, and whose end is logged if it is a watch.
pub(super) struct Served {
    body: ResponseBody,
    /// What ends a watch, and what is logged then.
    watch: Option<Watched>,
}

struct Watched {
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    request: String,
    start: Instant,
    events: u64,
}

impl Served {
    pub(super) fn new(body: ResponseBody, stop: CancellationToken, request: String, start: Instant) -> Self {
        let stop = || Box::pin(stop.cancelled_owned());
        let watch = body.is_watch().then(|| Watched { stop: stop(), request, start, events: 0 });
        Self { body, watch }
    }
}

impl Body for Served {
    type Data = Bytes;
    type Error = Dropped;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Dropped>>> {
        let this = &mut *self;
        if let Some(watch) = &mut this.watch {
            if watch.stop.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            let polled = Pin::new(&mut this.body).poll_frame(context);
            watch.events += u64::from(matches!(polled, Poll::Ready(Some(_))));
            return polled;
        }
        Pin::new(&mut this.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(Watched { request, start, events, .. }) = &self.watch {
            tracing::debug!(request, events, duration = ?start.elapsed(), "watch ended");
        }
    }
}
