//! The flags of the log.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// The flags of the log.
#[derive(Clone, Debug, clap::Args)]
pub struct LogArgs {
    /// The format of the log.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Log more: -v for details, -vv for everything. `RUST_LOG` overrides it.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogArgs {
    /// Starts the log of the program, on standard error. `crates` are those whose details `-v` shows, beside
    /// the runtime's.
    ///
    /// # Panics
    ///
    /// Panics if the program has a log already.
    pub fn init(&self, crates: &[&str]) {
        let filter =
            EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(self.directives(crates)));
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        match self.log_format {
            LogFormat::Text => builder.with_target(false).init(),
            LogFormat::Json => builder.json().flatten_event(true).init(),
        }
    }

    fn directives(&self, crates: &[&str]) -> String {
        // kube's client logs failures that it also returns as errors.
        let usual = "info,kube_client=off".to_owned();
        match self.verbose {
            0 => usual,
            1 => crates
                .iter()
                .fold(usual + ",genclient_runtime=debug", |all, name| format!("{all},{name}=debug")),
            _ => "trace".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_flags_log_more() {
        let directives = |verbose| LogArgs { log_format: LogFormat::Text, verbose }.directives(&["mine"]);
        assert_eq!(directives(0), "info,kube_client=off");
        assert_eq!(directives(1), "info,kube_client=off,genclient_runtime=debug,mine=debug");
        assert_eq!(directives(2), "trace");
    }
}
