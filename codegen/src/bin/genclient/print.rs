//! Printing to whoever still listens: a reader that has gone, such as `head`, is not an error.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};

/// Prints a text to the standard output.
pub(crate) fn out(text: &str) {
    // Nobody is left who could be told.
    let _ = stdout().lock().write_all(text.as_bytes());
}

/// Prints a line to the standard error.
pub(crate) fn note(line: &str) {
    let _ = writeln!(stderr().lock(), "{line}");
}

/// Whether errors are printed in colours: on a terminal, unless `NO_COLOR` is set.
pub(crate) fn colours() -> bool {
    stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
