//! Writes to a real server at a steady rate, and the time until a client's handler has heard of them.
//!
//! The writer puts the time at which it sends a write into a label of the object. Writer and client run
//! on one machine and read one clock.

use std::{
    path::Path,
    process::{Child, Command},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use crate::{Result, measure::Run, target::Target};

/// The label with the time of the write, in nanoseconds since 1970.
pub const SENT: &str = "sent";

/// How many writes there are in a second.
pub const RATE: u32 = 50;

/// How long a client waits for the last of its writes.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The time now, in nanoseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// How long the writes took to reach the handler.
#[derive(Default)]
pub struct Latencies(Mutex<Vec<u64>>);

impl Latencies {
    /// Notes that the handler heard of a write with this label.
    pub fn heard(&self, sent: Option<&str>) {
        if let Some(sent) = sent.and_then(|sent| sent.parse::<u64>().ok()) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(now().saturating_sub(sent));
        }
    }

    /// How many writes the handler has heard of.
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Notes the percentiles.
    pub fn report(&self, run: &mut Run) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.sort_unstable();
        let Some(last) = all.len().checked_sub(1) else { return };
        let at = |hundredths: usize| all[last * hundredths / 100] as f64 / 1e6;
        run.set("write to handler ms, median", at(50));
        run.set("write to handler ms, 90 %", at(90));
        run.set("write to handler ms, 99 %", at(99));
    }
}

/// Starts the program that writes.
pub fn start(target: &Target, writer: &Path) -> Result<Child> {
    let mut command = Command::new(writer);
    command.args(["write", "--shape", target.shape.name()]);
    command.args(["--objects", &target.objects.to_string(), "--writes", &target.updates.to_string()]);
    command.arg("--kubeconfig").arg(target.kubeconfig.as_deref().ok_or("no kubeconfig")?);
    Ok(command.spawn()?)
}

/// Waits for the program that writes.
pub fn finish(mut writer: Child) -> Result<()> {
    match writer.wait()?.success() {
        true => Ok(()),
        false => Err("the writer failed".into()),
    }
}
