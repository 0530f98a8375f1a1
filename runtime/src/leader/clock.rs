//! A clock for deadlines that hold while the machine is suspended.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use crate::bucket::later;

/// A moment after which something is not allowed any more.
///
/// Linux stops the monotonic clock while the machine is suspended, and the other candidates' clocks go on. A
/// moment is therefore past as soon as either clock, the monotonic one or the one that counts suspend, has
/// reached it. Neither is changed by adjustments of the time of day.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    monotonic: Instant,
    since_boot: Duration,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { monotonic: Instant::now(), since_boot: since_boot() }
    }

    pub(super) fn after(self, time: Duration) -> Self {
        Self { monotonic: later(self.monotonic, time), since_boot: self.since_boot.saturating_add(time) }
    }

    pub(super) fn is_past(&self) -> bool {
        Instant::now() >= self.monotonic || since_boot() >= self.since_boot
    }

    /// Returns when to look again, which is too late after a suspend.
    pub(super) fn instant(&self) -> Instant {
        self.monotonic
    }
}

/// Returns the time of day, which may jump.
pub(super) fn time_of_day() -> Timestamp {
    #[cfg(test)]
    return jumping::time_of_day();
    #[cfg(not(test))]
    Timestamp::now()
}

/// A time of day that a test sets.
#[cfg(test)]
pub(super) mod jumping {
    use std::cell::Cell;

    use k8s_openapi::jiff::{SignedDuration, Timestamp};

    thread_local! {
        static AHEAD: Cell<SignedDuration> = const { Cell::new(SignedDuration::ZERO) };
    }

    pub(super) fn time_of_day() -> Timestamp {
        Timestamp::now().checked_add(AHEAD.get()).unwrap()
    }

    pub(in super::super) fn jump(ahead: SignedDuration) {
        AHEAD.set(ahead);
    }
}

/// Returns the time since the machine was started, with the time of its suspends.
#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

/// Other systems have no such clock in the standard library; their moments follow the monotonic clock alone.
#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_moment_is_past_when_either_clock_has_reached_it() {
        let moment = Moment::now().after(Duration::from_secs(3600));
        assert!(!moment.is_past());
        // The machine was suspended for two hours, which the monotonic clock did not count.
        #[cfg(target_os = "linux")]
        {
            let suspended =
                Moment { since_boot: moment.since_boot.saturating_sub(Duration::from_secs(7200)), ..moment };
            assert!(suspended.is_past());
        }
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(moment.is_past());
    }
}
