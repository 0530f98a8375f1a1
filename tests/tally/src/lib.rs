//! Counts what a test exercised.
//!
//! A property, fuzz or crash test that sends only requests which fail proves nothing, and passes. Such a test
//! counts what happened in a [`Tally`] and ends with [`Tally::require`], which fails if something happened too rarely.
//!
//! [`nested_build`] reports the compilers that a test starts, and [`usual_or_long`] chooses how much a test does.

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{Command, Output},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// Counters with names, shared by all threads and cases of a test.
#[derive(Debug, Default)]
pub struct Tally {
    counts: Mutex<BTreeMap<String, usize>>,
}

impl Tally {
    /// Creates a tally in which nothing has happened.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: Mutex::new(BTreeMap::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one event.
    pub fn count(&self, name: impl Into<String>) {
        self.add(name, 1);
    }

    /// Counts several events of one name.
    pub fn add(&self, name: impl Into<String>, times: usize) {
        *self.lock().entry(name.into()).or_default() += times;
    }

    /// Returns how often an event was counted.
    #[must_use]
    pub fn of(&self, name: &str) -> usize {
        self.lock().get(name).copied().unwrap_or_default()
    }

    /// Runs a number of rounds, and more of them, up to ten times as many, while a count is below its floor. Then fails
    /// if one still is.
    ///
    /// When a test kills or interrupts something, the moment that it hits depends on the speed of the machine.
    ///
    /// # Panics
    /// If an event was counted less often than its floor says.
    #[track_caller]
    pub fn repeat(&self, rounds: usize, floors: &[(&str, usize)], mut round: impl FnMut(usize)) {
        let is_enough = || floors.iter().all(|(name, floor)| self.of(name) >= *floor);
        for number in 0..rounds * 10 {
            if number >= rounds && is_enough() {
                break;
            }
            round(number);
        }
        self.require(floors);
    }

    /// Prints all counts, and fails if one is below its floor.
    ///
    /// # Panics
    /// If an event was counted less often than its floor says.
    #[track_caller]
    pub fn require(&self, floors: &[(&str, usize)]) {
        println!("exercised: {:?}", self.lock());
        let rare = floors.iter().filter(|(name, floor)| self.of(name) < *floor);
        let rare: Vec<_> =
            rare.map(|(name, floor)| format!("`{name}`: {} instead of {floor}", self.of(name))).collect();
        assert!(rare.is_empty(), "the test exercised too little: {}", rare.join(", "));
    }
}

/// Returns whether the tests are to take their time, as `hack/test.sh --long` asks with `GENCLIENT_LONG`.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("GENCLIENT_LONG").is_some_and(|value| !value.is_empty())
}

/// Returns the first number, or the second one if [the tests are to take their time](is_long).
#[must_use]
pub fn usual_or_long<T>(usual: T, long: T) -> T {
    if is_long() { long } else { usual }
}

/// Runs a command that compiles, and adds its duration to the file that `GENCLIENT_BUILDS` names if it took a second.
///
/// The command does not get `RUSTC_BOOTSTRAP`, which `hack/test.sh` sets for the test itself: it would compile its
/// dependencies again.
///
/// # Panics
/// If the command cannot be started.
pub fn nested_build(name: &str, command: &mut Command) -> Output {
    let start = Instant::now();
    let output = command.env_remove("RUSTC_BOOTSTRAP").output().expect("the command can be started");
    let (seconds, name) = (start.elapsed().as_secs_f64(), name.lines().next().unwrap_or_default());
    if let Some(path) = std::env::var_os("GENCLIENT_BUILDS").filter(|_| seconds >= 1.0) {
        // The report is for people; a test does not fail for want of it.
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(format!("{seconds:>7.1}s  {name}\n").as_bytes()));
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_repeated_until_every_floor_is_reached_but_not_for_ever() {
        for (hits, floor, rounds) in [(1, 3, 5), (2, 4, 8), (7, 1, 7)] {
            let tally = Tally::new();
            tally.repeat(5, &[("hit", floor)], |round| {
                tally.count("round");
                tally.add("hit", usize::from((round + 1) % hits == 0));
            });
            assert_eq!(tally.of("round"), rounds);
        }
        let tally = Tally::new();
        let never = std::panic::catch_unwind(|| tally.repeat(5, &[("hit", 1)], |_| tally.count("round")));
        assert!(never.is_err());
        assert_eq!(tally.of("round"), 50);
    }

    #[test]
    fn a_count_below_its_floor_fails_and_one_at_its_floor_does_not() {
        let tally = Tally::new();
        tally.count("created");
        tally.add("created", 2);
        tally.require(&[("created", 3)]);
        let below = std::panic::catch_unwind(|| tally.require(&[("created", 3), ("deleted", 1)]));
        let message = below.unwrap_err();
        assert!(message.downcast_ref::<String>().unwrap().ends_with("too little: `deleted`: 0 instead of 1"));
    }
}
