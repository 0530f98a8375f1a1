//! The program of a controller: flags, a client, a log, signals, and an exit code.
//!
//! This module needs the feature `cli`. Its flags are structs that a program flattens into its own:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use clap::Parser as _;
//! use genclient_runtime::cli::{self, ClusterArgs, Failure, LogArgs, Shutdown};
//!
//! /// Shows the cluster that the flags select.
//! #[derive(clap::Parser)]
//! struct Args {
//!     #[command(flatten)]
//!     cluster: ClusterArgs,
//!     #[command(flatten)]
//!     log: LogArgs,
//! }
//!
//! #[tokio::main]
//! async fn main() -> ExitCode {
//!     let args = Args::parse();
//!     args.log.init(&[env!("CARGO_CRATE_NAME")]);
//!     cli::run(|shutdown| run(args, shutdown)).await
//! }
//!
//! async fn run(args: Args, shutdown: Shutdown) -> Result<(), Failure> {
//!     let _client = args.cluster.connect().await?;
//!     shutdown.await;
//!     Ok(())
//! }
//! ```
//!
//! # Guarantees
//! - **The flags select the cluster.** Without `--kubeconfig`, `--context` and `--master`, the program uses
//!   `KUBECONFIG` or `~/.kube/config`, or else the service account of its pod.
//! - **The first SIGINT or SIGTERM completes [`Shutdown`], the second exits with 1 at once.** On Windows both
//!   are Ctrl-C.
//! - **The log shows each failure of the API server once.** It hides the clients' own lines for each attempt,
//!   except with `-vv` or `RUST_LOG`.
//! - **The exit code** is 0 after an orderly end, 1 after an error, which is logged, and 2 for invalid flags.

mod cluster;
mod log;

use std::{error::Error, process::ExitCode, time::Duration};

pub use self::{
    cluster::{ClusterArgs, ConnectError},
    log::{LogArgs, LogFormat},
};
pub use crate::signal::{Shutdown, shutdown_signal};

/// Any error that ends a program.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Flags of a controller: its namespaces and its number of workers.
#[derive(Clone, Debug, clap::Args)]
pub struct ControllerArgs {
    /// A namespace to watch; may be given several times; by default all namespaces are watched.
    #[arg(long = "namespace", value_name = "NAME")]
    pub namespaces: Vec<String>,

    /// The number of keys that are reconciled at the same time.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one)]
    pub workers: usize,
}

/// Runs a program with a shutdown signal, logs its error, and returns its exit code.
pub async fn run<R: Future<Output = Result<(), Failure>>>(program: impl FnOnce(Shutdown) -> R) -> ExitCode {
    // Signals are caught before the program starts anything that needs an orderly shutdown.
    let ended = match shutdown_signal() {
        Ok(shutdown) => program(shutdown).await,
        Err(error) => Err(format!("cannot catch signals: {error}").into()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Parses a duration such as `30s` or `5m`, as the `value_parser` of a flag.
///
/// # Errors
///
/// Returns an error that describes the invalid text.
pub fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| error.to_string())
}

/// Parses a number from 1, as the `value_parser` of a flag.
///
/// # Errors
///
/// Returns an error for zero and for a text that is not a number.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("it must be a number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_a_unit_and_a_count_starts_at_one() {
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert!(duration("30").is_err_and(|error| error.contains("unit")));
        assert_eq!(at_least_one("3"), Ok(3));
        for text in ["0", "-1", "many", ""] {
            assert!(at_least_one(text).is_err(), "{text:?}");
        }
    }

    #[tokio::test]
    async fn the_exit_code_is_zero_unless_the_program_returns_an_error() {
        assert_eq!(run(|_| async { Ok(()) }).await, ExitCode::SUCCESS);
        assert_eq!(run(|_| async { Err("no cluster".into()) }).await, ExitCode::FAILURE);
    }
}
