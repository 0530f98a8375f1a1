//! The fence: requests and other work that only the leader may do.

use std::{
    fmt,
    future::{self, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use http::{Method, Request};
use kube::{Client, client::Body};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tower::{BoxError, service_fn};

use super::clock::Moment;
pub use crate::error::Refused;
use crate::object::ObjectKey;

/// Who holds the Lease, as far as this process knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    /// The leadership of this process.
    pub(super) held: Option<Held>,
    /// The holder when the Lease was last read.
    pub(super) holder: Option<Arc<str>>,
}

/// A term of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) term: u64,
    /// Until when this process may act as the leader.
    pub(super) deadline: Moment,
}

impl Standing {
    /// Returns the term, unless its deadline is past.
    pub(super) fn term(&self) -> Option<u64> {
        self.held.filter(|held| !held.deadline.is_past()).map(|held| held.term)
    }
}

/// Lets work through only while this process leads; see [the module](super). Cheap to clone.
#[derive(Clone)]
pub struct Fence {
    lease: Arc<ObjectKey>,
    standing: watch::Receiver<Standing>,
    cut: Arc<Cut>,
}

/// When guarded work was last dropped before its end, so that its requests may still arrive.
#[derive(Debug, Default)]
pub(super) struct Cut(Mutex<Option<Moment>>);

impl Cut {
    /// Returns whether work was dropped within this time.
    pub(super) fn is_within(&self, limit: Duration) -> bool {
        self.0.lock().is_some_and(|cut| !cut.after(limit).is_past())
    }
}

/// Work that was begun and has not ended.
struct Unfinished<'a>(Option<&'a Cut>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(cut) = self.0 {
            *cut.0.lock() = Some(Moment::now());
        }
    }
}

/// Runs work of the current term of a fence. When the term ends, the work is dropped, and the future waits for its
/// own end.
pub(crate) async fn in_term<T>(fence: Option<&Fence>, work: impl Future<Output = T>) -> T {
    let Some(fence) = fence else { return work.await };
    match fence.run(work).await {
        Ok(output) => output,
        Err(_) => future::pending().await,
    }
}

impl Fence {
    pub(super) fn new(lease: Arc<ObjectKey>, standing: watch::Receiver<Standing>, cut: Arc<Cut>) -> Self {
        Self { lease, standing, cut }
    }

    /// Returns the current term: a number that is higher for each leader than for the ones before. A provider
    /// that remembers the highest term it has seen can refuse the late requests of an earlier leader.
    ///
    /// # Errors
    ///
    /// Returns an error if this process does not lead.
    pub fn term(&self) -> Result<u64, Refused> {
        self.standing.borrow().term().ok_or_else(|| self.refused())
    }

    /// Runs work while this process leads. The work is dropped when the term ends, and is not polled after its
    /// deadline.
    ///
    /// # Errors
    ///
    /// Returns an error if this process does not lead, or if its term ends before the work.
    pub async fn guard<T>(&self, work: impl Future<Output = T>) -> Result<T, Refused> {
        self.term()?;
        let mut unfinished = Unfinished(Some(&*self.cut));
        let output = self.run(work).await?;
        unfinished.0 = None;
        Ok(output)
    }

    async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Refused> {
        let term = self.term()?;
        let (mut work, mut ended) = (pin!(work), pin!(self.ended(term)));
        poll_fn(|context| {
            // The process may have been stopped since it was last polled.
            if self.standing.borrow().term() != Some(term) {
                return Poll::Ready(Err(self.refused()));
            }
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            ended.as_mut().poll(context).map(|()| Err(self.refused()))
        })
        .await
    }

    /// Returns a client whose writes pass the fence. A write that is under way when the term ends is given up;
    /// the server may still have stored it. Requests with the method `GET` are always sent.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn client(&self, client: Client) -> Client {
        let (fence, namespace) = (self.clone(), client.default_namespace().to_owned());
        let service = service_fn(move |request: Request<Body>| {
            let (fence, client) = (fence.clone(), client.clone());
            async move {
                let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
                let sent = client.send(request);
                let response = if reads { sent.await } else { fence.guard(sent).await? };
                response.map_err(BoxError::from)
            }
        });
        Client::new(service, namespace)
    }

    /// Waits for the end of a term.
    async fn ended(&self, term: u64) {
        let mut standing = self.standing.clone();
        loop {
            let deadline = match standing.borrow_and_update().held {
                Some(held) if held.term == term => held.deadline,
                _ => return,
            };
            if deadline.is_past() {
                return;
            }
            // A renewal moves the deadline.
            let until = deadline.instant().max(Instant::now());
            tokio::select! {
                () = sleep_until(until) => {}
                changed = standing.changed() => if changed.is_err() { return },
            }
        }
    }

    fn refused(&self) -> Refused {
        Refused { lease: self.lease.clone() }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("lease", &self.lease).finish_non_exhaustive()
    }
}
