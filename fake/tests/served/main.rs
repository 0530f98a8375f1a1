//! The server over HTTP: what strange clients do to it, and what kubectl and controllers do on it.

mod clients;
mod kubectl;
mod program;
mod robustness;
mod support;
