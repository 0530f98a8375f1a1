//! The outcomes of a reconciliation, their events, and their retries.

use std::time::Duration;

use genclient_runtime::ObjectMeta;

use crate::provider::{self, Change, Desired, ErrorKind, InvalidSpec};

/// The outcome of a reconciliation without errors.
pub(super) enum Outcome {
    /// The provider's network is as desired.
    Synced {
        /// The range as the spec spells it.
        given: String,
        desired: Desired,
        change: Change,
    },
    /// The object is deleted, and nothing is left to do for it.
    Settled,
    /// The spec is not valid.
    Invalid(InvalidSpec),
}

/// Why a key could not be reconciled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request to the provider failed.
    #[error("provider: {0}")]
    Provider(#[from] provider::Error),
    /// A request to the API server failed.
    #[error("API server: {0}")]
    Api(#[from] genclient_runtime::Error),
}

/// When to retry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// With growing delays, because the failure can pass by itself.
    Backoff,
    /// After this time.
    After(Duration),
    /// After the drift interval, because a person must change something.
    Slowly,
}

impl Error {
    pub(super) fn retry(&self) -> Retry {
        match self {
            Self::Provider(error) => match (error.kind, error.retry_after) {
                (kind, _) if kind.is_refusal() => Retry::Slowly,
                (_, Some(wait)) => Retry::After(wait),
                _ => Retry::Backoff,
            },
            // The newer version will arrive in the cache with its own event.
            Self::Api(error) if error.is_conflict() => Retry::After(Duration::from_secs(1)),
            Self::Api(error) if error.is_forbidden() || error.is_unauthorized() || error.is_invalid() => {
                Retry::Slowly
            }
            Self::Api(error) => error.retry_after().map_or(Retry::Backoff, Retry::After),
        }
    }
}

/// The last report about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reported {
    /// The network is as this generation of this object wants it.
    Synced { uid: Option<String>, generation: Option<i64> },
    /// This generation, or any, failed for this reason.
    Failed { of: Option<i64>, reason: &'static str },
}

impl Reported {
    pub(super) fn synced(meta: &ObjectMeta) -> Self {
        Self::Synced { uid: meta.uid.clone(), generation: meta.generation }
    }

    /// Returns whether a success gets an event. It does after a new spec, after a failure, and if the first
    /// reconciliation in this process changed something. The repair of drift gets none.
    pub(super) fn is_worth_an_event(before: Option<&Self>, now: &Self, change: Change) -> bool {
        match before {
            Some(before) => before != now,
            None => change != Change::None,
        }
    }
}

/// Returns the message of the event of a success.
pub(super) fn synced_message(desired: &Desired) -> String {
    format!("Network synced successfully: {} with gateway {}", desired.cidr, desired.gateway)
}

/// Returns the message of the event of a range with host bits.
pub(super) fn host_bits_message(given: &str, desired: &Desired) -> Option<String> {
    let literally: ipnet::IpNet = given.trim().parse().ok()?;
    let cidr = desired.cidr;
    (literally != cidr).then(|| format!("cidr {given} has host bits and is taken as {cidr}"))
}

/// Returns the reason of the event of a failure of the provider.
pub(super) fn event_reason(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Unavailable => "ProviderUnavailable",
        ErrorKind::InUse => "NetworkInUse",
        ErrorKind::Conflict => "ProviderConflict",
        ErrorKind::OverQuota => "QuotaExceeded",
        ErrorKind::Rejected => "ProviderRejected",
        ErrorKind::Forbidden => "ProviderForbidden",
        ErrorKind::Unauthorized => "ProviderUnauthorized",
        ErrorKind::Protocol => "ProviderProtocolError",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_retried_with_backoff_and_the_rest_slowly() {
        use ErrorKind::*;
        let retry = |kind| Error::from(provider::Error::new(kind, "no")).retry();
        for kind in [Unavailable, InUse, Conflict, Unauthorized, Protocol] {
            assert_eq!(retry(kind), Retry::Backoff, "{kind:?}");
        }
        for kind in [OverQuota, Rejected, Forbidden] {
            assert_eq!(retry(kind), Retry::Slowly, "{kind:?}");
        }
        let mut busy = provider::Error::new(Unavailable, "busy");
        busy.retry_after = Some(Duration::from_secs(7));
        assert_eq!(Error::from(busy).retry(), Retry::After(Duration::from_secs(7)));
    }

    #[test]
    fn a_success_is_reported_once_and_a_restart_is_not() {
        let synced = |generation| Reported::Synced { uid: Some("1".into()), generation: Some(generation) };
        let failed = Reported::Failed { of: None, reason: "Failed" };
        assert!(Reported::is_worth_an_event(None, &synced(1), Change::Created));
        assert!(!Reported::is_worth_an_event(None, &synced(1), Change::None), "a restart");
        assert!(!Reported::is_worth_an_event(Some(&synced(1)), &synced(1), Change::Updated), "drift");
        assert!(Reported::is_worth_an_event(Some(&synced(1)), &synced(2), Change::None), "a new spec");
        assert!(Reported::is_worth_an_event(Some(&failed), &synced(1), Change::None), "the end of a failure");
    }

    #[test]
    fn the_events_say_which_range_is_used() {
        let desired = |cidr: &str, gateway: &str| Desired::parse(cidr, gateway).unwrap();
        let ten = desired("10.0.0.0/24", "10.0.0.1");
        assert_eq!(synced_message(&ten), "Network synced successfully: 10.0.0.0/24 with gateway 10.0.0.1");
        assert_eq!(host_bits_message("10.0.0.0/24", &ten), None);
        let sixteen = desired("192.168.1.0/16", "192.168.1.1");
        assert_eq!(
            host_bits_message("192.168.1.0/16", &sixteen).unwrap(),
            "cidr 192.168.1.0/16 has host bits and is taken as 192.168.0.0/16"
        );
        assert_eq!(host_bits_message(" FD00::/64", &desired("fd00::/64", "fd00::1")), None);
    }
}
