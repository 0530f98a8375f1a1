//! Sending requests and reading their responses.

use std::{fmt, time::Duration};

use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::RestClient;
use crate::{
    error::{Cause, Error, InvalidRequest, Operation, Result},
    wire::{Call, decode, fetch},
    written,
};

/// A request that is complete except for its options, and the type of its response.
pub(super) struct Request<R> {
    client: RestClient,
    operation: Operation,
    call: Result<Call, InvalidRequest>,
    timeout: Option<Duration>,
    decode: fn(&Operation, &[u8]) -> Result<R>,
}

impl<R> Request<R> {
    pub(super) fn new(client: RestClient, operation: Operation, call: Result<Call, InvalidRequest>) -> Self
    where
        R: DeserializeOwned,
    {
        Self::with_decoder(client, operation, call, decode)
    }

    /// Creates a request whose response is not just a JSON value of type `R`.
    pub(super) fn with_decoder(
        client: RestClient,
        operation: Operation,
        call: Result<Call, InvalidRequest>,
        decode: fn(&Operation, &[u8]) -> Result<R>,
    ) -> Self {
        let timeout = client.default_timeout();
        Self { client, operation, call, timeout, decode }
    }

    pub(super) fn set_timeout(&mut self, limit: Duration) {
        self.timeout = Some(limit);
    }

    /// Writes options into the call, unless it is already invalid.
    pub(super) fn with(mut self, options: impl FnOnce(Call) -> Result<Call, InvalidRequest>) -> Self {
        self.call = self.call.and_then(options);
        self
    }
}

impl<R: 'static> Request<R> {
    pub(super) fn send(self) -> BoxFuture<'static, Result<R>> {
        let (mut left, patience) = (self.timeout, self.timeout);
        Box::pin(async move { self.send_within(&mut left, patience).await })
    }

    /// Sends the request within the time that is left of a limit, and subtracts the time that it took. Fails at
    /// once if it would wait for the rate limit for longer than `patience`.
    ///
    /// This wait does not count: a request that has used up its time in a queue would be sent and given up.
    pub(super) async fn send_within(
        self,
        left: &mut Option<Duration>,
        patience: Option<Duration>,
    ) -> Result<R> {
        let Self { client, operation, call, decode, .. } = self;
        let fail = |cause| Error::new(operation.clone(), cause, None);
        let request = call.and_then(Call::build).map_err(|error| fail(Cause::InvalidRequest(error)))?;
        client.admit(patience).await.map_err(fail)?;
        let (write, sent) = (written::Pending::of(&request), Instant::now());
        let exchange = fetch(client.client(), &operation, request);
        let body = match left {
            None => exchange.await?,
            Some(left) => {
                let limit = *left;
                let outcome = tokio::time::timeout(limit, exchange).await;
                *left = limit.saturating_sub(sent.elapsed());
                outcome.unwrap_or_else(|_| Err(fail(Cause::Timeout(limit))))?
            }
        };
        if let Some(write) = write {
            write.succeeded(&body);
        }
        decode(&operation, &body)
    }
}

impl<R> fmt::Debug for Request<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Makes `$name` a request: adds the method `timeout`, and sends the request when it is awaited.
///
/// The type has a field `request`, and a method `finish` that writes its options into it.
macro_rules! request {
    ($name:ident $(<$parameter:ident>)? -> $answer:ty) => {
        impl$(<$parameter>)? $name$(<$parameter>)? {
            /// Gives up after `limit`, instead of the [client's timeout](crate::client::RestClient::timeout).
            ///
            /// The limit covers the whole exchange, retries included, and the error is then
            /// [a timeout](crate::error::Error::is_timeout). It does not cover the wait for the client's
            /// [rate limit](crate::client::RestClient::rate_limit), but a request that would have to wait
            /// for longer than `limit` fails at once.
            pub fn timeout(mut self, limit: std::time::Duration) -> Self {
                self.request.set_timeout(limit);
                self
            }
        }

        impl$(<$parameter: 'static>)? std::future::IntoFuture for $name$(<$parameter>)? {
            type Output = $crate::error::Result<$answer>;
            type IntoFuture = futures::future::BoxFuture<'static, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                self.finish().send()
            }
        }
    };
}
pub(super) use request;

/// Sends a request within the limits of the client.
pub(crate) async fn fetch_path<R: DeserializeOwned + 'static>(
    client: RestClient,
    operation: Operation,
    call: Result<Call, InvalidRequest>,
) -> Result<R> {
    Request::new(client, operation, call).send().await
}
