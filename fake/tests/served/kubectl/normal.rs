//! Output of kubectl without what differs from run to run.

use std::sync::LazyLock;

use regex::Regex;

/// What is replaced, and by what.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        // uids, times, ages
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?[+-]\d{4}|Z)?( [A-Z]{3,4})?", "TIME"),
        (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"(?m)(^|\s)(<unknown>|<invalid>|\d+[smhd](\d+[smh])?)(\s|$)", "${1}AGE${4}"),
        // versions
        (r#"(?i)(resource\s?version: +)"?\d+"?"#, "${1}VERSION"),
        // the servers, their addresses, and the files of kubectl
        (r"https?://(127\.0\.0\.1|localhost):\d+", "URL"),
        (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
        (r"/tmp/(LIVE|MERGED)-\d+", "$1"),
        (r"kubectl-edit-\d+", "kubectl-edit"),
        // the widths of columns, and of lines under headings
        (r"[ \t]+", " "),
        (r"(?m)-{3,}", "---"),
        (r"(?m) $", ""),
        // what a busy server says about itself while it starts
        (r"(?m)^.*\bClusterIPNotAllocated\b.*\n", ""),
        (r"(?m)^Events:\n Type Reason Age From Message\n --- --- --- --- ---\n([^ ])", "Events: <none>\n$1"),
    ];
    patterns.into_iter().map(|(pattern, text)| (Regex::new(pattern).unwrap(), text)).collect()
});

/// Returns a text in which only what matters is left.
pub fn normal(text: &str) -> String {
    PATTERNS
        .iter()
        .fold(text.to_owned(), |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned())
}

#[test]
fn what_differs_by_nature_is_replaced_and_nothing_else() {
    let text = "NAME   AGE\nweb    12s\nuid: 0b1f2e3d-0000-4000-8000-000000000000\nresourceVersion: \"12\"\nreplicas: 12";
    assert_eq!(normal(text), "NAME AGE\nweb AGE\nuid: UID\nresourceVersion: VERSION\nreplicas: 12");
}
