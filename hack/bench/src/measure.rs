//! What a process measures of itself, and the line in which it says so.

use std::{collections::BTreeMap, fs, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::Result;

/// The measures of one run of one program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    /// Who ran.
    pub peer: String,
    /// What was done.
    pub work: String,
    /// What was measured, each under its name with its unit in it.
    pub measures: BTreeMap<String, f64>,
}

impl Run {
    /// A run without measures.
    pub fn new(peer: &str, work: impl Into<String>) -> Self {
        Self { peer: peer.to_owned(), work: work.into(), measures: BTreeMap::new() }
    }

    /// Notes a measure.
    pub fn set(&mut self, name: &str, value: f64) {
        self.measures.insert(name.to_owned(), value);
    }

    /// Prints the run as one line of JSON.
    pub fn print(&self) -> Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}

/// The memory of this process in megabytes: now, and at its highest.
pub fn memory() -> Result<(f64, f64)> {
    let status = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| -> Result<f64> {
        let line = status.lines().find(|line| line.starts_with(name)).ok_or("no such field of the status")?;
        let kilobytes = line.split_ascii_whitespace().nth(1).ok_or("a field without a value")?;
        Ok(kilobytes.parse::<f64>()? / 1024.0)
    };
    Ok((field("VmRSS:")?, field("VmHWM:")?))
}

/// The processor time that this process has used, in user and in kernel mode, without its children.
pub fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
