//! Requests that patch objects.

use super::{
    request::{Request, request},
    write::{WriteOptions, field_manager_option, write_options},
};

/// Patches an object or a subresource when awaited; see
/// [`TypedClient::patch`](super::TypedClient::patch).
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct PatchRequest<R> {
    request: Request<R>,
    options: WriteOptions,
}

impl<R> PatchRequest<R> {
    pub(super) fn new(request: Request<R>, options: WriteOptions) -> Self {
        Self { request, options }
    }

    write_options!();
    field_manager_option!();

    fn finish(self) -> Request<R> {
        self.request.with(|call| self.options.write_to(call))
    }
}

request!(PatchRequest<R> -> R);
