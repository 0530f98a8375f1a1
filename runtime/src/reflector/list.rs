//! Reading the whole state.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{DeltaSink, Next, ReflectorState, Run, Stop, initial::Initial, is_version_too_large};
use crate::{
    Delta, Error, InvalidObject, ObjectKey, Watched,
    client::watch_timeout,
    decode::{Decoded, decode_event, decode_list},
    resource_version::is_older,
    wire::{Page, Start, Watch},
};

/// A server that streams lists does not fall silent for so long before the end of the list. One that
/// ignores the wish for a stream sends nothing to end it at all.
const STREAM_SILENCE: Duration = Duration::from_secs(15);

/// How a streamed list ended.
enum Streamed {
    /// It is whole, and this comes next.
    Then(Next),
    /// The server does not stream lists.
    NotOffered,
}

/// A whole state.
struct Listed<K> {
    objects: Vec<Arc<K>>,
    invalid: Vec<InvalidObject>,
    resource_version: String,
}

impl<K: Watched, S: DeltaSink<K>> Run<K, S> {
    /// Tells the whole state, then says where to go on.
    pub(super) async fn list(&mut self) -> Result<Next, Stop> {
        let begin = Instant::now();
        self.listed = Some(begin);
        self.report.state(ReflectorState::Listing);
        if self.streaming {
            match self.streamed_list(begin).await? {
                Streamed::Then(next) => return Ok(next),
                Streamed::NotOffered => {
                    tracing::info!(
                        "the server does not stream lists of this resource: it is listed in pages"
                    );
                    self.streaming = false;
                }
            }
        }
        let listed = self.paged_list().await?;
        self.replace(listed, "paged", begin).await?;
        Ok(Next::Watch(None))
    }

    async fn replace(&mut self, listed: Listed<K>, mode: &'static str, begin: Instant) -> Result<(), Stop> {
        let Listed { objects, invalid, resource_version } = listed;
        self.report.listed(mode, objects.len(), &invalid, &resource_version, begin.elapsed());
        let scope = self.config.scope.clone();
        let mut batch = Vec::with_capacity(2);
        if self.told.as_deref().is_some_and(|told| is_older(&resource_version, told)) {
            // The list was asked to be no older, or to be the newest state, so it is the server that is older.
            tracing::warn!(
                told = self.told,
                resource_version,
                "the server's history was set back, as by a restore from a backup",
            );
            batch.push(Delta::Reset { scope: scope.clone() });
        }
        self.version = Some(resource_version.clone());
        self.told = self.version.clone();
        self.unreadable = false;
        batch.push(Delta::Replace { scope, objects, invalid, resource_version });
        self.sink.send(batch).await?;
        Ok(())
    }

    /// Reads the list page by page.
    async fn paged_list(&mut self) -> Result<Listed<K>, Stop> {
        let mut page = Page::First { not_older_than: self.version.clone() };
        let mut limit = self.config.page_size;
        let (mut objects, mut invalid, mut version) = (Vec::new(), Vec::new(), None);
        loop {
            let body = match self.collection.list(&page, limit).await {
                Ok(body) => body,
                Err(error) if error.is_gone() || is_version_too_large(&error) => {
                    match page {
                        Page::First { not_older_than: None } => return Err(error.into()),
                        // The server does not know the version any more, or not yet: its newest state
                        // is a consistent one, and so never older than what it has told us.
                        Page::First { .. } => {}
                        // The list took longer than the server keeps its versions: all at once then.
                        Page::Next { .. } => limit = 0,
                    }
                    tracing::info!(%error, "the list begins anew, from the newest state");
                    page = Page::First { not_older_than: None };
                    (objects, invalid, version) = (Vec::new(), Vec::new(), None);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let decoded = decode_list::<K>(&body, self.config.keep_managed_fields)
                .map_err(|error| self.unreadable("list", error))?;
            objects.extend(decoded.objects.into_iter().map(|object| self.finish(object)));
            invalid.extend(decoded.invalid);
            // All pages have one version. Should they not, the first is the one that misses nothing.
            let version = version.get_or_insert(decoded.resource_version);
            match decoded.next {
                Some(token) => page = Page::Next { token },
                None => return Ok(Listed { objects, invalid, resource_version: std::mem::take(version) }),
            }
        }
    }

    /// Reads the list as the beginning of a watch.
    async fn streamed_list(&mut self, begin: Instant) -> Result<Streamed, Stop> {
        let mut not_older_than = self.version.clone();
        loop {
            let start = Start::InitialEvents { not_older_than: not_older_than.as_deref() };
            let outcome = match self.collection.watch(start, watch_timeout()).await {
                Ok(watch) => self.streamed_events(watch, begin).await,
                Err(error) => Err(error.into()),
            };
            match outcome {
                Err(Stop::Failed(error)) if error.is_gone() || is_version_too_large(&error) => {
                    if not_older_than.take().is_none() {
                        return Err(error.into());
                    }
                    tracing::info!(%error, "the list begins anew, from the newest state");
                }
                Err(Stop::Failed(error)) if refuses_streaming(&error) => return Ok(Streamed::NotOffered),
                outcome => return outcome,
            }
        }
    }

    async fn streamed_events(&mut self, mut watch: Watch, begin: Instant) -> Result<Streamed, Stop> {
        let mut initial = Initial::new();
        loop {
            let lines = match tokio::time::timeout(STREAM_SILENCE, watch.next()).await {
                Err(_) => return Ok(Streamed::NotOffered),
                Ok(None) => return Err(self.lost("the stream ended before the end of the list").into()),
                Ok(Some(lines)) => lines?,
            };
            let mut lines = lines.into_iter();
            while let Some(line) = lines.next() {
                let decoded = decode_event::<K>(&line, self.config.keep_managed_fields)
                    .map_err(|error| self.unreadable("watch", error))?;
                match decoded {
                    Decoded::Added(object) => initial.add(self.finish(object)),
                    Decoded::Modified(object) => initial.modify(self.finish(object)),
                    Decoded::Deleted(object) => initial.delete(&ObjectKey::of(&object)),
                    Decoded::Invalid(invalid) => initial.invalidate(invalid),
                    Decoded::InvalidDeleted(invalid) => initial.delete(&invalid.key),
                    Decoded::Error(status) => return Err(self.told(status).into()),
                    Decoded::Bookmark { resource_version, initial_events_end: true } => {
                        let (objects, invalid) = initial.into_parts();
                        self.replace(Listed { objects, invalid, resource_version }, "streamed", begin)
                            .await?;
                        // Changes that came with the last piece of the list follow it.
                        return match self.take(lines.as_slice()).await? {
                            Some(next) => Ok(Streamed::Then(next)),
                            None => Ok(Streamed::Then(Next::Watch(Some(Box::new(watch))))),
                        };
                    }
                    Decoded::Bookmark { initial_events_end: false, .. } | Decoded::Unknown => {}
                }
            }
        }
    }
}

/// Whether the server does not know, or does not allow, the wish for a streamed list. Servers say so
/// with 422 where the feature is off, and with 400 where they do not know the parameter.
fn refuses_streaming(error: &Error) -> bool {
    error.is_invalid() || error.code() == Some(400)
}
