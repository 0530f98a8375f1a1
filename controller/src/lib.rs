//! The sample controller: it keeps a network in a provider for each Network object.
//!
//! [`Controller::new`] registers the handlers, and [`Controller::run`] waits for the caches and starts the workers,
//! which reconcile keys with the [`provider`].

// Failures are errors that the caller can handle; only tests may panic.
#![warn(clippy::unwrap_used)]

pub mod cli;
mod controller;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod provider;
mod reconcile;
mod sweep;

pub use controller::{Controller, RunError};
pub use reconcile::{Error, FINALIZER, Options};
pub use sweep::MassDeletion;
