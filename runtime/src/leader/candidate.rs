//! The protocol: how a candidate acquires, renews and releases a Lease.
//!
//! The candidate never compares times of the Lease with its own clock, so it does not matter whether the clocks of
//! the replicas agree. It measures how long it has seen a record unchanged, and trusts the server alone to decide
//! which of two writes comes first: each names the resource version that it replaces, or creates the Lease.
//!
//! In a coordinated election the API server assigns the Lease, and compares its times with a clock. Its choice says who
//! may claim the Lease, and nothing about whether the leader before has stopped. The record of that leader is
//! overwritten, so each claim leaves a note beside it: how long the next leader has to wait. A release sets it to zero.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::{SignedDuration, Timestamp},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    Lost, Settings,
    clock::{Moment, time_of_day},
    coordination::{LONGEST_POLL, Nomination},
    fence::{Held, Standing},
};
use crate::{
    TypedClient,
    backoff::jittered,
    bucket::later,
    error::{Error, Result},
    object::ObjectKey,
};

/// The annotation of a Lease in a coordinated election: the transitions of its last claim, and after a `/` the seconds
/// for which the next leader waits.
const TERM: &str = "genclient/term";

/// A candidate for one Lease.
pub(super) struct Candidate {
    leases: TypedClient<Lease>,
    lease: Arc<ObjectKey>,
    identity: Arc<str>,
    settings: Settings,
    /// What makes the API server choose the leader.
    nomination: Option<Arc<Nomination>>,
    /// The Lease as last read or written.
    known: Option<Lease>,
    /// The record of the Lease as last read, and when it was first seen.
    seen: Option<(LeaseSpec, Instant)>,
    /// What this process wrote, or tried to write, when it last acquired the Lease.
    claim: Option<Claim>,
    /// When the last record of another holder that was seen expires.
    others: Option<Instant>,
    /// The highest number of transitions that was seen.
    transitions: i32,
    /// The time of the last write, which each write exceeds.
    renewed: Timestamp,
    /// What the log said last, so that it says it once.
    logged: Option<String>,
}

/// What tells a term of this process from every other one.
#[derive(Clone, Debug, PartialEq)]
struct Claim {
    acquired: MicroTime,
    transitions: i32,
    /// When every earlier leader has stopped, if the API server made the choice.
    clear: Option<Instant>,
    /// Whether this process has led, or may have.
    has_led: bool,
}

/// Why an attempt did not acquire the Lease.
#[derive(Debug)]
enum Denied {
    /// Another holder may still lead, until this moment at the earliest.
    Wait(Instant),
    /// The API server has not chosen this candidate.
    NotChosen,
    /// The API server chose this candidate. An earlier leader may still lead, until this moment at the latest.
    Chosen(Instant),
    /// A request failed.
    Failed(Error),
    /// The server answered so late that the term was over.
    Late,
}

/// Why a renewal failed.
#[derive(Debug)]
enum NotRenewed {
    Taken { by: Option<String> },
    Preferred { holder: String },
    Failed(Error),
}

impl From<Error> for Denied {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Error> for NotRenewed {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Candidate {
    pub(super) fn new(
        leases: TypedClient<Lease>,
        lease: Arc<ObjectKey>,
        identity: Arc<str>,
        settings: Settings,
    ) -> Self {
        Self {
            leases,
            lease,
            identity,
            settings,
            nomination: None,
            known: None,
            seen: None,
            claim: None,
            others: None,
            transitions: -1,
            renewed: Timestamp::UNIX_EPOCH,
            logged: None,
        }
    }

    /// Lets the API server choose the leader.
    pub(super) fn nominate(mut self, nomination: Arc<Nomination>) -> Self {
        self.nomination = Some(nomination);
        self
    }

    /// Tries until the Lease is acquired.
    pub(super) async fn acquire(&mut self, standing: &watch::Sender<Standing>) -> Held {
        match self.nomination.clone() {
            Some(nomination) => nomination.during(self.elect(standing)).await,
            None => self.elect(standing).await,
        }
    }

    async fn elect(&mut self, standing: &watch::Sender<Standing>) -> Held {
        loop {
            let outcome = self.attempt().await;
            self.publish(standing);
            let period = match self.is_coordinated() {
                true => self.settings.retry_period.min(LONGEST_POLL),
                false => self.settings.retry_period,
            };
            let retry = later(Instant::now(), jittered(period / 2, 1.0));
            let until = match outcome {
                Ok(held) => {
                    standing.send_modify(|standing| standing.held = Some(held));
                    self.logged = None;
                    tracing::info!(lease = %self.lease, identity = %self.identity, term = held.term, "leading");
                    return held;
                }
                Err(Denied::Wait(until)) => {
                    let holder = self.holder().unwrap_or_default();
                    self.log(format!("another candidate leads: {holder}"), false);
                    retry.min(until.max(Instant::now()))
                }
                Err(Denied::NotChosen) => {
                    let leader = self.holder().unwrap_or_else(|| "nobody".to_owned());
                    self.log(format!("the API server has chosen {leader}"), false);
                    retry
                }
                Err(Denied::Chosen(clear)) => {
                    self.log("chosen, and waiting until earlier leaders have stopped".to_owned(), false);
                    retry.min(clear.max(Instant::now()))
                }
                Err(Denied::Failed(error)) => {
                    // Another candidate was faster; the next read shows which.
                    if !error.is_conflict() && !error.is_already_exists() {
                        self.log(error.to_string(), true);
                    }
                    retry
                }
                Err(Denied::Late) => {
                    self.log(
                        "the API server took too long to answer; it may be overloaded or unreachable"
                            .to_owned(),
                        true,
                    );
                    retry
                }
            };
            sleep_until(until).await;
        }
    }

    /// Renews the Lease until it is lost.
    pub(super) async fn keep(&mut self, held: Held, standing: &watch::Sender<Standing>) -> Lost {
        match self.nomination.clone() {
            Some(nomination) => nomination.during(self.renew_in_time(held, standing)).await,
            None => self.renew_in_time(held, standing).await,
        }
    }

    async fn renew_in_time(&mut self, mut held: Held, standing: &watch::Sender<Standing>) -> Lost {
        let mut next = later(Instant::now(), self.settings.retry_period);
        let lost = loop {
            sleep_until(next.min(held.deadline.instant())).await;
            if held.deadline.is_past() {
                break Lost::Expired;
            }
            let sent = Moment::now();
            let limit = later(sent.instant(), self.settings.renew_deadline / 2).min(held.deadline.instant());
            match timeout_at(limit, self.renew()).await {
                // An answer after the deadline comes too late: the work has been refused meanwhile.
                _ if held.deadline.is_past() => break Lost::Expired,
                Ok(Ok(())) => {
                    held.deadline = sent.after(self.settings.renew_deadline);
                    self.logged = None;
                    standing.send_modify(|standing| {
                        // The leadership may have been dropped meanwhile.
                        if let Some(current) = &mut standing.held
                            && current.term == held.term
                        {
                            *current = held;
                        }
                    });
                }
                Ok(Err(NotRenewed::Taken { by })) => break Lost::Taken { by },
                Ok(Err(NotRenewed::Preferred { holder })) => break Lost::Preferred { holder },
                Ok(Err(NotRenewed::Failed(error))) => self.log(format!("cannot renew: {error}"), true),
                Err(_) => self.log(
                    "cannot renew: the API server does not answer; it may be overloaded or unreachable"
                        .to_owned(),
                    true,
                ),
            }
            next = later(sent.instant(), self.settings.retry_period);
        };
        standing.send_modify(|standing| standing.held = None);
        self.publish(standing);
        tracing::warn!(lease = %self.lease, identity = %self.identity, term = held.term, "no longer leading: {lost}");
        lost
    }

    /// Gives the Lease to the next candidate, unless another one already has it. In a coordinated election this process
    /// is no candidate any more.
    pub(super) async fn release(&mut self) -> Result<()> {
        if let Some(nomination) = &self.nomination {
            // The API server might choose this process again.
            nomination.withdraw_soon().await;
        }
        loop {
            let Some(known) = self.known.clone().filter(|lease| self.is_own(lease)) else { return Ok(()) };
            let now = self.now();
            let mut released = released(known, now);
            if self.is_coordinated() {
                // All work has ended, so the next leader need not wait.
                self.note(&mut released, 0);
            }
            match self.leases.update(&released).await {
                Ok(_) => {
                    tracing::info!(lease = %self.lease, identity = %self.identity, "released");
                    self.claim = None;
                    return Ok(());
                }
                // A renewal whose answer was lost, or another client that edits the object.
                Err(error) if error.is_conflict() || error.is_not_found() => _ = self.read().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the Lease, and acquires it if no other candidate can hold it.
    async fn attempt(&mut self) -> Result<Held, Denied> {
        let asked = later(Instant::now(), self.settings.renew_deadline);
        let read = timeout_at(asked, self.read()).await.map_err(|_| Denied::Late)?;
        let lease = read?;
        if self.is_coordinated() {
            return self.accept(lease).await;
        }
        let mut clear = None;
        if let Some(lease) = lease.as_ref().filter(|lease| self.is_free(lease)) {
            // It may have been coordinated before.
            clear = match &self.claim {
                Some(claim) if self.is_own(lease) => claim.clear,
                _ => self.noted(lease),
            };
        } else {
            // A Lease that was deleted may still have a holder, which learns of it at its next renewal.
            if let Some(until) = self.expires()
                && Instant::now() < until
            {
                return Err(Denied::Wait(until));
            }
        }
        if let Some(until) = clear
            && Instant::now() < until
        {
            return Err(Denied::Wait(until));
        }
        let claim = self.new_claim(None);
        self.take(lease, claim).await
    }

    /// Claims a Lease that the API server assigned to this candidate, and acquires it once every earlier leader has
    /// stopped.
    async fn accept(&mut self, lease: Option<Lease>) -> Result<Held, Denied> {
        let Some(lease) = lease.filter(|_| self.holder().as_deref() == Some(&*self.identity)) else {
            return Err(Denied::NotChosen);
        };
        let own = self.claim.clone().filter(|_| self.is_own(&lease));
        let is_assigned = is_assignment(&lease);
        // Another process with the same identity may have claimed it.
        if own.is_none()
            && !is_assigned
            && let Some(until) = self.expires()
            && Instant::now() < until
        {
            return Err(Denied::Wait(until));
        }
        if self.preferred().is_some() {
            // If this process led, its work may not have ended: the next leader waits.
            let now = self.now();
            self.leases.update(&released(lease, now)).await?;
            self.claim = None;
            return Err(Denied::NotChosen);
        }
        let claim = match own {
            Some(claim) if !claim.has_led => claim,
            Some(_) => self.new_claim(None),
            None => {
                let clear = self.clear(&lease);
                self.new_claim(clear)
            }
        };
        self.take(Some(lease), claim).await
    }

    /// Returns when the leaders before an assignment have stopped.
    fn clear(&self, lease: &Lease) -> Option<Instant> {
        let (spec, since) = self.seen.as_ref()?;
        // Without transitions, the API server created the Lease, and nobody has claimed it.
        if spec.lease_transitions.is_none() {
            return self.others;
        }
        // Without a note the last leader took no part in this, such as one of client-go.
        let usual = || self.others.max(Some(later(*since, self.settings.lease_duration)));
        self.noted(lease).or_else(usual)
    }

    /// Returns until when the note of the last claim lets the next leader wait.
    fn noted(&self, lease: &Lease) -> Option<Instant> {
        let (spec, since) = self.seen.as_ref()?;
        let (claimed, seconds) = lease.metadata.annotations.as_ref()?.get(TERM)?.split_once('/')?;
        let is_last = spec.lease_transitions.is_some() && claimed.parse().ok() == spec.lease_transitions;
        seconds.parse().ok().filter(|_| is_last).map(|seconds| later(*since, Duration::from_secs(seconds)))
    }

    fn new_claim(&mut self, clear: Option<Instant>) -> Claim {
        let transitions = self.transitions.saturating_add(1);
        Claim { acquired: self.now(), transitions, clear, has_led: false }
    }

    /// Writes a claim, and acquires the Lease if no earlier leader can lead.
    async fn take(&mut self, lease: Option<Lease>, claim: Claim) -> Result<Held, Denied> {
        let Claim { acquired, transitions, clear, .. } = claim.clone();
        let now = if self.claim.as_ref() == Some(&claim) { self.now() } else { acquired.clone() };
        self.claim = Some(claim);
        let sent = Moment::now();
        let deadline = sent.after(self.settings.renew_deadline);
        let written = timeout_at(deadline.instant(), self.write(lease, acquired, now)).await;
        written.map_err(|_| Denied::Late)??;
        if deadline.is_past() {
            return Err(Denied::Late);
        }
        if let Some(clear) = clear
            && Instant::now() < clear
        {
            return Err(Denied::Chosen(clear));
        }
        if let Some(claim) = &mut self.claim {
            claim.has_led = true;
        }
        Ok(Held { term: u64::try_from(transitions).unwrap_or_default(), deadline })
    }

    /// Writes the record once more, with a new time.
    async fn renew(&mut self) -> Result<(), NotRenewed> {
        let Some(Claim { acquired, .. }) = self.claim.clone() else {
            return Err(NotRenewed::Taken { by: None });
        };
        loop {
            let now = self.now();
            let known = self.known.clone();
            match self.write(known, acquired.clone(), now).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_conflict() || error.is_not_found() || error.is_already_exists() => {}
                Err(error) => return Err(error.into()),
            }
            // Another candidate has it, or somebody edited or deleted the object. If it is deleted it is created
            // again: the server lets one candidate do that. In a coordinated election the API server creates it.
            let lease = self.read().await?;
            let is_taken = match &lease {
                Some(lease) => !self.is_own(lease),
                None => self.is_coordinated(),
            };
            if is_taken {
                return Err(NotRenewed::Taken { by: self.holder() });
            }
            if let Some(holder) = self.preferred().filter(|_| self.is_coordinated()) {
                return Err(NotRenewed::Preferred { holder });
            }
        }
    }

    /// Replaces the Lease by the record of the claim, or creates it.
    async fn write(&mut self, lease: Option<Lease>, acquired: MicroTime, now: MicroTime) -> Result<()> {
        let claimed = self.claim.as_ref().map(|claim| claim.transitions);
        let exists = lease.is_some();
        let mut lease = lease.unwrap_or_default();
        lease.metadata.name = Some(self.lease.name.clone());
        lease.metadata.namespace.clone_from(&self.lease.namespace);
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(self.identity.to_string());
        spec.lease_duration_seconds = Some(self.settings.seconds());
        spec.acquire_time = Some(acquired);
        spec.renew_time = Some(now);
        spec.lease_transitions = claimed;
        if self.is_coordinated() {
            let clear = self.claim.as_ref().and_then(|claim| claim.clear);
            let left = clear.map_or(0, |clear| (clear - Instant::now()).as_secs().saturating_add(1));
            self.note(&mut lease, left.max(self.settings.lease_duration.as_secs()));
        }
        let written =
            if exists { self.leases.update(&lease).await? } else { self.leases.create(&lease).await? };
        self.observe(Some(written));
        Ok(())
    }

    async fn read(&mut self) -> Result<Option<Lease>> {
        let lease = match self.leases.get(&self.lease.name).await {
            Ok(lease) => Some(lease),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        self.observe(lease.clone());
        Ok(lease)
    }

    /// Notes beside the record how long the next leader has to wait.
    fn note(&self, lease: &mut Lease, seconds: u64) {
        let Some(claim) = &self.claim else { return };
        let annotations = lease.metadata.annotations.get_or_insert_default();
        annotations.insert(TERM.to_owned(), format!("{}/{seconds}", claim.transitions));
    }

    fn is_coordinated(&self) -> bool {
        self.nomination.as_ref().is_some_and(|nomination| nomination.is_served())
    }

    /// Remembers when the record was first seen.
    fn observe(&mut self, lease: Option<Lease>) {
        if let Some(spec) = lease.as_ref().map(|lease| lease.spec.clone().unwrap_or_default()) {
            self.transitions = self.transitions.max(spec.lease_transitions.unwrap_or_default());
            if self.seen.as_ref().is_none_or(|(seen, _)| *seen != spec) {
                self.seen = Some((spec, Instant::now()));
                let is_assigned = lease.as_ref().is_some_and(|lease| {
                    is_assignment(lease) && holder_of(lease).as_deref() == Some(&*self.identity)
                });
                if !is_assigned {
                    self.others = self.expires().or(self.others);
                }
            }
        }
        self.known = lease;
    }

    /// Returns whether no other candidate holds the Lease: it was released, or is held by this process.
    fn is_free(&self, lease: &Lease) -> bool {
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
        holder.is_none_or(str::is_empty) || self.is_own(lease)
    }

    /// Returns whether the last claim of this process is in the Lease. Another process may have the same identity.
    fn is_own(&self, lease: &Lease) -> bool {
        let Some(spec) = &lease.spec else { return false };
        self.claim.as_ref().is_some_and(|claim| {
            spec.holder_identity.as_deref() == Some(&*self.identity)
                && spec.acquire_time.as_ref() == Some(&claim.acquired)
                && spec.lease_transitions == Some(claim.transitions)
        })
    }

    /// Returns when the record that was last seen expires if it does not change, unless this process wrote it or
    /// its holder released it.
    fn expires(&self) -> Option<Instant> {
        let (spec, since) = self.seen.as_ref()?;
        let lease = Lease { spec: Some(spec.clone()), ..Lease::default() };
        if self.is_free(&lease) {
            return None;
        }
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.filter(|&seconds| seconds > 0).map(Duration::from_secs);
        let usual = self.settings.lease_duration;
        let duration = duration.unwrap_or(usual);
        // The API server shortens the duration when it assigns the Lease, and an earlier leader may still lead.
        let duration = if is_assignment(&lease) { duration.max(usual) } else { duration };
        Some(later(*since, duration))
    }

    fn holder(&self) -> Option<String> {
        holder_of(self.known.as_ref()?)
    }

    /// Returns the candidate to which the API server asks the holder to give the Lease.
    fn preferred(&self) -> Option<String> {
        let preferred = self.known.as_ref()?.spec.as_ref()?.preferred_holder.clone()?;
        (!preferred.is_empty() && preferred != *self.identity).then_some(preferred)
    }

    fn publish(&self, standing: &watch::Sender<Standing>) {
        let holder = self.holder();
        standing.send_if_modified(|standing| {
            let is_new = standing.holder.as_deref() != holder.as_deref();
            if is_new {
                standing.holder = holder.map(Into::into);
            }
            is_new
        });
    }

    /// Returns the time of day, with the precision of the Lease. It is later than in any write before, so that a
    /// clock that stands still or jumps back does not make a renewal look like the record before it.
    fn now(&mut self) -> MicroTime {
        const PRECISION: SignedDuration = SignedDuration::from_micros(1);
        let now = Timestamp::from_microsecond(time_of_day().as_microsecond()).unwrap_or(self.renewed);
        let next = self.renewed.checked_add(PRECISION).unwrap_or(self.renewed);
        self.renewed = now.max(next);
        MicroTime(self.renewed)
    }

    /// Logs what the log did not say last.
    fn log(&mut self, message: String, is_warning: bool) {
        if self.logged.as_ref() == Some(&message) {
            return;
        }
        let (lease, identity) = (&self.lease, &self.identity);
        if is_warning {
            tracing::warn!(%lease, %identity, "{message}");
        } else {
            tracing::info!(%lease, %identity, "{message}");
        }
        self.logged = Some(message);
    }
}

/// Returns whether the API server wrote the record when it chose the holder, and the holder has not claimed it.
fn is_assignment(lease: &Lease) -> bool {
    lease.spec.as_ref().is_some_and(|spec| spec.acquire_time.is_none())
}

/// Returns the Lease without a holder, as client-go releases it.
fn released(lease: Lease, now: MicroTime) -> Lease {
    let spec = LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        preferred_holder: None,
        ..lease.spec.unwrap_or_default()
    };
    Lease { spec: Some(spec), ..lease }
}

fn holder_of(lease: &Lease) -> Option<String> {
    let holder = lease.spec.as_ref()?.holder_identity.clone()?;
    (!holder.is_empty()).then_some(holder)
}
