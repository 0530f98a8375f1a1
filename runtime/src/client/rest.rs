//! The connection that clients share, with the limits that hold for each of their requests.

use std::{
    fmt::{self, Debug},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use kube::Client;
use tokio::{sync::Mutex, time::Instant};

use crate::{bucket::Bucket, error::Result};

/// How long the API server itself works on a request before it gives up.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A [`kube::Client`] with limits that apply to every request made through it. Cheap to clone.
///
/// A generated clientset passes its `RestClient` on to all of its clients, so the limits are set in
/// one place. Clones share one rate limit.
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

    /// Sets the time that a request may take, from the call until its answer is complete. Waiting for
    /// the rate limit and retries count towards it.
    ///
    /// A request can override it with its own `timeout`. A watch has no timeout: it stays open.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Lets requests wait for their answer without limit.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Sends at most `qps` requests per second, and at most `burst` at once.
    ///
    /// Requests over the limit wait for their turn, in the order in which they were made. Opening a
    /// watch counts as a request. kube's own retries, informers and requests through
    /// [`client`](Self::client) do not count.
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

    /// The connection, without the limits.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn default_timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(super) fn default_field_manager(&self) -> Option<&str> {
        self.field_manager.as_deref()
    }

    /// Waits until the rate limit allows one more request.
    pub(super) async fn admit(&self) {
        if let Some(limit) = &self.rate_limit {
            limit.admit().await;
        }
    }
}

impl From<Client> for RestClient {
    fn from(client: Client) -> Self {
        Self::new(client)
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

/// A token bucket that requests queue up for.
struct RateLimit {
    bucket: Bucket,
    /// When the bucket will be full. The request at the head of the queue holds the lock while it
    /// waits for its token; tokio's mutex keeps the others in order.
    full_at: Mutex<Instant>,
}

impl RateLimit {
    fn new(qps: f64, burst: u32) -> Self {
        let interval = Duration::try_from_secs_f64(1.0 / qps).unwrap_or(Duration::MAX);
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        Self { bucket: Bucket { interval, burst }, full_at: Mutex::new(Instant::now()) }
    }

    /// Waits for a token and takes it. A future that is dropped before takes none, so requests that
    /// time out in the queue do not slow down those behind them.
    async fn admit(&self) {
        let mut full_at = self.full_at.lock().await;
        let mut after = *full_at;
        let wait = self.bucket.take(&mut after, Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        *full_at = after;
    }
}
