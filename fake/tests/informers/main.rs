//! The runtime's informers, listers and work queue on the fake, in the paused time of tokio: hours of a cluster's life
//! in milliseconds.

mod handlers;
mod queue;
mod reflector;
mod support;
mod time;
