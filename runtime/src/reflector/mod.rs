//! The reflector.

mod backoff;
mod config;
mod sink;
mod state;

pub(crate) use backoff::Backoff;
pub use config::{BackoffConfig, ErrorHook, ReflectorConfig, Selectors, Transform};
pub use sink::{DeltaSink, SinkClosed};
pub(crate) use state::is_version_too_large;
pub use state::{Problem, ReflectorState};
