//! Flags of the log.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Flags of the log.
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

/// The clients log each failed attempt, and also return it as an error. The warnings of kube about certificates
/// appear nowhere else.
const USUAL: &str = "info,tower_http=off,kube_client::client=off,kube_client::client::tls=warn";

impl LogArgs {
    /// Starts the log of the program, on standard error. `-v` shows the details of the runtime and of `crates`.
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
        match self.verbose {
            0 => USUAL.to_owned(),
            1 => crates
                .iter()
                .fold(format!("{USUAL},genclient_runtime=debug"), |all, name| format!("{all},{name}=debug")),
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
        assert_eq!(directives(0), USUAL);
        assert_eq!(directives(1), format!("{USUAL},genclient_runtime=debug,mine=debug"));
        assert_eq!(directives(2), "trace");
    }

    #[test]
    fn the_attempts_of_a_client_are_not_logged_and_its_warnings_are() {
        use tracing_subscriber::layer::SubscriberExt as _;

        let log = tracing_subscriber::registry().with(EnvFilter::new(USUAL));
        tracing::subscriber::with_default(log, || {
            macro_rules! is_logged {
                ($target:literal, $level:ident) => {
                    tracing::enabled!(target: $target, tracing::Level::$level)
                };
            }
            assert!(!is_logged!("tower_http::trace::on_failure", ERROR));
            assert!(!is_logged!("kube_client::client::builder", ERROR));
            assert!(!is_logged!("kube_client::client", WARN));
            assert!(is_logged!("kube_client::client::tls", WARN), "failed to reload CA bundle");
            assert!(is_logged!("kube_client::config", WARN), "overriding cluster URL");
            assert!(is_logged!("genclient_runtime::reflector", INFO));
        });
    }
}
