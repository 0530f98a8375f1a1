//! Points in time in eight bytes; an `Option<Instant>` takes sixteen.

use std::num::NonZeroU64;

use tokio::time::{Duration, Instant};

/// The number of the epoch itself: half of all moments are before it.
const EPOCH: NonZeroU64 = NonZeroU64::new(1 << 63).expect("it is not zero");

/// A point in time, counted in nanoseconds. Zero is none, so an `Option<Moment>` is not larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(NonZeroU64);

/// The instant from which the moments of a queue are counted.
///
/// An instant can be before it: a paused clock may be behind the one that the epoch was taken from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch(Instant);

impl Epoch {
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// Returns the moment of an instant that is within three centuries of the epoch.
    #[inline]
    pub fn moment(self, at: Instant) -> Moment {
        Moment(match at.checked_duration_since(self.0) {
            Some(after) => EPOCH.saturating_add(nanoseconds(after)),
            None => NonZeroU64::new(EPOCH.get().saturating_sub(nanoseconds(self.0 - at)))
                .unwrap_or(NonZeroU64::MIN),
        })
    }

    pub fn instant(self, Moment(at): Moment) -> Instant {
        let distance = Duration::from_nanos(at.get().abs_diff(EPOCH.get()));
        if at >= EPOCH { self.0 + distance } else { self.0 - distance }
    }
}

impl Moment {
    /// Returns the time since an earlier moment, or zero if that is later.
    #[inline]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

#[inline]
fn nanoseconds(distance: Duration) -> u64 {
    u64::try_from(distance.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_instant_it_was_made_from_before_and_after_the_epoch() {
        let now = Instant::now();
        let epoch = Epoch(now);
        for nanoseconds in [0, 1, 999, 1_000_000_007, 3_600_000_000_000] {
            let distance = Duration::from_nanos(nanoseconds);
            for at in [now + distance, now - distance] {
                assert_eq!(epoch.instant(epoch.moment(at)), at);
            }
            assert!(epoch.moment(now - distance) <= epoch.moment(now));
            assert!(epoch.moment(now) <= epoch.moment(now + distance));
            assert_eq!(epoch.moment(now).since(epoch.moment(now - distance)), distance);
        }
        assert!(epoch.moment(now).since(epoch.moment(now + Duration::from_secs(1))).is_zero());
    }

    #[test]
    fn an_option_of_a_moment_takes_eight_bytes() {
        assert_eq!(size_of::<Option<Moment>>(), 8);
    }
}
