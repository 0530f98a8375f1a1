//! The terms of a Lease, as its versions show them.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use genclient_runtime::{
    Client, ListParams, TypedClient,
    client::WatchEvent,
    k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp},
};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

/// A leader's time with a Lease.
#[derive(Clone, Debug)]
pub struct Term {
    /// The number of transitions before it.
    pub number: i32,
    pub holder: String,
    /// When the holder acquired the Lease, by the holder's clock.
    pub acquired: Timestamp,
    /// When the term was first seen.
    pub begun: Timestamp,
    /// When the last renewal, or the release, was seen.
    pub last: Timestamp,
    pub is_released: bool,
}

/// Follows a Lease until it is dropped.
pub struct LeaseWatch {
    terms: Arc<Mutex<Vec<Term>>>,
    watching: JoinHandle<()>,
}

impl LeaseWatch {
    pub fn start(client: Client, namespace: &str, name: &str) -> Self {
        let leases = TypedClient::<Lease>::namespaced(client, namespace);
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let terms = Arc::<Mutex<Vec<Term>>>::default();
        let seen = terms.clone();
        let watching = tokio::spawn(async move {
            // A watch ends with an error when the API server has forgotten its version. A new one begins with the
            // Lease as it is.
            loop {
                let mut events = leases.watch(&params);
                while let Some(Ok(event)) = events.next().await {
                    if let WatchEvent::Added(lease) | WatchEvent::Modified(lease) = event {
                        see(&mut seen.lock(), lease);
                    }
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Self { terms, watching }
    }

    /// The terms, in order.
    pub fn terms(&self) -> Vec<Term> {
        self.terms.lock().clone()
    }

    /// The number of terms.
    pub fn count(&self) -> usize {
        self.terms.lock().len()
    }
}

impl Drop for LeaseWatch {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

fn see(terms: &mut Vec<Term>, lease: Lease) {
    let now = Timestamp::now();
    let Some(spec) = lease.spec else { return };
    let holder = spec.holder_identity.unwrap_or_default();
    if holder.is_empty() {
        if let Some(term) = terms.last_mut().filter(|term| !term.is_released) {
            (term.last, term.is_released) = (now, true);
        }
        return;
    }
    let (number, acquired) = (spec.lease_transitions.unwrap(), spec.acquire_time.unwrap().0);
    match terms.last_mut() {
        Some(term) if (term.number, &term.holder, term.acquired) == (number, &holder, acquired) => {
            term.last = now;
        }
        _ => terms.push(Term { number, holder, acquired, begun: now, last: now, is_released: false }),
    }
}
