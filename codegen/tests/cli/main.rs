//! The command `genclient`, run as people run it: what it says, what it writes, how it ends.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

mod commands;
mod errors;
mod fake;
mod init;
mod interruption;
mod new_type;
mod support;
mod writing;
