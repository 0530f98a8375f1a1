//! Following the changes.

use kube::core::Status;
use tokio::time::Instant;

use super::{Events, Next, Run, Stop, decoder::DecodedLines};
use crate::{
    decode::{Decoded, Unreadable},
    delta::{Delta, DeltaSink},
    error::{Cause, Error},
    object::Watched,
    wire::{SHORT_WATCH, Start, watch_timeout},
};

impl<K: Watched, S: DeltaSink<K>> Run<K, S> {
    /// Tells the changes until the watch ends, then says where to go on.
    pub(super) async fn watch(&mut self, open: Option<Box<Events<K>>>) -> Result<Next<K>, Stop> {
        let Some(version) = self.not_older_than() else { return Ok(Next::List) };
        let opened = Instant::now();
        let mut events = match open {
            Some(events) => events,
            None => {
                let watch = self.collection.watch(Start::After(&version), watch_timeout()).await?;
                Box::new(Events::new(watch, self.decoder.clone()))
            }
        };
        self.report.watching(&version);
        while let Some(lines) = events.next().await {
            if let Some(next) = self.take(lines?).await? {
                return Ok(next);
            }
        }
        if opened.elapsed() < SHORT_WATCH {
            // It would be opened at once, again and again.
            return Err(self.lost("the server ended the watch as soon as it had begun").into());
        }
        tracing::debug!(version = self.version, "the watch has come to its end and is opened again");
        Ok(Next::Watch(None))
    }

    /// Tells what some lines of a watch say, and where to go on if the watch cannot.
    async fn take(&mut self, lines: DecodedLines<K>) -> Result<Option<Next<K>>, Stop> {
        let mut batch = Vec::with_capacity(lines.events.len());
        let outcome = self.translate(lines, &mut batch);
        if !batch.is_empty() {
            self.report.events(&batch);
            if let Some(version) = batch.iter().rev().find_map(version_of) {
                self.version = Some(version.to_owned());
            }
            self.unreadable = false;
            self.sink.send(batch).await?;
        }
        outcome
    }

    /// Makes deltas of events, up to the first that is not an event of this watch.
    fn translate(&self, lines: DecodedLines<K>, batch: &mut Vec<Delta<K>>) -> Result<Option<Next<K>>, Stop> {
        for event in lines.events {
            batch.push(match event {
                Decoded::Added(object) | Decoded::Modified(object) => Delta::Upsert(object),
                Decoded::Deleted(object) => Delta::Delete(object),
                Decoded::Invalid(invalid) => Delta::Invalid(invalid),
                Decoded::Bookmark { resource_version, .. } => {
                    Delta::Bookmark { scope: self.config.scope.clone(), resource_version }
                }
                Decoded::Error(status) => return Err(self.told(status).into()),
                // Nobody could tell which object is gone.
                Decoded::InvalidDeleted(invalid) if invalid.key.name.is_empty() => {
                    return Ok(Some(Next::List));
                }
                Decoded::InvalidDeleted(invalid) => Delta::DeleteInvalid(invalid),
                Decoded::Unknown => continue,
            });
        }
        match lines.unreadable {
            Some(error) => Err(self.unreadable("watch", error).into()),
            None => Ok(None),
        }
    }

    /// The server ended the watch with a status.
    pub(super) fn told(&self, status: Box<Status>) -> Error {
        Error::new(self.collection.operation("watch"), Cause::Kube(kube::Error::Api(status)), None)
    }

    /// The stream ended where it should not.
    pub(super) fn lost(&self, what: &'static str) -> Error {
        let error = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what);
        Error::new(self.collection.operation("watch"), Cause::Kube(kube::Error::ReadEvents(error)), None)
    }

    /// What the server sent makes no sense.
    pub(super) fn unreadable(&self, verb: &'static str, error: Unreadable) -> Error {
        let cause = Cause::Decode { path: ".".to_owned(), source: error.into_json() };
        Error::new(self.collection.operation(verb), cause, None)
    }
}

/// The version to go on from after a delta.
fn version_of<K: Watched>(delta: &Delta<K>) -> Option<&str> {
    let version = match delta {
        Delta::Upsert(object) | Delta::Delete(object) => object.resource_version(),
        Delta::Invalid(invalid) | Delta::DeleteInvalid(invalid) => &invalid.resource_version,
        Delta::Bookmark { resource_version, .. } | Delta::Replace { resource_version, .. } => {
            resource_version
        }
        Delta::Reset { .. } | Delta::Resync => "",
    };
    Some(version).filter(|version| !version.is_empty())
}
