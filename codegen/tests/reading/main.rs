//! How source crates are read: what a name means, which conditions hold, where files are, and that
//! nothing annotated is missed in silence.

#![allow(clippy::unwrap_used, reason = "what is missing ends the test, with its line")]

mod apply;
mod conditions;
mod files;
mod kube;
mod names;
mod paths;
mod support;
mod unseen;
