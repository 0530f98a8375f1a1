//! Requests that create and replace objects, and the options of all writes.

use kube::api::ValidationDirective;

use super::request::{Request, request};
use crate::{error::InvalidRequest, wire::Call};

/// The methods that set [`WriteOptions`], except for the field manager.
macro_rules! write_options {
    () => {
        /// Validates the request on the server without storing anything.
        pub fn dry_run(mut self) -> Self {
            self.options.dry_run = true;
            self
        }

        /// Sets how the server treats unknown and duplicate fields.
        pub fn field_validation(mut self, directive: kube::api::ValidationDirective) -> Self {
            self.options.field_validation = Some(directive);
            self
        }
    };
}

/// The method that sets the field manager.
macro_rules! field_manager_option {
    () => {
        /// Sets the field manager. The default is the
        /// [client's](crate::client::RestClient::field_manager).
        pub fn field_manager(mut self, name: impl Into<String>) -> Self {
            self.options.field_manager = Some(name.into());
            self
        }
    };
}

pub(super) use {field_manager_option, write_options};

/// Creates or replaces an object or a subresource when awaited; see
/// [`TypedClient::create`](super::TypedClient::create) and
/// [`TypedClient::update`](super::TypedClient::update).
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct Write<R> {
    request: Request<R>,
    options: WriteOptions,
}

impl<R> Write<R> {
    pub(super) fn new(request: Request<R>, options: WriteOptions) -> Self {
        Self { request, options }
    }

    write_options!();
    field_manager_option!();

    fn finish(self) -> Request<R> {
        self.request.with(|call| self.options.write_to(call))
    }
}

request!(Write<R> -> R);

/// The options of a write.
#[derive(Debug, Default)]
pub(super) struct WriteOptions {
    pub(super) dry_run: bool,
    pub(super) field_manager: Option<String>,
    pub(super) field_validation: Option<ValidationDirective>,
}

impl WriteOptions {
    pub(super) fn check(&self) -> Result<(), InvalidRequest> {
        match &self.field_manager {
            Some(name) if !(1..=128).contains(&name.len()) => Err(InvalidRequest::FieldManager(name.clone())),
            _ => Ok(()),
        }
    }

    /// Adds the options to the query of the call.
    pub(super) fn write_to(&self, mut call: Call) -> Result<Call, InvalidRequest> {
        self.check()?;
        let query = &mut call.query;
        if self.dry_run {
            query.push("dryRun", "All");
        }
        query.push_some("fieldManager", self.field_manager.as_deref());
        query.push_some("fieldValidation", self.field_validation.as_ref().map(ValidationDirective::as_str));
        Ok(call)
    }
}
