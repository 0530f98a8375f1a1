//! What the tests share: a cluster with the CRD, Neutron asked directly, the controller as a process.

mod cluster;
mod controller;
mod lease;
mod link;
mod neutron;
mod proxy;
mod settled;
mod setup;
mod writers;

use std::time::Duration;

pub use self::{
    cluster::{Cluster, EXAMPLE, crd},
    controller::{Controller, example, signal},
    lease::{LeaseWatch, Term},
    link::{Link, Traffic},
    neutron::{Found, Held, PROBE, TestNeutron, by_uid, held},
    proxy::{Gate, Proxy, Verdict, Write},
    settled::settles,
    setup::Setup,
    writers::{History, Writers, seed},
};

/// The longest that anything may take: a machine can be slow, and the large numbers take their time.
fn patience() -> Duration {
    Duration::from_secs(genclient_tally::usual_or_long(180, 1800))
}

/// Asks again and again until the answer is yes; gives up, with the last answer, long after it should have been.
pub async fn eventually<T: std::fmt::Debug, F: Future<Output = T>>(
    what: &str,
    mut ask: impl FnMut() -> F,
    holds: impl Fn(&T) -> bool,
) -> T {
    let deadline = tokio::time::Instant::now() + patience();
    loop {
        let asked = tokio::time::Instant::now();
        let answer = ask().await;
        if holds(&answer) {
            return answer;
        }
        assert!(tokio::time::Instant::now() < deadline, "it did not happen that {what}: {answer:?}");
        // A server that takes long to answer has other things to do as well.
        tokio::time::sleep(asked.elapsed().mul_f64(4.0).max(Duration::from_millis(50))).await;
    }
}
