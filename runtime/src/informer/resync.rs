//! The resync schedule of a handler.

use tokio::time::{Duration, Instant};

use crate::bucket::later;

/// The shortest resync period. A resync costs one event per object.
pub const SHORTEST_RESYNC: Duration = Duration::from_secs(1);

/// A resync period that is shorter than [`SHORTEST_RESYNC`] and not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a resync every {0:?} is too often: the shortest period is one second, and zero means never")]
pub struct ResyncTooShort(pub Duration);

/// Checks a resync period; zero means never.
pub(crate) fn checked_resync(period: Duration) -> Result<Option<Duration>, ResyncTooShort> {
    match period {
        Duration::ZERO => Ok(None),
        period if period < SHORTEST_RESYNC => Err(ResyncTooShort(period)),
        period => Ok(Some(period)),
    }
}

/// The resync schedule of one handler.
pub(super) struct Resync {
    period: Duration,
    due: Instant,
}

impl Resync {
    /// Creates a schedule that begins now.
    pub(super) fn new(period: Duration) -> Self {
        Self { period, due: later(Instant::now(), period) }
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Returns whether a resync is due. If so, schedules the next one a period later.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.due <= now;
        if is_due {
            self.due = later(now, self.period);
        }
        is_due
    }
}
