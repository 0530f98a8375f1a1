//! Reading the whole state.

use std::{sync::Arc, time::Duration};

use kube::core::{Status, response::reason};
use tokio::time::Instant;

use super::{Events, Next, ReflectorState, Run, Stop, decoder::DecodedLines, initial::Initial};
use crate::{
    decode::{Decoded, peek_token},
    delta::{Delta, DeltaSink, InvalidObject},
    error::{Cause, Error},
    object::{Decodable, ObjectKey},
    resource_version::is_older,
    wire::{Page, Start},
};

/// A streamed list that has lasted this long without its end is not worth beginning again.
const LONG_STREAM: Duration = Duration::from_secs(60);

/// How long lists are read in pages after the server did not stream one.
const PAGES: Duration = Duration::from_secs(600);

/// How a streamed list ended.
enum Streamed<K> {
    /// It is complete, and this comes next.
    Then(Next<K>),
    /// The server refuses to stream lists.
    Refused,
    /// The server accepted the request and did not finish the list: it may not know the parameter.
    Unfinished,
}

/// A whole state.
struct Listed<K> {
    objects: Vec<Arc<K>>,
    invalid: Vec<InvalidObject>,
    resource_version: String,
    /// The version that it was asked not to be older than.
    not_older_than: Option<String>,
}

impl<K: Decodable, S: DeltaSink<K>> Run<K, S> {
    /// Sends the whole state, and returns what to do next.
    pub(super) async fn list(&mut self) -> Result<Next<K>, Stop> {
        let begin = Instant::now();
        self.report.state(ReflectorState::Listing);
        let may_stream = self.pages_until.is_none_or(|until| Instant::now() >= until);
        if self.config.list.streaming_lists && may_stream {
            match self.streamed_list(begin).await? {
                Streamed::Then(next) => return Ok(next),
                Streamed::Refused | Streamed::Unfinished => {
                    self.pages_until = Some(Instant::now() + PAGES);
                    tracing::info!(
                        "the server does not stream the list of this resource: it is read in pages"
                    );
                }
            }
        }
        let listed = self.paged_list().await?;
        self.replace(listed, "paged", begin).await?;
        Ok(Next::Watch(None))
    }

    async fn replace(&mut self, listed: Listed<K>, mode: &'static str, begin: Instant) -> Result<(), Stop> {
        let Listed { objects, invalid, resource_version, not_older_than } = listed;
        if let Some(wanted) = not_older_than.filter(|wanted| is_older(&resource_version, wanted)) {
            self.version_unknown = true;
            return Err(self.stale(&resource_version, &wanted).into());
        }
        let set_back = self.version.as_ref().is_some_and(|sent| is_older(&resource_version, sent));
        self.report.listed(mode, objects.len(), &invalid, &resource_version, begin.elapsed());
        let mut batch = Vec::with_capacity(2);
        if set_back {
            let before = self.version.as_deref();
            tracing::warn!(version = resource_version, before, "the server's history was set back");
            batch.push(Delta::Reset { scope: self.config.scope.clone() });
        }
        self.version = Some(resource_version.clone());
        self.version_unknown = false;
        self.unreadable = false;
        let scope = self.config.scope.clone();
        batch.push(Delta::Replace { scope, objects, invalid, resource_version });
        self.sink.send(batch).await?;
        Ok(())
    }

    /// The server answered with an older state than it was asked for: it is one of several and behind
    /// the others, or it does not know the parameter. The next list asks for the newest state instead.
    fn stale(&self, found: &str, wanted: &str) -> Error {
        let message = format!("the server answered with version {found}, which is older than {wanted}");
        let status = Status::failure(&message, reason::TIMEOUT).with_code(504);
        let cause = Cause::Kube(kube::Error::Api(status.boxed()));
        Error::new(self.collection.operation("list"), cause, None)
    }

    /// Reads the list page by page.
    async fn paged_list(&mut self) -> Result<Listed<K>, Stop> {
        let mut not_older_than = self.not_older_than();
        let mut page = Page::First { not_older_than: not_older_than.clone() };
        let mut limit = self.config.list.page_size;
        let (mut objects, mut invalid, mut version) = (Vec::new(), Vec::new(), None);
        let mut fetched = None;
        loop {
            let body = match fetched.take() {
                Some(body) => body,
                None => self.collection.list(&page, limit).await,
            };
            let body = match body {
                Ok(body) => body,
                Err(error) if error.is_gone() || error.is_version_too_large() => {
                    match page {
                        Page::First { not_older_than: None } => return Err(error.into()),
                        // The server does not know the version any more, or not yet. Its newest state is
                        // consistent, and so never older than what it has sent before.
                        Page::First { .. } => {}
                        // The server sends pages although the whole list was asked for.
                        Page::Next { .. } if limit == 0 => return Err(error.into()),
                        // The list took longer than the server keeps its versions: read it in one page.
                        Page::Next { .. } => limit = 0,
                    }
                    tracing::info!(%error, "the list starts again, from the newest state");
                    not_older_than = None;
                    page = Page::First { not_older_than: None };
                    (objects, invalid, version) = (Vec::new(), Vec::new(), None);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            // The next page is read while this one is decoded, if its token comes before the items.
            let next = peek_token(&body).map(|token| Page::Next { token });
            let decoding = self.decoder.list(body);
            let decoded = match next {
                None => decoding.await,
                Some(next) => {
                    let (decoded, body) = tokio::join!(decoding, self.collection.list(&next, limit));
                    fetched = Some(body);
                    decoded
                }
            };
            let decoded = decoded.map_err(|error| self.unreadable("list", error))?;
            objects.extend(decoded.objects);
            invalid.extend(decoded.invalid);
            // All pages have one version. If not, the first is the one that misses nothing.
            let version = version.get_or_insert(decoded.resource_version);
            match decoded.next {
                Some(token) if matches!(&page, Page::Next { token: last } if *last == token) => {
                    let error: serde_json::Error =
                        serde::de::Error::custom("a page names itself as the next one");
                    return Err(self.unreadable("list", error.into()).into());
                }
                Some(token) => page = Page::Next { token },
                None => {
                    let resource_version = std::mem::take(version);
                    return Ok(Listed { objects, invalid, resource_version, not_older_than });
                }
            }
        }
    }

    /// Reads the list as the beginning of a watch.
    async fn streamed_list(&mut self, begin: Instant) -> Result<Streamed<K>, Stop> {
        let mut not_older_than = self.not_older_than();
        loop {
            let start = Start::InitialEvents { not_older_than: not_older_than.as_deref() };
            let outcome = match self.collection.watch(start).await {
                Ok(watch) => {
                    let events = Events::new(watch, self.decoder.clone());
                    self.streamed_events(events, not_older_than.clone(), begin).await
                }
                Err(error) => Err(error.into()),
            };
            match outcome {
                Err(Stop::Failed(error)) if error.is_gone() || error.is_version_too_large() => {
                    if not_older_than.take().is_none() {
                        return Err(error.into());
                    }
                    tracing::info!(%error, "the list starts again, from the newest state");
                }
                Err(Stop::Failed(error)) if refuses_streaming(&error) => return Ok(Streamed::Refused),
                outcome => return outcome,
            }
        }
    }

    async fn streamed_events(
        &mut self,
        mut events: Events<K>,
        not_older_than: Option<String>,
        begin: Instant,
    ) -> Result<Streamed<K>, Stop> {
        let (mut initial, opened) = (Initial::new(), Instant::now());
        let timeouts = &self.config.list.timeouts;
        let (stream_silence, watch_silence, lifetime) =
            (timeouts.stream_silence, timeouts.watch_silence, timeouts.watch);
        events.allow_silence(stream_silence);
        let mut progressed = opened;
        loop {
            let lines = match events.next().await {
                // A server that streams lists would have finished by now, and a slow connection that is cut
                // again and again gets further page by page.
                None | Some(Err(_)) if opened.elapsed() >= lifetime.min(LONG_STREAM) => {
                    return Ok(Streamed::Unfinished);
                }
                None => return Err(self.lost("the stream ended before the end of the list").into()),
                Some(Err(error)) if error.is_timeout() => return Ok(Streamed::Unfinished),
                Some(lines) => lines?,
            };
            let DecodedLines { events: list, unreadable } = lines;
            // A server that ignores the parameter goes on with changes, and never closes the list.
            if list.iter().any(|event| matches!(event, Decoded::Added(_))) {
                progressed = Instant::now();
            } else if progressed.elapsed() >= stream_silence && !list.iter().any(Decoded::closes_list) {
                return Ok(Streamed::Unfinished);
            }
            let mut list = list.into_iter();
            while let Some(event) = list.next() {
                match event {
                    Decoded::Added(object) => initial.add(object),
                    Decoded::Modified(object) => initial.modify(object),
                    Decoded::Deleted(object) => initial.delete(&ObjectKey::of(&*object)),
                    Decoded::Invalid(invalid) => initial.invalidate(invalid),
                    // Only another list can tell which object is gone.
                    Decoded::InvalidDeleted(invalid) if invalid.key.name.is_empty() => {
                        return Err(Stop::Relist(self.nameless(&invalid.error)));
                    }
                    Decoded::InvalidDeleted(invalid) => initial.delete(&invalid.key),
                    Decoded::Error(status) => return Err(self.refused(status).into()),
                    // A list without a version cannot be followed.
                    Decoded::Bookmark { resource_version, .. } if resource_version.is_empty() => {
                        return Ok(Streamed::Unfinished);
                    }
                    Decoded::Bookmark { resource_version, initial_events_end: true } => {
                        let (objects, invalid) = initial.into_parts();
                        self.replace(
                            Listed { objects, invalid, resource_version, not_older_than },
                            "streamed",
                            begin,
                        )
                        .await?;
                        // Changes that came with the last piece of the list belong to the watch, which
                        // continues from the list even if one of them cannot be read.
                        events.put_back(DecodedLines { events: list.collect(), unreadable });
                        events.allow_silence(watch_silence);
                        return Ok(Streamed::Then(Next::Watch(Some(Box::new(events)))));
                    }
                    // A server that streams lists sends no other bookmark before the closing one.
                    Decoded::Bookmark { initial_events_end: false, .. } => return Ok(Streamed::Unfinished),
                    Decoded::Unknown => {}
                }
            }
            if let Some(error) = unreadable {
                return Err(self.unreadable("watch", error).into());
            }
        }
    }
}

/// Whether the server does not know, or does not allow, streamed lists. Servers say so with 422 if the
/// feature is off, and with 400 if they do not know the parameter.
fn refuses_streaming(error: &Error) -> bool {
    error.is_invalid() || error.code() == Some(400)
}
