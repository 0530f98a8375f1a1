//! The typed client's watch: a stream that resumes by itself.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream::BoxStream};
use kube::{api::ListParams, core::ApiResource};
use tokio::time::Instant;

use super::{ApiObject, TypedClient};
use crate::{
    backoff::{Backoff, BackoffConfig},
    decode::{Decoded, decode_event},
    delta::{InvalidObject, Scope},
    error::{Cause, Error, Result},
    object::CacheObject as _,
    wire::{Collection, SHORT_WATCH, Selectors, Start, Timeouts, Watch},
};

/// One change that a watch tells of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// An object is there: it was created, came under the selectors, or existed when the watch began.
    Added(K),
    /// An object was changed.
    Modified(K),
    /// An object is gone, or no longer under the selectors; this is its last state.
    Deleted(K),
    /// Nothing else happened up to this version.
    Bookmark {
        /// The version that was reached.
        resource_version: String,
    },
    /// An object was added, changed or deleted, and does not decode.
    Invalid(InvalidObject),
}

/// A stream of changes that resumes by itself.
///
/// - The end of the server's patience, a lost connection, a busy or failing server are not seen: the
///   watch goes on from the last version, after a pause where something failed.
/// - What cannot be resumed is told once as an error, and ends the stream: the version has expired
///   ([`Error::is_gone`]), the resource does not exist, the caller is not allowed to watch it. Whoever
///   needs more than that wants an informer, which lists again.
/// - A watch that names no version begins with the objects that exist, as `Added`. If it is cut
///   before it has told them all, it begins anew, and objects are told as `Added` again.
pub struct WatchStream<K>(BoxStream<'static, Result<WatchEvent<K>>>);

impl<K: ApiObject> WatchStream<K> {
    pub(super) fn open(client: &TypedClient<K>, params: &ListParams) -> Self {
        let collection = Collection {
            client: client.client.clone(),
            resource: ApiResource::erase::<K>(&()),
            scope: client.namespace.as_deref().map_or(Scope::All, |name| Scope::Namespace(name.into())),
            selectors: Selectors {
                labels: params.label_selector.clone(),
                fields: params.field_selector.clone(),
            },
            metadata_only: K::metadata_api(),
            timeouts: Timeouts::default(),
        };
        let resuming = Resuming {
            collection,
            version: params.resource_version.clone(),
            watch: None,
            events: VecDeque::new(),
            backoff: Backoff::new(BackoffConfig::default()),
            pause: Duration::ZERO,
            opened: Instant::now(),
            over: false,
        };
        Self(
            futures::stream::unfold(resuming, |mut resuming| async move {
                let event = resuming.next().await?;
                Some((event, resuming))
            })
            .boxed(),
        )
    }
}

impl<K> Stream for WatchStream<K> {
    type Item = Result<WatchEvent<K>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

impl<K> std::fmt::Debug for WatchStream<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchStream").finish_non_exhaustive()
    }
}

struct Resuming<K> {
    collection: Collection,
    /// Where to go on, once that is known.
    version: Option<String>,
    watch: Option<Watch>,
    events: VecDeque<Result<WatchEvent<K>>>,
    backoff: Backoff,
    /// How long to wait before the next attempt.
    pause: Duration,
    opened: Instant,
    over: bool,
}

impl<K: ApiObject> Resuming<K> {
    async fn next(&mut self) -> Option<Result<WatchEvent<K>>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            let outcome = match &mut self.watch {
                None => self.connect().await,
                Some(watch) => match watch.next().await {
                    Some(Ok(lines)) => self.take(&lines),
                    Some(Err(error)) => Err(error),
                    None => {
                        self.end();
                        Ok(())
                    }
                },
            };
            if let Err(error) = outcome {
                self.watch = None;
                if can_resume(&error) {
                    self.pause = self.backoff.next().max(error.retry_after().unwrap_or_default());
                    let (kind, pause) = (&self.collection.resource.kind, self.pause);
                    tracing::debug!(%kind, %error, ?pause, "the watch resumes after a pause");
                } else {
                    self.over = true;
                    self.events.push_back(Err(error));
                }
            }
        }
    }

    /// The server ended the watch. One that it ends at once would be opened at once, again and again.
    fn end(&mut self) {
        self.watch = None;
        if self.opened.elapsed() < SHORT_WATCH {
            self.pause = self.backoff.next();
        }
    }

    async fn connect(&mut self) -> Result<()> {
        tokio::time::sleep(std::mem::take(&mut self.pause)).await;
        self.opened = Instant::now();
        let start = self.version.as_deref().map_or(Start::Anywhere, Start::After);
        self.watch = Some(self.collection.watch(start).await?);
        Ok(())
    }

    fn take(&mut self, lines: &[Bytes]) -> Result<()> {
        for line in lines {
            // The typed client shows objects as they are, managedFields included.
            let decoded = decode_event::<K>(line, true).map_err(|error| {
                let cause = Cause::Decode { path: ".".to_owned(), source: error.into_json() };
                Error::new(self.collection.operation("watch"), cause, None)
            })?;
            let (event, version) = match decoded {
                Decoded::Error(status) => {
                    return Err(Error::new(
                        self.collection.operation("watch"),
                        Cause::Kube(kube::Error::Api(status)),
                        None,
                    ));
                }
                Decoded::Unknown => continue,
                Decoded::Added(object) => {
                    let version = object.resource_version().to_owned();
                    // Without a version the first objects come in no order, and the version of one of
                    // them is no place from which the others would still be told.
                    (WatchEvent::Added(object), self.version.is_some().then_some(version))
                }
                Decoded::Modified(object) => {
                    let version = object.resource_version().to_owned();
                    (WatchEvent::Modified(object), Some(version))
                }
                Decoded::Deleted(object) => {
                    let version = object.resource_version().to_owned();
                    (WatchEvent::Deleted(object), Some(version))
                }
                Decoded::Bookmark { resource_version, .. } => {
                    let version = resource_version.clone();
                    (WatchEvent::Bookmark { resource_version }, Some(version))
                }
                Decoded::Invalid(invalid) | Decoded::InvalidDeleted(invalid) => {
                    let version = self.version.is_some().then(|| invalid.resource_version.clone());
                    (WatchEvent::Invalid(invalid), version)
                }
            };
            if let Some(version) = version.filter(|version| !version.is_empty()) {
                self.version = Some(version);
            }
            self.events.push_back(Ok(event));
        }
        Ok(())
    }
}

/// Whether a watch can go on from where it was after this error.
fn can_resume(error: &Error) -> bool {
    match error.cause() {
        Cause::InvalidRequest(_) => false,
        _ => match error.code() {
            Some(code) => code >= 500 || error.is_too_many_requests() || error.is_version_too_large(),
            None => true,
        },
    }
}
