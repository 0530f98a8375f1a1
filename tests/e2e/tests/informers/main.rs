//! The generated informers and listers, on a real API server.

#[path = "../support/mod.rs"]
mod support;

mod controller;
mod faults;
mod invalid;
mod own_writes;
mod record;
mod selection;
mod sharing;
