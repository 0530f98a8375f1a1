//! A server with one Lease and its candidates, and a network with faults.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use k8s_openapi::{
    api::coordination::{
        v1::{Lease, LeaseSpec},
        v1beta1::{LeaseCandidate, LeaseCandidateSpec},
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::service_fn;

/// Has one Lease. Clones are the same server.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Inner>);

#[derive(Default)]
struct Inner {
    lease: Mutex<Option<Lease>>,
    candidates: Mutex<BTreeMap<String, LeaseCandidate>>,
    /// Whether there is the resource of LeaseCandidates.
    is_coordinating: AtomicBool,
    version: AtomicUsize,
    requests: AtomicUsize,
    /// What happens to the writes of this holder.
    fault: Mutex<Option<(String, Fault)>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// They do not arrive.
    Hang,
    /// Their answers do not arrive.
    LoseAnswers,
}

/// What the network does to a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trip {
    /// How long the request takes to the server, and the answer back. `None` if it never arrives.
    pub(super) there: Option<Duration>,
    pub(super) back: Option<Duration>,
    /// The request arrives once more after this time.
    pub(super) again: Option<Duration>,
    /// The server answers with an internal error, and stores nothing.
    pub(super) fails: bool,
}

impl Trip {
    pub(super) const PROMPT: Self =
        Self { there: Some(Duration::ZERO), back: Some(Duration::ZERO), again: None, fails: false };
}

impl Server {
    /// Returns a client with a network without faults, except for [`hang`](Self::hang).
    pub(super) fn client(&self) -> Client {
        self.client_over(|_| Trip::PROMPT)
    }

    /// Returns a client with a network that treats each request as the function says.
    pub(super) fn client_over(&self, network: impl Fn(&Method) -> Trip + Send + Sync + 'static) -> Client {
        let (server, network) = (self.clone(), Arc::new(network));
        let service = service_fn(move |request: Request<Body>| {
            let (server, trip) = (server.clone(), network(request.method()));
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                server.0.requests.fetch_add(1, SeqCst);
                // What was sent arrives, even if the client does not wait for it.
                let arriving = tokio::spawn(async move {
                    tokio::time::sleep(trip.there?).await;
                    if trip.fails {
                        return Some(status(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"));
                    }
                    let path = parts.uri.path();
                    let answer = server.answer(&parts.method, path, &body).await;
                    if let Some(again) = trip.again {
                        tokio::time::sleep(again).await;
                        server.answer(&parts.method, path, &body).await;
                    }
                    tokio::time::sleep(trip.back?).await;
                    Some(answer)
                });
                match arriving.await.unwrap() {
                    Some((code, answer)) => {
                        let body = Full::from(answer.to_string().into_bytes());
                        Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
                    }
                    None => std::future::pending().await,
                }
            }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, method: &Method, path: &str, body: &[u8]) -> (StatusCode, Value) {
        if let Some((_, rest)) = path.split_once("/leasecandidates") {
            return self.store_candidate(method, rest.trim_start_matches('/'), body);
        }
        let written: Option<Lease> = serde_json::from_slice(body).ok();
        let holder = written.as_ref().and_then(|lease| lease.spec.as_ref()?.holder_identity.clone());
        let fault = self.0.fault.lock().clone().filter(|(who, _)| Some(who) == holder.as_ref());
        let fault = fault.map(|(_, fault)| fault);
        if fault == Some(Fault::Hang) {
            std::future::pending::<()>().await;
        }
        let answer = self.store(method, written);
        if fault == Some(Fault::LoseAnswers) {
            std::future::pending::<()>().await;
        }
        answer
    }

    fn store(&self, method: &Method, written: Option<Lease>) -> (StatusCode, Value) {
        let mut stored = self.0.lease.lock();
        match (method, written, &*stored) {
            (&Method::GET, _, Some(lease)) => (StatusCode::OK, json!(lease)),
            (&Method::GET | &Method::PUT, _, None) => status(StatusCode::NOT_FOUND, "NotFound"),
            (&Method::POST, _, Some(_)) => status(StatusCode::CONFLICT, "AlreadyExists"),
            (&Method::PUT, Some(lease), Some(current))
                if lease.metadata.resource_version != current.metadata.resource_version =>
            {
                status(StatusCode::CONFLICT, "Conflict")
            }
            (&Method::PUT | &Method::POST, Some(mut lease), _) => {
                // As on the real server, a write that changes nothing has no new version.
                if stored.as_ref() != Some(&lease) {
                    lease.metadata.resource_version = Some(self.next_version());
                }
                *stored = Some(lease.clone());
                (StatusCode::OK, json!(lease))
            }
            _ => status(StatusCode::BAD_REQUEST, "BadRequest"),
        }
    }

    fn store_candidate(&self, method: &Method, name: &str, body: &[u8]) -> (StatusCode, Value) {
        if !self.0.is_coordinating.load(SeqCst) {
            return (StatusCode::NOT_FOUND, json!("404 page not found"));
        }
        let mut candidates = self.0.candidates.lock();
        let stored = candidates.get(name);
        let written: Option<LeaseCandidate> = serde_json::from_slice(body).ok();
        match (method, stored, written) {
            (&Method::GET, Some(candidate), _) => (StatusCode::OK, json!(candidate)),
            (&Method::DELETE, Some(candidate), _) => {
                let deleted = json!(candidate);
                candidates.remove(name);
                (StatusCode::OK, deleted)
            }
            (&Method::PUT, Some(stored), Some(candidate))
                if stored.metadata.resource_version != candidate.metadata.resource_version =>
            {
                status(StatusCode::CONFLICT, "Conflict")
            }
            (&Method::POST, ..) | (&Method::PUT, Some(_), _) => {
                let mut candidate: LeaseCandidate = serde_json::from_slice(body).unwrap();
                let name = candidate.metadata.name.clone().unwrap();
                if *method == Method::POST && candidates.contains_key(&name) {
                    return status(StatusCode::CONFLICT, "AlreadyExists");
                }
                candidate.metadata.resource_version = Some(self.next_version());
                candidates.insert(name, candidate.clone());
                (StatusCode::OK, json!(candidate))
            }
            _ => status(StatusCode::NOT_FOUND, "NotFound"),
        }
    }

    /// Has LeaseCandidates from now on. The test chooses the leader.
    pub(super) fn coordinate(&self) {
        self.0.is_coordinating.store(true, SeqCst);
    }

    /// Assigns the Lease with the fields that the API server writes.
    pub(super) fn assign(&self, holder: &str) {
        let (version, time) = (self.next_version(), self.distinct_time());
        let mut lease = self.0.lease.lock();
        let lease = lease.get_or_insert_default();
        lease.metadata.name = Some("test".into());
        lease.metadata.resource_version = Some(version);
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(holder.to_owned());
        spec.lease_duration_seconds = Some(5);
        spec.renew_time = Some(time);
        spec.strategy = Some("OldestEmulationVersion".into());
        (spec.acquire_time, spec.preferred_holder) = (None, None);
    }

    /// Asks the holder to give the Lease to another candidate.
    pub(super) fn prefer(&self, holder: &str) {
        self.edit(|spec| spec.preferred_holder = Some(holder.to_owned()));
    }

    /// Asks a candidate for a sign of life, by a clock that is ahead.
    pub(super) fn ping(&self, name: &str) {
        let (version, time) = (self.next_version(), Timestamp::now() + Duration::from_secs(60));
        let mut candidates = self.0.candidates.lock();
        let candidate = candidates.get_mut(name).unwrap();
        candidate.spec.ping_time = Some(MicroTime(time));
        candidate.metadata.resource_version = Some(version);
    }

    pub(super) fn candidate(&self, name: &str) -> Option<LeaseCandidateSpec> {
        self.0.candidates.lock().get(name).map(|candidate| candidate.spec.clone())
    }

    pub(super) fn delete_candidate(&self, name: &str) {
        self.0.candidates.lock().remove(name);
    }

    fn distinct_time(&self) -> MicroTime {
        MicroTime(Timestamp::from_second(self.0.version.load(SeqCst).try_into().unwrap()).unwrap())
    }

    fn next_version(&self) -> String {
        (self.0.version.fetch_add(1, SeqCst) + 1).to_string()
    }

    pub(super) fn spec(&self) -> Option<LeaseSpec> {
        self.0.lease.lock().as_ref()?.spec.clone()
    }

    pub(super) fn requests(&self) -> usize {
        self.0.requests.load(SeqCst)
    }

    /// Changes the record, as another client would.
    pub(super) fn edit(&self, change: impl FnOnce(&mut LeaseSpec)) {
        let version = self.next_version();
        let mut lease = self.0.lease.lock();
        let lease = lease.as_mut().unwrap();
        change(lease.spec.as_mut().unwrap());
        lease.metadata.resource_version = Some(version);
    }

    /// Changes the object and not the record.
    pub(super) fn touch(&self) {
        self.edit(|_| {});
    }

    pub(super) fn delete(&self) {
        *self.0.lease.lock() = None;
    }

    pub(super) fn hang(&self, holder: &str) {
        *self.0.fault.lock() = Some((holder.to_owned(), Fault::Hang));
    }

    pub(super) fn lose_answers(&self, holder: &str) {
        *self.0.fault.lock() = Some((holder.to_owned(), Fault::LoseAnswers));
    }

    pub(super) fn heal(&self) {
        *self.0.fault.lock() = None;
    }
}

fn status(code: StatusCode, reason: &str) -> (StatusCode, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": reason, "code": code.as_u16(),
    });
    (code, status)
}
