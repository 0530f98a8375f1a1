//! The watch of a typed client: a stream that resumes automatically.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt as _, stream::BoxStream};
use kube::api::ListParams;
use tokio::time::Instant;

use super::{ApiObject, KindOf, RestClient, TypedClient};
use crate::{
    backoff::{Backoff, BackoffConfig},
    decode::{Decoded, decode_event},
    delta::{InvalidObject, Scope},
    error::{Cause, Error, Result},
    object::CacheObject as _,
    wire::{Collection, HEALTHY_WATCH, LineBatch, Selectors, Start, Timeouts, Watch},
};

/// The number of consecutive responses that the version is too large after which the watch ends.
const TOO_LARGE_LIMIT: u32 = 10;

/// An event of a watch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// An object was created, started to match the selectors, or existed when the watch began.
    Added(K),
    /// An object was changed.
    Modified(K),
    /// An object was deleted, or no longer matches the selectors. This is its last state.
    Deleted(K),
    /// All events up to this version were sent.
    Bookmark {
        /// The version.
        resource_version: String,
    },
    /// An object that does not decode was added, changed or deleted.
    Invalid(InvalidObject),
}

/// A stream of changes that resumes automatically.
///
/// - The regular end of a watch, a broken connection and a busy or failing server are not reported: the watch
///   resumes from the last version. It resumes at once if it delivered a new version or lasted for more than
///   5 seconds. Otherwise it pauses for up to 30 seconds, or for the server's `Retry-After`, up to 5 minutes.
/// - Other errors are reported and end the stream: the version has expired ([`Error::is_gone`]), the resource
///   does not exist, the caller may not watch it, the server sends unreadable data twice from the same
///   version, or it responds 10 times in a row that it has not reached the version. An informer lists again
///   in these cases.
/// - A watch without a version begins with the existing objects, as `Added`. If it breaks before the first
///   bookmark or change, it begins again and reports the objects as `Added` again.
pub struct WatchStream<K>(BoxStream<'static, Result<WatchEvent<K>>>);

impl<K: ApiObject> WatchStream<K> {
    pub(super) fn open<D: KindOf<K>>(client: &TypedClient<K, D>, params: &ListParams) -> Self {
        let collection = Collection {
            client: client.rest.client().clone(),
            resource: client.kind.api_resource(),
            scope: client.namespace.as_deref().map_or(Scope::All, |name| Scope::Namespace(name.into())),
            selectors: Selectors {
                labels: params.label_selector.clone(),
                fields: params.field_selector.clone(),
            },
            metadata_only: K::metadata_api(),
            keep_managed_fields: true,
            timeouts: Timeouts::default(),
        };
        let resuming = Resuming {
            rest: client.rest.clone(),
            collection,
            version: params.resource_version.clone(),
            watch: None,
            events: VecDeque::new(),
            backoff: Backoff::new(BackoffConfig::default()),
            pause: Duration::ZERO,
            opened: Instant::now(),
            moved_on: false,
            unreadable: false,
            too_large: 0,
            ended: false,
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
    rest: RestClient,
    collection: Collection,
    /// The version to resume from, once it is known.
    version: Option<String>,
    watch: Option<Watch>,
    /// Events that were read and not returned yet.
    events: VecDeque<Result<WatchEvent<K>>>,
    backoff: Backoff,
    /// The pause before the next attempt.
    pause: Duration,
    /// The time at which the current watch was opened.
    opened: Instant,
    /// Whether the current watch has changed `version`.
    moved_on: bool,
    /// Whether unreadable data arrived since `version` last changed.
    unreadable: bool,
    /// The number of consecutive responses that `version` is too large.
    too_large: u32,
    ended: bool,
}

impl<K: ApiObject> Resuming<K> {
    async fn next(&mut self) -> Option<Result<WatchEvent<K>>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            let outcome = match &mut self.watch {
                None => self.connect().await,
                Some(watch) => match watch.next().await {
                    Some(Ok(lines)) => self.take(&lines),
                    Some(Err(error)) => Err(error),
                    None => {
                        self.watch = None;
                        self.pause = self.pause_after_break();
                        Ok(())
                    }
                },
            };
            if let Err(error) = outcome {
                self.fail(error);
            }
        }
    }

    async fn connect(&mut self) -> Result<()> {
        tokio::time::sleep(std::mem::take(&mut self.pause)).await;
        // Without a timeout it is never refused.
        let _ = self.rest.admit(None).await;
        let start = self.version.as_deref().map_or(Start::Anywhere, Start::After);
        self.watch = Some(self.collection.watch(start).await?);
        (self.opened, self.moved_on) = (Instant::now(), false);
        Ok(())
    }

    /// Decides whether the watch resumes after an error, and when.
    fn fail(&mut self, error: Error) {
        let was_open = self.watch.take().is_some();
        if !self.can_resume(&error) {
            self.ended = true;
            self.events.push_back(Err(error));
            return;
        }
        self.pause = match was_open && is_break(&error) {
            true => self.pause_after_break(),
            false => self.backoff.next().max(error.retry_after().unwrap_or_default()),
        };
        let (kind, pause) = (&self.collection.resource.kind, self.pause);
        tracing::debug!(%kind, %error, ?pause, "the watch resumes");
    }

    /// Returns the pause before the watch resumes: none if it worked, to avoid a busy loop otherwise.
    fn pause_after_break(&mut self) -> Duration {
        if self.moved_on || self.opened.elapsed() >= HEALTHY_WATCH {
            self.backoff.reset();
            self.too_large = 0;
            Duration::ZERO
        } else {
            self.backoff.next()
        }
    }

    fn can_resume(&mut self, error: &Error) -> bool {
        if is_unreadable(error) {
            return !std::mem::replace(&mut self.unreadable, true);
        }
        if error.is_version_too_large() {
            self.too_large += 1;
            return self.too_large < TOO_LARGE_LIMIT;
        }
        match (error.cause(), error.code()) {
            (Cause::InvalidRequest(_), _) => false,
            (_, Some(code)) => code >= 500 || error.is_too_many_requests(),
            (_, None) => true,
        }
    }

    fn take(&mut self, lines: &LineBatch) -> Result<()> {
        for line in lines.iter() {
            // The typed client keeps managedFields.
            let decoded = decode_event::<K, K>(line, true, Ok).map_err(|error| {
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
                Decoded::Bookmark { resource_version, .. } if resource_version.is_empty() => continue,
                Decoded::Added(object) => {
                    let version = object.resource_version().to_owned();
                    // Existing objects arrive in no particular order, so resuming from the version of one of
                    // them would miss others.
                    (WatchEvent::Added(object), self.has_begun().then_some(version))
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
                    let version = self.has_begun().then(|| invalid.resource_version.clone());
                    (WatchEvent::Invalid(invalid), version)
                }
            };
            if let Some(version) = version.filter(|version| !version.is_empty()) {
                self.reach(version);
            }
            self.events.push_back(Ok(event));
        }
        Ok(())
    }

    /// Returns whether the watch sends changes after `version`. A watch without a version, or from version
    /// `0`, first sends the existing objects.
    fn has_begun(&self) -> bool {
        self.version.as_deref().is_some_and(|version| !matches!(version, "" | "0"))
    }

    fn reach(&mut self, version: String) {
        if self.version.as_ref() != Some(&version) {
            (self.moved_on, self.unreadable, self.too_large) = (true, false, 0);
            self.version = Some(version);
        }
    }
}

/// Returns whether the server sent an invalid event or an endless line.
fn is_unreadable(error: &Error) -> bool {
    match error.cause() {
        Cause::Decode { .. } => true,
        Cause::Kube(kube::Error::ReadEvents(error)) => error.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

/// Returns whether the connection broke without a response from the server.
fn is_break(error: &Error) -> bool {
    matches!(error.cause(), Cause::Kube(_) | Cause::Timeout(_))
        && error.status().is_none()
        && !is_unreadable(error)
}
