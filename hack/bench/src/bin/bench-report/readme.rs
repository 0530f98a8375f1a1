//! The table of the README.

use std::fmt::Write as _;

use genclient_bench::Result;

use crate::summary::Summary;

/// What stands before and after the table in the README.
const BEGIN: &str = "<!-- The table is written by hack/bench/run.sh --full. -->\n";
const END: &str = "<!-- End of the table. -->\n";

/// A line of the table.
struct Line {
    title: &'static str,
    work: &'static str,
    measure: &'static str,
    unit: Unit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
    Megabytes,
    PerSecond,
}

const NETWORKS: &str = "real server, 50000 network streamed";
const NETWORKS_WITH: &str = "real server, 50000 network streamed, with managedFields";
const DEPLOYMENTS: &str = "real server, 10000 deployment streamed";
const PODS: &str = "real server, 10000 pod streamed";
const PODS_WITH: &str = "real server, 10000 pod streamed, with managedFields";
const REPLAYED: &str = "100000 network streamed";
const COMPACT: &str = "100000 network streamed, compact form";
const LISTER: &str = "lister 100000";
const FAKE: &str = "fake, 10000 deployments";

const fn line(title: &'static str, work: &'static str, measure: &'static str, unit: Unit) -> Line {
    Line { title, work, measure, unit }
}

/// The real server first, and what is worse beside what is better.
const LINES: [Line; 37] = [
    line("**a real API server**, 50,000 Networks: sync", NETWORKS, "sync s", Unit::Seconds),
    line("– client CPU for it", NETWORKS, "sync CPU s", Unit::Seconds),
    line("– memory after it", NETWORKS, "steady memory MB", Unit::Megabytes),
    line("– memory, `managedFields` kept", NETWORKS_WITH, "steady memory MB", Unit::Megabytes),
    line(
        "– a write reaches the handler, 50 a second, median",
        NETWORKS,
        "write to handler ms, median",
        Unit::Milliseconds,
    ),
    line("– the same, 99 %", NETWORKS, "write to handler ms, 99 %", Unit::Milliseconds),
    line("10,000 Deployments: sync", DEPLOYMENTS, "sync s", Unit::Seconds),
    line("– client CPU for it", DEPLOYMENTS, "sync CPU s", Unit::Seconds),
    line("– memory after it", DEPLOYMENTS, "steady memory MB", Unit::Megabytes),
    line("10,000 Pods: sync", PODS, "sync s", Unit::Seconds),
    line("– client CPU for it", PODS, "sync CPU s", Unit::Seconds),
    line("– memory after it", PODS, "steady memory MB", Unit::Megabytes),
    line("– memory, `managedFields` kept", PODS_WITH, "steady memory MB", Unit::Megabytes),
    line("– a write reaches the handler, median", PODS, "write to handler ms, median", Unit::Milliseconds),
    line("**replayed**, 100,000 Networks: sync", REPLAYED, "sync s", Unit::Seconds),
    line("– memory after it", REPLAYED, "steady memory MB", Unit::Megabytes),
    line("– memory, Go told to collect", REPLAYED, "steady memory, collected MB", Unit::Megabytes),
    line(
        "– memory, [compact form](hack/bench/src/bin/bench-genclient/compact.rs)",
        COMPACT,
        "steady memory MB",
        Unit::Megabytes,
    ),
    line("– updates told to the handler", REPLAYED, "updates/s", Unit::PerSecond),
    line(
        "**lister**, 100,000 Networks: `get`, 1 reader",
        LISTER,
        "get, 1 readers, alone /s",
        Unit::PerSecond,
    ),
    line("– `get`, 8 readers", LISTER, "get, 8 readers, alone /s", Unit::PerSecond),
    line(
        "– `get`, 8 readers, under a writer at full speed",
        LISTER,
        "get, 8 readers, under writer /s",
        Unit::PerSecond,
    ),
    line("– list by an index, 100 objects", LISTER, "index, 1 readers, alone /s", Unit::PerSecond),
    line("– list a namespace, 1,000 objects", LISTER, "namespace, 1 readers, alone /s", Unit::PerSecond),
    line("– list by a selector without an index", LISTER, "selector, 1 readers, alone /s", Unit::PerSecond),
    line("**work queue**, 100 × add, get, done", "queue", "100 add/get/done µs", Unit::Microseconds),
    line(
        "– contended by 4 producers and 4 workers, one key",
        "queue",
        "contended add/get/done ns",
        Unit::Nanoseconds,
    ),
    line("– CPU of a delayed key", "queue", "delays: CPU µs per key", Unit::Microseconds),
    line("**the fake**, 10,000 Deployments: creates", FAKE, "creates/s", Unit::PerSecond),
    line("– list by a label, 100 objects", FAKE, "list by a label, 100 objects ms", Unit::Milliseconds),
    line("– events to 100 watchers", FAKE, "events/s to 100 watchers", Unit::PerSecond),
    line("– memory", FAKE, "memory MB", Unit::Megabytes),
    line("**generate** one kind, without CRDs", "generate 1 kinds", "generation s", Unit::Seconds),
    line("– 1,000 kinds, without CRDs", "generate 1000 kinds", "generation s", Unit::Seconds),
    line(
        "– the sample types with CRDs, after a change",
        "generate with CRDs",
        "after a change of the types s",
        Unit::Seconds,
    ),
    line("– without a change", "generate with CRDs", "without a change s", Unit::Seconds),
    line(
        "– the first time, nothing compiled yet",
        "generate with CRDs",
        "nothing compiled before s",
        Unit::Seconds,
    ),
];

/// The table, with the set-up in one line above it.
pub(crate) fn table(summary: &Summary, set_up: &str) -> String {
    let mut text = format!("On {set_up}:\n\n");
    text.push_str("| | genclient | kube-rs 5 | client-go 0.36 | to kube-rs | to client-go |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for line in &LINES {
        let Line { title, work, measure, unit } = *line;
        let more = unit == Unit::PerSecond;
        let Some(ours) = summary.best(work, measure, "genclient", more) else { continue };
        let (kube, go) =
            (summary.best(work, measure, "kube-rs", more), summary.best(work, measure, "client-go", more));
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| unit.show(value));
        let ratio = |theirs: Option<f64>| match theirs {
            Some(theirs) if theirs > 0.0 => times(ours / theirs, more),
            _ => "–".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {title} | {} | {} | {} | {} | {} |",
            unit.show(ours),
            shown(kube),
            shown(go),
            ratio(kube),
            ratio(go)
        );
    }
    text
}

/// The README with another table.
pub(crate) fn replace(readme: &str, table: &str) -> Result<String> {
    let (before, rest) = readme.split_once(BEGIN).ok_or("the README has no beginning of the table")?;
    let (_, after) = rest.split_once(END).ok_or("the README has no end of the table")?;
    Ok(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

/// A ratio, bold where the peer is better.
fn times(ratio: f64, more_is_better: bool) -> String {
    let shown = format!("{}×", crate::figure(ratio));
    let is_worse = if more_is_better { ratio < 1.0 } else { ratio > 1.0 };
    // What is shown as one is neither.
    if is_worse && crate::figure(ratio) != "1.00" { format!("**{shown}**") } else { shown }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{} s", figure(value)),
            Self::Milliseconds => format!("{} ms", figure(value)),
            Self::Microseconds => format!("{} µs", figure(value)),
            Self::Nanoseconds => format!("{} ns", figure(value)),
            Self::Megabytes => format!("{} MB", figure(value)),
            Self::PerSecond => format!("{}/s", figure(value)),
        }
    }
}

/// A figure with three digits that count, and its thousands set apart.
fn figure(value: f64) -> String {
    if value < 1000.0 {
        return crate::figure(value);
    }
    let size = 10f64.powf(value.log10().floor() - 2.0);
    let digits = format!("{:.0}", (value / size).round() * size);
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_replaced_and_everything_else_stays() {
        let readme = format!("before\n{BEGIN}old\n{END}after\n");
        let new = replace(&readme, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\nnew\n\n{END}after\n"));
        assert_eq!(replace(&new, "new\n").unwrap(), new);
        assert!(replace("no table", "new\n").is_err());
    }

    #[test]
    fn what_is_worse_is_marked() {
        assert_eq!((times(2.0, true), times(2.0, false)), ("2.00×".to_owned(), "**2.00×**".to_owned()));
        assert_eq!((times(0.5, true), times(0.5, false)), ("**0.500×**".to_owned(), "0.500×".to_owned()));
        assert_eq!(times(1.001, false), "1.00×");
    }

    #[test]
    fn figures_have_three_digits_that_count() {
        assert_eq!(figure(1_234_567.0), "1,230,000");
        assert_eq!(figure(21_449.0), "21,400");
        assert_eq!(figure(999.0), "999");
        assert_eq!(figure(0.0131), "0.013");
    }
}
