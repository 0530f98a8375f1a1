//! The sample controller: it keeps a network in a provider for each Network object.
//!
//! [`Controller::new`] registers the handlers, [`Controller::run`] waits for the cache and starts the workers,
//! and each worker brings one key after the other in line with the [`provider`].

// Whatever can fail is an error that the caller can handle; tests may end with a panic.
#![warn(clippy::unwrap_used)]

pub mod cli;
mod controller;
pub mod provider;
mod reconcile;
mod sweep;

pub use controller::{Controller, RunError};
pub use reconcile::{Error, FINALIZER, Options};
pub use sweep::MassDeletion;
