//! Series of equal events.

use tokio::time::{Duration, Instant};

use super::{
    occurrence::{EventType, ObjectId, Occurrence},
    recent::{Expires, Recent},
};

/// A series ends when this time has passed since its last event.
const WINDOW: Duration = Duration::from_secs(6 * 60);

/// The events that were sent recently.
#[derive(Debug, Default)]
pub(super) struct SeriesCache {
    series: Recent<SeriesKey, Series>,
}

/// Two events with the same key are equal. The note is part of it, so that users see every message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    type_: EventType,
    object: ObjectId,
    reason: String,
    note: String,
}

impl From<&Occurrence> for SeriesKey {
    fn from(occurrence: &Occurrence) -> Self {
        Self {
            type_: occurrence.type_,
            object: ObjectId::from(&occurrence.object),
            reason: occurrence.reason.clone(),
            note: occurrence.note.clone(),
        }
    }
}

/// An event at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Series {
    /// The name of the event.
    pub name: String,
    /// The number of equal events.
    pub count: i32,
    /// The time of the last recording.
    pub last: Instant,
}

impl Expires for Series {
    fn expires_at(&self) -> Instant {
        self.last + WINDOW
    }
}

impl SeriesCache {
    /// Returns the series with one more event, unless it has ended.
    pub fn next(&self, key: &SeriesKey, recorded: Instant) -> Option<Series> {
        let series = self.series.get(key, recorded)?;
        Some(Series { name: series.name.clone(), count: series.count.saturating_add(1), last: recorded })
    }

    /// Stores the series on the server.
    pub fn store(&mut self, key: SeriesKey, series: Series) {
        let now = series.last;
        self.series.insert(key, series, now);
    }

    pub fn forget(&mut self, key: &SeriesKey) {
        self.series.remove(key);
    }
}
