//! Leader election on a Lease, and a fence that refuses the writes of a process that does not lead.
//!
//! Several replicas of a controller run, and one of them leads. A [`Manager`](crate::Manager) with a
//! [lease](crate::manager::Builder::lease) does all of this; an [`Elector`] works without one:
//!
//! ```no_run
//! # use genclient_runtime::{client, leader::Elector};
//! # async fn work(_: kube::Client) {}
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = client::try_default().await?;
//! let elector = Elector::builder(client.clone(), "default/example-controller").build()?;
//! let fenced = elector.fence().client(client);
//! loop {
//!     let mut leadership = elector.acquire().await;
//!     tokio::select! {
//!         lost = leadership.lost() => println!("{lost}"),
//!         () = work(fenced.clone()) => return Ok(leadership.release().await?),
//!     }
//! }
//! # }
//! ```
//!
//! # The Lease
//! The algorithm is client-go's, on the same object, so that both can be candidates for one Lease. The leader renews
//! the Lease every [retry period](ElectorBuilder::retry_period). A candidate takes it over when it has seen it
//! unchanged for the [lease duration](ElectorBuilder::lease_duration) that the leader wrote. A leader stops when it
//! could not renew the Lease within the [renew deadline](ElectorBuilder::renew_deadline), which is shorter.
//!
//! # Guarantees
//! - **Two processes never lead at the same time.** The deadline of a leader is counted from before it sent the
//!   renewal, and a candidate waits from after the renewal was stored. Every write of the Lease names the version
//!   that it replaces. The times in the Lease are never compared with a clock, so the clocks of the replicas may
//!   differ and jump. They must run at similar rates: with the default settings, the clock of a candidate may be up
//!   to 1.5 times as fast as that of the leader.
//! - **Suspended time counts.** On Linux a leader that wakes after its deadline does not lead, though the monotonic
//!   clock did not count the sleep.
//! - **Writes through the fence are refused after the deadline**, and those that are under way are given up. The
//!   fence looks at the clock each time before it polls a request, also after the process was stopped.
//! - **Each leader has a higher [term](Leadership::term)** than the ones before: the `leaseTransitions` of the Lease.
//!   A provider that remembers the highest term refuses the late writes of an earlier leader.
//! - **A candidate takes over a released Lease within the retry period**, and the Lease of a dead leader within the
//!   lease duration plus the retry period.
//! - **Dropping a [`Leadership`] stops its renewals and closes the fence.** The Lease then expires.
//!
//! # Coordinated election
//! With [`coordinated`](ElectorBuilder::coordinated) the API server chooses the leader by the
//! [versions](Versions) of the candidates (Kubernetes calls this *coordinated leader election*; it is a feature gate).
//! Each candidate keeps a LeaseCandidate with its identity as the name, answers the server's pings, and claims the Lease
//! when the server assigns it. It never takes the Lease itself. When the server prefers another candidate, the leader
//! stops ([`Lost::Preferred`]), and [`release`](Leadership::release) hands the Lease over. A server without
//! LeaseCandidates is noticed and logged once, and the candidates elect the leader as above.
//!
//! - **The guarantees hold whatever the server chooses**, except for the times of a takeover, which are the server's.
//!   The server compares the times in the Lease with its own clock and may choose a new leader too early. The new leader
//!   therefore claims the Lease, keeps it, and leads after the lease duration of the leader before, unless that one has
//!   released it. A note in the annotation `genclient/term` says which.
//! - A released Lease passes on at once. If a leader dies, the server notices after the lease duration, chooses within
//!   some 10 seconds, and the next leader waits for the lease duration.
//! - Candidates of client-go may take part. They trust the server's choice, so two leaders one of which is client-go's
//!   overlap if the clocks of the server and of the first one differ by more than the lease duration less the renew
//!   deadline.
//! - If somebody deletes the Lease, the leader loses it.
//! - A server that has LeaseCandidates with the feature gate off never chooses anybody.
//!
//! # Limits
//! - A write that was sent before the deadline can be stored after it, if the network holds it back for longer than
//!   the lease duration less the renew deadline. The API server refuses it if it names a resource version that has
//!   changed, and a provider if it knows terms.
//! - If somebody deletes the Lease, a candidate that was not yet running can create it and lead, until the leader's
//!   next renewal within the retry period, and its terms begin at 0. A candidate that has seen the Lease waits for its
//!   end, and continues its terms.
//! - The same happens if somebody clears the holder or shortens the duration in the Lease.
//! - A virtual machine whose hypervisor pauses it, or restores it from a snapshot, may not notice the time that has
//!   passed, and then writes until it reads the Lease. A provider that knows terms refuses these writes.
//! - A process that is stopped in the microseconds between the last look at the clock and the system call that sends
//!   the request sends it when it continues.

mod candidate;
mod clock;
mod coordination;
mod fence;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use rand::RngExt as _;
use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

pub(crate) use self::fence::in_term;
use self::{
    candidate::Candidate,
    coordination::{Nomination, is_candidate_name},
    fence::{Cut, Standing},
};
pub use self::{
    coordination::Versions,
    fence::{Fence, Refused},
};
use crate::{
    RestClient, TypedClient,
    error::Result,
    object::ObjectKey,
    selector::{is_dns_label, is_dns_subdomain},
};

/// A candidate for a Lease; see [the module](self). Cheap to clone.
#[derive(Clone)]
pub struct Elector {
    lease: Arc<ObjectKey>,
    identity: Arc<str>,
    settings: Settings,
    standing: watch::Sender<Standing>,
    candidate: Arc<Mutex<Candidate>>,
    nomination: Option<Arc<Nomination>>,
    /// When guarded work was last dropped before its end.
    cut: Arc<Cut>,
}

/// Configures an [`Elector`].
#[derive(Clone)]
#[must_use = "a builder does nothing until it is built"]
pub struct ElectorBuilder {
    client: Client,
    lease: String,
    identity: Option<String>,
    settings: Settings,
    versions: Option<Versions>,
}

/// The times of an election.
#[derive(Clone, Copy, Debug)]
struct Settings {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

/// Why an [`Elector`] cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectorError {
    /// The Lease is not `name` or `namespace/name`.
    #[error(
        "`{0}` is not a Lease: write `name` or `namespace/name`, of lower case letters, digits, `-` and, in the \
         name, `.`"
    )]
    Lease(String),
    /// The identity is empty.
    #[error("the identity of a candidate must not be empty")]
    Identity,
    /// The identity cannot be the name of a LeaseCandidate.
    #[error(
        "the identity `{0}` cannot be the name of a LeaseCandidate: write up to 253 letters, digits, `-`, `_` and `.`"
    )]
    CandidateName(String),
    /// The API server would refuse the versions of the candidate.
    #[error(
        "the binary version `{binary}` and the emulation version `{emulation}` must be semantic versions such as \
         `1.2.3`, newer than 0.0.0, and the emulation version must not be newer than the binary version"
    )]
    Versions {
        /// The binary version.
        binary: String,
        /// The emulation version.
        emulation: String,
    },
    /// The lease duration is not a positive number of seconds.
    #[error("the lease duration is {0:?}: it must be a whole number of seconds, at least one")]
    LeaseDuration(Duration),
    /// The leader would not stop before another candidate could lead.
    #[error(
        "the renew deadline of {renew_deadline:?} must be shorter than the lease duration of {lease_duration:?}"
    )]
    RenewDeadline {
        /// The renew deadline.
        renew_deadline: Duration,
        /// The lease duration.
        lease_duration: Duration,
    },
    /// The leader would renew too seldom.
    #[error(
        "the retry period of {retry_period:?} must be longer than zero, and shorter than half of the renew deadline of \
         {renew_deadline:?}"
    )]
    RetryPeriod {
        /// The retry period.
        retry_period: Duration,
        /// The renew deadline.
        renew_deadline: Duration,
    },
}

/// Why a leader does not lead any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The Lease could not be renewed within the renew deadline.
    Expired,
    /// Another candidate holds the Lease, or it was released by somebody else.
    Taken {
        /// The holder.
        by: Option<String>,
    },
    /// The API server asked this process to give the Lease to a better candidate. [Release](Leadership::release) it
    /// when all work has ended.
    Preferred {
        /// The better candidate.
        holder: String,
    },
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("the Lease could not be renewed in time"),
            Self::Taken { by: Some(holder) } => write!(f, "{holder} holds the Lease"),
            Self::Taken { by: None } => f.write_str("the Lease was released or deleted by somebody else"),
            Self::Preferred { holder } => write!(f, "the API server prefers {holder}"),
        }
    }
}

impl ElectorBuilder {
    /// Names the candidate in the Lease. The default is the name of the host, which is that of the pod, and a random
    /// number.
    ///
    /// Two processes with one identity do not lead at the same time either: a candidate knows its own term.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// Sets how long candidates wait before they take the Lease of a leader that does not renew it. The default is
    /// 15 seconds.
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.settings.lease_duration = duration;
        self
    }

    /// Sets how long a leader leads after the last renewal that it could make. The default is 10 seconds.
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.settings.renew_deadline = deadline;
        self
    }

    /// Sets the time between two renewals, and the longest time between two attempts of a candidate. The default is
    /// 2 seconds.
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.settings.retry_period = period;
        self
    }

    /// Lets the API server choose the leader by the versions of the candidates, if it can; see
    /// [the module](self#coordinated-election).
    ///
    /// ```
    /// # use genclient_runtime::{Manager, leader::Versions};
    /// let builder = Manager::builder("example").lease("default/example");
    /// let builder = builder.elector(|elector| elector.coordinated(env!("CARGO_PKG_VERSION")));
    /// ```
    pub fn coordinated(mut self, versions: impl Into<Versions>) -> Self {
        self.versions = Some(versions.into());
        self
    }

    /// Builds the elector, which does nothing until it is asked to [acquire](Elector::acquire) the Lease.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is invalid.
    pub fn build(self) -> Result<Elector, ElectorError> {
        let lease = lease_key(&self.lease, self.client.default_namespace())
            .ok_or_else(|| ElectorError::Lease(self.lease.clone()))?;
        self.settings.check()?;
        let identity: Arc<str> = self.identity.unwrap_or_else(unique_identity).into();
        if identity.is_empty() {
            return Err(ElectorError::Identity);
        }
        let client = RestClient::new(self.client).timeout(self.settings.renew_deadline / 2);
        let leases = TypedClient::<Lease>::at(client.clone(), lease.namespace.as_deref());
        let lease = Arc::new(lease);
        let mut candidate = Candidate::new(leases, lease.clone(), identity.clone(), self.settings);
        let nomination = match self.versions {
            None => None,
            Some(_) if !is_candidate_name(&identity) => {
                return Err(ElectorError::CandidateName(identity.to_string()));
            }
            Some(versions) => {
                let versions = versions.check()?;
                let candidates = TypedClient::at(client, lease.namespace.as_deref());
                let period = self.settings.retry_period;
                Some(Arc::new(Nomination::new(candidates, lease.clone(), identity.clone(), versions, period)))
            }
        };
        if let Some(nomination) = &nomination {
            candidate = candidate.nominate(nomination.clone());
        }
        Ok(Elector {
            lease,
            identity,
            settings: self.settings,
            standing: watch::Sender::new(Standing::default()),
            candidate: Arc::new(Mutex::new(candidate)),
            nomination,
            cut: Arc::default(),
        })
    }
}

impl fmt::Debug for ElectorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElectorBuilder")
            .field("lease", &self.lease)
            .field("identity", &self.identity)
            .field("settings", &self.settings)
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}

impl Settings {
    fn check(&self) -> Result<(), ElectorError> {
        let Self { lease_duration, renew_deadline, retry_period } = *self;
        if lease_duration.subsec_nanos() != 0 || !(1..=i32::MAX as u64).contains(&lease_duration.as_secs()) {
            return Err(ElectorError::LeaseDuration(lease_duration));
        }
        if renew_deadline >= lease_duration {
            return Err(ElectorError::RenewDeadline { renew_deadline, lease_duration });
        }
        if retry_period.is_zero() || retry_period >= renew_deadline / 2 {
            return Err(ElectorError::RetryPeriod { retry_period, renew_deadline });
        }
        Ok(())
    }

    /// Returns the lease duration as the Lease has it.
    fn seconds(&self) -> i32 {
        i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX)
    }
}

impl Elector {
    /// Configures a candidate for a Lease, `namespace/name`, or `name` in the namespace of the client. The Lease is
    /// created if it does not exist.
    ///
    /// The client must be allowed to get, create and update leases, and in a
    /// [coordinated election](ElectorBuilder::coordinated) to get, create, update and delete leasecandidates.
    pub fn builder(client: Client, lease: impl Into<String>) -> ElectorBuilder {
        let settings = Settings {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        };
        ElectorBuilder { client, lease: lease.into(), identity: None, settings, versions: None }
    }

    /// Waits until this candidate leads. Errors are logged and tried again.
    ///
    /// A clone that leads blocks the others: they wait until its [`Leadership`] is dropped.
    pub async fn acquire(&self) -> Leadership {
        let mut candidate = self.candidate.clone().lock_owned().await;
        let held = candidate.acquire(&self.standing).await;
        let (standing, stop) = (self.standing.clone(), CancellationToken::new());
        let stopped = stop.clone();
        let renewing = tokio::spawn(async move {
            let lost = tokio::select! {
                biased;
                () = stopped.cancelled() => None,
                lost = candidate.keep(held, &standing) => Some(lost),
            };
            (candidate, lost)
        });
        Leadership {
            term: held.term,
            standing: self.standing.clone(),
            stop,
            renewing: Some(AbortOnDropHandle::new(renewing)),
            lost: None,
            preferred: None,
        }
    }

    /// Deletes the LeaseCandidate of a [coordinated election](ElectorBuilder::coordinated), for a process that ends
    /// without a [release](Leadership::release). A new call of [`acquire`](Self::acquire) creates it again.
    ///
    /// # Errors
    ///
    /// Returns an error if the LeaseCandidate could not be deleted. The API server deletes it after half an hour.
    pub async fn withdraw(&self) -> Result<()> {
        match &self.nomination {
            Some(nomination) => nomination.withdraw().await,
            None => Ok(()),
        }
    }

    /// Returns how long the network may hold a request of a leader back; see [the limits](self#limits).
    pub(crate) fn longest_delay(&self) -> Duration {
        self.settings.lease_duration.saturating_sub(self.settings.renew_deadline)
    }

    /// Returns the fence, which is open while this candidate leads.
    pub fn fence(&self) -> Fence {
        Fence::new(self.lease.clone(), self.standing.subscribe(), self.cut.clone())
    }

    /// Returns whether a request that passed the fence was given up so recently that it may still arrive.
    pub(crate) fn may_have_requests_under_way(&self) -> bool {
        self.cut.is_within(self.longest_delay())
    }

    /// Returns the current term, or `None` if this candidate does not lead.
    pub fn term(&self) -> Option<u64> {
        self.standing.borrow().term()
    }

    /// Returns the holder of the Lease when it was last read.
    pub fn leader(&self) -> Option<Arc<str>> {
        self.standing.borrow().holder.clone()
    }

    /// Returns the identity of this candidate.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns the namespace and the name of the Lease.
    pub fn lease(&self) -> &ObjectKey {
        &self.lease
    }
}

impl fmt::Debug for Elector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elector")
            .field("lease", &self.lease)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// This process leads, in one term. Dropping it ends the term and leaves the Lease to expire.
#[must_use = "a leadership ends when it is dropped"]
pub struct Leadership {
    term: u64,
    standing: watch::Sender<Standing>,
    stop: CancellationToken,
    renewing: Option<AbortOnDropHandle<(OwnedMutexGuard<Candidate>, Option<Lost>)>>,
    lost: Option<Lost>,
    /// The candidate that still has the Lease after the API server asked it to step down.
    preferred: Option<OwnedMutexGuard<Candidate>>,
}

impl Leadership {
    /// Returns the number of the term, which is higher for each leader than for the ones before.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// Waits until this process does not lead any more. It can be called again after it was dropped.
    pub async fn lost(&mut self) -> Lost {
        if self.lost.is_none()
            && let Some(renewing) = &mut self.renewing
        {
            // A panic or the end of the runtime ends the renewals, too.
            let ended = renewing.await.ok();
            self.renewing = None;
            self.close();
            let lost = match ended {
                Some((candidate, Some(lost @ Lost::Preferred { .. }))) => {
                    self.preferred = Some(candidate);
                    lost
                }
                Some((_, Some(lost))) => lost,
                _ => Lost::Expired,
            };
            self.lost = Some(lost);
        }
        self.lost.clone().unwrap_or(Lost::Expired)
    }

    /// Ends the term and gives the Lease to the next candidate. Call it when all work of the leader has ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the Lease could not be written. It then expires.
    pub async fn release(mut self) -> Result<()> {
        self.close();
        self.stop.cancel();
        if let Some(mut candidate) = self.preferred.take() {
            return candidate.release().await;
        }
        let Some(renewing) = self.renewing.take() else { return Ok(()) };
        match renewing.await {
            Ok((mut candidate, None | Some(Lost::Preferred { .. }))) => candidate.release().await,
            _ => Ok(()),
        }
    }

    /// Returns whether the API server asked this process to give the Lease to another one.
    pub(crate) fn steps_down(&self) -> bool {
        self.preferred.is_some()
    }

    /// Closes the fence.
    fn close(&self) {
        self.standing
            .send_if_modified(|standing| standing.held.take_if(|held| held.term == self.term).is_some());
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership").field("term", &self.term).finish_non_exhaustive()
    }
}

/// Reads `namespace/name` or `name`.
fn lease_key(lease: &str, namespace: &str) -> Option<ObjectKey> {
    let (namespace, name) = lease.split_once('/').unwrap_or((namespace, lease));
    let is_valid = is_dns_label(namespace) && is_dns_subdomain(name);
    is_valid.then(|| ObjectKey::namespaced(namespace, name))
}

/// Returns the name of the host and a random number.
fn unique_identity() -> String {
    let host = hostname::get().unwrap_or_default();
    format!("{}_{:016x}", host.to_string_lossy(), rand::rng().random::<u64>())
}
