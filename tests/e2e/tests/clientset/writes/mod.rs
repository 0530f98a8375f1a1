//! Declarative writes: applies by several managers, extracted configurations, changes of one object by many
//! writers, and patches that the server applies.

mod apply;
mod concurrent;
mod configurations;
mod extracted;
mod patches;
