//! The reflector.

mod backoff;
mod config;
mod sink;
mod state;

pub use config::{BackoffConfig, ErrorHook, ReflectorConfig, Selectors, Transform};
pub use sink::{DeltaSink, SinkClosed};
pub use state::{Problem, ReflectorState};
