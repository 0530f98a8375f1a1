//! The attribute grammar: what may stand in `#[genclient(…)]`, and what it means.
//!
//! One grammar serves the derive and the command line. An attribute's errors never hide those of
//! the next one: each entry is cut out and read by itself.

mod entry;
mod resource;
mod table;

pub use resource::{
    MethodAttr, PrintColumn, ResourceAttrs, Scale, Spanned, TypeRef, VerbRule, resource_attrs,
};
pub use table::{ATTRIBUTES, Attribute};

pub(crate) use entry::{Entry, entries};
