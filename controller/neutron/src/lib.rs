//! A small client of OpenStack's network service, Neutron, with Keystone's tokens.
//!
//! [`Cloud`] says where the service is and as whom to speak to it, [`Client`] makes the calls.
//!
//! # Guarantees
//! - **Every request ends.** Each has one deadline, from the first byte sent to the last one read.
//! - **One login at a time.** A token that is refused is renewed once; requests that are refused
//!   together wait for the same login and share its outcome, a failure too.
//! - **Whole lists.** A list is read page by page; one whose marker vanished is read anew.
//! - **Typed failures.** An [`Error`] has a kind to act on, the server's own words, and the name of the
//!   request to look for in the server's log.
//! - **Secrets stay inside.** No `Debug` output holds a password or a token.

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
