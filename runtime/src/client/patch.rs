//! Requests that patch.

use http::{Method, header};
use kube::api::{Patch, PatchParams};
use serde::Serialize;

use super::{
    request::{Request, request},
    write::{WriteOptions, field_manager_option, write_options},
};
use crate::{error::InvalidRequest, wire::Call};

/// The method `force`.
macro_rules! force_option {
    () => {
        /// Takes over fields that other managers own, instead of failing with a conflict.
        pub fn force(mut self) -> Self {
            self.force = true;
            self
        }
    };
}
pub(super) use force_option;

/// Patches an object or a subresource when awaited; see
/// [`TypedClient::patch`](super::TypedClient::patch).
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct PatchRequest<R> {
    request: Request<R>,
    options: WriteOptions,
    /// Whether the patch is an apply, the only one that can be forced.
    is_apply: bool,
    force: bool,
}

impl<R> PatchRequest<R> {
    pub(super) fn new<P: Serialize>(request: Request<R>, patch: &Patch<P>, options: WriteOptions) -> Self {
        Self { request, options, is_apply: matches!(patch, Patch::Apply(_)), force: false }
    }

    write_options!();
    field_manager_option!();
    force_option!();

    fn finish(self) -> Request<R> {
        self.request.with(|call| match self.force {
            false => self.options.write_to(call),
            true if self.is_apply => force(self.options.write_to(call)?),
            true => Err(InvalidRequest::Patch("only Patch::Apply can be forced".to_owned())),
        })
    }
}

request!(PatchRequest<R> -> R);

/// Adds `force` to an apply.
pub(super) fn force(mut call: Call) -> Result<Call, InvalidRequest> {
    call.query.push("force", "true");
    Ok(call)
}

/// The call that carries a patch.
pub(super) fn patch_call<P: Serialize>(path: String, patch: &Patch<P>) -> Result<Call, InvalidRequest> {
    // Only kube knows the media type and the body of every patch, so both are taken from its request.
    let request = kube::core::Request::new("").patch("_", &PatchParams::default(), patch).map_err(
        |error| match error {
            kube::core::request::Error::SerializeBody(error) => InvalidRequest::Body(error),
            kube::core::request::Error::BuildRequest(error) => InvalidRequest::Http(error),
            kube::core::request::Error::Validation(message) => InvalidRequest::Patch(message),
        },
    )?;
    let mut call = Call::new(Method::PATCH, path);
    call.content_type = request.headers().get(header::CONTENT_TYPE).cloned();
    call.body = request.into_body();
    Ok(call)
}
