//! The options that several requests share, written once.

use kube::api::ValidationDirective;

use crate::{error::InvalidRequest, wire::Query};

/// The options of a request that writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_manager: Option<String>,
    pub(crate) field_validation: Option<ValidationDirective>,
}

impl WriteOptions {
    pub(crate) fn populate(&self, query: &mut Query) -> Result<(), InvalidRequest> {
        if self.dry_run {
            query.push("dryRun", "All");
        }
        if let Some(field_manager) = &self.field_manager {
            if !(1..=128).contains(&field_manager.len()) {
                return Err(InvalidRequest::FieldManager(field_manager.clone()));
            }
            query.push("fieldManager", field_manager);
        }
        query.push_some("fieldValidation", self.field_validation.as_ref().map(ValidationDirective::as_str));
        Ok(())
    }
}

/// The method `timeout`.
macro_rules! timeout_option {
    () => {
        /// Gives up after `limit`, which covers the whole exchange; the error then
        /// [is a timeout](crate::error::Error::is_timeout).
        pub fn timeout(mut self, limit: std::time::Duration) -> Self {
            self.timeout = Some(limit);
            self
        }
    };
}

/// The methods that set [`WriteOptions`], except for the field manager.
macro_rules! write_options {
    () => {
        /// Lets the server check and answer without storing anything.
        pub fn dry_run(mut self) -> Self {
            self.options.dry_run = true;
            self
        }

        /// Says what the server does with unknown and duplicate fields.
        pub fn field_validation(mut self, directive: kube::api::ValidationDirective) -> Self {
            self.options.field_validation = Some(directive);
            self
        }
    };
}

/// The method that sets the field manager.
macro_rules! field_manager_option {
    () => {
        /// Names who makes the change.
        pub fn field_manager(mut self, name: impl Into<String>) -> Self {
            self.options.field_manager = Some(name.into());
            self
        }
    };
}

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

pub(crate) use {field_manager_option, force_option, timeout_option, write_options};
