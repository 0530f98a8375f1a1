//! The generated clientset and the generated definitions, on a real API server.
//!
//! `kinds` goes through Kubernetes' own kinds, and the rest is about those of the samples. `verbs` shows
//! every verb that both kinds have, on both; the other modules show what needs a kind with a status, a
//! limited user, kubectl, or a server that comes to harm.

#[path = "../support/mod.rs"]
mod support;

mod definitions;
mod errors;
mod faults;
mod kinds;
mod kubectl;
mod round_trip;
mod status;
mod verbs;
mod writes;
