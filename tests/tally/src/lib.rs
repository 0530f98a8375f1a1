//! Counts what a test exercised.
//!
//! A property, fuzz or crash test that sends only requests which fail proves nothing, and passes. Such a test
//! counts what happened in a [`Tally`] and ends with [`Tally::require`], which fails if something happened too rarely.
//!
//! [`nested_build`] reports the compilers that a test starts.

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
