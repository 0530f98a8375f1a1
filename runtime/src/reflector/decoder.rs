//! From bytes to objects, each with the last touch on it.
//!
//! Much at once is decoded on the runtime's threads for blocking work: there it holds up no task, and
//! the connection is read on meanwhile. A few lines are decoded where they are, which is quicker than
//! to send them away.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use bytes::Bytes;
use tokio::task::{JoinError, JoinHandle};

use super::Transform;
use crate::{
    decode::{Decoded, ListPage, Unreadable, decode_event, decode_list},
    delta::InvalidObject,
    object::{ObjectKey, Watched},
    panics,
};

/// Fewer bytes than this are decoded where they are.
const FEW_BYTES: usize = 16 << 10;

/// Decodes objects as a reflector is configured to.
pub(super) struct Decoder<K> {
    pub(super) keep_managed_fields: bool,
    pub(super) transform: Option<Transform<K>>,
}

/// What some lines of a watch say.
pub(super) struct DecodedLines<K> {
    pub(super) events: Vec<Decoded<Arc<K>>>,
    /// Why the line after these events could not be read, if there was such a line.
    pub(super) unreadable: Option<Unreadable>,
}

/// Whether these lines are so few that they are best decoded where they are.
pub(super) fn are_few(lines: &[Bytes]) -> bool {
    lines.iter().map(Bytes::len).sum::<usize>() < FEW_BYTES
}

impl<K: Watched> Decoder<K> {
    /// Decodes lines, up to the first that cannot be read.
    pub(super) fn lines(&self, lines: &[Bytes]) -> DecodedLines<K> {
        let mut events = Vec::with_capacity(lines.len());
        for line in lines {
            match decode_event(line, self.keep_managed_fields) {
                Ok(decoded) => events.push(self.finish_event(decoded)),
                Err(error) => return DecodedLines { events, unreadable: Some(error) },
            }
        }
        DecodedLines { events, unreadable: None }
    }

    /// The same on another thread.
    pub(super) fn lines_aside(self: &Arc<Self>, lines: Vec<Bytes>) -> JoinHandle<DecodedLines<K>> {
        let decoder = self.clone();
        tokio::task::spawn_blocking(move || decoder.lines(&lines))
    }

    /// Decodes a page of a list.
    pub(super) async fn list(self: &Arc<Self>, body: Bytes) -> Result<ListPage<Arc<K>>, Unreadable> {
        if body.len() < FEW_BYTES {
            return self.list_here(&body);
        }
        let decoder = self.clone();
        joined(tokio::task::spawn_blocking(move || decoder.list_here(&body))).await
    }

    fn list_here(&self, body: &[u8]) -> Result<ListPage<Arc<K>>, Unreadable> {
        let page = decode_list::<K>(body, self.keep_managed_fields)?;
        let (mut objects, mut invalid) = (Vec::with_capacity(page.objects.len()), page.invalid);
        for object in page.objects {
            match self.finish(object) {
                Ok(object) => objects.push(object),
                Err(broken) => invalid.push(broken),
            }
        }
        Ok(ListPage { objects, invalid, resource_version: page.resource_version, next: page.next })
    }

    fn finish_event(&self, decoded: Decoded<K>) -> Decoded<Arc<K>> {
        match decoded {
            Decoded::Added(object) => self.finish(object).map_or_else(Decoded::Invalid, Decoded::Added),
            Decoded::Modified(object) => self.finish(object).map_or_else(Decoded::Invalid, Decoded::Modified),
            Decoded::Deleted(object) => {
                self.finish(object).map_or_else(Decoded::InvalidDeleted, Decoded::Deleted)
            }
            Decoded::Bookmark { resource_version, initial_events_end } => {
                Decoded::Bookmark { resource_version, initial_events_end }
            }
            Decoded::Error(status) => Decoded::Error(status),
            Decoded::Invalid(invalid) => Decoded::Invalid(invalid),
            Decoded::InvalidDeleted(invalid) => Decoded::InvalidDeleted(invalid),
            Decoded::Unknown => Decoded::Unknown,
        }
    }

    /// The last touch on an object before others see it. A transform that panics makes the object
    /// one that could not be decoded, and leaves the others alone.
    fn finish(&self, mut object: K) -> Result<Arc<K>, InvalidObject> {
        let Some(transform) = &self.transform else { return Ok(Arc::new(object)) };
        match catch_unwind(AssertUnwindSafe(|| transform(&mut object))) {
            Ok(()) => Ok(Arc::new(object)),
            Err(panic) => Err(InvalidObject {
                key: ObjectKey::of(&object),
                uid: object.uid().to_owned(),
                resource_version: object.resource_version().to_owned(),
                error: format!("the transform panicked: {}", panics::message(&*panic)),
            }),
        }
    }
}

/// What another thread has made. It panics here if it panicked there.
pub(super) async fn joined<T>(work: impl Future<Output = Result<T, JoinError>>) -> T {
    match work.await {
        Ok(made) => made,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime shuts down, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
