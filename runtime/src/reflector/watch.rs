//! Watches a collection for changes.

use kube::core::Status;
use tokio::time::Instant;

use super::{Events, LIST_QUIET, Next, Problem, Run, Stop, decoder::DecodedLines};
use crate::{
    decode::{Decoded, Unreadable},
    delta::{Delta, DeltaSink},
    error::{Cause, Error},
    object::Decodable,
    wire::{HEALTHY_WATCH, SHORT_WATCH, Start},
};

impl<K: Decodable, S: DeltaSink<K>> Run<K, S> {
    /// Sends the changes until the watch ends, and returns the next step.
    pub(super) async fn watch(&mut self, open: Option<Box<Events<K>>>) -> Result<Next<K>, Stop> {
        let Some(version) = self.not_older_than() else { return Ok(Next::List) };
        let opened = Instant::now();
        let mut events = match open {
            Some(events) => events,
            None => {
                let watch = self.collection.watch(Start::After(&version)).await?;
                Box::new(Events::new(watch, self.decoder.clone()))
            }
        };
        self.report.watching(&version);
        let outcome = self.follow(&mut events).await;
        let progressed = self.version.as_ref() != Some(&version);
        let worked = match leads_to_list(&outcome) {
            // Short watches that end in a relist must back off, even if they delivered events.
            true => opened.elapsed() >= LIST_QUIET,
            false => progressed || opened.elapsed() >= HEALTHY_WATCH,
        };
        if worked {
            self.backoff.reset();
        }
        match outcome {
            Ok(()) if opened.elapsed() < SHORT_WATCH => {
                // Without a backoff, the watch would be reopened in a busy loop.
                Err(self.lost("the server ended the watch as soon as it had begun").into())
            }
            Ok(()) => {
                tracing::debug!(version = self.version, "the watch ended and is opened again");
                Ok(Next::Watch(None))
            }
            Err(Stop::Failed(error))
                if Problem::of(&error) == Problem::Unreachable
                    && (progressed && opened.elapsed() >= SHORT_WATCH
                        || opened.elapsed() >= HEALTHY_WATCH) =>
            {
                Err(Stop::Cut(error))
            }
            Err(stop) => Err(stop),
        }
    }

    /// Sends the changes until the watch ends.
    async fn follow(&mut self, events: &mut Events<K>) -> Result<(), Stop> {
        while let Some(lines) = events.next().await {
            self.take(lines?).await?;
        }
        Ok(())
    }

    /// Sends the deltas of some lines of a watch.
    async fn take(&mut self, lines: DecodedLines<K>) -> Result<(), Stop> {
        let mut batch = Vec::with_capacity(lines.events.len());
        let outcome = self.translate(lines, &mut batch);
        if !batch.is_empty() {
            self.report.events(&batch);
            if let Some(version) = batch.iter().rev().find_map(version_of)
                && self.version.as_deref() != Some(version)
            {
                self.version = Some(version.to_owned());
                self.unreadable = false;
            }
            self.sink.send(batch).await?;
        }
        outcome
    }

    /// Translates events into deltas, until an event ends the watch.
    fn translate(&self, lines: DecodedLines<K>, batch: &mut Vec<Delta<K>>) -> Result<(), Stop> {
        for event in lines.events {
            batch.push(match event {
                Decoded::Added(object) | Decoded::Modified(object) => Delta::Upsert(object),
                Decoded::Deleted(object) => Delta::Delete(object),
                Decoded::Invalid(invalid) => Delta::Invalid(invalid),
                Decoded::Bookmark { resource_version, .. } if resource_version.is_empty() => continue,
                Decoded::Bookmark { resource_version, .. } => {
                    Delta::Bookmark { scope: self.config.scope.clone(), resource_version }
                }
                Decoded::Error(status) => return Err(self.refused(status).into()),
                // Only a list shows which object was deleted.
                Decoded::InvalidDeleted(invalid) if invalid.key.name.is_empty() => {
                    return Err(Stop::Relist(self.nameless(&invalid.error)));
                }
                Decoded::InvalidDeleted(invalid) => Delta::DeleteInvalid(invalid),
                Decoded::Unknown => continue,
            });
        }
        match lines.unreadable {
            Some(error) => Err(self.unreadable("watch", error).into()),
            None => Ok(()),
        }
    }

    /// Returns the error of a watch that the server ended with a status.
    pub(super) fn refused(&self, status: Box<Status>) -> Error {
        Error::new(self.collection.operation("watch"), Cause::Kube(kube::Error::Api(status)), None)
    }

    /// Returns the error of a stream that ended too early.
    pub(super) fn lost(&self, what: &'static str) -> Error {
        let error = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what);
        Error::new(self.collection.operation("watch"), Cause::Kube(kube::Error::ReadEvents(error)), None)
    }

    /// Returns the error of a response that is not an event or a list.
    pub(super) fn unreadable(&self, verb: &'static str, error: Unreadable) -> Error {
        let cause = Cause::Decode { path: ".".to_owned(), source: error.into_json() };
        Error::new(self.collection.operation(verb), cause, None)
    }

    /// Returns the error of a deleted object whose name could not be read.
    pub(super) fn nameless(&self, error: &str) -> Error {
        let source =
            serde::de::Error::custom(format!("an object without a readable name was deleted: {error}"));
        let cause = Cause::Decode { path: "object.metadata.name".to_owned(), source };
        Error::new(self.collection.operation("watch"), cause, None)
    }
}

/// Returns whether a watch that ended with this outcome is followed by a list.
fn leads_to_list(outcome: &Result<(), Stop>) -> bool {
    match outcome {
        Err(Stop::Relist(_)) => true,
        Err(Stop::Failed(error)) => {
            matches!(Problem::of(error), Problem::Version | Problem::Absent | Problem::Refused)
        }
        Ok(()) | Err(Stop::Closed | Stop::Cut(_)) => false,
    }
}

/// Returns the version to resume from after a delta.
fn version_of<K: Decodable>(delta: &Delta<K>) -> Option<&str> {
    let version = match delta {
        Delta::Upsert(object) | Delta::Delete(object) => object.resource_version(),
        Delta::Invalid(invalid) | Delta::DeleteInvalid(invalid) => &invalid.resource_version,
        Delta::Bookmark { resource_version, .. } | Delta::Replace { resource_version, .. } => {
            resource_version
        }
        Delta::Reset { .. } => "",
    };
    Some(version).filter(|version| !version.is_empty())
}
