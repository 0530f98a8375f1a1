//! The state in a file: what was answered is there after a restart, whatever ended the process.
//!
//! The suite kills 50 processes; with `GENCLIENT_LONG=1` it kills 500.

mod cost;
mod full;
mod kill;
mod program;
mod reload;
#[path = "../behaviour/support.rs"]
#[allow(dead_code, reason = "another suite uses the rest")]
mod support;

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
};

/// What precedes the lines of a child among those of the test harness.
const MARK: &str = "@@";

/// Says something to the parent.
fn say(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    // A parent that is gone does not hear it.
    let _ = writeln!(out, "{MARK}{text}").and_then(|()| out.flush());
}

/// Starts a test of this program as a process of its own, which finds its file in `DATA`. Returns its lines.
fn spawn(mut command: Command, test: &str, data: &Path) -> (Child, Receiver<String>) {
    let mut child = command
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("DATA", data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = channel();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        let mut line = String::new();
        while out.read_line(&mut line).is_ok_and(|read| read > 0) {
            // The last line of a killed process may be cut.
            if let Some((_, text)) = line.strip_suffix('\n').and_then(|line| line.split_once(MARK)) {
                let _ = sender.send(text.to_owned());
            }
            line.clear();
        }
    });
    (child, lines)
}
