//! The part of a candidate in a coordinated election: its LeaseCandidate, by which the API server knows it.

use std::{convert::Infallible, sync::Arc, time::Duration};

use k8s_openapi::{
    api::coordination::v1beta1::{self, LeaseCandidateSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use kube::{Resource, core::TypeMeta};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use super::{ElectorError, clock::time_of_day};
use crate::{
    TypedClient,
    backoff::jittered,
    error::{Error, Result},
    object::ObjectKey,
};

/// The one strategy of the API server's own controller.
const STRATEGY: &str = "OldestEmulationVersion";

/// How often a candidate looks at the LeaseCandidate and at the Lease, at least. The API server waits for 5 seconds for
/// the answer to a ping, and for as long for the first renewal of the candidate that it chose.
pub(super) const LONGEST_POLL: Duration = Duration::from_secs(2);

/// How long the deletion of the LeaseCandidate may delay the release of the Lease.
const DELETION: Duration = Duration::from_secs(1);

/// The versions by which the API server chooses between candidates: the lowest emulation version leads, then the lowest
/// binary version, then the candidate that came first.
///
/// ```
/// # use genclient_runtime::leader::Versions;
/// let same = Versions::from(env!("CARGO_PKG_VERSION"));
/// let older = Versions::new("1.37.0").emulating("1.36.0");
/// ```
///
/// By default all candidates have the version 1.0.0, so that the first one leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    pub(super) binary: String,
    pub(super) emulation: String,
}

impl Versions {
    /// Creates versions with a binary version such as `1.2.3`, which is also the emulation version.
    pub fn new(binary: impl Into<String>) -> Self {
        let binary = binary.into();
        Self { emulation: binary.clone(), binary }
    }

    /// Sets the version whose behavior the program shows, which must not be newer than the binary version.
    #[must_use]
    pub fn emulating(mut self, emulation: impl Into<String>) -> Self {
        self.emulation = emulation.into();
        self
    }

    /// Returns the versions if the API server accepts them.
    pub(super) fn check(self) -> Result<Self, ElectorError> {
        match (numbers(&self.binary), numbers(&self.emulation)) {
            (Some(binary), Some(emulation)) if emulation <= binary && emulation != [0; 3] => Ok(self),
            _ => Err(ElectorError::Versions { binary: self.binary, emulation: self.emulation }),
        }
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::new("1.0.0")
    }
}

impl From<&str> for Versions {
    fn from(binary: &str) -> Self {
        Self::new(binary)
    }
}

impl From<String> for Versions {
    fn from(binary: String) -> Self {
        Self::new(binary)
    }
}

/// Reads the three numbers of a semantic version. The API server checks what follows them.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version.split(['-', '+']).next()?;
    let mut numbers = core.split('.').map(|number| {
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let is_canonical = number == "0" || !number.starts_with('0');
        number.parse().ok().filter(|_| is_number && is_canonical)
    });
    let numbers = ([numbers.next()??, numbers.next()??, numbers.next()??], numbers.next());
    matches!(numbers, (_, None)).then_some(numbers.0)
}

/// Returns whether a LeaseCandidate can have this name.
pub(super) fn is_candidate_name(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=253).contains(&name.len()) && name.bytes().all(is_known) && name != "." && !name.starts_with("..")
}

/// A LeaseCandidate. The type in k8s-openapi depends on the version of Kubernetes: `spec` was an `Option` before 1.36.
#[derive(Clone, Debug, Deserialize, Resource, Serialize)]
#[resource(inherit = v1beta1::LeaseCandidate)]
pub(super) struct LeaseCandidate {
    #[serde(flatten)]
    types: Option<TypeMeta>,
    metadata: ObjectMeta,
    spec: LeaseCandidateSpec,
}

/// Keeps the LeaseCandidate of one candidate.
pub(super) struct Nomination {
    candidates: TypedClient<LeaseCandidate>,
    lease: Arc<ObjectKey>,
    identity: Arc<str>,
    versions: Versions,
    poll: Duration,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The API server has no such resource.
    is_missing: bool,
    /// The object may exist.
    is_published: bool,
    /// What the log said last.
    logged: Option<String>,
}

impl Nomination {
    pub(super) fn new(
        candidates: TypedClient<LeaseCandidate>,
        lease: Arc<ObjectKey>,
        identity: Arc<str>,
        versions: Versions,
        retry_period: Duration,
    ) -> Self {
        let poll = retry_period.min(LONGEST_POLL) / 2;
        Self { candidates, lease, identity, versions, poll, known: Mutex::default() }
    }

    /// Returns whether the API server chooses the leader, as far as is known.
    pub(super) fn is_served(&self) -> bool {
        !self.known.lock().is_missing
    }

    /// Keeps the LeaseCandidate and answers the pings of the API server while `work` runs.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            output = work => output,
            never = self.keep() => match never {},
        }
    }

    async fn keep(&self) -> Infallible {
        while self.is_served() {
            if let Err(error) = self.check().await {
                self.warn(format!("cannot keep the LeaseCandidate: {error}"));
            }
            sleep(jittered(self.poll, 1.0)).await;
        }
        std::future::pending().await
    }

    /// Creates the LeaseCandidate if it does not exist, and answers a ping.
    async fn check(&self) -> Result<()> {
        let mut found = match self.candidates.get(&self.identity).await {
            Ok(found) => found,
            Err(error) if error.is_not_found() => return self.create().await,
            Err(error) => return Err(error),
        };
        let spec = &mut found.spec;
        if spec.lease_name != self.lease.name {
            self.warn(format!(
                "the LeaseCandidate {} is a candidate for the Lease {}: choose another identity",
                self.identity, spec.lease_name
            ));
            return Ok(());
        }
        self.known.lock().is_published = true;
        let is_pinged =
            spec.ping_time.as_ref().map(|ping| ping.0) > spec.renew_time.as_ref().map(|time| time.0);
        let wanted = self.spec(spec.ping_time.clone());
        let is_current =
            LeaseCandidateSpec { renew_time: spec.renew_time.clone(), ..wanted.clone() } == *spec;
        if is_pinged || !is_current {
            *spec = wanted;
            match self.candidates.update(&found).await {
                // The next look shows what happened to it.
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                written => _ = written?,
            }
        }
        self.known.lock().logged = None;
        Ok(())
    }

    async fn create(&self) -> Result<()> {
        let metadata = ObjectMeta {
            name: Some(self.identity.to_string()),
            namespace: self.lease.namespace.clone(),
            ..ObjectMeta::default()
        };
        let types = Some(TypeMeta::resource::<v1beta1::LeaseCandidate>());
        let candidate = LeaseCandidate { types, metadata, spec: self.spec(None) };
        self.known.lock().is_published = true;
        match self.candidates.create(&candidate).await {
            Err(error) if error.is_already_exists() => Ok(()),
            Err(error) if is_missing(&error) => {
                let mut known = self.known.lock();
                (known.is_missing, known.is_published) = (true, false);
                tracing::warn!(
                    lease = %self.lease,
                    identity = %self.identity,
                    "the API server has no LeaseCandidates: the candidates elect the leader without it"
                );
                Ok(())
            }
            created => created.map(drop),
        }
    }

    /// Returns the specification with a new time, which answers the ping also if the clock is late.
    fn spec(&self, ping_time: Option<MicroTime>) -> LeaseCandidateSpec {
        let now =
            Timestamp::from_microsecond(time_of_day().as_microsecond()).unwrap_or(Timestamp::UNIX_EPOCH);
        let renewed = ping_time.as_ref().map_or(now, |ping| now.max(ping.0));
        LeaseCandidateSpec {
            binary_version: self.versions.binary.clone(),
            emulation_version: Some(self.versions.emulation.clone()),
            lease_name: self.lease.name.clone(),
            ping_time,
            renew_time: Some(MicroTime(renewed)),
            strategy: STRATEGY.to_owned(),
        }
    }

    /// Deletes the LeaseCandidate, so that the API server does not choose this candidate.
    pub(super) async fn withdraw(&self) -> Result<()> {
        if !self.known.lock().is_published {
            return Ok(());
        }
        match self.candidates.delete(&self.identity).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => {
                self.known.lock().is_published = false;
                Ok(())
            }
        }
    }

    /// Deletes the LeaseCandidate before a release, which must not wait for long.
    pub(super) async fn withdraw_soon(&self) {
        match timeout(DELETION, self.withdraw()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.warn(format!("cannot delete the LeaseCandidate: {error}")),
            Err(_) => self.warn("the LeaseCandidate is not deleted in time".to_owned()),
        }
    }

    /// Logs what the log did not say last.
    fn warn(&self, message: String) {
        let mut known = self.known.lock();
        if known.logged.as_ref() != Some(&message) {
            tracing::warn!(lease = %self.lease, identity = %self.identity, "{message}");
            known.logged = Some(message);
        }
    }
}

/// Returns whether the resource does not exist, and not just the namespace.
fn is_missing(error: &Error) -> bool {
    let details = error.status().and_then(|status| status.details.as_ref());
    error.is_not_found() && details.is_none_or(|details| details.kind != "namespaces")
}
