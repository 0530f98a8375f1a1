//! The scenarios, one file for each topic.

mod applying;
mod builtin;
pub mod compaction;
mod creating;
mod definitions;
mod deleting;
mod errors;
mod namespaces;
mod patching;
mod reading;
mod representations;
mod subresources;
mod updating;
mod validating;
mod watching;

use crate::Scenario;

/// All scenarios.
pub fn all() -> Vec<Scenario> {
    [
        reading::scenarios(),
        watching::scenarios(),
        creating::scenarios(),
        updating::scenarios(),
        patching::scenarios(),
        deleting::scenarios(),
        namespaces::scenarios(),
        subresources::scenarios(),
        definitions::scenarios(),
        validating::scenarios(),
        applying::scenarios(),
        builtin::scenarios(),
        errors::scenarios(),
        representations::scenarios(),
    ]
    .concat()
}
