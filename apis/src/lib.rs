//! The annotated API types of the sample groups: a module for each group, and in it one for each version.

pub mod appcontroller;
pub mod samplecrd;
