//! What the Lease, the logs and the writes to Neutron show of a trial.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use genclient_runtime::k8s_openapi::jiff::{SignedDuration, Timestamp};
use genclient_tally::Tally;
use http::Method;

use super::{ALLOWANCE, LEADS, LEASE_DURATION, RETRY_PERIOD, field};
use crate::support::{PROBE, Proxy, Term, Write};

/// What a replica that ended has done.
pub struct Past {
    pub log: Vec<String>,
    pub proxy: Proxy,
}

/// When the API server did not answer.
pub type Outages = Vec<(Timestamp, Timestamp)>;

/// What a trial has shown.
pub struct Record {
    pub terms: Vec<Term>,
    pub past: Vec<Past>,
    pub outages: Outages,
}

impl Record {
    /// Shows and counts what happened, and checks that one replica worked at a time, and that one did soon.
    pub fn check(&self, tally: &Tally) {
        let Self { terms, past, outages } = self;
        let (writes, gap) = (writes(past), self.longest_gap());
        let created = Created::of(&writes);
        let again = created.by_uid.values().filter(|times| **times > 1).count();
        eprintln!(
            "{} replicas, {} terms, {} outages, at most {gap:.1?} without a leader; {} writes, {} networks created, \
             {again} of them again after a deletion, {} doubled",
            past.len(),
            terms.len(),
            outages.len(),
            writes.len(),
            created.by_uid.values().sum::<usize>(),
            created.doubled.len(),
        );
        tally.add("takeover", terms.len() - 1);
        tally.add("outage", outages.len());
        tally.add("write", writes.len());
        tally.add("network", created.by_uid.len());

        assert_eq!(created.doubled, [""; 0]);
        assert!(gap <= LEASE_DURATION + RETRY_PERIOD + ALLOWANCE, "{gap:?}: {terms:#?}");
        assert!(terms.is_sorted_by(|a, b| a.number < b.number), "{terms:#?}");
        for Past { log, proxy } in past {
            let identity = log.iter().find_map(|line| field(line, "identity"));
            assert_eq!(self.foreign_writes(identity.as_deref(), &proxy.writes()), [""; 0]);
            for (identity, number) in led(log) {
                let term = terms.iter().find(|term| term.number == number);
                assert!(
                    term.is_some_and(|term| term.holder == identity),
                    "{identity} led in {number}: {term:?}"
                );
            }
        }
    }

    /// The longest time from the last renewal or the release of a term to the next term. Outages do not count.
    fn longest_gap(&self) -> Duration {
        let gap = |from: Timestamp, to: Timestamp| {
            let overlap = |(begun, ended): &(Timestamp, Timestamp)| {
                to.min(*ended).duration_since(from.max(*begun)).max(SignedDuration::ZERO)
            };
            let outages = self.outages.iter().map(overlap);
            outages.fold(to.duration_since(from), |gap, outage| gap - outage)
        };
        let gaps = self.terms.windows(2).map(|pair| gap(pair[0].last, pair[1].begun));
        gaps.max().unwrap_or_default().unsigned_abs()
    }

    /// The writes of a replica that came while it did not hold the Lease, or that name another term.
    fn foreign_writes(&self, identity: Option<&str>, writes: &[Write]) -> Vec<String> {
        let foreign = writes.iter().filter_map(|write| {
            let term = self.terms.iter().rfind(|term| term.acquired <= write.received);
            let is_own = term.is_some_and(|term| {
                Some(&*term.holder) == identity
                    && write.user_agent.ends_with(&format!("(term {})", term.number))
            });
            (!is_own).then(|| format!("{identity:?} wrote in {term:?}: {write:?}"))
        });
        foreign.collect()
    }
}

/// The writes of all replicas, in the order of Neutron's answers.
pub fn writes(past: &[Past]) -> Vec<Write> {
    let mut writes: Vec<_> = past.iter().flat_map(|past| past.proxy.writes()).collect();
    writes.sort_by_key(|write| write.answered);
    writes
}

/// The terms in which a replica led, by its log: its name and the number of each term.
fn led(log: &[String]) -> impl Iterator<Item = (String, i32)> {
    let lines = log.iter().filter(|line| LEADS.iter().all(|text| line.contains(text)));
    lines.filter_map(|line| Some((field(line, "identity")?, field(line, "term")?.parse().ok()?)))
}

/// The networks in the writes of all replicas.
#[derive(Default)]
struct Created {
    /// How often a network was created, by the uid of its owner.
    by_uid: BTreeMap<String, usize>,
    /// The networks that were created while their owner had another one.
    doubled: Vec<String>,
}

impl Created {
    fn of(writes: &[Write]) -> Self {
        let mut created = Self::default();
        let mut living = BTreeMap::<String, BTreeSet<String>>::new();
        for write in writes.iter().filter(|write| write.status.is_success()) {
            let network = &write.answer["network"];
            let (name, description) = (network["name"].as_str(), network["description"].as_str());
            if write.method == Method::POST && name.is_some_and(|name| name != PROBE) {
                let (_, uid) = description.unwrap().rsplit_once(" uid=").unwrap();
                let ids = living.entry(uid.to_owned()).or_default();
                if !ids.is_empty() {
                    created.doubled.push(format!("{ids:?} and {write:?}"));
                }
                ids.insert(network["id"].as_str().unwrap().to_owned());
                *created.by_uid.entry(uid.to_owned()).or_default() += 1;
            } else if write.method == Method::DELETE
                && let Some((_, id)) = write.path.split_once("/networks/")
            {
                living.values_mut().for_each(|ids| _ = ids.remove(id));
            }
        }
        created
    }
}
