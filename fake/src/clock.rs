//! The time that the server writes into objects.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

/// A clock for the timestamps of objects: the system's, tokio's, or one that a test moves.
///
/// Copies of a clock share its time.
///
/// ```
/// use std::time::Duration;
///
/// use genclient_fake::Clock;
///
/// let clock = Clock::at("2026-01-02T03:04:05Z".parse()?);
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now().to_string(), "2026-01-02T03:05:05Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Clock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Moved(Arc<Mutex<Timestamp>>),
    Tokio {
        start: Timestamp,
        since: Instant,
    },
}

impl Clock {
    /// Returns the clock of the system.
    pub fn system() -> Self {
        Self::default()
    }

    /// Returns a clock that stands still until it is moved.
    pub fn at(time: Timestamp) -> Self {
        Self(Source::Moved(Arc::new(Mutex::new(time))))
    }

    /// Returns a clock that begins at this time and follows the time of tokio: if a test has paused that, objects
    /// have the times to which the test advances.
    pub fn tokio(start: Timestamp) -> Self {
        Self(Source::Tokio { start, since: Instant::now() })
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Moved(time) => *time.lock(),
            Source::Tokio { start, since } => later(*start, since.elapsed()),
        }
    }

    /// Moves a clock that stands still. The clocks of the system and of tokio move by themselves.
    pub fn advance(&self, by: Duration) {
        if let Source::Moved(time) = &self.0 {
            let mut time = time.lock();
            *time = later(*time, by);
        }
    }

    /// Returns the time as `metadata` has it: in UTC, to the second.
    pub(crate) fn text(&self) -> String {
        seconds(self.now())
    }
}

/// Returns a later time. The end of time is far enough to stop there.
fn later(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Formats a time as `metadata` has it.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
