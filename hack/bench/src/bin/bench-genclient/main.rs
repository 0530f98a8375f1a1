//! genclient's side of the benchmark. Each piece of work prints one line of JSON.

mod compact;
mod lister;
mod queue;
mod sync;

use clap::{Parser, Subcommand};
use genclient_bench::Result;

/// The name under which this side is reported.
const PEER: &str = "genclient";

#[derive(Parser)]
#[command(about = "Measures genclient's runtime")]
struct Args {
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand)]
enum Work {
    /// Fills an informer's cache from a replay server, then follows its changes.
    Sync(sync::Args),
    /// Reads a filled cache, alone and under a writer.
    Lister(lister::Args),
    /// Puts keys through the work queue.
    Queue(queue::Args),
}

fn main() -> Result<()> {
    match Args::parse().work {
        Work::Sync(args) => sync::run(&args),
        Work::Lister(args) => lister::run(&args),
        Work::Queue(args) => queue::run(&args),
    }
}
