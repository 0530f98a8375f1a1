//! The connection that clients share, and the limits of their requests.

use std::{
    fmt::{self, Debug},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use kube::Client;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    bucket::{Bucket, later},
    error::{Cause, Result},
};

/// The API server's own timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A [`kube::Client`] with limits that apply to every request made through it. Cheap to clone.
///
/// A generated clientset passes its `RestClient` to all of its clients, so the limits are set once. Clones
/// share one rate limit.
///
/// | limit | default |
/// | --- | --- |
/// | [`timeout`](Self::timeout) | 60 seconds, the API server's own limit |
/// | [`rate_limit`](Self::rate_limit) | none; kube-apiserver limits its clients itself |
/// | [`field_manager`](Self::field_manager) | none; the server derives one from the user agent, but an apply needs one |
///
/// ```no_run
/// # use std::time::Duration;
/// # use genclient_runtime::{Result, TypedClient, client::{self, RestClient}};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn example() -> Result<()> {
/// let client = RestClient::from(client::try_default().await?)
///     .timeout(Duration::from_secs(10))
///     .rate_limit(20.0, 30)
///     .field_manager("example-controller");
/// let config_maps = TypedClient::<ConfigMap>::namespaced(client, "default");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RestClient {
    client: Client,
    timeout: Option<Duration>,
    rate_limit: Option<Arc<RateLimit>>,
    field_manager: Option<Arc<str>>,
}

impl RestClient {
    /// Creates a client with the default limits.
    pub fn new(client: Client) -> Self {
        Self { client, timeout: Some(DEFAULT_TIMEOUT), rate_limit: None, field_manager: None }
    }

    /// Connects to the cluster of the environment, as [`client::try_default`](super::try_default) does.
    pub async fn try_default() -> Result<Self> {
        super::try_default().await.map(Self::new)
    }

    /// Sets the time that a request may take, from sending it until its response is complete. Retries
    /// count towards it. Waiting for the [rate limit](Self::rate_limit) does not.
    ///
    /// A request can override it with its own `timeout`. A watch has no timeout.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Removes the timeout.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Sends at most `qps` requests per second, and at most `burst` at once.
    ///
    /// Requests over the limit wait for their turn, in the order in which they were made. If a request
    /// would have to wait for longer than its timeout, it fails at once with [`Cause::RateLimited`], so the
    /// queue is never longer than what can be served in time. A request that is dropped while it waits
    /// leaves the queue, and those behind it move up.
    ///
    /// Opening a watch counts as a request. kube's own retries, informers and requests through
    /// [`client`](Self::client) do not count. Only the first request of an `update_with` can fail with
    /// `RateLimited`; the others wait for their turn.
    ///
    /// A `qps` that is not a positive number removes the limit; a `burst` of zero counts as one.
    pub fn rate_limit(mut self, qps: f64, burst: u32) -> Self {
        self.rate_limit = (qps > 0.0).then(|| Arc::new(RateLimit::new(qps, burst)));
        self
    }

    /// Names the field manager of writes that do not name one themselves.
    pub fn field_manager(mut self, name: impl Into<String>) -> Self {
        self.field_manager = Some(name.into().into());
        self
    }

    /// Returns the connection, which does not have the limits.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Replaces the connection, and keeps the limits.
    pub(crate) fn with_connection(self, client: Client) -> Self {
        Self { client, ..self }
    }

    /// Sets the field manager, unless there is one.
    pub(crate) fn field_manager_or(mut self, name: &Arc<str>) -> Self {
        self.field_manager.get_or_insert_with(|| name.clone());
        self
    }

    pub(super) fn default_timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(super) fn default_field_manager(&self) -> Option<&str> {
        self.field_manager.as_deref()
    }

    /// Waits until the rate limit admits one more request. Fails at once if that takes longer than the
    /// timeout of the request.
    pub(super) async fn admit(&self, timeout: Option<Duration>) -> Result<(), Cause> {
        match &self.rate_limit {
            Some(limit) => limit.admit(timeout).await,
            None => Ok(()),
        }
    }
}

impl From<Client> for RestClient {
    fn from(client: Client) -> Self {
        Self::new(client)
    }
}

impl From<&Self> for RestClient {
    fn from(client: &Self) -> Self {
        client.clone()
    }
}

impl Debug for RestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestClient")
            .field("timeout", &self.timeout)
            .field("rate_limit", &self.rate_limit.as_ref().map(|limit| limit.bucket))
            .field("field_manager", &self.field_manager)
            .finish_non_exhaustive()
    }
}

/// A token bucket with a queue of requests.
struct RateLimit {
    bucket: Bucket,
    queue: Mutex<Queue>,
    /// Held by the first request in the queue while it waits for its token. tokio's mutex keeps the others
    /// in order.
    turn: tokio::sync::Mutex<()>,
}

struct Queue {
    /// The moment at which the bucket will be full.
    full_at: Instant,
    /// The number of requests that wait for a token.
    waiting: u32,
}

impl RateLimit {
    fn new(qps: f64, burst: u32) -> Self {
        let interval = Duration::try_from_secs_f64(1.0 / qps).unwrap_or(Duration::MAX);
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        let queue = Mutex::new(Queue { full_at: Instant::now(), waiting: 0 });
        Self { bucket: Bucket { interval, burst }, queue, turn: tokio::sync::Mutex::new(()) }
    }

    /// Waits for a token and takes it. A future that is dropped before then takes none.
    async fn admit(&self, timeout: Option<Duration>) -> Result<(), Cause> {
        let mut waiting = self.enqueue(timeout)?;
        let _turn = self.turn.lock().await;
        let mut full_at = self.queue.lock().full_at;
        let wait = self.bucket.take(&mut full_at, Instant::now(), Duration::MAX).unwrap_or_default();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        waiting.admitted = Some(full_at);
        // The token is taken before the next request has its turn.
        drop(waiting);
        Ok(())
    }

    /// Joins the queue, unless the wait would exceed the timeout.
    fn enqueue(&self, timeout: Option<Duration>) -> Result<Waiting<'_>, Cause> {
        let now = Instant::now();
        let mut queue = self.queue.lock();
        let ahead = self.bucket.interval.saturating_mul(queue.waiting);
        let wait = self.bucket.wait(later(queue.full_at.max(now), ahead), now);
        match timeout {
            Some(timeout) if wait > timeout => Err(Cause::RateLimited { wait, timeout }),
            _ => {
                queue.waiting += 1;
                Ok(Waiting { limit: self, admitted: None })
            }
        }
    }
}

/// A request in the queue, which leaves it when it is admitted or dropped.
struct Waiting<'a> {
    limit: &'a RateLimit,
    /// The moment at which the bucket will be full, if the request took a token.
    admitted: Option<Instant>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut queue = self.limit.queue.lock();
        queue.waiting -= 1;
        queue.full_at = self.admitted.unwrap_or(queue.full_at);
    }
}
