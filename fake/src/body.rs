//! The body of an answer.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::{
    Dropped,
    kinds::ResourceId,
    reactors::{Ending, Switch},
    watch::Watch,
};

/// The body of an answer: all of it, or the events of a watch as they happen.
#[derive(Debug)]
pub struct ResponseBody(Content);

#[derive(Debug)]
enum Content {
    Whole(Option<Bytes>),
    Watch(Box<Watch>, Arc<Switch>),
}

impl ResponseBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Content::Whole(Some(bytes.into())))
    }

    pub(crate) fn watch(watch: Box<Watch>) -> Self {
        Self(Content::Watch(watch, Arc::default()))
    }

    /// Returns whether the body is the events of a watch.
    pub fn is_watch(&self) -> bool {
        matches!(self.0, Content::Watch(..))
    }

    /// Returns the bytes of a body that is no watch. Those of a watch are not known yet.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.0 {
            Content::Whole(bytes) => bytes.as_ref(),
            Content::Watch(..) => None,
        }
    }

    /// Returns the resource of a watch, and what ends it.
    pub(crate) fn switch(&self) -> Option<(&ResourceId, &Arc<Switch>)> {
        match &self.0 {
            Content::Whole(_) => None,
            Content::Watch(watch, switch) => Some((watch.resource(), switch)),
        }
    }

    /// Ends a watch after so many events.
    pub(crate) fn end_after(&self, events: usize, ending: Ending) {
        if let Some((_, switch)) = self.switch() {
            switch.end_after(events, ending);
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Dropped;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Dropped>>> {
        match &mut self.0 {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Watch(watch, switch) => match switch.poll(context.waker()) {
                Some(Ending::Cut) => Poll::Ready(Some(Err(Dropped))),
                Some(Ending::End) => Poll::Ready(None),
                Some(Ending::Last(frame)) => Poll::Ready(Some(Ok(Frame::data(frame)))),
                None => {
                    let polled = watch.poll_frame(context);
                    if matches!(polled, Poll::Ready(Some(_))) {
                        switch.count();
                    }
                    polled.map(|frame| frame.map(|frame| Ok(Frame::data(frame))))
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Content::Watch(..) => SizeHint::default(),
        }
    }
}
