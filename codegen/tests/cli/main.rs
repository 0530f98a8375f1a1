//! The command `genclient`, run as people run it: what it says, what it writes, how it ends.

mod commands;
mod errors;
mod new_type;
mod support;
mod writing;
