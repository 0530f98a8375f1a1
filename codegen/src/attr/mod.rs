//! The attribute grammar: what may stand in `#[genclient(…)]`, and what it means.
//!
//! One grammar serves the derive and the command line. An attribute's errors never hide those of
//! the next one: each entry is cut out and read by itself.

mod column;
mod entry;
mod json_path;
mod keys;
mod metadata;
mod method;
mod resource;
mod rule;
mod scale;
mod serde;
mod table;
mod type_ref;
mod verbs;

pub use column::PrintColumn;
pub use entry::Spanned;
pub use method::MethodAttr;
pub use resource::{ResourceAttrs, resource_attrs};
pub use scale::Scale;
pub use serde::SerdeAttrs;
pub use table::{ATTRIBUTES, Attribute};
pub use type_ref::TypeRef;
pub use verbs::VerbRule;

pub(crate) use entry::{Entry, entries};
pub(crate) use type_ref::crate_path;
