//! A small client of OpenStack's network service, Neutron, with Keystone's tokens.
//!
//! [`Cloud`] holds the address of the service and the credentials, and [`Client`] sends the requests.
//!
//! # Guarantees
//! - **Every request ends.** Each has a deadline for everything from connecting to the last byte.
//! - **One login at a time.** A token that is refused is renewed once. Requests that are refused at the same
//!   time wait for the same login and share its outcome, even if it fails.
//! - **Complete lists.** A list is read page by page, and read again if its marker was deleted.
//! - **Typed failures.** An [`Error`] has a kind, the message of the server, and the id of the request in the
//!   server's log.
//! - **No secrets in `Debug` output.** It contains neither passwords nor tokens.

// Failures are errors that the caller can handle; only tests may panic.
#![warn(clippy::unwrap_used)]

mod auth;
mod client;
mod cloud;
mod error;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod http;
mod model;
#[cfg(test)]
mod tests;

pub use self::{
    client::{Client, Filters},
    cloud::{Cloud, ConfigError},
    error::{Error, ErrorKind},
    model::{Network, Subnet},
};
