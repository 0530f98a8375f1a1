//! Generates typed Kubernetes clientsets, apply configurations, listers and shared informers from annotated
//! Rust structs.
//!
//! The stages, each of which only reads what the one before it made:
//!
//! ```text
//! Sources ── parse ──▶ declarations ── lower ──▶ Model ── check ──▶ Model ── render ──▶ GeneratedFile…
//! ```
//!
//! `generate` is pure: files are read into `Sources` before it, and a `plan::Plan` compares its files with
//! those that are there and writes them. Every stage collects all its errors; between the stages they are
//! looked at.
//!
//! Without the feature `generate` the crate is the part that the derives share: the attribute
//! grammar ([`attr`]), what one item says ([`decl`]), names ([`names`]) and errors ([`diag`]).

// Whatever can fail is an error that the caller can handle; tests may end with a panic.
#![warn(clippy::unwrap_used)]

pub mod attr;
pub mod decl;
pub mod diag;
pub mod names;
pub mod verb;

#[cfg(feature = "generate")]
mod apply;
#[cfg(feature = "generate")]
mod check;
#[cfg(feature = "generate")]
pub mod config;
#[cfg(feature = "generate")]
mod files;
#[cfg(feature = "generate")]
mod generate;
#[cfg(feature = "generate")]
pub mod kubernetes;
#[cfg(feature = "generate")]
pub mod layout;
#[cfg(feature = "generate")]
mod lower;
#[cfg(feature = "generate")]
pub mod model;
#[cfg(feature = "generate")]
mod parse;
#[cfg(feature = "cli")]
pub mod plan;
#[cfg(feature = "generate")]
mod render;
#[cfg(feature = "generate")]
pub mod source;

#[cfg(feature = "generate")]
pub use generate::{generate, model};
#[cfg(feature = "generate")]
pub use render::{CRD_PROGRAM, GeneratedFile, HEADER, crd_file};
