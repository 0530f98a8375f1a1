//! Requests that read an object, change it and write the difference.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;

use super::{
    ApiObject, KindOf, TypedClient, accept,
    path::Target,
    request::Request,
    write::{WriteOptions, field_manager_option, write_options},
};
use crate::{
    error::{Cause, Error, InvalidRequest, Result},
    patch::{self, Patch},
    retry::RetryPolicy,
};

/// Changes an object when awaited; see [`TypedClient::update_with`].
///
/// It reads the object, calls the change on a copy, and sends the difference as a JSON merge patch with the
/// resource version of the object:
///
/// - **No concurrent change is lost.** If another client wrote the object meanwhile, the server rejects the
///   patch with a conflict. The object is then read again and the change runs on the new state, as often as
///   the [policy](Self::retry) allows.
/// - **Only the difference is written.** Fields that the Rust type does not have are preserved, except in the
///   items of a changed list, because a merge patch replaces lists as a whole.
/// - **Without a difference nothing is written.** The object is returned as it was read.
///
/// If the kind has a status subresource, the server ignores changes of the status here; use
/// [`update_status_with`](TypedClient::update_status_with).
///
/// The change may run several times, each time on the object as the server returned it. It must not change
/// the name, the namespace or the uid. If it panics, nothing has been written.
///
/// ```no_run
/// # use genclient_runtime::{Lister, Result, TypedClient};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn example(config_maps: TypedClient<ConfigMap>, lister: Lister<ConfigMap>) -> Result<()> {
/// let paint = |object: &mut ConfigMap| {
///     object.data.get_or_insert_default().insert("colour".into(), "green".into());
/// };
/// config_maps.update_with("example", paint).await?;
///
/// // The cached object saves the read, if it is up to date.
/// if let Some(cached) = lister.namespace("default").get("example") {
///     config_maps.update_with("example", paint).from(cached).await?;
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a request is sent when it is awaited"]
pub struct UpdateWith<'f, K, D = ()> {
    client: TypedClient<K, D>,
    name: String,
    subresource: Option<&'static str>,
    change: Box<dyn FnMut(&mut K) + Send + 'f>,
    start: Option<Arc<K>>,
    options: WriteOptions,
    policy: RetryPolicy,
    timeout: Option<Duration>,
    /// The time that is left of the timeout.
    left: Option<Duration>,
    has_begun: bool,
}

impl<'f, K: ApiObject, D: KindOf<K>> UpdateWith<'f, K, D> {
    pub(super) fn new(
        client: &TypedClient<K, D>,
        name: &str,
        subresource: Option<&'static str>,
        change: Box<dyn FnMut(&mut K) + Send + 'f>,
    ) -> Self {
        Self {
            client: client.clone(),
            name: name.to_owned(),
            subresource,
            change,
            start: None,
            options: client.write_options(),
            policy: RetryPolicy::CONFLICT,
            timeout: client.rest.default_timeout(),
            left: None,
            has_begun: false,
        }
    }

    write_options!();
    field_manager_option!();

    /// Starts from this state of the object, for example from a lister, instead of reading it.
    ///
    /// An outdated state is safe: the server rejects the patch, and the object is read. If the change makes
    /// no difference to the outdated state, that state is returned without a request.
    ///
    /// An object with the same name and a different uid is not changed; the conflict is returned.
    pub fn from(mut self, object: impl Into<Arc<K>>) -> Self {
        self.start = Some(object.into());
        self
    }

    /// Sets the retries after a conflict. The default is [`RetryPolicy::CONFLICT`].
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the timeout. The default is the [client's](crate::client::RestClient::timeout).
    ///
    /// It covers all reads, writes and pauses together, but not their waits for the client's
    /// [rate limit](crate::client::RestClient::rate_limit). When it expires, the request fails with
    /// [a timeout](crate::error::Error::is_timeout).
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    async fn run(mut self) -> Result<K> {
        self.options.check().map_err(|error| self.invalid(error))?;
        self.left = self.timeout;
        let mut old = match self.start.take() {
            Some(object) => object,
            None => Arc::new(self.read().await?),
        };
        self.check_start(&old).map_err(|error| self.invalid(error))?;
        let uid = old.meta().uid.clone();
        let mut failed = 0;
        loop {
            let conflict = match self.attempt(&old).await {
                Ok(written) => return Ok(written.unwrap_or_else(|| Arc::unwrap_or_clone(old))),
                Err(error) if error.is_conflict() => error,
                Err(error) => return Err(error),
            };
            failed += 1;
            let Some(pause) = self.policy.pause_before_next(failed) else { return Err(conflict) };
            self.pause(pause).await?;
            old = Arc::new(self.read().await?);
            if uid.is_some() && old.meta().uid != uid {
                return Err(conflict);
            }
        }
    }

    async fn read(&mut self) -> Result<K> {
        let request: Request<K> = self.client.fetch("get", Target::object(&self.name), accept::<K>());
        self.send(request).await
    }

    async fn send(&mut self, request: Request<K>) -> Result<K> {
        // Only the first request may be refused: otherwise most reads would be in vain under load.
        let patience = if self.has_begun { None } else { self.left };
        self.has_begun = true;
        let outcome = request.send_within(&mut self.left, patience).await;
        outcome.map_err(|error| if self.is_late() { self.late() } else { error })
    }

    /// Pauses within the timeout.
    async fn pause(&mut self, pause: Duration) -> Result<()> {
        let left = self.left.unwrap_or(Duration::MAX);
        tokio::time::sleep(pause.min(left)).await;
        self.left = self.left.map(|left| left.saturating_sub(pause));
        if self.is_late() { Err(self.late()) } else { Ok(()) }
    }

    fn is_late(&self) -> bool {
        self.left.is_some_and(|left| left.is_zero())
    }

    fn late(&self) -> Error {
        self.error(Cause::Timeout(self.timeout.unwrap_or_default()))
    }

    /// Changes a copy of the object and writes the difference, if any.
    async fn attempt(&mut self, old: &K) -> Result<Option<K>> {
        let mut new = old.clone();
        (self.change)(&mut new);
        let patch = self.difference(old, &new).map_err(|error| self.invalid(error))?;
        let Some(patch) = patch else { return Ok(None) };
        let call = |path| self.options.write_to(patch.to_call(path)?.accept(accept::<K>()));
        let request: Request<K> = self.client.request("update", self.target(), call);
        self.send(request).await.map(Some)
    }

    fn difference(&self, old: &K, new: &K) -> Result<Option<Patch>, InvalidRequest> {
        let (was, is) = (old.meta(), new.meta());
        same("metadata.name", was.name.as_deref(), is.name.as_deref())?;
        same("metadata.namespace", was.namespace.as_deref(), is.namespace.as_deref())?;
        same("metadata.uid", was.uid.as_deref(), is.uid.as_deref())?;
        let Some(patch) = patch::difference(old, new).map_err(InvalidRequest::Body)? else { return Ok(None) };
        if let (Some(part), Some(fields)) = (self.subresource, patch.body().and_then(|body| body.as_object()))
        {
            let outside: Vec<_> =
                fields.keys().filter(|name| *name != part).map(|name| format!(".{name}")).collect();
            if !outside.is_empty() {
                return Err(InvalidRequest::OutsideStatus(outside));
            }
        }
        Ok(Some(patch.if_unchanged(old)))
    }

    /// Checks that the request names the object from which it starts.
    fn check_start(&self, object: &K) -> Result<(), InvalidRequest> {
        let meta = object.meta();
        same("metadata.name", Some(&self.name), meta.name.as_deref())?;
        match self.client.namespace() {
            Some(namespace) => same("metadata.namespace", Some(namespace), meta.namespace.as_deref()),
            None => Ok(()),
        }
    }

    fn target(&self) -> Target<'_> {
        Target::Object { name: Some(&self.name), subresource: self.subresource }
    }

    fn invalid(&self, error: InvalidRequest) -> Error {
        self.error(Cause::InvalidRequest(error))
    }

    fn error(&self, cause: Cause) -> Error {
        Error::new(self.client.operation("update", self.target()), cause, None)
    }
}

fn same(field: &'static str, expected: Option<&str>, found: Option<&str>) -> Result<(), InvalidRequest> {
    match expected == found {
        true => Ok(()),
        false => Err(InvalidRequest::OtherObject {
            field,
            expected: expected.unwrap_or_default().to_owned(),
            found: found.unwrap_or_default().to_owned(),
        }),
    }
}

impl<'f, K: ApiObject, D: KindOf<K>> IntoFuture for UpdateWith<'f, K, D> {
    type Output = Result<K>;
    type IntoFuture = BoxFuture<'f, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<K, D> fmt::Debug for UpdateWith<'_, K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateWith")
            .field("name", &self.name)
            .field("subresource", &self.subresource)
            .field("options", &self.options)
            .field("policy", &self.policy)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
