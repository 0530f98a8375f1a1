//! The figures to reach: each is a ratio that is at most its bound.

use crate::summary::{PEERS, Summary, forms};

/// A goal, and how near we came.
pub(crate) struct Goal {
    pub(crate) title: String,
    pub(crate) against: &'static str,
    pub(crate) bound: f64,
    pub(crate) ratio: f64,
}

impl Goal {
    pub(crate) fn is_reached(&self) -> bool {
        self.ratio <= self.bound
    }
}

/// Title, work, measure, peer, and the bound of our figure over the peer's.
type Row = (&'static str, &'static str, &'static str, &'static str, f64);

const NETWORKS: &str = "real server, 50000 network streamed";
const DEPLOYMENTS: &str = "real server, 10000 deployment streamed";
const PODS: &str = "real server, 10000 pod streamed";

const ROWS: [Row; 6] = [
    ("client CPU of a sync, 50,000 Networks", NETWORKS, "sync CPU s", "kube-rs", 0.65),
    ("client CPU of an event, Networks", NETWORKS, "updates CPU s", "kube-rs", 1.0),
    ("client CPU of an event, Deployments", DEPLOYMENTS, "updates CPU s", "kube-rs", 1.0),
    ("client CPU of an event, Pods", PODS, "updates CPU s", "kube-rs", 1.0),
    ("generation, one kind", "generate 1 kinds", "generation s", "client-go", 0.01),
    ("generation, 1,000 kinds", "generate 1000 kinds", "generation s", "client-go", 0.1),
];

/// From a write to the handler, at most 1.05 of each peer.
const LATENCIES: [(&str, &str); 3] = [("Networks", NETWORKS), ("Deployments", DEPLOYMENTS), ("Pods", PODS)];

/// Ours: a measure of some work over a measure of other work, and the bound.
type Own = (&'static str, (&'static str, &'static str), (&'static str, &'static str), f64);

const OWN: [Own; 3] = [
    ("peak over settled memory, Networks", (NETWORKS, "peak memory MB"), (NETWORKS, "steady memory MB"), 1.3),
    (
        "peak over settled memory, Deployments",
        (DEPLOYMENTS, "peak memory MB"),
        (DEPLOYMENTS, "steady memory MB"),
        1.3,
    ),
    ("peak over settled memory, Pods", (PODS, "peak memory MB"), (PODS, "steady memory MB"), 1.3),
];

/// Every goal whose work was measured, against each form of the peer.
pub(crate) fn all(summary: &Summary) -> Vec<Goal> {
    let against_peers = ROWS.iter().flat_map(|(title, work, measure, peer, bound)| {
        forms(peer).iter().filter_map(|form| {
            let ratio = summary.ratio(work, measure, form)?;
            Some(Goal { title: (*title).to_owned(), against: form, bound: *bound, ratio })
        })
    });
    let latencies = LATENCIES.iter().flat_map(|(kind, work)| {
        ["median", "99 %"].into_iter().flat_map(move |part| {
            let measure = format!("write to handler ms, {part}");
            ["kube-rs", "client-go"].into_iter().flat_map(forms).filter_map(move |against| {
                let ratio = summary.ratio(work, &measure, against)?;
                let title = format!("from a write to the handler, {kind}, {part}");
                Some(Goal { title, against, bound: 1.05, ratio })
            })
        })
    });
    let own = OWN.iter().filter_map(|(title, (work, measure), (other_work, other), bound)| {
        let of = |work, measure| summary.get(work, PEERS[0], measure).map(|figures| figures.median());
        let ratio = of(*work, *measure)? / of(*other_work, *other)?;
        Some(Goal { title: (*title).to_owned(), against: "itself", bound: *bound, ratio })
    });
    against_peers.chain(latencies).chain(own).collect()
}
