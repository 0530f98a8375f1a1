//! As much of OpenStack as the sample controller needs: sessions with Keystone, calls to Neutron.
//!
//! - [`Cloud`] says where and as whom, from the `OS_*` variables or a `clouds.yaml`.
//! - [`Client`] sends requests in a session that it renews once when a token is refused, and reads
//!   lists page by page. Every request has a deadline, and its id is in the log.
//! - [`Error`] says of which kind a failure is, and whether trying again can help.

mod auth;
mod client;
mod cloud;
mod error;
mod http;

pub use self::{
    client::Client,
    cloud::{Cloud, ConfigError},
    error::{Error, ErrorKind, RetryPolicy},
    http::{Answer, Http},
};
