//! The speed to reach.

use crate::summary::{PEERS, Summary, forms};

/// A goal, and how near we came.
pub(crate) struct Goal {
    pub(crate) title: String,
    pub(crate) against: &'static str,
    pub(crate) at_least: bool,
    pub(crate) bound: f64,
    pub(crate) ratio: f64,
}

impl Goal {
    pub(crate) fn is_reached(&self) -> bool {
        if self.at_least { self.ratio >= self.bound } else { self.ratio <= self.bound }
    }
}

/// Title, work, measure, peer, whether more is better, bound.
type Row = (&'static str, &'static str, &'static str, &'static str, bool, f64);

const REAL: &str = "real server, 50000 network streamed";
const SYNC: &str = "100000 network streamed";
const LISTER: &str = "lister 100000";

const ROWS: [Row; 18] = [
    ("client CPU of a sync, real server", REAL, "sync CPU s", "kube-rs", false, 0.45),
    ("client CPU of a sync, real server", REAL, "sync CPU s", "client-go", false, 0.15),
    ("time to sync", SYNC, "sync s", "kube-rs", false, 0.35),
    ("time to sync", SYNC, "sync s", "client-go", false, 0.06),
    ("updates per second", SYNC, "updates/s", "kube-rs", true, 3.0),
    ("updates per second", SYNC, "updates/s", "client-go", true, 15.0),
    ("steady memory", SYNC, "steady memory MB", "kube-rs", false, 1.0),
    ("steady memory", SYNC, "steady memory MB", "client-go", false, 0.7),
    ("steady memory, Go told to collect", SYNC, "steady memory, collected MB", "client-go", false, 0.7),
    ("get, 1 reader", LISTER, "get, 1 readers, alone /s", "client-go", true, 1.2),
    ("get, 2 readers", LISTER, "get, 2 readers, alone /s", "client-go", true, 1.2),
    ("get, 8 readers", LISTER, "get, 8 readers, alone /s", "client-go", true, 1.2),
    ("list by index", LISTER, "index, 1 readers, alone /s", "client-go", true, 3.0),
    ("list by unindexed selector", LISTER, "selector, 1 readers, alone /s", "client-go", true, 2.0),
    ("work queue, add/get/done", "queue", "100 add/get/done µs", "client-go", false, 0.5),
    ("work queue, contended", "queue", "contended add/get/done ns", "client-go", false, 0.8),
    ("generation, one kind", "generate 1 kinds", "generation s", "client-go", false, 0.01),
    ("generation, 1,000 kinds", "generate 1000 kinds", "generation s", "client-go", false, 0.1),
];

/// Reads while a writer writes at full speed, at least three times as many as client-go's.
const UNDER_WRITER: [&str; 4] = ["get", "index", "namespace", "selector"];
const READERS: [u32; 3] = [1, 2, 8];

/// Ours, per object, at one size over another.
const GROWTH: [(&str, &str, &str); 4] = [
    ("time per object, 100,000 to 10,000", "100000 network streamed", "10000 network streamed"),
    ("time per object, 1,000,000 to 100,000", "1000000 network streamed", "100000 network streamed"),
    ("memory per object, 100,000 to 10,000", "100000 network streamed", "10000 network streamed"),
    ("memory per object, 1,000,000 to 100,000", "1000000 network streamed", "100000 network streamed"),
];

/// Every goal whose work was measured, against each form of the peer.
pub(crate) fn all(summary: &Summary) -> Vec<Goal> {
    let against_peers = ROWS.iter().flat_map(|(title, work, measure, peer, at_least, bound)| {
        forms(peer).iter().filter_map(|form| {
            let ratio = summary.ratio(work, measure, form)?;
            Some(Goal {
                title: (*title).to_owned(),
                against: form,
                at_least: *at_least,
                bound: *bound,
                ratio,
            })
        })
    });
    let under_writer = UNDER_WRITER.iter().flat_map(|read| READERS.map(|readers| (read, readers)));
    let under_writer = under_writer.filter_map(|(read, readers)| {
        let measure = format!("{read}, {readers} readers, under writer /s");
        let ratio = summary.ratio(LISTER, &measure, "client-go")?;
        let title = format!("{read} under a writer, {readers} reader{}", if readers == 1 { "" } else { "s" });
        Some(Goal { title, against: "client-go", at_least: true, bound: 3.0, ratio })
    });
    let growth = GROWTH.iter().filter_map(|(title, large, small)| {
        let measure =
            if title.starts_with("time") { "sync µs per object" } else { "steady bytes per object" };
        let of = |work| summary.get(work, PEERS[0], measure).map(|figures| figures.median());
        let ratio = of(large)? / of(small)?;
        Some(Goal { title: (*title).to_owned(), against: "itself", at_least: false, bound: 1.15, ratio })
    });
    against_peers.chain(under_writer).chain(growth).collect()
}
