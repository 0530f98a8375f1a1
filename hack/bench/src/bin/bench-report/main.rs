//! Makes tables of single runs.

mod goals;
mod readme;
mod summary;

use std::{fmt::Write as _, fs, path::PathBuf};

use clap::Parser;
use genclient_bench::Result;
use summary::{PEERS, Summary};

#[derive(Parser)]
#[command(about = "Makes the tables of the benchmark")]
struct Args {
    /// The single runs, one line of JSON each.
    runs: PathBuf,
    /// What the replay server could do at most, one line for each set of objects.
    #[arg(long)]
    ceilings: Option<PathBuf>,
    /// Where the table goes.
    #[arg(long)]
    table: PathBuf,
    /// The machine and the versions, in one line.
    #[arg(long)]
    set_up: String,
    /// The README whose table is replaced.
    #[arg(long)]
    readme: Option<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let summary = Summary::read(&fs::read_to_string(&args.runs)?)?;
    let ceilings = args.ceilings.map(fs::read_to_string).transpose()?.unwrap_or_default();
    let text = table(&summary, &args.set_up, &ceilings)?;
    print!("{text}");
    fs::write(args.table, text)?;
    let figures = readme::table(&summary, &args.set_up);
    match args.readme {
        Some(path) => fs::write(&path, readme::replace(&fs::read_to_string(&path)?, &figures)?)?,
        None => print!("\n{figures}"),
    }
    Ok(())
}

fn table(summary: &Summary, set_up: &str, ceilings: &str) -> Result<String> {
    let mut text = String::from("# genclient, kube-rs and client-go on the same work\n\n");
    writeln!(
        text,
        "Written by `hack/bench/run.sh --full` on {set_up}. A figure is the median of several runs, the peers \
         in turn, with the least and the most in brackets. A ratio is genclient's figure over the peer's; a \
         goal is measured against each form of the peer. Both Rust sides use jemalloc. Everybody drops \
         managedFields, unless it says that they are kept.\n\n## Goals\n"
    )?;
    text.push_str("| work | against | goal | ratio | reached |\n| --- | --- | --- | --- | --- |\n");
    for goal in goals::all(summary) {
        let reached = if goal.is_reached() { "yes" } else { "**no**" };
        writeln!(
            text,
            "| {} | {} | at most {} | {} | {reached} |",
            goal.title,
            goal.against,
            goal.bound,
            figure(goal.ratio),
        )?;
    }
    for work in summary.works() {
        writeln!(text, "\n## {work}\n")?;
        let peers: Vec<_> = PEERS.iter().filter(|peer| summary.has(work, peer)).collect();
        let mut head = String::from("| measure |");
        let mut line = String::from("| --- |");
        for peer in &peers {
            write!(head, " {peer} |")?;
            line.push_str(" --- |");
        }
        for peer in peers.iter().skip(1) {
            write!(head, " to {peer} |")?;
            line.push_str(" --- |");
        }
        writeln!(text, "{head}\n{line}")?;
        for measure in summary.measures(work) {
            write!(text, "| {measure} |")?;
            for peer in &peers {
                match summary.get(work, peer, measure) {
                    Some(figures) => write!(
                        text,
                        " {} ({}–{}) |",
                        figure(figures.median()),
                        figure(figures.least()),
                        figure(figures.most())
                    )?,
                    None => text.push_str(" – |"),
                }
            }
            for peer in peers.iter().skip(1) {
                match summary.ratio(work, measure, peer) {
                    Some(ratio) => write!(text, " {} |", figure(ratio))?,
                    None => text.push_str(" – |"),
                }
            }
            text.push('\n');
        }
    }
    if !ceilings.is_empty() {
        text.push_str("\n## The replay server's own ceiling\n\nRead by a client that does nothing.\n\n");
        for line in ceilings.lines() {
            writeln!(text, "- {line}")?;
        }
    }
    Ok(text)
}

/// A figure with three digits that count.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}
