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

#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Milliseconds,
    Megabytes,
}

const NETWORKS: &str = "real server, 50000 network streamed";
const NETWORKS_WITH: &str = "real server, 50000 network streamed, with managedFields";
const DEPLOYMENTS: &str = "real server, 10000 deployment streamed";
const PODS: &str = "real server, 10000 pod streamed";
const PODS_WITH: &str = "real server, 10000 pod streamed, with managedFields";
const fn line(title: &'static str, work: &'static str, measure: &'static str, unit: Unit) -> Line {
    Line { title, work, measure, unit }
}

/// The real server only. Replayed work, listers, queues and generation are in `results.md`.
const LINES: [Line; 20] = [
    line("**50,000 Networks**: sync", NETWORKS, "sync s", Unit::Seconds),
    line("– client CPU for it", NETWORKS, "sync CPU s", Unit::Seconds),
    line("– memory after it", NETWORKS, "steady memory MB", Unit::Megabytes),
    line("– memory, `managedFields` kept", NETWORKS_WITH, "steady memory MB", Unit::Megabytes),
    line("– client CPU of 200 events, 50 a second", NETWORKS, "updates CPU s", Unit::Seconds),
    line(
        "– from a write to the handler, median",
        NETWORKS,
        "write to handler ms, median",
        Unit::Milliseconds,
    ),
    line("– the same, 99 %", NETWORKS, "write to handler ms, 99 %", Unit::Milliseconds),
    line("**10,000 Deployments**: sync", DEPLOYMENTS, "sync s", Unit::Seconds),
    line("– client CPU for it", DEPLOYMENTS, "sync CPU s", Unit::Seconds),
    line("– memory after it", DEPLOYMENTS, "steady memory MB", Unit::Megabytes),
    line("– client CPU of 200 events, 50 a second", DEPLOYMENTS, "updates CPU s", Unit::Seconds),
    line(
        "– from a write to the handler, median",
        DEPLOYMENTS,
        "write to handler ms, median",
        Unit::Milliseconds,
    ),
    line("– the same, 99 %", DEPLOYMENTS, "write to handler ms, 99 %", Unit::Milliseconds),
    line("**10,000 Pods**: sync", PODS, "sync s", Unit::Seconds),
    line("– client CPU for it", PODS, "sync CPU s", Unit::Seconds),
    line("– memory after it", PODS, "steady memory MB", Unit::Megabytes),
    line("– memory, `managedFields` kept", PODS_WITH, "steady memory MB", Unit::Megabytes),
    line("– client CPU of 200 events, 50 a second", PODS, "updates CPU s", Unit::Seconds),
    line("– from a write to the handler, median", PODS, "write to handler ms, median", Unit::Milliseconds),
    line("– the same, 99 %", PODS, "write to handler ms, 99 %", Unit::Milliseconds),
];

/// The table, with the set-up in one line above it.
pub(crate) fn table(summary: &Summary, set_up: &str) -> String {
    let mut text = format!("On {set_up}:\n\n");
    text.push_str("| | genclient | kube-rs 5 | client-go 0.36 | to kube-rs | to client-go |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for line in &LINES {
        let Line { title, work, measure, unit } = *line;
        let Some(ours) = summary.best(work, measure, "genclient") else { continue };
        let (kube, go) = (summary.best(work, measure, "kube-rs"), summary.best(work, measure, "client-go"));
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| unit.show(value));
        let ratio = |theirs: Option<f64>| match theirs {
            Some(theirs) if theirs > 0.0 => times(ours / theirs),
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
fn times(ratio: f64) -> String {
    let shown = format!("{}×", crate::figure(ratio));
    // A ratio that is shown as one is neither.
    if ratio > 1.0 && crate::figure(ratio) != "1.00" { format!("**{shown}**") } else { shown }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{} s", figure(value)),
            Self::Milliseconds => format!("{} ms", figure(value)),
            Self::Megabytes => format!("{} MB", figure(value)),
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
        assert_eq!((times(2.0), times(0.5)), ("**2.00×**".to_owned(), "0.500×".to_owned()));
        assert_eq!(times(1.001), "1.00×");
    }

    #[test]
    fn figures_have_three_digits_that_count() {
        assert_eq!(figure(1_234_567.0), "1,230,000");
        assert_eq!(figure(21_449.0), "21,400");
        assert_eq!(figure(999.0), "999");
        assert_eq!(figure(0.0131), "0.013");
    }
}
